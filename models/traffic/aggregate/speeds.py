"""How fast every pod was in each of the last ticks: what a request does takes as long as its pod was slow then.

Work that is in progress when a pod gets slower (or stands still) is finished at the new speed. While no speed has
changed within what the rings remember, one speed a pod is all there is to know.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.queues import Queues

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: A speed of zero.
_STILL = 1e-9


class Speeds:
    """Speeds of all pods, against those described.

    Args:
        queues: whose rings tell how long to remember.
    """

    def __init__(self, queues: Queues) -> None:
        self._slots = queues.slots
        self._ring: Array | None = None
        self._first = self._newest = 0
        self._changed = -1
        self._last = self.now(queues)
        self._held: Array | None = None

    @staticmethod
    def now(queues: Queues) -> Array:
        """Speeds of now."""
        result: Array = np.maximum(queues.factor * queues.up, _STILL)
        return result

    def hold(self, speed: Array | None) -> None:
        """Walk at these speeds, whatever came later; None: at those that were."""
        self._held = speed

    def constant(self) -> Array | None:
        """Speeds of all pods if there is but one of each; None: they changed."""
        return self._held if self._held is not None else self._last if self._ring is None else None

    def note(self, tick: int, queues: Queues) -> None:
        """Remember the speeds of a fine tick."""
        now = self.now(queues)
        if self._ring is None and bool((now == self._last).all()):
            self._newest = tick
            return
        if self._ring is None:
            self._ring = np.repeat(self._last[None, :], self._slots, axis=0)
            self._first = max(0, tick - self._slots + 1)
        if tick > self._newest + 1:  # wide ticks and leaps between: as fast as they were at their end
            skipped = np.arange(max(self._newest + 1, tick - self._slots + 1), tick)
            self._ring[skipped % self._slots] = self._last
        self._ring[tick % self._slots] = now
        self._newest = tick
        if not bool((now == self._last).all()):
            self._changed, self._last = tick, now
        elif tick - self._changed >= self._slots:
            self._ring = None

    def lasts(self, pod: Index, begin: Array, work: Array, other: Array) -> Array:
        """How long work that begins at these instants (ticks) lasts on these pods, with other time after it."""
        speed = self.constant()
        if speed is not None:
            return work / speed[pod] + other
        assert self._ring is not None
        result = np.empty(len(pod))
        low = max(self._first, self._newest - self._slots + 2)
        edges = np.arange(low, self._newest + 2, dtype=np.float64)
        rows = self._ring[np.arange(low, self._newest + 1) % self._slots]
        for number in np.unique(pod).tolist():
            here = pod == number
            result[here] = self._integrated(edges, rows[:, number], begin[here], work[here])
        return result + other

    @staticmethod
    def _integrated(edges: Array, speed: Array, begin: Array, work: Array) -> Array:
        """Time that work takes at speeds that change at these edges; the first and the last hold outside."""
        done = np.concatenate(([0.0], np.cumsum(speed)))
        early, late = np.minimum(begin - edges[0], 0.0) * speed[0], np.maximum(begin - edges[-1], 0.0) * speed[-1]
        goal = np.interp(begin, edges, done) + early + late + work
        inside = np.interp(goal, done, edges)
        ends = np.where(
            goal > done[-1], edges[-1] + (goal - done[-1]) / speed[-1],
            np.where(goal < 0.0, edges[0] + goal / speed[0], inside),
        )  # fmt: skip
        result: Array = np.maximum(ends - begin, 0.0)
        return result
