"""Whole numbers of what an engine counts in parts, window by window.

A count is rounded so that its running total is never more than a half off. Kinds that exclude each other (the ways in
which requests end) share a total that is rounded so: each window gives its whole requests to those kinds that are
furthest behind their own running totals. No more requests end than began, then, and none is taken back later.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


def whole(counts: Array, axis: int) -> Counts:
    """Along the windows whole numbers whose running total stays within a half of the counts' running total."""
    total = np.floor(np.cumsum(counts, axis=axis) + 0.5).astype(np.int64)
    # where a count is less than nothing by an error of the arithmetic the total stands still
    return np.diff(np.maximum.accumulate(total, axis=axis), axis=axis, prepend=0)


def whole_parts(kinds: Array) -> Counts:
    """The same of kinds (rows) that exclude each other: their sum in every window is that of their sums."""
    there = [kind for kind in range(len(kinds)) if kinds[kind].any()]
    found = np.zeros(kinds.shape, dtype=np.int64)
    totals = whole(np.cumsum(kinds, axis=0)[-1], axis=0)
    if len(there) < 2:
        found[there] = totals
        return found
    due = [0.0] * len(there)
    for window, (total, parts) in enumerate(zip(totals.tolist(), kinds[there].T.tolist(), strict=True)):
        due = [before + part for before, part in zip(due, parts, strict=True)]
        given = [max(0, math.floor(each)) for each in due]
        left = total - sum(given)  # integers
        while left:
            more = 1 if left > 0 else -1
            behind = [
                more * (each - got) if got + more >= 0 else -math.inf for each, got in zip(due, given, strict=True)
            ]
            given[behind.index(max(behind))] += more
            left -= more
        due = [each - got for each, got in zip(due, given, strict=True)]
        found[there, window] = given
    return found
