"""Laws of durations as tables: quantiles to draw from, and distribution functions to look up.

A law becomes 4096 equally likely values; the own time of an operation (its work and waits,
one after the other, some only in some branches) becomes the sum of such draws. The function
P(X <= x) and its integral are tabulated at distances that grow with x.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import Shared, arithmetic
from simcluster.engine.streams import Streams
from simcluster.models.traffic.aggregate.draws import exponentials, normals, uniforms
from simcluster.models.traffic.graph.laws import Law

Array = NDArray[np.float64]

#: Values of a law. The most extreme one of an exponential is 9 means.
VALUES = 4096
#: Points of a distribution function; the k-th lies at (k/GRID)^2 of the largest value.
GRID = 1024
#: Parts of the last one of `VALUES`, each so much rarer than the one before.
_RARE_PARTS, _RARE_STEP = 40, 0.7


def values_of(law: Law) -> Array:
    """Equally likely values in nanoseconds, ascending: the law's quantiles at (i + 1/2)/VALUES."""
    return _quantiles(law, (np.arange(VALUES) + 0.5) / VALUES)


def fine_values(law: Law) -> tuple[Array, Array]:
    """Values in nanoseconds, ascending, and their probabilities: the rarest ones in parts of their own."""
    rest = 1.0 / VALUES
    edges = [1.0]
    for _ in range(_RARE_PARTS):
        edges.append(edges[-1] * _RARE_STEP)
    rare = rest * np.array([*edges, 0.0])
    weights = np.concatenate((np.full(VALUES - 1, rest), rare[:-1] - rare[1:]))
    p = np.concatenate(((np.arange(VALUES - 1) + 0.5) * rest, 1.0 - 0.5 * (rare[:-1] + rare[1:])))
    return _quantiles(law, p), weights


def _quantiles(law: Law, p: Array) -> Array:
    mean = law.mean_ns
    if law.law == "deterministic" or mean <= 0.0:
        return np.full(len(p), mean)
    if law.law == "exponential":
        return mean * exponentials(1.0 - p)
    if law.law == "uniform":
        low, high = float(law.low or 0), float(law.high or 0)
        return low + (high - low) * p
    if law.law == "empirical":
        measured = np.sort(np.array(law.values, dtype=np.float64))
        return measured[np.minimum((p * len(measured)).astype(np.int64), len(measured) - 1)]
    if law.law == "lognormal":
        return _lognormal(mean, law.scv, p)
    if law.law == "hyperexponential":
        return _hyperexponential(law.two_branches(), p)
    return _gamma(1.0 / law.scv, p) * mean * law.scv


def _lognormal(mean: float, scv: float, p: Array) -> Array:
    squared = arithmetic.log(1.0 + scv)
    sigma = arithmetic.exp(0.5 * arithmetic.log(squared)) if squared > 0.0 else 0.0
    result: Array = arithmetic.exp_array((arithmetic.log(mean) - 0.5 * squared) + sigma * normals(p))
    return result


def _hyperexponential(branches: Sequence[tuple[float, float]], p: Array) -> Array:
    low, high = np.zeros_like(p), np.full_like(p, 40.0 * max(mean for _, mean in branches))
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = np.zeros_like(p)
        for probability, mean in branches:
            above = above + probability * arithmetic.exp_array(-middle / mean)
        under = 1.0 - above < p
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return high


def _gamma(shape: float, p: Array) -> Array:
    """Quantiles of a gamma law of scale 1, by integrating its density numerically."""
    points = 40_000
    if shape >= 1.0:
        top = shape + 12.0 * arithmetic.exp(0.5 * arithmetic.log(shape)) + 30.0
        x: Array = (np.arange(points, dtype=np.float64) + 0.5) * (top / points)
        density = (shape - 1.0) * (arithmetic.log_array(x) - arithmetic.log(shape)) - (x - shape)
        weight = arithmetic.exp_array(density)
    else:  # in y = x^shape the density is exp(-x): no pole at 0
        top_y = arithmetic.power(40.0, shape)
        y: Array = (np.arange(points, dtype=np.float64) + 0.5) * (top_y / points)
        x = arithmetic.exp_array(arithmetic.log_array(y) / shape)
        weight = arithmetic.exp_array(-x)
    cumulative = np.cumsum(weight)
    middle = (cumulative - 0.5 * weight) / cumulative[-1]
    found: Array = np.interp(p, middle, x)
    return found


def sum_of(parts: Sequence[tuple[Array, float]], streams: Streams, identity: str) -> Array:
    """Values of a sum of independent parts; each part counts with its probability only. Ascending."""
    if len(parts) == 1 and parts[0][1] >= 1.0:
        return parts[0][0]
    total = np.zeros(VALUES)
    counters = np.arange(1, VALUES + 1, dtype=np.uint64)
    for index, (values, reach) in enumerate(parts):
        key = np.array([streams.key("durations", identity, index)], dtype=np.uint64)
        order = np.argsort(uniforms(key, counters), kind="stable")
        drawn = values[order]
        if reach < 1.0:
            other = np.array([streams.key("durations", identity, index, "reach")], dtype=np.uint64)
            drawn = np.where(uniforms(other, counters) < reach, drawn, 0.0)
        total = total + drawn
    return np.sort(total)


class Distribution(Shared):
    """P(X <= x) of many laws at once.

    Args:
        values: one row of ascending, equally likely values for each law, in any unit of time.
    """

    def __init__(self, values: Sequence[Array]) -> None:
        rows = len(values)
        self._top = np.ones(rows)
        self._cdf = np.ones((rows, GRID + 2))
        self._area = np.zeros((rows, GRID + 2))
        self.mean = np.zeros(rows)
        for row, x in enumerate(values):
            top = max(float(x[-1]), 1e-12)
            self._top[row] = top
            ratio = np.arange(GRID + 2) / GRID
            at = top * ratio * ratio
            rank = np.searchsorted(x, at, side="right")
            below = np.concatenate(([0.0], np.cumsum(x)))[rank]
            self._cdf[row] = rank / len(x)
            self._area[row] = (rank * at - below) / len(x)
            self.mean[row] = float(np.cumsum(x)[-1]) / len(x)

    def below(self, row: NDArray[np.int64], x: Array) -> Array:
        """P(X <= x), the same shape as x; 0 for negative x."""
        return self._look(self._cdf, row, x)

    def mean_below(self, row: NDArray[np.int64], low: Array, high: Array) -> Array:
        """P(X <= x) averaged over all x from low to high."""
        width = high - low
        thin = np.abs(width) < 1e-6 * self._top[row]
        area = self._integral(row, high) - self._integral(row, low)
        middle = self.below(row, 0.5 * (low + high))
        result: Array = np.where(thin, middle, area / np.where(thin, 1.0, width))
        return np.minimum(np.maximum(result, 0.0), 1.0)

    def _integral(self, row: NDArray[np.int64], x: Array) -> Array:
        top = self._top[row]
        inside = np.minimum(np.maximum(x, 0.0), top)
        result: Array = self._look(self._area, row, inside) + np.maximum(x - top, 0.0)
        return result

    def _look(self, table: Array, row: NDArray[np.int64], x: Array) -> Array:
        at = GRID * np.sqrt(np.minimum(np.maximum(x / self._top[row], 0.0), 1.0))
        index = at.astype(np.int64)
        part = at - index
        index += row * (GRID + 2)
        low = table.take(index)
        found: Array = low + part * (table.take(index + 1) - low)
        found *= x >= 0.0
        return found
