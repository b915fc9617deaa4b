"""SimPy beside the cluster: an Environment with float time on the simulation's own clock.

Processes, timeouts, conditions, interrupts, resources, containers and stores of SimPy run on it unmodified. What it
leaves out: a copy. A generator cannot be copied, so that while a process lives a fork, a snapshot and a pickle of the
world are refused with the names of those that live; when all have ended, forks work again.
"""

from __future__ import annotations

import copyreg
import math
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import simpy
from simpy.core import EmptySchedule, SimTime, StopSimulation
from simpy.events import NORMAL, URGENT, Event, EventPriority, Initialize, Process
from simpy.resources.base import BaseResource, Get, Put

from simcluster.engine.clock import parse_duration

#: Names that a refusal lists; more are counted.
_NAMED = 8


class NotForkable(Exception):
    """What SimPy keeps outside the world is still at work in it; the message names processes, events and resources."""


class NanosecondClock(Protocol):
    """The clock of a simulation."""

    @property
    def now_ns(self) -> int:
        """Simulated nanoseconds."""

    def push_call(self, at_ns: int, priority: int, fn: Callable[..., None], *args: Any) -> None:
        """Call `fn(*args)` at an instant; of one instant, lower priorities are served first."""

    def next_at(self) -> int | None:
        """Instant of the next timer, or None."""

    def step(self) -> None:
        """Serve the next timer. Raises simpy's EmptySchedule."""


class SimpyEnvironment(simpy.Environment):
    """A `simpy.Environment` whose events are timers of a simulation; made by `Simulation.simpy`.

    Args:
        clock: of the simulation. Its cluster lives on between the events of this environment.
        unit: Go duration that is one unit of its time.

    Raises:
        ValueError: `unit` is no duration, or not above zero.
    """

    def __init__(self, clock: NanosecondClock, unit: str) -> None:
        # Not super().__init__(): it binds event classes as instance attributes, which cannot be pickled.
        self._clock = clock
        self.unit_ns = parse_duration(unit)
        if self.unit_ns <= 0:
            raise ValueError(f"a unit of time has to be above zero, not {unit}")
        self._queue = []  # of the event that is being processed
        self._active_proc = None
        self._alive: dict[Process, None] = {}  # in the order of their beginning
        self._scheduled: dict[int, Event] = {}  # by number
        self._number = 0

    @property
    def now(self) -> float:
        """Simulated time since the epoch of the world, in this environment's unit."""
        return self._clock.now_ns / self.unit_ns

    def nanoseconds(self, time: SimTime) -> int:
        """The only place where float time becomes integer: to the nearest nanosecond, halves to the even one."""
        return round(self.unit_ns * time)

    def schedule(self, event: Event, priority: EventPriority = NORMAL, delay: SimTime = 0) -> None:
        """Have an event processed after a delay. One with an infinite delay never is."""
        if isinstance(event, Initialize):
            process = event.callbacks[0].__self__  # type: ignore[attr-defined]
            self._alive[process] = None
        elif isinstance(event, Process):
            self._alive.pop(event, None)
        elif isinstance(event, (Put, Get)):
            copyreg.pickle(type(event.resource), _refuse_resource)  # a class of the user's own, perhaps
        if delay != math.inf:
            self._schedule_at(event, priority, self._clock.now_ns + self.nanoseconds(delay))

    def _schedule_at(self, event: Event, priority: EventPriority, at_ns: int) -> None:
        self._number += 1
        self._scheduled[self._number] = event
        self._clock.push_call(at_ns, priority, self._process, self._number)

    def _process(self, number: int) -> None:
        """What SimPy does with an event whose instant has come."""
        self._queue.append((self.now, NORMAL, number, self._scheduled.pop(number)))
        super().step()

    def peek(self) -> SimTime:
        """Time of the next timer, be it of the cluster; infinity if there is none."""
        at_ns = self._clock.next_at()
        return math.inf if at_ns is None else at_ns / self.unit_ns

    def step(self) -> None:
        """Serve the next timer, be it of the cluster. Raises EmptySchedule."""
        self._clock.step()

    def run(self, until: SimTime | Event | None = None) -> Any:
        """Let everything live on, the cluster too. Not to be called from within a process.

        Args:
            until: an instant, whose own events are not processed; an event, whose value is returned; or None: until
                nothing of this environment is scheduled any more.

        Raises:
            ValueError: an instant that is not after now.
            RuntimeError: nothing is left that could trigger the event.
        """
        if until is None:
            while self._scheduled:
                self._clock.step()
            return None
        stop = until if isinstance(until, Event) else self._stop_at(until)
        if stop.processed:
            return stop.value
        stop.callbacks.append(StopSimulation.callback)
        try:
            while True:
                self._clock.step()
        except StopSimulation as reached:
            return reached.args[0]
        except EmptySchedule:
            raise RuntimeError(f'No scheduled events left but "until" event was not triggered: {stop}') from None
        finally:
            if stop.callbacks is not None and StopSimulation.callback in stop.callbacks:
                stop.callbacks.remove(StopSimulation.callback)

    def _stop_at(self, instant: SimTime) -> Event:
        at_ns = self.nanoseconds(instant)
        if at_ns <= self._clock.now_ns:
            raise ValueError(f"until ({instant}) must be greater than the current simulation time")
        stop = Event(self)
        stop._ok, stop._value = True, None
        self._schedule_at(stop, URGENT, at_ns)
        return stop

    def __getstate__(self) -> dict[str, Any]:
        alive = list(self._alive)
        names = [f"process {process.name}, which waits for {_described(process.target)}" for process in alive]
        awaited = [process.target for process in alive]
        # What nobody waits for any more, such as a patience that was not needed, can be copied.
        names += [_described(each) for each in self._scheduled.values() if each.callbacks and each not in awaited]
        if names:
            more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            listed = "; ".join(names[:_NAMED])
            raise NotForkable(f"SimPy is at work in this world, which therefore cannot be copied: {listed}{more}")
        return self.__dict__.copy()


def _described(event: Event | None) -> str:
    """An event, with the resource that it is about."""
    if event is None:
        return "an interrupt"
    resource = getattr(event, "resource", None)
    return event._desc() + (f" of a {type(resource).__name__}" if resource is not None else "")


def _refuse_resource(resource: BaseResource[Any, Any]) -> NoReturn:
    raise NotForkable(f"a {type(resource).__name__} of SimPy cannot be copied: keep it outside of the world")


for _kind in (
    *(simpy.Resource, simpy.PriorityResource, simpy.PreemptiveResource),
    *(simpy.Container, simpy.Store, simpy.PriorityStore, simpy.FilterStore),
):
    copyreg.pickle(_kind, _refuse_resource)
