"""Folding many windows at once: the k-th sample of every window, then the next, in the order of Prometheus' sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simcluster.telemetry.promql.context import Bools, Floats, Ints
from simcluster.telemetry.promql.selection import Windows

#: Windows that are folded in one go: small enough for the caches of a processor.
CHUNK = 1 << 16


@dataclass
class Chunk:
    """Windows of some series; `count` samples are in each."""

    times: Ints
    values: Floats
    lo: Ints
    hi: Ints
    ends: Ints
    range_ms: int

    @property
    def count(self) -> Ints:
        """How many samples every window has."""
        return self.hi - self.lo

    def __post_init__(self) -> None:
        self.longest = int((self.hi - self.lo).max(initial=0))

    def sample(self, k: int) -> tuple[Floats, Bools]:
        """The k-th sample of every window (0.0 where there is none), and where there is one."""
        index = self.lo + k
        active = index < self.hi
        return np.where(active, self.values[np.minimum(index, len(self.values) - 1)], 0.0), active

    def time(self, k: int) -> Ints:
        """When the k-th sample was; something where there is none."""
        return self.times[np.minimum(self.lo + k, len(self.times) - 1)]

    def first(self) -> Floats:
        """First values."""
        return self.values[np.minimum(self.lo, len(self.values) - 1)]

    def last(self) -> Floats:
        """Last values."""
        return self.values[np.maximum(self.hi - 1, 0)]

    def first_time(self) -> Ints:
        """Times of first samples."""
        return self.times[np.minimum(self.lo, len(self.times) - 1)]

    def last_time(self) -> Ints:
        """Times of last samples."""
        return self.times[np.maximum(self.hi - 1, 0)]

    def table(self) -> Floats:
        """All samples, one more axis; NaN after the last."""
        index = self.lo[..., None] + np.arange(max(1, self.longest))
        inside = index < self.hi[..., None]
        return np.where(inside, self.values[np.minimum(index, len(self.values) - 1)], np.nan)

    def pairs_before(self, marked: Bools) -> tuple[Ints, Ints]:
        """Of marked samples (counted in time order), the range of those that are in a window and not its first."""
        counted = np.zeros(len(marked) + 1, dtype=np.int64)
        np.cumsum(marked, out=counted[1:])
        some = self.hi > self.lo
        low = counted[np.minimum(self.lo + 1, len(marked))]
        return low, np.where(some, np.maximum(counted[self.hi], low), low)


def chunks(windows: Windows, width: int = 1) -> Iterator[tuple[slice, Chunk]]:
    """Series by series, as many as fit; `width` is how many numbers a window takes."""
    steps = max(1, len(windows.ends))
    size = max(1, CHUNK // (steps * max(1, width)))
    for at in range(0, len(windows.labels), size):
        rows = slice(at, at + size)
        yield (
            rows,
            Chunk(windows.times, windows.values, windows.lo[rows], windows.hi[rows], windows.ends, windows.range_ms),
        )


def add(x: Floats, total: Floats, rest: Floats) -> tuple[Floats, Floats]:
    """Kahan's summation as improved by Neumaier: the new sum and what it lost."""
    grown = total + x
    lost = rest + np.where(np.abs(total) >= np.abs(x), (total - grown) + x, (x - grown) + total)
    return grown, np.where(np.isinf(grown), 0.0, lost)


def quantile(q: Floats | float, table: Floats, count: Ints) -> Floats:
    """The q-quantile along the last axis, of `count` values there; those after them are NaN too.

    NaN among the values count as the smallest, as Prometheus sorts them.
    """
    ordered = np.sort(table, axis=-1)  # numbers first, NaN at the end
    numbers = (~np.isnan(ordered)).sum(axis=-1)  # integers
    none = count - numbers
    rank = np.asarray(q, dtype=np.float64) * (count - 1.0)
    rank = np.where(np.isnan(rank), 0.0, rank)
    floor = np.floor(rank)
    lower = np.clip(floor, 0, np.maximum(count - 1, 0)).astype(np.int64)
    upper = np.minimum(np.maximum(count - 1, 0), lower + 1)
    weight = rank - floor

    def ranked(index: Ints) -> Floats:
        place = np.clip(index - none, 0, table.shape[-1] - 1)
        value = np.take_along_axis(ordered, place[..., None], axis=-1)[..., 0]
        return np.where(index < none, np.nan, value)

    result = ranked(lower) * (1 - weight) + ranked(upper) * weight
    wanted = np.broadcast_to(np.asarray(q, dtype=np.float64), result.shape)
    result = np.where(wanted < 0, -np.inf, np.where(wanted > 1, np.inf, result))
    return np.where(np.isnan(wanted) | (count == 0), np.nan, result)
