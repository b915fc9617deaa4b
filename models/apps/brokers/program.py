"""What brokers have in common: an operation that names a topic or queue (`io.command`) puts messages there."""

from __future__ import annotations

from abc import ABC, abstractmethod

from simcluster.models.apps.server import ServerProgram
from simcluster.models.traffic.cluster.operations import ServiceSpec
from simcluster.models.traffic.cluster.server import Observed, Server
from simcluster.models.userland.outcome import Outcome


class BrokerServer(Server):
    """The traffic side: it passes every tick's counts on to the process."""

    def __init__(self, program: BrokerProgram, spec: ServiceSpec) -> None:
        super().__init__(program.container, spec, program.environment, program)
        self.counts = [0] * len(spec.operations)
        self._program = program

    def advance(
        self,
        tick_ns: int,
        requests: int,
        work_ns: int,
        square: float,
        busy_ns: float,
        refused: int = 0,
        ticks: int = 1,
        charged: int = 0,
    ) -> bool:
        """Serve ticks, and append what came."""
        changed = super().advance(tick_ns, requests, work_ns, square, busy_ns, refused, ticks, charged)
        self._pass_on()
        return changed

    def observe(self, tick_ns: int, load: Observed, ticks: int = 1) -> None:
        """Ticks whose queue somebody else kept."""
        super().observe(tick_ns, load, ticks)
        self._pass_on()

    def _pass_on(self) -> None:
        counts = self.counts or []
        if any(counts):
            self.counts = [0] * len(self.spec.operations)
            self._program.appended(counts)


class BrokerProgram(ServerProgram, ABC):
    """The main process of a broker's container."""

    def build_server(self) -> Server:
        """A server that tells its counts."""
        return BrokerServer(self, self.service_spec())

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
