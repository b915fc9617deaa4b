"""Work that lies before a drive: what its loads bring, less what it has done; and how long it was busy.

Each load brings work at an even pace during its own tick. While they bring less than the drive can do nothing
is left over; what is more piles up and is worked off later. Between two calls everything is a function of the clock.
"""

from __future__ import annotations

import math


class Workload:
    """Work before one drive.

    Attributes:
        left_ns: work that was left over when it was last settled.
        busy_ns: how long the drive was busy until then.
    """

    def __init__(self, now_ns: int, *, serial: bool) -> None:
        self.left_ns = 0.0
        self.busy_ns = 0.0
        self._serial = serial
        self._settled_ns = now_ns
        self._loads: dict[str, tuple[float, float, int]] = {}  # owner -> work offered, busy share, until when

    def bring(self, owner: str, offered: float, busy: float, now_ns: int, until_ns: int) -> None:
        """A load brings `offered` seconds of work a second until an instant; alone it keeps the drive `busy`."""
        self.settle(now_ns)
        self._loads[owner] = (offered, busy, until_ns)

    def drop(self, owner: str, now_ns: int) -> None:
        """A load ends."""
        self.settle(now_ns)
        self._loads.pop(owner, None)

    def clear(self, now_ns: int) -> None:
        """Nothing is left."""
        self.settle(now_ns)
        self._loads.clear()
        self.left_ns = 0.0

    def settle(self, now_ns: int) -> None:
        """Bring `left_ns` and `busy_ns` up to date."""
        self.left_ns, busy = self._passed(now_ns)
        self.busy_ns += busy
        self._settled_ns = max(self._settled_ns, now_ns)
        for owner in [owner for owner, (_, _, until) in self._loads.items() if until <= now_ns]:
            del self._loads[owner]

    def left(self, now_ns: int) -> float:
        """Work that is left over at an instant, ns."""
        return self._passed(now_ns)[0]

    def busy(self, now_ns: int) -> float:
        """How long the drive was busy until an instant, ns."""
        return self.busy_ns + self._passed(now_ns)[1]

    def utilisation(self, now_ns: int) -> float:
        """Busy share at an instant."""
        active = [load for load in self._loads.values() if load[2] > now_ns]
        if self.left(now_ns) > 0.0:
            return 1.0
        return self._share(active)

    def _share(self, active: list[tuple[float, float, int]]) -> float:
        if self._serial:
            return min(1.0, math.fsum(load[0] for load in active))
        idle = 1.0
        for load in active:
            idle *= 1.0 - load[1]
        return 1.0 - idle

    def _passed(self, now_ns: int) -> tuple[float, float]:
        """What is left over at an instant, and how long the drive was busy since it was last settled."""
        left, busy, time = self.left_ns, 0.0, self._settled_ns
        for end in sorted({min(until, now_ns) for _, _, until in self._loads.values() if until > time} | {now_ns}):
            span = end - time
            if span <= 0:
                continue
            active = [load for load in self._loads.values() if load[2] > time]
            offered = math.fsum(load[0] for load in active)
            after = left + span * (offered - 1.0)
            if after > 0.0:
                busy += span
            elif left > 0.0:
                emptied = min(float(span), left / max(1e-9, 1.0 - offered))
                busy += emptied + (span - emptied) * self._share(active)
            else:
                busy += span * self._share(active)
            left, time = max(0.0, after), end
        return left, busy
