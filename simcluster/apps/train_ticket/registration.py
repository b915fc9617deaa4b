"""A client of Nacos: heartbeats, and lists of instances that it keeps.

Every five seconds it says that its own program is there, and every ten it asks for lists; of a change in them it hears
at once while a server reaches it (here: with the next second). While no server can be reached it keeps what it knows.
Sources: nacos-client 2.0, spring-cloud-alibaba (`NacosServiceRegistry`), defaults.
"""

from __future__ import annotations

from simcluster.apps.train_ticket.nacos import NacosProgram, Place
from simcluster.engine import SECOND
from simcluster.models.apps.reaching import reach
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.container import Container
from simcluster.models.traffic.cluster.address import parse_address

BEAT_NS = 5 * SECOND


class Registration:
    """What one program is to Nacos, and what it knows of others.

    Attributes:
        instances: places by the name of the service, as they were listed last.
    """

    def __init__(self, program: ServerProgram, name: str, port: int, callees: tuple[str, ...]) -> None:
        self.name = name
        self._port = port
        self.instances: dict[str, tuple[Place, ...]] = dict.fromkeys(callees, ())
        self._program = program
        self._server: Container | None = None
        self._number = 0  # of the server that it talks to
        self._seen = -1  # version of the network in which it was found
        self._heard: tuple[str, int] = ("", -1)  # server and version of the list that it has

    @property
    def place(self) -> Place:
        """Where its program listens."""
        return self._program.container.sandbox.address, self._port

    def beat(self) -> bool:
        """Say that the program is there; whether a server heard it."""
        server = self._reached()
        if server is None:
            return False
        server.beat(self.name, self.place)
        return True

    def look(self) -> bool:
        """Ask for the lists; whether anything is new."""
        server = self._reached()
        if server is None:
            return False
        heard = (server.container.container_id, server.version)
        if heard == self._heard:
            return False
        self._heard = heard
        found = {name: server.instances(name) for name in self.instances}
        changed = found != self.instances
        self.instances = found
        return changed

    def leave(self) -> None:
        """The program ends, and says so."""
        server = self._reached()
        if server is not None:
            server.deregister(self.name, self.place)

    def _reached(self) -> NacosProgram | None:
        """The server that it talks to; another one if that is not there."""
        network, server = self._program.traffic.network, self._server
        if server is not None and server.running and self._seen == network.version:
            return _serving(server)
        addresses = self._program.environment.get("NACOS_ADDRS", "").split(",")
        for step in range(len(addresses)):
            number = (self._number + step) % len(addresses)
            host, port = parse_address(addresses[number])
            found = reach(network, self._program.container, host, port or 8848)
            serving = _serving(found.container) if found.outcome == "ok" else None
            if serving is not None:
                self._server, self._number, self._seen = found.container, number, network.version
                return serving
        self._server = None
        return None


def _serving(container: Container | None) -> NacosProgram | None:
    program = container.program if container is not None else None
    return program if isinstance(program, NacosProgram) and program.server is not None else None
