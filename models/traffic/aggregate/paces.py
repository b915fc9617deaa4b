"""How fast requests were served meanwhile: whoever began before a pod slowed down was served at both speeds.

After a change of speed the work that a request of every lane could have had done is summed up, tick by tick, for as
long as somebody may be judged who began before it. The speed of a request is the mean one from its beginning to now.

Approximation: while nobody is judged, speeds are those of the last judgement.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: A tick that does not come.
_NEVER = 1 << 60


class Paces:
    """Speeds of lanes, now and in the last ticks.

    Args:
        speed: of every lane now.
        slots: so many ticks ago somebody may have begun.

    Attributes:
        speed: of every lane, against the described; `moved`: the tick at which it changed last.
        done: ring [slot, lane]: what could have been done by the start of a tick; empty if nothing changed.
    """

    def __init__(self, speed: Array, slots: int) -> None:
        self.speed = speed.copy()
        self.slots = slots
        self.moved = np.full(1, -1, dtype=np.int64)
        self.done: Array = np.zeros((0, len(speed)))
        self._tick = 0

    def note(self, tick: int, speed: Array) -> None:
        """From the start of this tick on speeds are these."""
        if tick >= self.due:
            self.done = self.done[:0].copy()
        same = bool((speed == self.speed).all())
        if len(self.done):
            for later in range(self._tick + 1, tick + 1):
                self.done[later % self.slots] = self.done[(later - 1) % self.slots] + self.speed
        elif not same:
            self.done = np.zeros((self.slots, len(speed)))
            for ago in range(self.slots):
                self.done[(tick - ago) % self.slots] = -float(ago) * self.speed
        if not same:
            self.speed = speed.copy()
            self.moved[0] = tick
        self._tick = tick

    @property
    def due(self) -> int:
        """The tick at which everybody has begun at the speeds of now, if somebody has not."""
        return int(self.moved[0]) + self.slots + 1 if len(self.done) else _NEVER

    def went_on(self, tick: int) -> None:
        """The ring was filled elsewhere up to this tick."""
        self._tick = tick

    def since(self, tick: int, lanes: NDArray[np.int64], begun: Array) -> Array:
        """Mean speeds of lanes (rows) from these instants (columns, in ticks) to the start of a tick."""
        now = np.repeat(self.speed[lanes][:, None], begun.shape[1], axis=1)
        if not len(self.done):
            return now
        at = np.minimum(np.maximum(begun, tick + 1.0 - self.slots), float(tick))
        whole = np.floor(at).astype(np.int64)
        column = lanes[:, None]
        low, high = (self.done[np.minimum(whole + more, tick) % self.slots, column] for more in (0, 1))
        then = low + (at - whole) * (high - low)
        gone = tick - at
        mean = (self.done[tick % self.slots, column] - then) / np.maximum(gone, 1e-300)
        result: Array = np.where((begun < float(self.moved[0])) & (gone > 0.0), mean, now)
        return result
