"""Parts of calls told as whole ones: what a live engine counts becomes integers that add up, and nothing gets lost.

The engine counts parts: begun, ended well, failed by kind. Of each the rest that makes no whole call yet is carried
from period to period, so that totals are the engine's within one call, however few come. What is under way is bounded
by what the engine has under way; whoever leaves it counts as what has the largest rest.

Left out: which part of a call belongs to which request.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Rows of what is counted; those from `BESIDE` on only follow and bind nobody.
BEGUN, WELL, FAILED, BESIDE = 0, 1, slice(2, 6), 6
_ENDS = 5
#: Sums of parts that make a whole one may be smaller by so much.
_ROUNDING = 1e-6


class Period(NamedTuple):
    """Whole calls of a period: begun, ended well, failed (kind, place), beside them; those left under way.

    `due`: calls that the engine does not know and that failed.
    """

    begun: Index
    well: Index
    failed: Index
    beside: Index
    left: Index
    due: Index


class Wholes:
    """Rests of a number of places (edges, users), known by their names.

    Args:
        owed: calls under way at each place that will end well as far as is known, though the engine has not begun them.
        beside: how many rows are counted beside them.
    """

    def __init__(self, names: Sequence[Hashable], owed: Sequence[int] | Index, beside: int = 1) -> None:
        self.names = names
        self._rests = np.zeros((BESIDE + beside, len(names)))
        self._rests[WELL] = owed

    def rewire(self, names: Sequence[Hashable]) -> None:
        """Other places; the rests of those that stay go on."""
        at = {name: place for place, name in enumerate(self.names)}
        there = np.array([at.get(name, -1) for name in names], dtype=np.int64)
        rests = self._rests[:, there] if at else np.zeros((len(self._rests), len(names)))
        self.names, self._rests = names, np.where(there >= 0, rests, 0.0)

    def settle(self, there: Index, counted: Array, early: Array, most: Array, doubtful: NDArray[np.bool_]) -> Period:
        """A period.

        Args:
            there: whole calls under way before.
            counted: parts counted in the period, a row each: begun, well, failed by kind, those beside them.
            early: calls that have ended well though the engine has not counted them yet; below 0 where it has counted
                some that go on.
            most: calls under way now, in parts.
            doubtful: places at which calls that are gone without a word have rather failed than succeeded.
        """
        rests = self._rests
        rests += counted
        whole = np.maximum(np.floor(rests + _ROUNDING), 0.0)
        begun, beside = whole[BEGUN], whole[BESIDE:]
        rests[BEGUN] -= begun
        rests[BESIDE:] -= beside
        left = there + begun
        ended = np.zeros((_ENDS, len(left)))  # well first, then by kind
        for row in (*range(1, _ENDS), 0):
            wanted = whole[row + 1] if row else np.maximum(np.floor(rests[WELL] + early + _ROUNDING), 0.0)
            ended[row] = np.minimum(wanted, left)
            left = left - ended[row]
        surplus = left - np.ceil(most - _ROUNDING)
        for place in np.nonzero(surplus > 0.0)[0].tolist():
            parts = rests[1:BESIDE, place] - ended[:, place]
            parts[0] += early[place]
            _round_up(ended[:, place], parts, min(float(left[place]), float(surplus[place])), bool(doubtful[place]))
        left = there + begun - np.add.reduce(ended, axis=0)
        rests[1:BESIDE] -= ended
        well, failed = ended[0].astype(np.int64), ended[1:].astype(np.int64)
        begun_, beside_, left_ = (each.astype(np.int64) for each in (begun, beside, left))
        return Period(begun_, well, failed, beside_, left_, np.zeros_like(left_))


def _round_up(ended: Array, parts: Array, surplus: float, doubtful: bool) -> None:
    """Let so many more end: a whole one where the largest part is, the rest as it seems likeliest."""
    for row in np.argsort(-parts, kind="stable").tolist():
        if surplus < 1.0 or parts[row] <= 0.0:
            break
        ended[row] += 1.0
        surplus -= 1.0
    ended[1 if doubtful else 0] += surplus
