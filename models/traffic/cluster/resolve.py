"""From an address as an application wrote it to the processes that may answer there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from simcluster.engine import MILLISECOND
from simcluster.models.machine.container import Container
from simcluster.models.machine.names import Reached, ResolverConfig, in_hosts, is_address, search
from simcluster.models.machine.network import Backend, Network
from simcluster.models.machine.process import Call
from simcluster.models.traffic.cluster.causes import DNS_TIMEOUT, NO_SUCH_HOST, REFUSED, STATUS, TIMEOUT


class Origin(NamedTuple):
    """Where a call starts: on which nodes (equally likely) and in which namespace.

    Attributes:
        names: how the caller's pod looks names up; None for users outside, who need no cluster DNS.
        address: the caller's own, where it matters (session affinity, network policies), else empty.
        hosts: what stands in its hosts file besides the usual.
    """

    nodes: tuple[str, ...]
    namespace: str
    names: ResolverConfig | None = None
    address: str = ""
    hosts: str = ""


class Destination(NamedTuple):
    """One place where a call may end.

    Attributes:
        weight: its share of the calls.
        kind: why a call that goes there fails, or "".
        node: machine on which it is.
        container_id: of the process that listens, or "".
        answer_ns: how long it takes to answer, if it is not a server the traffic knows.
    """

    weight: float
    kind: str
    node: str = ""
    container_id: str = ""
    answer_ns: int = 0


class Resolver:
    """Resolves names and routes at one instant, each only once."""

    def __init__(self, network: Network, known_servers: Mapping[str, object]) -> None:
        self._network = network
        self._servers = known_servers
        self._known: dict[tuple[Origin, str, int], tuple[str, list[Destination]]] = {}
        self._name_servers: dict[tuple[str, str, tuple[str, ...]], list[tuple[str, Reached]]] = {}

    def entry_nodes(self) -> tuple[str, ...]:
        """Nodes through which users from outside enter."""
        return self._network.entries()

    def first_port(self, origin: Origin, host: str) -> int:
        """The lowest port of a Service, or 80 if it has none (yet)."""
        addresses = self._look_up(origin, host)[1]
        for node in origin.nodes:
            rules = self._network.rules.get(node)
            keys = rules.backends if rules else ()
            ports = sorted(key.port for key in keys if key.address in addresses and key.protocol == "TCP")
            if ports:
                return ports[0]
        return 80

    def resolve(self, origin: Origin, host: str, port: int) -> tuple[str, list[Destination]]:
        """The address, and the places where a connection may end."""
        known = self._known.get((origin, host, port))
        if known is None:
            known = self._known[origin, host, port] = self._resolve(origin, host, port)
        return known

    def _look_up(self, origin: Origin, host: str) -> tuple[str, tuple[str, ...]]:
        """Outcome and addresses of a name where the call starts (on the first of its nodes)."""
        if not host:
            return NO_SUCH_HOST, ()
        if origin.names is None or is_address(host):
            addresses = self._network.find(host, origin.namespace)
            return ("ok" if addresses else NO_SUCH_HOST), addresses
        own = in_hosts(origin.hosts, host) if origin.hosts else ""
        if own:
            return "ok", (own,)
        node = origin.nodes[0] if origin.nodes else ""
        key = (node, origin.address, origin.names.servers)
        servers = self._name_servers.get(key)
        if servers is None:
            servers = self._name_servers[key] = self._network.name_servers(origin.names, node, origin.address)
        found = search(origin.names, host.rstrip("."), servers)
        return found.outcome, found.addresses

    def _resolve(self, origin: Origin, host: str, port: int) -> tuple[str, list[Destination]]:
        outcome, addresses = self._look_up(origin, host)
        if not addresses:
            silent = outcome in ("timeout", "refused")
            return "", [Destination(1.0, DNS_TIMEOUT if silent else NO_SUCH_HOST)]
        found: dict[Backend, float] = {}
        lost: dict[str, float] = {}
        share = 1.0 / (max(1, len(origin.nodes)) * len(addresses))
        for node in origin.nodes or ("",):
            if origin.names is None and not self._network.door.answers(node):
                lost[TIMEOUT] = lost.get(TIMEOUT, 0.0) + share * len(addresses)
                continue
            for address in addresses:
                route = self._network.route(node, address, port, origin.address)
                if route.outcome != "ok":
                    lost[route.outcome] = lost.get(route.outcome, 0.0) + share
                    continue
                for backend in route.backends:
                    found[backend] = found.get(backend, 0.0) + share / len(route.backends)
        destinations = [self._destination(backend, weight, origin.address) for backend, weight in found.items()]
        destinations += [Destination(weight, kind) for kind, weight in lost.items()]
        return addresses[0], _normalised(destinations)

    def _destination(self, backend: Backend, weight: float, source: str) -> Destination:
        outcome = self._network.connect(backend, source)
        if outcome != "ok":
            return Destination(weight, TIMEOUT if outcome == "timeout" else REFUSED)
        owner = self._network.sandboxes[backend[0]]
        container = container_at(self._network, backend)
        if container is None:
            return Destination(weight, "", owner.node, "", MILLISECOND)
        if container.container_id in self._servers:
            return Destination(weight, "", owner.node, container.container_id)
        answer = container.program.answer(Call("http", backend[1]))
        kind = "" if answer.outcome == "ok" and answer.status < 500 else STATUS if answer.outcome == "ok" else REFUSED
        return Destination(weight, kind, owner.node, container.container_id, answer.delay_ns)


def container_at(network: Network, backend: Backend) -> Container | None:
    """The container that listens there, if a pod does."""
    owner = network.sandboxes.get(backend[0])
    find = getattr(owner, "container_on", None)
    container: Container | None = find(backend[1]) if find is not None else None
    return container


def _normalised(destinations: list[Destination]) -> list[Destination]:
    """Failures of one kind as one; weights that add to 1."""
    if len(destinations) == 1:
        return [destinations[0]._replace(weight=1.0)]
    merged: dict[str, Destination] = {}
    result: list[Destination] = []
    for destination in destinations:
        if not destination.kind or destination.container_id:
            result.append(destination)
        elif destination.kind in merged:
            before = merged[destination.kind]
            merged[destination.kind] = before._replace(weight=before.weight + destination.weight)
        else:
            merged[destination.kind] = destination
    return result + list(merged.values())
