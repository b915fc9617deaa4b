"""One operating-system process of the control plane: what it planned dies with it.

What is constructed with a `Process` in place of the simulation sees the same clock and the
same random streams; after `end` none of its timers fires and no watch reaches it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simcluster.api.store import Store
from simcluster.engine import Simulation, Timer
from simcluster.telemetry.klog import ComponentLog


class Process(Simulation):
    """The simulation as one process sees it.

    Attributes:
        alive: whether its timers still fire.
        log: what its parts say; nowhere unless it was handed in.
    """

    def __init__(self, sim: Simulation, log: ComponentLog | None = None) -> None:
        # Not super().__init__(): clock, streams and digest are the world's own.
        self.clock = sim.clock
        self.streams = sim.streams
        self.parameters = sim.parameters
        self.digest = sim.digest
        self.alive = True
        self.log = log or ComponentLog(sim)
        self._periodic: list[Timer] = []

    def after(self, delay_ns: int, fn: Callable[..., None], *args: Any) -> Timer:
        """Call `fn(*args)` after `delay_ns`, if the process still lives then."""
        if not self.alive:
            return Timer(self.now + delay_ns, fn, args)
        return super().after(delay_ns, self._run, fn, args)

    def every(self, period_ns: int, fn: Callable[..., None], *args: Any, first_ns: int | None = None) -> Timer:
        """Call `fn(*args)` periodically as long as the process lives."""
        if not self.alive:
            return Timer(self.now + period_ns, fn, args)
        timer = super().every(period_ns, fn, *args, first_ns=first_ns)
        self._periodic.append(timer)
        return timer

    def end(self, store: Store) -> None:
        """The process is gone, and its watches with it."""
        self.alive = False
        for timer in self._periodic:
            timer.cancel()
        self._periodic = []
        store.drop(self)

    def _run(self, fn: Callable[..., None], args: tuple[Any, ...]) -> None:
        if self.alive:
            fn(*args)
