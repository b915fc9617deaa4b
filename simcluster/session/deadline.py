"""The clock of one command: the world lives on while it waits, until somebody interrupts it."""

from __future__ import annotations

from simcluster.surface.protocols import Interrupted
from simcluster.world import World


class DeadlineClock:
    """Simulated time for whatever lets it pass on behalf of a command (`surface.protocols.Clock`).

    Args:
        deadline_ns: when the command is interrupted; None never.
        exit_code: what its shell then sees: 130 for Ctrl-C, 124 for timeout(1).

    Attributes:
        cut: whether a command has been interrupted since the last `until`.
    """

    def __init__(self, world: World, deadline_ns: int | None = None, exit_code: int = 130) -> None:
        self.world = world
        self.exit_code = exit_code
        self.until(deadline_ns)

    def until(self, deadline_ns: int | None) -> None:
        """A new command begins, which is interrupted at an instant."""
        self.deadline_ns = deadline_ns
        self.cut = False

    @property
    def now(self) -> int:
        """Simulated nanoseconds."""
        return self.world.sim.now

    @property
    def left_ns(self) -> int | None:
        """How long somebody goes on waiting for the command; None for ever."""
        return None if self.deadline_ns is None else max(0, self.deadline_ns - self.now)

    def advance(self, duration_ns: int) -> None:
        """Let the world live on. Raises Interrupted at the deadline, and whenever a cut command asks for more."""
        left_ns = self.left_ns
        self.cut = self.cut or (left_ns is not None and duration_ns > left_ns)
        if not self.cut:
            self.world.advance(duration_ns)
            return
        self.world.advance(left_ns or 0)
        raise Interrupted(self.exit_code)
