"""The cluster's network as packets see it: who answers at an address.

Four tables, each with one writer: `sandboxes` (the CNI, when a pod starts), the service
rules of every node (its kube-proxy), the records of the cluster's zone (the Services, as
CoreDNS' kubernetes plugin knows them) and the isolation of pods (the network policy agent).
Routing reads them and never asks the API: a stale rule sends packets to a dead pod, as in
reality. Names are resolved by asking a name server over this very network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, cast

from simcluster.engine import FlatDict
from simcluster.engine.streams import mix
from simcluster.models.machine.addressblocks import AddressBlocks
from simcluster.models.machine.isolation import Isolation, permits
from simcluster.models.machine.kernel.packetfilter import ACCEPT, REJECT, PacketFilter
from simcluster.models.machine.links.conversation import Conversation
from simcluster.models.machine.links.frontdoor import FrontDoor
from simcluster.models.machine.links.links import Links
from simcluster.models.machine.links.quality import PathQuality
from simcluster.models.machine.names import (
    OK,
    Lookup,
    NameAnswer,
    NameServer,
    Reached,
    ResolverConfig,
    cluster_first,
    in_hosts,
    is_address,
    search,
)
from simcluster.models.machine.shell.files import Layer

Backend = tuple[str, int]  # address, port

DNS_PORT = 53
#: Addresses behind which no name server of the world outside is: the cluster's own, and those of documentation.
_NO_SERVERS = ("10.", "192.0.2.", "198.51.100.", "203.0.113.")
#: Stands for the addresses of users outside, where policies ask for one (RFC 5737, documentation).
OUTSIDE = "203.0.113.7"


class Listener(Protocol):
    """Whatever owns an address: a pod's sandbox, the node itself."""

    node: str

    def listens_on(self, port: int) -> bool:
        """Whether a process accepts connections on the port."""


class Resolving(Protocol):
    """A pod that looks names up: its resolv.conf (None: what dnsPolicy ClusterFirst gives), and its own hosts."""

    namespace: str
    node: str
    address: str
    names: ResolverConfig | None
    hosts: str


class ServiceKey(NamedTuple):
    """A virtual address: cluster IP and port, or node port with an empty address, of one protocol (TCP, UDP, SCTP)."""

    address: str
    port: int
    protocol: str = "TCP"


