"""Clients of a broker in a program: a consumer of a group, what a producer is told, and programs that are either."""

from __future__ import annotations

from simcluster.engine import Timer
from simcluster.models.apps.brokers.groups import Place
from simcluster.models.apps.brokers.kafka import Fetched, KafkaProgram
from simcluster.models.apps.reaching import reach
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.container import Container
from simcluster.models.traffic.cluster.address import parse_address


class Connection:
    """A program's way to the broker whose address a variable holds; looked for again when the network has changed."""

    def __init__(self, program: ServerProgram, env: str) -> None:
        self._program = program
        self._env = env
        self._version = -1
        self._there: Container | None = None
        self.outcome = ""
        self.address = ""

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        return parse_address(self._program.environment.get(self._env, ""))

    def broker(self) -> KafkaProgram | None:
        """The broker, if it serves."""
        network, there = self._program.traffic.network, self._there
        if there is None or not there.running or self._version != network.version:
            found = reach(network, self._program.container, *self.place)
            self._there, self._version = found.container, network.version
            self.outcome, self.address = found.outcome, found.address
        broker = self._there.program if self._there is not None else None
        if not isinstance(broker, KafkaProgram) or broker.server is None:
            self.outcome = "refused" if self.outcome == "ok" else self.outcome
            return None
        return broker


class Consumer:
    """A consumer of a group.

    Attributes:
        connection: its way to the broker.
        positions: where it stands in the partitions that it reads.
        identity: its id in the group; empty while it is not in it.
        commits: whether it commits by itself when it closes (`enable.auto.commit`).
    """

    commits = True

    def __init__(self, program: ServerProgram, env: str, group: str, client: str, topics: tuple[str, ...]) -> None:
        self.connection = Connection(program, env)
        self.group = group
        self.positions: dict[Place, int] = {}
        self.identity = ""
        self._client = client
        self._topics = topics
        self._host = program.container.sandbox.address
        self._of = ""  # the broker's container that it is known to

    def poll(self, most: int) -> list[Fetched] | None:
        """Records, at most so many; None: the broker cannot be reached. They count as read.

        Who asks for none is heard of, and stays in the group.
        """
        broker = self.connection.broker()
        if broker is None:
            return None
        if self._of != broker.container.container_id:
            self._of, self.identity, self.positions = broker.container.container_id, "", {}
        found = broker.fetch(self.group, self.identity, most, self.positions) if self.identity else None
        if found is None:
            self.positions = {}
            self.identity = broker.join(self.group, self._client, self._host, self._topics)
            found = broker.fetch(self.group, self.identity, most, self.positions) or []
        for each in found:
            self.positions[each.place] = each.first + each.records
        return found

    def commit(self) -> None:
        """Commit where it stands."""
        broker = self.connection.broker()
        if broker is not None and self.identity:
            broker.commit(self.group, self.identity, self.positions)

    def close(self) -> None:
        """Leave the group."""
        broker = self.connection.broker()
        if broker is not None and self.identity:
            if self.commits:
                broker.commit(self.group, self.identity, self.positions)
            broker.leave_group(self.group, self.identity)
        self.identity = ""


class Working(ServerProgram):
    """A program that does something with a broker every so often, for which it keeps a timer."""

    _work: Timer | None = None

    def stop(self) -> None:
        """The process is gone: killed, or it has ended itself before."""
        super().stop()
        if self._work is not None:
            self._work.cancel()


class Consuming(Working):
    """One that is a consumer of a group.

    Attributes:
        consumer: its membership, once it serves.
    """

    consumer: Consumer

    def terminate(self) -> None:
        """SIGTERM: it closes its consumer."""
        if not self.draining and self.server is not None:
            self.consumer.close()
        super().terminate()
