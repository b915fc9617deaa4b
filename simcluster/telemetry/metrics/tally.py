"""A histogram as a program keeps it: how many durations fell into each bucket, and their sum."""

from __future__ import annotations

from bisect import bisect_left

from simcluster.engine import SECOND, Flat


class Bounds(tuple[int, ...]):
    """Upper ends of buckets in nanoseconds, ascending; `shown` are their labels.

    Args:
        shown: in seconds, as Go prints them.
    """

    shown: tuple[str, ...]

    @classmethod
    def of(cls, *shown: str) -> Bounds:
        """Bounds by their labels."""
        found = cls(int(float(text) * SECOND + 0.5) for text in shown)
        found.shown = shown
        return found


class Tally(Flat):
    """Durations that were observed."""

    __slots__ = ("_bounds", "_counts", "_sum_ns")

    def __init__(self, bounds: tuple[int, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum_ns = 0

    def copy(self) -> Tally:
        """Another one with the same counts."""
        other = Tally.__new__(Tally)
        other._bounds, other._counts, other._sum_ns = self._bounds, self._counts.copy(), self._sum_ns
        return other

    def observe(self, duration_ns: int) -> None:
        """A duration."""
        self._counts[bisect_left(self._bounds, duration_ns)] += 1
        self._sum_ns += duration_ns

    def numbers(self) -> list[float]:
        """As the columns of a histogram have it: cumulative buckets, sum in seconds, count."""
        found: list[float] = []
        total = 0
        for count in self._counts:
            total += count
            found.append(total)
        return [*found, self._sum_ns / SECOND, total]
