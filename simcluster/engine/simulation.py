"""The event loop: SimPy's environment, with timers that are bound methods.

Work is scheduled as `sim.after(delay_ns, self.method, *args)`; there are no generator
processes, so the whole loop can be pickled between any two timers. Ties are served in the
order in which they were scheduled, so a run is a pure function of its inputs. Processes of
SimPy run in the environment of `simpy`, see `simpyview`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heapify, heappop, heappush
from typing import Any, cast

import simpy

from simcluster.engine.collector import Collector
from simcluster.engine.digest import Digest
from simcluster.engine.fork import FlatDict
from simcluster.engine.simpyview import SimpyEnvironment
from simcluster.engine.streams import Stream, Streams


class Timer:
    """A scheduled callback. `cancel()` makes it do nothing."""

    __slots__ = ("args", "at_ns", "fn")

    #: Of a repeating timer, the distance of two calls.
    period_ns = 0

    def __init__(self, at_ns: int, fn: Callable[..., None], args: tuple[Any, ...]) -> None:
        self.at_ns = at_ns
        self.fn: Callable[..., None] | None = fn
        self.args = args

    def fire(self) -> None:
        """Call what was scheduled."""
        if self.fn is not None:
            self.fn(*self.args)

    def cancel(self) -> None:
        """Never fire. Cancelling twice, or after firing, is harmless."""
        self.fn = None
        self.args = ()

    def __repr__(self) -> str:
        return f"<Timer at {self.at_ns} {getattr(self.fn, '__qualname__', self.fn)}>"


class Repeating(Timer):
    """A timer that fires on a fixed grid until it is cancelled."""

    __slots__ = ("clock", "period_ns")

    def __init__(
        self, clock: Clock, at_ns: int, period_ns: int, fn: Callable[..., None], args: tuple[Any, ...]
    ) -> None:
        super().__init__(at_ns, fn, args)
        self.clock = clock
        self.period_ns = period_ns

    def fire(self) -> None:
        """Schedule the next call, then call."""
        if self.fn is not None:
            self.at_ns += self.period_ns
            self.clock.push(self)
            self.fn(*self.args)


class Clock(simpy.Environment):
    """`simpy.Environment` with integer nanoseconds and a counter that can be pickled."""

    _now: int
    _queue: list[Any]

    def __init__(self) -> None:
        # Not super().__init__(): it binds event classes as instance attributes and keeps an
        # itertools.count, neither of which can be pickled on every supported Python.
        self._now = 0
        self._queue = []
        self._sequence = 0
        self._active_proc = None

    @property
    def now_ns(self) -> int:
        """Simulated nanoseconds."""
        return self._now

    def schedule(self, event: Any, priority: Any = None, delay: Any = 0) -> None:
        """Events of SimPy have float time and live in `Simulation.simpy`. Raises TypeError."""
        raise TypeError(f"{type(event).__name__}: events and processes of SimPy live in the environment of sim.simpy()")

    def push_call(self, at_ns: int, priority: int, fn: Callable[..., None], *args: Any) -> None:
        """Call `fn(*args)` at an instant; of one instant, lower priorities are served first (timers have 1)."""
        self._sequence += 1
        heappush(self._queue, (at_ns, priority, self._sequence, Timer(at_ns, fn, args)))

    def push(self, timer: Timer) -> None:
        """Put a timer into the heap at its own instant."""
        self._sequence += 1
        heappush(self._queue, (timer.at_ns, 1, self._sequence, timer))

    def next_at(self) -> int | None:
        """Instant of the next live timer, or None. Drops cancelled ones at the head."""
        queue = self._queue
        while queue and queue[0][3].fn is None:
            self.step_over()
        return cast(int, queue[0][0]) if queue else None

    def step(self) -> None:
        """Fire the next timer. Raises EmptySchedule."""
        if not self._queue:
            raise simpy.core.EmptySchedule
        self._now, _, _, timer = heappop(self._queue)
        timer.fire()

    def step_over(self) -> None:
        """Drop the head of the heap without moving the clock."""
        heappop(self._queue)

    def appointment(self, after_ns: int) -> int | None:
        """Instant of the first timer later than `after_ns` that goes off once, or None."""
        later = [
            at for at, _, _, timer in self._queue if at > after_ns and timer.fn is not None and not timer.period_ns
        ]
        return min(later, default=None)

    def leap(self, span_ns: int, near_ns: int) -> None:
        """Stand `span_ns` later, with nothing fired in between.

        Timers that repeat go off next on their own grid. Those that go off once within `near_ns` of now are as far
        away as before; later ones keep their instants, none of which is leapt over.
        """
        goal, near = self._now + span_ns, self._now + near_ns
        live = [entry for entry in self._queue if entry[3].fn is not None]
        for _, _, _, timer in live:
            period = timer.period_ns
            if period:
                timer.at_ns += max(0, -((timer.at_ns - goal) // period)) * period
            elif timer.at_ns <= near:
                timer.at_ns += span_ns
            assert timer.at_ns >= goal, timer
        self._queue[:] = [(timer.at_ns, priority, number, timer) for _, priority, number, timer in live]
        heapify(self._queue)
        self._now = goal

    def run_until(self, t_ns: int) -> None:
        """Fire every timer up to and including `t_ns`, then stand at `t_ns`."""
        assert t_ns >= self._now, (t_ns, self._now)
        queue = self._queue
        before = Collector.relax()
        try:
            # The steps of `step`, without its calls.
            while queue and queue[0][0] <= t_ns:
                self._now, _, _, timer = heappop(queue)
                fn = timer.fn
                if fn is None:
                    continue
                if timer.period_ns:
                    timer.fire()
                else:
                    fn(*timer.args)
        finally:
            Collector.resume(before)
        self._now = t_ns


class Simulation:
    """Time, timers, randomness and the digest of one world.

    Args:
        parameters: figures that differ from what the parts of the world would take by themselves, by name.
    """

    def __init__(self, seed: int = 0, parameters: Mapping[str, int] | None = None) -> None:
        self.parameters: FlatDict[str, int] = FlatDict(parameters or {})
        Collector.world_made()
        self.clock = Clock()
        self.streams = Streams(seed)
        self.digest = Digest()
        self._simpy: dict[str, SimpyEnvironment] = {}

    def parameter(self, name: str, usual: int) -> int:
        """A figure of this world: what it was given under the name, or what is usual."""
        return self.parameters.get(name, usual)

    @property
    def seed(self) -> int:
        """The seed from which every random draw follows."""
        return self.streams.seed

    @property
    def now(self) -> int:
        """Simulated nanoseconds since the epoch of the world."""
        return self.clock._now

    def after(self, delay_ns: int, fn: Callable[..., None], *args: Any) -> Timer:
        """Call `fn(*args)` after `delay_ns` >= 0 nanoseconds."""
        assert delay_ns >= 0, delay_ns
        clock = self.clock
        at_ns = clock._now + delay_ns
        timer = Timer(at_ns, fn, args)
        clock._sequence = sequence = clock._sequence + 1
        heappush(clock._queue, (at_ns, 1, sequence, timer))
        return timer

    def at(self, t_ns: int, fn: Callable[..., None], *args: Any) -> Timer:
        """Call `fn(*args)` at the instant `t_ns`, not before now."""
        return self.after(t_ns - self.now, fn, *args)

    def every(self, period_ns: int, fn: Callable[..., None], *args: Any, first_ns: int | None = None) -> Timer:
        """Call `fn(*args)` periodically.

        Args:
            period_ns: distance of two calls, > 0.
            first_ns: instant of the first call; by default the next multiple of the period
                that is later than now, so that equal periods share one grid.
        """
        assert period_ns > 0, period_ns
        start = (self.now // period_ns + 1) * period_ns if first_ns is None else first_ns
        assert start >= self.now, (start, self.now)
        timer = Repeating(self.clock, start, period_ns, fn, args)
        self.clock.push(timer)
        return timer

    def simpy(self, unit: str = "1s") -> SimpyEnvironment:
        """An environment of SimPy on this simulation's clock, the same for the same unit.

        Args:
            unit: Go duration that is one unit of its float time.
        """
        if unit not in self._simpy:
            self._simpy[unit] = SimpyEnvironment(self.clock, unit)
        return self._simpy[unit]

    def stream(self, *identity: str | int) -> Stream:
        """A fresh random stream of the identity."""
        return self.streams.stream(*identity)

    def reseed(self, seed: int) -> None:
        """From now on what is drawn follows from another seed; what was so before stays. See `Snapshot.restore`."""
        self.streams.luck = seed
        self.record("reseed", str(seed))

    def run_until(self, t_ns: int) -> None:
        """Advance to the instant `t_ns`."""
        self.clock.run_until(t_ns)

    def run_for(self, duration_ns: int) -> None:
        """Advance by `duration_ns`."""
        self.clock.run_until(self.now + duration_ns)

    def appointment(self, after_ns: int) -> int | None:
        """Instant of the first timer later than `after_ns` that goes off once, or None."""
        return self.clock.appointment(after_ns)

    def leap(self, span_ns: int, near_ns: int) -> None:
        """Stand `span_ns` later with nothing fired in between: see `Clock.leap`. It is for `World.leap`.

        Raises:
            ValueError: a process of SimPy lives beside the cluster, whose time is its own.
        """
        if self._simpy:
            raise ValueError("time cannot be skipped beside processes of SimPy")
        self.clock.leap(span_ns, near_ns)
        self.record("leap", str(span_ns))

    def record(self, kind: str, payload: str | bytes) -> None:
        """Chain a fact of the present instant into the digest."""
        self.digest.add(self.now, kind, payload.encode() if isinstance(payload, str) else payload)
