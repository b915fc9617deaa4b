"""Functions of range vectors: what a window of samples comes to.

Each takes a chunk of windows and its scalar arguments (one value a step) and returns values, and where there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from simcluster.telemetry.promql.context import Bools, Floats
from simcluster.telemetry.promql.folding import Chunk, add, quantile

Folded: TypeAlias = tuple[Floats, Bools]


def _some(chunk: Chunk) -> Bools:
    return chunk.count > 0


def sum_over_time(chunk: Chunk) -> Folded:
    """Sum."""
    total = rest = np.zeros(chunk.lo.shape)
    for k in range(chunk.longest):
        total, rest = add(chunk.sample(k)[0], total, rest)
    return np.where(np.isinf(total), total, total + rest), _some(chunk)


def avg_over_time(chunk: Chunk) -> Folded:
    """Mean: of the sum, or step by step where the sum is beyond a double."""
    total, _ = chunk.sample(0)
    rest = np.zeros(chunk.lo.shape)
    stepwise = np.zeros(chunk.lo.shape, dtype=bool)
    for k in range(1, chunk.longest):
        x, active = chunk.sample(k)
        grown, lost = add(x, total, rest)
        begins = active & ~stepwise & np.isinf(grown)
        if not bool(begins.any()) and not bool(stepwise.any()):
            total, rest = grown, lost
            continue
        n = k + 1.0
        mean, mean_rest = np.where(begins, total / (n - 1), total), np.where(begins, rest / (n - 1), rest)
        stepwise |= begins
        q = (n - 1) / n
        grown_mean, lost_mean = add(x / n, q * mean, q * mean_rest)
        total = np.where(active, np.where(stepwise, grown_mean, grown), total)
        rest = np.where(active, np.where(stepwise, lost_mean, lost), rest)
    count = np.maximum(chunk.count, 1)
    return np.where(stepwise, total + rest, total / count + rest / count), _some(chunk)


def _extreme(chunk: Chunk, better: Callable[[Floats, Floats], Bools]) -> tuple[Floats, Floats]:
    best, _ = chunk.sample(0)
    when = chunk.first_time().astype(np.float64)
    for k in range(1, chunk.longest):
        x, active = chunk.sample(k)
        wins = active & (better(x, best) | np.isnan(best))
        best, when = np.where(wins, x, best), np.where(wins, chunk.time(k), when)
    return best, when / 1000


def max_over_time(chunk: Chunk) -> Folded:
    """Largest."""
    return _extreme(chunk, np.greater)[0], _some(chunk)


def min_over_time(chunk: Chunk) -> Folded:
    """Smallest."""
    return _extreme(chunk, np.less)[0], _some(chunk)


def ts_of_max_over_time(chunk: Chunk) -> Folded:
    """When the largest was, the last of equals."""
    return _extreme(chunk, np.greater_equal)[1], _some(chunk)


def ts_of_min_over_time(chunk: Chunk) -> Folded:
    """When the smallest was, the last of equals."""
    return _extreme(chunk, np.less_equal)[1], _some(chunk)


def count_over_time(chunk: Chunk) -> Folded:
    """Number."""
    return chunk.count.astype(np.float64), _some(chunk)


def last_over_time(chunk: Chunk) -> Folded:
    """Newest."""
    return chunk.last(), _some(chunk)


def first_over_time(chunk: Chunk) -> Folded:
    """Oldest."""
    return chunk.first(), _some(chunk)


def ts_of_last_over_time(chunk: Chunk) -> Folded:
    """Time of the newest."""
    return chunk.last_time() / 1000, _some(chunk)


def ts_of_first_over_time(chunk: Chunk) -> Folded:
    """Time of the oldest."""
    return chunk.first_time() / 1000, _some(chunk)


def present_over_time(chunk: Chunk) -> Folded:
    """1 where there is any."""
    return np.ones(chunk.lo.shape), _some(chunk)


def stdvar_over_time(chunk: Chunk) -> Folded:
    """Population variance (Welford's method)."""
    zero = np.zeros(chunk.lo.shape)
    mean, mean_rest, spread, spread_rest = zero, zero, zero, zero
    for k in range(chunk.longest):
        x, active = chunk.sample(k)
        delta = np.where(active, x - (mean + mean_rest), 0.0)
        mean, mean_rest = add(delta / (k + 1.0), mean, mean_rest)
        spread, spread_rest = add(delta * np.where(active, x - (mean + mean_rest), 0.0), spread, spread_rest)
    return (spread + spread_rest) / np.maximum(chunk.count, 1), _some(chunk)


def stddev_over_time(chunk: Chunk) -> Folded:
    """Population standard deviation."""
    variance, some = stdvar_over_time(chunk)
    return np.sqrt(variance), some


def quantile_over_time(chunk: Chunk, q: Floats) -> Folded:
    """The q-quantile."""
    return quantile(q, chunk.table(), chunk.count), _some(chunk)


def mad_over_time(chunk: Chunk) -> Folded:
    """Median of the distances from the median."""
    table = chunk.table()
    median = quantile(0.5, table, chunk.count)
    return quantile(0.5, np.abs(table - median[..., None]), chunk.count), _some(chunk)


def changes(chunk: Chunk) -> Folded:
    """How often the value changed."""
    v = chunk.values
    marked = np.zeros(len(v), dtype=bool)
    marked[1:] = (v[1:] != v[:-1]) & ~(np.isnan(v[1:]) & np.isnan(v[:-1]))
    low, high = chunk.pairs_before(marked)
    return (high - low).astype(np.float64), _some(chunk)


def _falls(chunk: Chunk) -> Bools:
    marked = np.zeros(len(chunk.values), dtype=bool)
    marked[1:] = chunk.values[1:] < chunk.values[:-1]
    return marked


def resets(chunk: Chunk) -> Folded:
    """How often a counter began anew."""
    low, high = chunk.pairs_before(_falls(chunk))
    return (high - low).astype(np.float64), _some(chunk)


def _grown(chunk: Chunk) -> Floats:
    """Last minus first, and what was reached before every reset."""
    result = chunk.last() - chunk.first()
    falls = _falls(chunk)
    low, high = chunk.pairs_before(falls)
    most = int((high - low).max(initial=0))
    places = np.flatnonzero(falls)
    for k in range(most):
        inside = low + k < high
        before = chunk.values[places[np.minimum(low + k, len(places) - 1)] - 1]
        result = np.where(inside, result + np.where(inside, before, 0.0), result)
    return result


def extrapolated(chunk: Chunk, counter: bool, rate: bool, closed: bool) -> Folded:
    """`rate`, `increase` and `delta`: what the samples show, stretched to the ends of the window.

    As far as a sample would have been expected there (110 % of the mean distance), else by half a distance, and of a
    counter no farther than where it was zero. With `closed` in the order of 2.x, which looks at zero first.
    """
    some = chunk.count > 1
    result = _grown(chunk) if counter else chunk.last() - chunk.first()
    first, last = chunk.first_time(), chunk.last_time()
    to_start = (first - (chunk.ends - chunk.range_ms)) / 1000
    to_end = (chunk.ends - last) / 1000
    sampled = (last - first) / 1000
    mean = sampled / np.maximum(chunk.count - 1, 1)
    threshold = mean * 1.1
    zero = np.full(result.shape, np.inf)
    if counter:
        start = chunk.first()
        zero = np.where((result > 0) & (start >= 0), sampled * (start / np.where(result == 0, 1.0, result)), np.inf)
    if closed:
        to_start = np.minimum(to_start, zero)
    to_start = np.where(to_start >= threshold, mean / 2, to_start)
    if not closed:
        to_start = np.where(zero < to_start, zero, to_start)
    to_end = np.where(to_end >= threshold, mean / 2, to_end)
    factor = (sampled + to_start + to_end) / np.where(sampled > 0, sampled, 1.0)
    if rate:
        factor = factor / (chunk.range_ms / 1000)
    return result * factor, some


def instantaneous(chunk: Chunk, rate: bool) -> Folded:
    """`irate` and `idelta`: of the last two samples."""
    some = chunk.count > 1
    last = chunk.last()
    before = chunk.values[np.maximum(chunk.hi - 2, 0)]
    apart = (chunk.last_time() - chunk.times[np.maximum(chunk.hi - 2, 0)]) / 1000
    if not rate:
        return last - before, some
    return np.where(last < before, last, last - before) / np.where(apart > 0, apart, 1.0), some & (apart > 0)


def _line(chunk: Chunk, origin_ms: Floats) -> tuple[Floats, Floats]:
    """Least squares: slope, and value at the origin."""
    zero = np.zeros(chunk.lo.shape)
    x_sum = x_rest = y_sum = y_rest = xy_sum = xy_rest = xx_sum = xx_rest = zero
    first = chunk.first()
    constant = np.ones(chunk.lo.shape, dtype=bool)
    for k in range(chunk.longest):
        y, active = chunk.sample(k)
        constant &= ~active | (y == first)
        x = np.where(active, (chunk.time(k) - origin_ms) / 1000, 0.0)
        x_sum, x_rest = add(x, x_sum, x_rest)
        y_sum, y_rest = add(y, y_sum, y_rest)
        xy_sum, xy_rest = add(x * y, xy_sum, xy_rest)
        xx_sum, xx_rest = add(x * x, xx_sum, xx_rest)
    n = np.maximum(chunk.count, 1).astype(np.float64)
    sx, sy, sxy, sxx = x_sum + x_rest, y_sum + y_rest, xy_sum + xy_rest, xx_sum + xx_rest
    slope = (sxy - sx * sy / n) / (sxx - sx * sx / n)
    at_origin = sy / n - slope * sx / n
    flat = np.where(np.isinf(first), np.nan, 0.0)
    return np.where(constant, flat, slope), np.where(constant, first + flat, at_origin)


def deriv(chunk: Chunk) -> Folded:
    """Slope of the line through the samples."""
    return _line(chunk, chunk.first_time().astype(np.float64))[0], chunk.count > 1


def predict_linear(chunk: Chunk, ahead: Floats, now: Floats) -> Folded:
    """Where that line is, so many seconds ahead of now (milliseconds)."""
    slope, here = _line(chunk, np.broadcast_to(now, chunk.lo.shape))
    return slope * ahead + here, chunk.count > 1


def double_exponential_smoothing(chunk: Chunk, smoothing: Floats, trend: Floats) -> Folded:
    """Holt's linear method."""
    level = chunk.first()
    before = np.zeros(chunk.lo.shape)
    slope = chunk.sample(1)[0] - level
    for k in range(1, chunk.longest):
        x, active = chunk.sample(k)
        if k > 1:
            slope = np.where(active, trend * (level - before) + (1 - trend) * slope, slope)
        grown = smoothing * x + (1 - smoothing) * (level + slope)
        before, level = np.where(active, level, before), np.where(active, grown, level)
    return level, chunk.count > 1


#: Functions of a range alone.
PLAIN: dict[str, Callable[[Chunk], Folded]] = {
    each.__name__: each
    for each in (
        sum_over_time, avg_over_time, max_over_time, min_over_time, count_over_time, last_over_time, first_over_time,
        present_over_time, stdvar_over_time, stddev_over_time, mad_over_time, changes, resets, deriv,
        ts_of_max_over_time, ts_of_min_over_time, ts_of_last_over_time, ts_of_first_over_time,
    )
}  # fmt: skip
#: Name -> whether of a counter, whether per second.
EXTRAPOLATED = {"rate": (True, True), "increase": (True, False), "delta": (False, False)}
#: Functions whose result is still the metric.
KEEP_NAMES = ("last_over_time", "first_over_time")
