"""Queues that serve who came last first: of everybody who waits it is known when he came.

Such a queue is a stack. In a tick it sinks to its lowest level (the minimum of the Brownian bridge between its ends,
`queues`) and rises to its end; what lies above the lowest level came in this tick, and what lay there before has
begun service, the newest first. Who lies at some height waits until the stack has sunk to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.grid import turned

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.queues import Queues

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Not begun yet.
NEVER = 1e300


class Stacks:
    """The stacks of some pods, over the last ticks.

    Attributes:
        pods: whose queues are stacks; `place` of every pod among them.
        rest: of the arrivals of each of the last ticks those that wait still [slot, stack]; `came` all of them.
        half: when half of them had begun.
    """

    def __init__(self, lifo: NDArray[np.bool_], slots: int) -> None:
        self.pods = np.nonzero(lifo)[0]
        self.place = np.maximum(np.cumsum(lifo) - 1, 0)
        shape = (slots, len(self.pods))
        self.rest, self.came, self._floor, self._top = (np.zeros(shape) for _ in range(4))
        self.half = np.full(shape, -1.0)
        self._taken = np.zeros(shape[1])  # from below so far: heights are counted from what once was the ground
        self._number, self._level = np.zeros(shape[1]), np.zeros(shape[1])

    def __bool__(self) -> bool:
        return len(self.pods) > 0

    def begin(self, queues: Queues) -> None:
        """The start of a tick."""
        self._number, self._level = queues.number[self.pods], queues.waiting[self.pods]

    def end(self, tick: int, queues: Queues) -> None:
        """The end of a tick: who has begun."""
        pods, slots, slot = self.pods, len(self.rest), tick % len(self.rest)
        waiting = queues.waiting[pods]
        x = queues.number[pods] - self._number
        lowest = self._number + 0.5 * (x - np.sqrt(x * x + queues._low[pods])) - queues.shift[pods]
        lowest = np.minimum(np.maximum(lowest, 0.0), np.minimum(self._level, waiting))
        newest = (tick - 1 - np.arange(slots - 1)) % slots
        there = self.rest[newest]
        above = np.cumsum(there, axis=0) - there
        begun = np.minimum(np.maximum(self._level - lowest - above, 0.0), there)
        self.rest[newest] = there - begun
        self.came[slot] = queues.arrived[pods]
        self.rest[slot] = np.minimum(waiting - lowest, self.came[slot])
        self._floor[slot], self._top[slot] = lowest + self._taken, waiting + self._taken
        many = self.rest <= 0.5 * self.came
        self.half = np.where(many, np.where(self.half < NEVER, self.half, tick + 1.0), NEVER)
        self.half[slot] = np.where(many[slot], float(tick), NEVER)

    def take(self, units: Array) -> None:
        """Requests leave unserved, the oldest first; by pod."""
        units = np.minimum(units[self.pods], self._level)
        self._number, self._level = self._number - units, self._level - units
        self._taken = self._taken + units
        below = self._level + units - np.cumsum(self.rest, axis=0)[-1]  # older than what the ring remembers
        order = np.argsort(self._floor + self._top, axis=0, kind="stable")
        there = np.take_along_axis(self.rest, order, axis=0)
        under = np.cumsum(there, axis=0) - there + np.maximum(below, 0.0)
        gone = np.minimum(np.maximum(units - under, 0.0), there)
        np.put_along_axis(self.rest, order, there - gone, axis=0)

    def unserved(self, border: Index, pod: Index) -> Array:
        """Share of the arrivals of these ticks at these pods that wait still."""
        slot, place = border % len(self.rest), self.place[pod]
        share: Array = np.minimum(self.rest[slot, place] / np.maximum(self.came[slot, place], 1e-300), 1.0)
        return share

    def left_over(self, tick: Index, pod: Index) -> Array:
        """Share of the arrivals of these ticks at these pods that waited when the tick ended."""
        slot, place = tick % len(self.rest), self.place[pod]
        over = self._top[slot, place] - self._floor[slot, place]
        share: Array = np.minimum(over / np.maximum(self.came[slot, place], 1e-300), 1.0)
        return share

    def waits(self, pod: Index, at: Array, newest: int, u: Array, v: Array) -> Array:
        """How long those wait who came at these instants and were not served at once; from two uniforms each."""
        place, slots = self.place[pod], len(self.rest)
        tick = np.minimum(np.maximum(np.floor(at), newest - slots + 2.0), float(newest)).astype(np.int64)
        low, high = self._floor[tick % slots, place], self._top[tick % slots, place]
        height = low + u * (high - low)
        result = np.full(len(at), 1e9)
        open_ = np.ones(len(at), dtype=bool)
        for step in range(1, slots):
            now = tick + step
            found = open_ & (now <= newest) & (self._floor[now % slots, place] <= height)
            result = np.where(found, now + v - at, result)
            open_ &= ~found & (now < newest)
            if not open_.any():
                break
        return result

    def empty(self, pods: Index) -> None:
        """All that these pods hold is gone."""
        here = self.place[pods[np.isin(pods, self.pods)]]
        self.rest[:, here] = 0.0
        self._number[here] = self._level[here] = 0.0

    def settle(self, instants: Array) -> None:
        """Nobody waits for long; whose time has come when."""
        self.rest[:] = self._floor[:] = self._top[:] = 0.0
        self._taken[:] = 0.0
        self.half = instants[:, self.pods].copy()

    def shift(self, ticks: int) -> None:
        """Go on `ticks` later with everything as old as before."""
        self.rest, self.came = turned(self.rest, ticks), turned(self.came, ticks)
        self._floor, self._top = turned(self._floor, ticks), turned(self._top, ticks)
        late = turned(self.half, ticks)
        self.half = np.where(late >= NEVER, NEVER, late + ticks)
