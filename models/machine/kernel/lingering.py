"""Entries of a table that came at known rates and end by themselves: state only where a rate or a lifetime changes."""

from __future__ import annotations

from simcluster.engine import SECOND, Flat


class Lingering(Flat):
    """What comes at a piecewise constant rate a second and stays for the lifetime that held when it came.

    Example: entries of connections that are closed, each of which ends 120 s after its connection.
    """

    __slots__ = ("_steps",)

    def __init__(self) -> None:
        self._steps: list[tuple[int, float, int]] = []  # since when, how many a second, for how long each stays

    def copy(self) -> Lingering:
        """Another one with the same past."""
        other = Lingering()
        other._steps = self._steps.copy()
        return other

    def set(self, now_ns: int, rate: float, lifetime_ns: int) -> None:
        """From now on `rate` come a second, and each stays so long; what is there keeps its own end."""
        if self._steps and self._steps[-1][1:] == (rate, lifetime_ns):
            return
        if self._steps and self._steps[-1][0] == now_ns:
            self._steps.pop()
        self._steps.append((now_ns, rate, lifetime_ns))
        while len(self._steps) > 1 and self._steps[1][0] + self._steps[0][2] <= now_ns:
            self._steps.pop(0)

    def total(self, now_ns: int) -> float:
        """How many are there."""
        found, end = 0.0, now_ns
        for since, rate, lifetime in reversed(self._steps):
            begin = max(since, now_ns - lifetime)
            if begin < end:
                found += rate * (end - begin) / SECOND
            end = min(end, since)
        return found

    def ending(self, now_ns: int) -> float:
        """How many a second end now."""
        found, end = 0.0, now_ns + 1  # what does not stay at all ends as it comes
        for since, rate, lifetime in reversed(self._steps):
            if since <= now_ns - lifetime < end:
                found += rate
            end = since
        return found

    def thin(self, now_ns: int, kept: float) -> None:
        """So large a share of what is there, whatever its age, stays; the others are taken away."""
        if not self._steps or kept >= 1.0:
            return
        _, rate, lifetime = self._steps[-1]
        self._steps = [(since, before * kept, stays) for since, before, stays in self._steps if since < now_ns]
        self._steps.append((now_ns, rate, lifetime))
