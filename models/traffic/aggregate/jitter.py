"""Decorrelated jitter as counts see it: the law of the k-th delay, without the memory of the one before.

A delay is uniform between the base and three times the one before, at most the cap. Its law follows from the law of the
one before; of that, a few hundred equally likely values are kept. Left out: that who waited long once waits long again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from simcluster.models.traffic.graph.policy import Backoff

#: Equally likely values that stand for a law; parts of the uniform between base and thrice the delay before.
_VALUES, _PARTS = 256, 64
#: A back-off without a cap is an hour at most, as in `exact`.
_LONGEST_NS = 3.6e12


def decorrelated(backoff: Backoff, number: int, tick_ns: int, count: int) -> list[float]:
    """Delays before retry `number` (from 0) in ticks: so many of equal weight, the shortest first."""
    values = _law(float(backoff.base), float(backoff.max or _LONGEST_NS), number)
    parts = np.array(values).reshape(count, -1)
    return [mean_of(part) / tick_ns for part in parts.tolist()]


def mean_of(values: Sequence[float]) -> float:
    """Their mean, added up in their order."""
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


@lru_cache(maxsize=256)
def _law(base: float, cap: float, number: int) -> tuple[float, ...]:
    """Equally likely values of a delay, in nanoseconds."""
    before = np.array(_law(base, cap, number - 1)) if number else np.full(_VALUES, base)
    at = (np.arange(_PARTS) + 0.5) / _PARTS
    drawn = np.minimum(base + (3.0 * before[:, None] - base) * at, cap)
    ordered = np.sort(drawn, axis=None)
    step = len(ordered) // _VALUES
    return tuple(ordered[step // 2 :: step].tolist())
