"""The cluster's network as packets see it: who answers at an address.

Three tables, each with one writer: `sandboxes` (the CNI, when a pod starts), the service
rules of every node (its kube-proxy) and the zone (the cluster's DNS server). Routing reads
all three and never asks the API: a stale rule sends packets to a dead pod, as in reality.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

Backend = tuple[str, int]  # address, port


class Listener(Protocol):
    """Whatever owns an address: a pod's sandbox, the node itself."""

    node: str

    def listens_on(self, port: int) -> bool:
        """Whether a process accepts connections on the port."""


class ServiceKey(NamedTuple):
    """A virtual address: cluster IP and port, or node port with an empty address."""

    address: str
    port: int


@dataclass
class NodeRules:
    """Service rules of one node: virtual address -> backends. An empty tuple rejects (RST)."""

    backends: dict[ServiceKey, tuple[Backend, ...]] = field(default_factory=dict)


class Route(NamedTuple):
    """Where a connection goes.

    Attributes:
        outcome: `ok`, `refused` (RST or REJECT), `timeout` (nobody answers) or `no such host`.
        backends: live candidates, all equally likely, when the outcome is ok; on a service
            with stale rules some of them may be dead: see `Network.connect`.
    """

    outcome: str
    backends: tuple[Backend, ...] = ()


class Network:
    """Addresses, service rules and names of one cluster."""

    def __init__(self) -> None:
        self.sandboxes: dict[str, Listener] = {}
        self.rules: dict[str, NodeRules] = {}
        self.zone: dict[str, str] = {}  # fully qualified name without trailing dot -> address
        self.version = 0  # bumped at every change, so that readers may cache routes

    def attach(self, address: str, owner: Listener) -> None:
        """An address appears."""
        self.sandboxes[address] = owner
        self.version += 1

    def detach(self, address: str) -> None:
        """An address disappears."""
        self.sandboxes.pop(address, None)
        self.version += 1

    def set_rules(self, node: str, key: ServiceKey, backends: tuple[Backend, ...] | None) -> None:
        """Program (or with None remove) one virtual address on one node."""
        rules = self.rules.setdefault(node, NodeRules()).backends
        if backends is None:
            rules.pop(key, None)
        else:
            rules[key] = backends
        self.version += 1

    def rules_of(self, node: str, key: ServiceKey) -> tuple[Backend, ...] | None:
        """What is programmed for a virtual address on a node; None if nothing is."""
        rules = self.rules.get(node)
        return None if rules is None else rules.backends.get(key)

    def set_name(self, name: str, address: str | None) -> None:
        """Add (or with None remove) a record of the cluster zone."""
        if address is None:
            self.zone.pop(name, None)
        else:
            self.zone[name] = address
        self.version += 1

    def lookup(self, host: str, namespace: str) -> str | None:
        """Address of a name as a pod of the namespace resolves it (search list, ndots:5)."""
        host = host.rstrip(".")
        if _is_address(host):
            return host
        for suffix in (f".{namespace}.svc.cluster.local", ".svc.cluster.local", ".cluster.local", ""):
            address = self.zone.get(host + suffix)
            if address is not None:
                return address
        return None

    def route(self, node: str, address: str, port: int) -> Route:
        """Where a connection from a process on `node` to address:port goes."""
        rules = self.rules.get(node)
        if rules is not None:
            backends = rules.backends.get(ServiceKey(address, port))
            if backends is not None:
                return Route("ok", backends) if backends else Route("refused")
            if any(key.address == address for key in rules.backends):
                return Route("refused")  # a port the Service does not have (IPVS and nftables reject it)
        if address in self.sandboxes:
            return Route("ok", ((address, port),))
        return Route("timeout")

    def connect(self, backend: Backend) -> str:
        """What happens at one backend: `ok`, `refused` (nobody listens) or `timeout` (no host)."""
        owner = self.sandboxes.get(backend[0])
        if owner is None:
            return "timeout"
        return "ok" if owner.listens_on(backend[1]) else "refused"


def _is_address(host: str) -> bool:
    parts = host.split(".")
    return len(parts) == 4 and all(p.isdigit() and int(p) < 256 for p in parts)
