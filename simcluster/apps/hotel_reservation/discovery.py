"""Service discovery by Consul: whom a program knows, and to whom of these it is connected.

A client asks for each service once and then waits for changes. While Consul is away it keeps what it
knows. A restarted Consul has forgotten everybody; the client's waiting query, which names an index that
is far ahead of the new agent's, ends after its longest wait with an empty list. Calls go in turn
to the instances that accept connections; without one they fail at once.
Sources: olivere/grpc lb/consul (resolver), grpc-go RoundRobin, Consul API: blocking queries (5 minutes).
"""

from __future__ import annotations

from simcluster.apps.hotel_reservation.consul import ConsulProgram
from simcluster.engine import MINUTE
from simcluster.models.apps.reaching import reach
from simcluster.models.machine.container import Container
from simcluster.models.machine.network import Network
from simcluster.models.traffic.cluster.address import parse_address

#: Longest wait of a blocking query.
BLOCKING_NS = 5 * MINUTE

Place = tuple[str, int]


class Discovery:
    """What one program knows of others.

    Attributes:
        instances: places by the name of the service, as Consul listed them last.
        connected: those of them that accept connections.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.instances: dict[str, tuple[Place, ...]] = dict.fromkeys(names, ())
        self.connected: dict[str, tuple[Place, ...]] = dict.fromkeys(names, ())
        self._agent = ""  # container whose list is known
        self._heard = -1  # version of that list
        self._other = ""  # agent that took its place
        self._until_ns = 0  # the query to that one ends

    def look_up(self, network: Network, container: Container, address: str) -> str:
        """Ask Consul; why it does not answer, or empty."""
        host, port = parse_address(address)
        reached = reach(network, container, host, port)
        agent = reached.container.program if reached.container is not None else None
        if reached.outcome != "ok":
            return reached.dial_error(host, port)
        if not isinstance(agent, ConsulProgram):
            return "Unexpected response code: 404"
        identity = agent.container.container_id
        if self._agent and identity != self._agent and self._waits(identity, container.sim.now):
            return ""
        if identity != self._agent or agent.version != self._heard:
            self._agent, self._heard, self._other = identity, agent.version, ""
            for name in self.instances:
                self.instances[name] = tuple((each.address, each.port) for each in agent.instances(name))
        return ""

    def connect(self, network: Network) -> bool:
        """Follow which instances accept connections; whether that has changed."""
        found = {name: tuple(p for p in places if _listens(network, p)) for name, places in self.instances.items()}
        changed = found != self.connected
        self.connected = found
        return changed

    def _waits(self, identity: str, now: int) -> bool:
        if identity != self._other:
            self._other, self._until_ns = identity, now + BLOCKING_NS
        return now < self._until_ns


def _listens(network: Network, place: Place) -> bool:
    """Whether a process accepts connections there; a policy in between makes calls hang, not fail."""
    owner = network.sandboxes.get(place[0])
    return owner is not None and owner.listens_on(place[1])
