"""The shell of somebody who is logged in: its commands wait on the clock of the world, which lives on meanwhile."""

from __future__ import annotations

from typing import Protocol

from simcluster.models.userland.immediate import ImmediateRunner
from simcluster.models.userland.lexer import Code
from simcluster.models.userland.outcome import FOREVER_NS, INTERRUPTED, Outcome
from simcluster.models.userland.place import Place
from simcluster.models.userland.process import Process


class Clock(Protocol):
    """Simulated time."""

    @property
    def now(self) -> int:
        """Simulated nanoseconds."""

    def advance(self, duration_ns: int) -> None:
        """Let the world live on for a while."""


class ClockedRunner(ImmediateRunner):
    """A shell whose waiting lets the world live on.

    Args:
        interrupted: what the clock raises where somebody presses Ctrl-C.
    """

    LIMIT_NS = 1 << 63
    #: How long somebody watches at most what never ends.
    ENDLESS_NS = 3_600_000_000_000

    def __init__(self, place: Place, clock: Clock, interrupted: type[Exception]) -> None:
        super().__init__(place, clock.now, self.LIMIT_NS)
        self.clock = clock
        self.interrupted = interrupted

    @property
    def now(self) -> int:
        """The clock of the world."""
        return self.clock.now

    def inner(self) -> ImmediateRunner:
        """A command substitution waits on the same clock."""
        return ClockedRunner(self.place, self.clock, self.interrupted)

    def capture(self, parent: Process, code: Code) -> tuple[str, int, int]:
        """Output and status of a command substitution; its time has passed already."""
        text, status, _ = super().capture(parent, code)
        if getattr(self.clock, "cut", False):
            self.cutting = True
        return text, status, 0

    def finish(self) -> Outcome:
        """Run to the end, or until somebody presses Ctrl-C."""
        try:
            outcome = super().finish()
        except self.interrupted:
            self.interrupt()
            code = INTERRUPTED if self.code is None else self.code
            outcome = Outcome("".join(self.output), "".join(self.errors), code)
        if self.code is None:  # nobody waits for what never ends
            outcome = outcome._replace(code=INTERRUPTED)
        return outcome._replace(delay_ns=0)

    def _pass(self, at_ns: int) -> bool:
        wanted_ns = self.start_ns + at_ns - self.clock.now
        ends = wanted_ns < FOREVER_NS // 2
        if wanted_ns > 0:
            self.clock.advance(wanted_ns if ends else self.ENDLESS_NS)
        self.elapsed_ns = self.clock.now - self.start_ns
        return ends

    def wake_after(self, pid: int, outcome: Outcome) -> None:
        """Remember when to go on, counted from now."""
        self.elapsed_ns = self.clock.now - self.start_ns
        super().wake_after(pid, outcome)

    def alarm_after(self, pid: int, delay_ns: int, code: int) -> None:
        """The same for `timeout`."""
        self.elapsed_ns = self.clock.now - self.start_ns
        super().alarm_after(pid, delay_ns, code)
