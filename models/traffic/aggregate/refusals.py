"""Which share of every edge's attempts was refused in each of the last ticks.

A full queue is still nearly full when who was refused comes again after a short back-off: requests that walk
ask for the share at their instant, not for the mean. Nothing is kept until somebody is refused.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Refusals:
    """Shares of the last ticks.

    Args:
        slots: how many ticks are remembered.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._ring: Array | None = None
        self._newest = self._last = -1

    @property
    def remembers(self) -> bool:
        """Whether anybody was refused lately."""
        return self._ring is not None

    def note(self, tick: int, share: Array) -> None:
        """Remember the shares of a tick, by edge."""
        refusing = bool(share.any())
        if self._ring is None:
            if not refusing:
                return
            self._ring = np.zeros((self._slots, len(share)))
            self._newest = tick - 1
        if tick > self._newest + 1:
            skipped = np.arange(max(self._newest + 1, tick - self._slots + 1), tick)
            self._ring[skipped % self._slots] = 0.0
        self._ring[tick % self._slots] = share
        self._newest = tick
        if refusing:
            self._last = tick
        elif tick - self._last > self._slots:
            self._ring = None

    def at(self, edge: int, when: Array) -> Array | None:
        """Shares at some instants (ticks); None: nobody was refused lately."""
        if self._ring is None:
            return None
        tick = np.minimum(np.maximum(np.floor(when), self._newest - self._slots + 2.0), float(self._newest))
        found: Array = self._ring[np.maximum(tick, 0.0).astype(np.int64) % self._slots, edge]
        return found

    def shift(self, ticks: int) -> None:
        """Go on `ticks` later with the same shares."""
        if self._ring is not None:
            self._ring = np.roll(self._ring, ticks, axis=0)
            self._newest, self._last = self._newest + ticks, self._last + ticks
