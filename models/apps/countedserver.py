"""The traffic side of a program with a state of its own, a store or a broker: it hears of every tick's requests."""

from __future__ import annotations

from abc import abstractmethod

from simcluster.models.apps.server import ServerProgram
from simcluster.models.traffic.cluster.operations import ServiceSpec
from simcluster.models.traffic.cluster.server import Observed, Server


class CountingProgram(ServerProgram):
    """A process to which its requests matter beyond their CPU time."""

    @abstractmethod
    def took(self, tick_ns: int, counts: list[int]) -> None:
        """A tick is over; how many requests of each operation came in it."""


class CountedServer(Server):
    """It passes every tick's counts on to the process."""

    def __init__(self, program: CountingProgram, spec: ServiceSpec) -> None:
        super().__init__(program.container, spec, program.environment, program)
        self.counts = [0] * len(spec.operations)
        self._program = program
        self._worked = False

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
        """Serve ticks, and tell of them."""
        changed = super().advance(tick_ns, requests, work_ns, square, busy_ns, refused, ticks, charged)
        self._pass_on(tick_ns)
        return changed

    def observe(self, tick_ns: int, load: Observed, ticks: int = 1) -> None:
        """Ticks whose queue somebody else kept."""
        super().observe(tick_ns, load, ticks)
        self._pass_on(tick_ns)

    def settle(self, tick_ns: int, ticks: int = 1) -> bool:
        """Ticks in which nothing arrived."""
        self._worked = False
        changed = super().settle(tick_ns, ticks)
        if not self._worked:
            self._pass_on(tick_ns)
        return changed

    def _pass_on(self, tick_ns: int) -> None:
        self._worked = True
        counts = self.counts or []
        if len(counts) != len(self.spec.operations) or any(counts):
            self.counts = [0] * len(self.spec.operations)
        self._program.took(tick_ns, counts)