@dataclass
class NodeRules:
    """Service rules of one node.

    Attributes:
        backends: virtual address -> backends. An empty tuple rejects (RST).
        dropped: virtual addresses whose packets are dropped (policy Local, nothing local).
        sticky: virtual addresses with session affinity ClientIP.
        mode: of the proxy that wrote them: `iptables`, `ipvs` or `nftables`.
    """

    backends: dict[ServiceKey, tuple[Backend, ...]] = field(default_factory=FlatDict)
    dropped: dict[ServiceKey, None] = field(default_factory=FlatDict)
    sticky: dict[ServiceKey, None] = field(default_factory=FlatDict)
    mode: str = "iptables"


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
    """Addresses, service rules and names of one cluster.

    Attributes:
        dns: address of the Service that answers for names; empty if there is none, and then
            everybody reads the zone as if it were a hosts file.
        zone: full name without trailing dot -> first address; `records`: all of them where
            there are several; `aliases`: name -> the name it stands for.
        outside: names of the world outside of the cluster.
        pools: endpoints behind a proxy of its own making (an ingress controller), by an address of
            0.0.0.0/8 that stands for them.
        version: bumped at every change, so that readers may cache routes.
        sticky_keys: how many rules with session affinity there are.
        blocks: addresses of pods, where a plugin hands them out by pools.
        links: interfaces, shaping and partitions: how good the ways are.
        door: the load balancer before the nodes.
        speakers: who knows of conversations (`conversations`).
    """

    def __init__(self) -> None:
        self.sandboxes: dict[str, Listener] = {}
        self.nodes: dict[str, str] = {}  # address -> name of the node that owns it
        self.rules: dict[str, NodeRules] = {}
        self.zone: dict[str, str] = {}
        self.records: dict[str, tuple[str, ...]] = {}
        self.aliases: dict[str, str] = {}
        self.more_records: dict[tuple[str, str], tuple[str, ...]] = FlatDict()  # full name and type (SRV, PTR) -> texts
        self.outside: dict[str, str] = {}
        self.isolation: dict[str, Isolation] = {}
        self.filters: dict[str, PacketFilter] = {}  # by node, of those that have rules
        self.pools: dict[str, tuple[Backend, ...]] = {}
        self._pools_made = 0
        self.dns = ""
        #: What was written to persistent volumes, by the volume's uid: it outlives pods, wherever they run.
        self.volumes: dict[str, Layer] = {}
        self.sticky_keys = 0
        self.version = 0
        self.blocks = AddressBlocks()
        self.links = Links(self._links_changed)
        self.door = FrontDoor(self.links.nics, self._links_changed)
        self.links.listeners.append(self.door.look)
        self.speakers: list[Callable[[], list[Conversation]]] = []

    def conversations(self) -> list[Conversation]:
        """Who talks to whom now, as far as anybody knows."""
        return [one for speaker in self.speakers for one in speaker()]

    # Tables.

    def attach(self, address: str, owner: Listener, *, node: bool = False) -> None:
        """An address appears; `node`: it is a node's own."""
        self.sandboxes[address] = owner
        if node:
            self.nodes[address] = owner.node
        self.version += 1

    def detach(self, address: str) -> None:
        """An address disappears."""
        self.sandboxes.pop(address, None)
        self.nodes.pop(address, None)
        self.version += 1

    def set_rules(
        self,
        node: str,
        key: ServiceKey,
        backends: tuple[Backend, ...] | None,
        *,
        drop: bool = False,
        sticky: bool = False,
    ) -> None:
        """Program (or with None remove) one virtual address on one node."""
        rules = self.rules.setdefault(node, NodeRules())
        rules.dropped.pop(key, None)
        if key in rules.sticky:
            del rules.sticky[key]
            self.sticky_keys -= 1
        if backends is None:
            rules.backends.pop(key, None)
        else:
            rules.backends[key] = backends
            if drop:
                rules.dropped[key] = None
            if sticky:
                rules.sticky[key] = None
                self.sticky_keys += 1
        self.version += 1

    def rules_of(self, node: str, key: ServiceKey) -> tuple[Backend, ...] | None:
        """What is programmed for a virtual address on a node; None if nothing is."""
        rules = self.rules.get(node)
        return None if rules is None else rules.backends.get(key)

    def set_name(self, name: str, address: str | None) -> None:
        """Add (or with None remove) a record of the cluster zone."""
        self.set_names(name, () if address is None else (address,))

    def set_names(self, name: str, addresses: tuple[str, ...]) -> None:
        """Set all addresses of a name of the cluster zone."""
        self.zone.pop(name, None)
        self.records.pop(name, None)
        self.aliases.pop(name, None)
        if addresses:
            self.zone[name] = addresses[0]
        if len(addresses) > 1:
            self.records[name] = addresses
        self.version += 1

    def set_alias(self, name: str, target: str) -> None:
        """A name of the zone that stands for another one (CNAME)."""
        self.set_names(name, ())
        self.aliases[name] = target.rstrip(".")

    def set_isolation(self, address: str, isolation: Isolation | None) -> None:
        """Which connections of a pod's address network policies allow; None: all."""
        if isolation is None:
            self.isolation.pop(address, None)
        else:
            self.isolation[address] = isolation
        self.version += 1

    def set_filter(self, node: str, rules: PacketFilter) -> None:
        """The rules that somebody wrote into a node's packet filter are others."""
        if rules:
            self.filters[node] = rules
        else:
            self.filters.pop(node, None)
        self.version += 1

    def new_pool(self) -> str:
        """An address that nobody has, for a pool of endpoints that a proxy chooses from by itself."""
        self._pools_made += 1
        number = self._pools_made
        return f"0.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"

    def set_pool(self, address: str, backends: tuple[Backend, ...] | None) -> None:
        """Set (or with None remove) the endpoints behind a pool's address; nothing behind it refuses."""
        if self.pools.get(address) == backends:
            return
        if backends is None:
            self.pools.pop(address, None)
        else:
            self.pools[address] = backends
        self.version += 1

    # Links.

    def path(self, source_node: str, destination_node: str, source: str = "", destination: str = "") -> PathQuality:
        """How good the way between two nodes (and between addresses of pods on them) is now."""
        return self.links.path(source_node, destination_node, source, destination)

    def entries(self) -> tuple[str, ...]:
        """Nodes through which users from outside come in: those with service rules that the load balancer uses."""
        return self.door.open_of(tuple(sorted(self.rules)))

    def _links_changed(self) -> None:
        self.version += 1

    # Names.

    def addresses_of(self, name: str) -> tuple[str, ...]:
        """The cluster zone's own addresses of a full name."""
        address = self.zone.get(name)
        if address is None:
            return ()
        return self.records.get(name) or (address,)

    def resolve(self, host: str, config: ResolverConfig, node: str, source: str = "") -> Lookup:
        """Look a name up as a process on `node` with the address `source` does."""
        if is_address(host):
            return Lookup(OK, (host,), host)
        return search(config, host, self.name_servers(config, node, source))

    def resolve_for(self, sandbox: Resolving, host: str) -> Lookup:
        """Look a name up as a process of a pod does: its hosts file, then its name servers."""
        host = host if is_address(host) else host.lower()
        own = in_hosts(sandbox.hosts, host)
        if own:
            return Lookup(OK, (own,), host)
        config = sandbox.names or cluster_first(self.dns, sandbox.namespace)
        return self.resolve(host, config, sandbox.node, sandbox.address)

    def name_servers(self, config: ResolverConfig, node: str, source: str = "") -> list[tuple[str, Reached]]:
        """Each name server of a configuration, and what answers there."""
        return [(server, self._name_server(server, node, source)) for server in config.servers]

    def _name_server(self, server: str, node: str, source: str) -> Reached:
        if not self.dns and server not in self.sandboxes:
            return Reached(OK, _Zone(self))
        if server == self.dns or server in self.sandboxes:
            route = self.route(node, server, DNS_PORT, source, "UDP")
            if route.outcome != OK:
                return Reached(route.outcome)
            alive = []
            for backend in route.backends:
                if self.connect(backend, source, "UDP") == OK:
                    owner = self.sandboxes[backend[0]]
                    find = getattr(owner, "container_on", None)
                    container = None if find is None else find(backend[1])
                    if container is not None and hasattr(container.program, "query"):
                        asked_by = getattr(container.program, "asked_by", None)
                        server_there = container.program if asked_by is None else asked_by(source)
                        alive.append(cast(NameServer, server_there))
            lost = 1.0 - len(alive) / len(route.backends)
            return Reached(OK, alive[0], lost) if alive else Reached("timeout")
        if server.startswith(_NO_SERVERS):
            outcome = self.route(node, server, DNS_PORT, source, "UDP").outcome
            return Reached("refused" if outcome == OK else outcome)
        # A node's own resolver, or one of the world outside.
        return Reached(OK, _Outside(self))

    def serves(self, address: str) -> bool:
        """Whether a name server of that address would be one of the cluster's."""
        return address == self.dns or address in self.sandboxes or address.startswith(_NO_SERVERS)

    def lookup(self, host: str, namespace: str, node: str = "", source: str = "") -> str | None:
        """Address of a name as a pod of the namespace resolves it with the default policy."""
        host = host.rstrip(".")
        if is_address(host):
            return host
        config = cluster_first(self.dns, namespace)
        return self.resolve(host, config, node or next(iter(self.rules), ""), source).address or None

    def find(self, host: str, namespace: str) -> tuple[str, ...]:
        """Addresses of a name for somebody outside who need not ask the cluster's DNS server."""
        if is_address(host):
            return (host,)
        zone = _Zone(self)
        for name in cluster_first("", namespace).candidates(host.rstrip(".")):
            answer = zone.query(name)
            if answer.addresses:
                return answer.addresses
        return ()

    # Routes.

    def route(self, node: str, address: str, port: int, source: str = "", protocol: str = "TCP") -> Route:
        """Where a connection from a process on `node` to address:port goes; `source` is its own address."""
        pool = self.pools.get(address) if self.pools else None
        if pool is not None:
            return Route("ok", pool) if pool else Route("refused")
        rules = self.rules.get(node)
        if rules is not None:
            key = ServiceKey(address, port, protocol)
            backends = rules.backends.get(key)
            if backends is not None:
                return self._served(rules, key, backends, source)
            if any(key.address == address for key in rules.backends):
                return Route("refused")  # a port the Service does not have (IPVS and nftables reject it)
        owner = self.nodes.get(address)
        if owner is not None:
            there = self.rules.get(owner)
            key = ServiceKey("", port, protocol)
            backends = None if there is None else there.backends.get(key)
            if there is not None and backends is not None:
                return self._served(there, key, backends, source)
        if address in self.sandboxes:
            return Route("ok", ((address, port),))
        return Route("timeout")

    def _served(self, rules: NodeRules, key: ServiceKey, backends: tuple[Backend, ...], source: str) -> Route:
        if key in rules.dropped:
            return Route("timeout")
        if not backends:
            return Route("refused")
        if len(backends) > 1 and key in rules.sticky and source in self.sandboxes:
            # Session affinity: one backend for a client's address as long as the backends stay.
            # kube-proxy remembers the first choice; here it follows from the address, which is
            # as lasting and needs no memory. A crowd outside has many addresses and spreads.
            number = 0
            for part in source.split("."):
                number = number << 8 | int(part)
            return Route("ok", (backends[mix(number, key.port) * len(backends) >> 64],))
        return Route("ok", backends)

    def connect(self, backend: Backend, source: str = "", protocol: str = "TCP") -> str:
        """What happens at one backend: `ok`, `refused` (nobody listens) or `timeout` (no host, or a policy)."""
        owner = self.sandboxes.get(backend[0])
        if owner is None:
            return "timeout"
        if self.isolation and not permits(self.isolation, source, backend, self.nodes, owner.node, protocol):
            return "timeout"
        if self.filters and (dropped := self._filtered(source, backend, owner.node, protocol)):
            return dropped
        if owner.listens_on(backend[1]):
            return "ok"
        return "refused" if getattr(owner, "runs", True) else "timeout"  # a machine that is off refuses nothing

    def _filtered(self, source: str, backend: Backend, node: str, protocol: str) -> str:
        """What packet filters on the way to a backend on a node make of a connection: empty if they let it pass.

        Who has no address is a process of that node.
        """
        (address, port), outside = backend, source == OUTSIDE
        caller = self.sandboxes.get(source)
        here = node if not source else "" if outside or caller is None else caller.node
        own = not source or source in self.nodes
        ways = [] if not here else [(here, "OUTPUT" if own else "FORWARD")]
        if not (own and here == node):  # a node's own process reaches its pods by OUTPUT alone
            ways.append((node, "INPUT" if address in self.nodes else "FORWARD"))
        for where, chain in ways:
            rules = self.filters.get(where)
            act = ACCEPT if rules is None else rules.act(chain, source, address, port, protocol)
            if act != ACCEPT:
                return "refused" if act == REJECT else "timeout"
        return ""

    @property
    def guarded(self) -> bool:
        """Whether somebody looks at who opens a connection."""
        return bool(self.isolation or self.filters)

    @property
    def per_client(self) -> bool:
        """Whether the address of a caller matters: affinity, network policies, packet filters or bad links exist."""
        return self.guarded or self.sticky_keys > 0 or not self.links.calm


class _Zone:
    """The cluster's zone, asked directly."""

    def __init__(self, network: Network) -> None:
        self.network = network

    def query(self, name: str) -> NameAnswer:
        """The records of a name, aliases followed."""
        for _ in range(8):
            addresses = self.network.addresses_of(name) or _outside(self.network, name)
            if addresses or name not in self.network.aliases:
                return NameAnswer("NOERROR" if addresses else "NXDOMAIN", addresses)
            name = self.network.aliases[name]
        return NameAnswer("SERVFAIL")


class _Outside:
    """A resolver of the world outside: of the cluster it knows the machines."""

    def __init__(self, network: Network) -> None:
        self.network = network

    def query(self, name: str) -> NameAnswer:
        """The address of a public name."""
        addresses = _outside(self.network, name)
        if not addresses and "." not in name:
            addresses = tuple(address for address, node in self.network.nodes.items() if node == name)[:1]
        return NameAnswer("NOERROR" if addresses else "NXDOMAIN", addresses)


def _outside(network: Network, name: str) -> tuple[str, ...]:
    address = network.outside.get(name)
    return () if address is None else (address,)
