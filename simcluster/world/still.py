"""Time that stands still: of commands that somebody gives at once, in the middle of an instant."""

from __future__ import annotations

from simcluster.engine import Simulation


class Still:
    """The clock of a shell whose commands take no time: who would wait goes on at once."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim

    @property
    def now(self) -> int:
        """Simulated nanoseconds."""
        return self._sim.now

    def advance(self, duration_ns: int) -> None:
        """Nothing: the instant goes on."""
