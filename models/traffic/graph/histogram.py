"""Durations counted in bins of equal ratio: quantiles within half a percent, in bounded memory.

128 bins for each doubling; a duration of 0 has a bin of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

#: Bins of one doubling; the relative width of a bin is at most 1/128.
PER_OCTAVE = 128


class Histogram:
    """Counts by bin, and the exact count, sum and maximum."""

    __slots__ = ("bins", "count", "maximum", "total")

    def __init__(self) -> None:
        self.bins: dict[int, int] = {}
        self.count = 0
        self.total = 0
        self.maximum = 0

    def add(self, value: int, times: int = 1) -> None:
        """Count a duration in whole nanoseconds, >= 0."""
        mantissa, exponent = math.frexp(value)
        index = exponent * PER_OCTAVE + int(mantissa * 256.0) if value else 0
        self.bins[index] = self.bins.get(index, 0) + times
        self.count += times
        self.total += value * times
        if value > self.maximum:
            self.maximum = value

    def add_all(self, values: Sequence[int]) -> None:
        """Count many durations at once."""
        if len(values) < 48:  # below that NumPy's calls cost more than they save
            for value in values:
                self.add(value)
            return
        array = np.array(values, dtype=np.int64)
        mantissas, exponents = np.frexp(array.astype(np.float64))
        indices = exponents.astype(np.int64) * PER_OCTAVE + (mantissas * 256.0).astype(np.int64)
        found, counts = np.unique(indices, return_counts=True)
        for index, times in zip(found.tolist(), counts.tolist(), strict=True):
            self.bins[index] = self.bins.get(index, 0) + times
        self.count += len(values)
        self.total += int(array.sum())
        self.maximum = max(self.maximum, int(array.max()))

    def add_weighed(self, values: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        """Count every duration (whole nanoseconds, >= 0) so many times (> 0)."""
        if len(values) < 48:
            for value, many in zip(values.tolist(), times.tolist(), strict=True):
                self.add(value, many)
            return
        mantissas, exponents = np.frexp(values.astype(np.float64))
        indices = exponents.astype(np.int64) * PER_OCTAVE + (mantissas * 256.0).astype(np.int64)
        order = np.argsort(indices, kind="stable")
        sorted_, many = indices[order], times[order]
        starts = np.nonzero(np.diff(sorted_, prepend=sorted_[0] - 1))[0]
        counts = np.add.reduceat(many, starts)
        for index, count in zip(sorted_[starts].tolist(), counts.tolist(), strict=True):
            self.bins[index] = self.bins.get(index, 0) + count
        self.count += int(times.sum())
        self.total += sum(
            value * count for value, count in zip(values.tolist(), times.tolist(), strict=True)
        )  # integers
        self.maximum = max(self.maximum, int(values.max()))

    def merge(self, other: Histogram) -> None:
        """Add all that another one counted."""
        for index, times in other.bins.items():
            self.bins[index] = self.bins.get(index, 0) + times
        self.count += other.count
        self.total += other.total
        self.maximum = max(self.maximum, other.maximum)

    @property
    def mean(self) -> float:
        """Mean in nanoseconds; 0 when nothing was counted."""
        return self.total / self.count if self.count else 0.0

    def quantile(self, share: float) -> float:
        """The duration that a share of what was counted stays below, in nanoseconds; 0 when empty."""
        if not self.count:
            return 0.0
        wanted, seen = share * self.count, 0
        for index in sorted(self.bins):
            here = self.bins[index]
            if seen + here >= wanted:
                return self._inside(index, (wanted - seen) / here)
            seen += here
        return float(self.maximum)

    def share_above(self, value: float) -> float:
        """Share of what was counted that is above a duration >= 0 in nanoseconds."""
        above = 0.0
        for index, here in self.bins.items():
            if index == 0:
                continue
            low, high = edges(index)
            above += here * (1.0 if low >= value else 0.0 if high <= value else (high - value) / (high - low))
        return above / self.count if self.count else 0.0

    def _inside(self, index: int, share: float) -> float:
        low, high = edges(index)
        return min(low + (high - low) * share, float(self.maximum))


def edges(index: int) -> tuple[float, float]:
    """Lowest duration of a bin and of the next one, in nanoseconds."""
    if index == 0:
        return 0.0, 0.0
    exponent, part = divmod(index - PER_OCTAVE, PER_OCTAVE)
    return math.ldexp((part + 128) / 256.0, exponent), math.ldexp((part + 129) / 256.0, exponent)


def summary(histogram: Histogram) -> Mapping[str, float]:
    """Mean, p50, p90, p95, p99, p99.9 and maximum in seconds."""
    shares = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999))
    values = {name: histogram.quantile(share) / 1e9 for name, share in shares}
    return {"mean": histogram.mean / 1e9, **values, "max": histogram.maximum / 1e9}
