"""What brokers have in common: an operation that names a topic or queue (`io.command`) puts messages there."""

from __future__ import annotations

from abc import abstractmethod

from simcluster.models.apps.countedserver import CountedServer, CountingProgram
from simcluster.models.traffic.cluster.server import Server
from simcluster.models.userland.outcome import Outcome


class BrokerProgram(CountingProgram):
    """The main process of a broker's container."""

    def build_server(self) -> Server:
        """A server that tells its counts."""
        return CountedServer(self, self.service_spec())

    def took(self, tick_ns: int, counts: list[int]) -> None:
        """Messages of a tick."""
        if any(counts):
            self.appended(counts)

    def appended(self, counts: list[int]) -> None:
        """Messages that came with the traffic, by operation."""
        for operation, count in zip(self.behaviour.asked, counts, strict=True):
            io = operation.io
            if count and io is not None and io.command:
                self.append(io.command, count, int(count * io.grow))

    @abstractmethod
    def append(self, name: str, count: int, size: int, text: str = "") -> str:
        """Take messages of `size` bytes in all for a topic or queue; the error's name, or ""."""

    def run(self, argv: tuple[str, ...]) -> Outcome | None:
        """The tools of its image."""
        return self.run_with_input(argv, "")
