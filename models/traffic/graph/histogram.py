"""Durations counted in bins of equal ratio: quantiles within half a percent, in bounded memory.

128 bins for each doubling; a duration of 0 has a bin of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

#: Bins of one doubling; the relative width of a bin is at most 1/128.
PER_OCTAVE = 128


#: Samples, for how many durations they stand, and the tick of their times.
Drawn = tuple[tuple[NDArray[np.float64], ...], int, int]
#: A duration of so many ticks says that nobody ever served the request.
_ENDLESS = 1e9


class Later(Protocol):
    """Says what stands for many windows when it is asked."""

    def drawn(self) -> list[Drawn]:
        """Samples of each of them."""
        ...


class Histogram:
    """Counts by bin, and the exact count, sum and maximum.

    What is drawn from samples is counted when somebody looks: most rows of a long series are never looked at.
    """

    __slots__ = ("_bins", "_count", "_drawn", "_later", "_maximum", "_total")

    def __init__(self) -> None:
        self._bins: dict[int, int] | None = None  # until something is counted: most rows of a series never are
        self._count = 0
        self._total = 0
        self._maximum = 0
        self._drawn: tuple[Drawn, ...] | list[Drawn] = ()
        self._later: tuple[Later, ...] = ()

    @property
    def bins(self) -> dict[int, int]:
        """Counts by bin."""
        self._draw()
        return self._counts()

    def _counts(self) -> dict[int, int]:
        if self._bins is None:
            self._bins = {}
        return self._bins

    @property
    def count(self) -> int:
        """How many durations there are."""
        self._draw()
        return self._count

    @property
    def total(self) -> int:
        """Their sum in nanoseconds."""
        self._draw()
        return self._total

    @property
    def maximum(self) -> int:
        """The longest one in nanoseconds."""
        self._draw()
        return self._maximum

    def stand_for(self, samples: Sequence[NDArray[np.float64]], count: int, tick_ns: int) -> None:
        """Let samples (rows: times in ticks, weights) stand for `count` durations."""
        if count > 0 and samples:
            self._drawn = (*self._drawn, (tuple(samples), count, tick_ns))

    def stand_for_later(self, later: Later) -> None:
        """The same for samples that are looked up when somebody looks here."""
        self._later = (*self._later, later)

    def _draw(self) -> None:
        """Count what samples stand for."""
        if not self._drawn and not self._later:
            return
        drawn = [*self._drawn, *(each for later in self._later for each in later.drawn())]
        self._drawn = self._later = ()
        found = [each for each in (_durations(*one) for one in drawn) if each is not None]
        if found:
            self._add_weighed(np.concatenate([one[0] for one in found]), np.concatenate([one[1] for one in found]))

    def add(self, value: int, times: int = 1) -> None:
        """Count a duration in whole nanoseconds, >= 0."""
        mantissa, exponent = math.frexp(value)
        index = exponent * PER_OCTAVE + int(mantissa * 256.0) if value else 0
        bins = self._counts()
        bins[index] = bins.get(index, 0) + times
        self._count += times
        self._total += value * times
        if value > self._maximum:
            self._maximum = value

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
        bins = self._counts()
        for index, times in zip(found.tolist(), counts.tolist(), strict=True):
            bins[index] = bins.get(index, 0) + times
        self._count += len(values)
        self._total += int(array.sum())
        self._maximum = max(self._maximum, int(array.max()))

    def _add_weighed(self, values: NDArray[np.int64], times: NDArray[np.int64]) -> None:
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
        bins = self._counts()
        for index, count in zip(sorted_[starts].tolist(), counts.tolist(), strict=True):
            bins[index] = bins.get(index, 0) + count
        self._count += int(times.sum())
        each = zip(values.tolist(), times.tolist(), strict=True)
        self._total += sum(value * count for value, count in each)  # integers
        self._maximum = max(self._maximum, int(values.max()))

    def merge(self, other: Histogram) -> None:
        """Add all that another one counted."""
        if other._bins:
            bins = self._counts()
            for index, times in other._bins.items():
                bins[index] = bins.get(index, 0) + times
            self._count += other._count
            self._total += other._total
            self._maximum = max(self._maximum, other._maximum)
        if other._drawn:
            if not isinstance(self._drawn, list):
                self._drawn = list(self._drawn)
            self._drawn.extend(other._drawn)
        self._later += other._later

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


def _durations(
    samples: tuple[NDArray[np.float64], ...], count: int, tick_ns: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Durations in nanoseconds and how many there are of each."""
    values, weights = np.concatenate(samples, axis=1)
    ends = values < _ENDLESS
    values, weights = values[ends], weights[ends]
    total = np.cumsum(weights)
    if not len(values) or total[-1] <= 0.0:
        return None
    ns = np.floor(np.maximum(values, 0.0) * tick_ns + 0.5).astype(np.int64)
    times = np.diff(np.floor(total * (count / total[-1]) + 1e-9).astype(np.int64), prepend=0)
    some = times > 0
    return ns[some], times[some]


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
