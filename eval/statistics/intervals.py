"""Intervals: Wilson's for a share, the percentile bootstrap over tasks for a mean of anything."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

#: Resamples of a bootstrap: the ends of a 95 % interval move by less than a hundredth of its width.
RESAMPLES = 4_000


class Interval(NamedTuple):
    """A value and the ends of its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.0%} [{self.low:.0%}, {self.high:.0%}]"


def wilson(passed: int, runs: int, confidence: float = 0.95) -> Interval:
    """The score interval of a share (Wilson 1927), which keeps its coverage at 0 and 1.

    Raises:
        ValueError: more passed than runs, or fewer than none.

    >>> [round(end, 3) for end in wilson(8, 10)]
    [0.8, 0.49, 0.943]
    """
    if not 0 <= passed <= runs:
        raise ValueError(f"{passed} of {runs} runs cannot have passed")
    if runs == 0:
        return Interval(0.0, 0.0, 1.0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share, spread = passed / runs, z * z / runs
    middle = (share + spread / 2) / (1 + spread)
    half = z * ((share * (1 - share) + spread / 4) / runs) ** 0.5 / (1 + spread)
    return Interval(share, middle - half if passed else 0.0, middle + half if passed < runs else 1.0)


def bootstrap(groups: Sequence[Sequence[float]], confidence: float = 0.95) -> Interval:
    """The mean of the groups' means, with the percentile interval of resampled groups.

    A group is a task with its seeds: runs of one task are alike, so that whole groups are drawn. The draws are the same
    every time.

    Raises:
        ValueError: there is no group, or an empty one.
    """
    if not groups or not all(groups):
        raise ValueError("every group needs a value")
    means = np.array([float(np.mean(np.asarray(group, np.float64))) for group in groups])
    drawn = np.random.default_rng(0).integers(0, len(means), (RESAMPLES, len(means)))
    low, high = np.quantile(means[drawn].mean(axis=1), [0.5 - confidence / 2, 0.5 + confidence / 2])
    return Interval(float(means.mean()), float(low), float(high))
