"""What functions of native histograms compute: quantiles, fractions, averages, variances."""

from __future__ import annotations

import math
from collections.abc import Callable

from simcluster.engine.arithmetic import exp, log
from simcluster.telemetry.promql.native import Native


def average(one: Native) -> float:
    """Mean of the observations."""
    return one.sum / one.count if one.count else math.nan


def variance(one: Native) -> float:
    """Variance, with each bucket at its middle: the geometric one of exponential buckets."""
    if not one.count:
        return math.nan
    mean = one.sum / one.count
    parts = []
    for lower, upper, count in one.buckets():
        if one.custom:
            middle = (upper + lower) / 2.0
        elif lower <= 0 <= upper:
            middle = 0.0
        else:
            middle = math.sqrt(upper * lower) * (-1.0 if upper < 0 else 1.0)
        parts.append(count * (middle - mean) * (middle - mean))
    return math.fsum(parts) / one.count if all(map(math.isfinite, parts)) else math.nan


def deviation(one: Native) -> float:
    """Standard deviation."""
    found = variance(one)
    return math.sqrt(found) if found >= 0 else math.nan


def _inside(lower: float, upper: float, share: float, linear: bool) -> float:
    """The value a share of the way through a bucket: in a line, or exponentially."""
    if linear or lower == 0 or upper == 0:
        return lower + (upper - lower) * share
    low, high = log(abs(lower)), log(abs(upper))
    if lower > 0:
        return exp(low + (high - low) * share)
    return -exp(high + (low - high) * (1 - share))


def _ranges(one: Native) -> list[tuple[float, float, float, bool]]:
    """Buckets with bounds that a value can be between; the zero bucket has one sign if the others have."""
    found = []
    for lower, upper, count in one.buckets():
        zero = not one.custom and lower < 0 < upper
        if zero and not one.negative:
            lower = 0.0
        elif zero and not one.positive:
            upper = 0.0
        found.append((lower, upper, count, one.custom or zero))
    return found


def quantile(q: float, one: Native) -> float:
    """The q-quantile."""
    if math.isnan(q) or one.count == 0:
        return math.nan if not (q < 0 or q > 1) else (-math.inf if q < 0 else math.inf)
    if q < 0 or q > 1:
        return -math.inf if q < 0 else math.inf
    if math.isnan(one.count):
        return math.nan
    rank, seen = q * one.count, 0.0
    found = _ranges(one)
    if not found:
        return math.nan
    for lower, upper, count, linear in found:
        if seen + count >= rank:
            if upper == math.inf:
                return lower
            if lower == -math.inf:
                return upper
            return _inside(lower, upper, (rank - seen) / count, linear)
        seen += count
    last = found[-1]
    return math.nan if math.isnan(one.sum) else last[0] if last[1] == math.inf else last[1]


def fraction(lower: float, upper: float, one: Native) -> float:
    """The share of observations between two values."""
    if one.count == 0 or math.isnan(lower) or math.isnan(upper):
        return math.nan
    return 0.0 if lower >= upper else (_below(upper, one) - _below(lower, one)) / one.count


def _below(value: float, one: Native) -> float:
    seen = 0.0
    for low, high, count, linear in _ranges(one):
        if high <= value:
            seen += count
        elif low < value:
            if low == -math.inf or high == math.inf:
                return seen + (count if low == -math.inf else 0.0)
            if linear or low == 0 or high == 0:
                return seen + count * (value - low) / (high - low)
            if low > 0:
                share = (log(value) - log(low)) / (log(high) - log(low))
            else:
                share = 1 - (log(-value) - log(-high)) / (log(-low) - log(-high))
            return seen + count * share
    return min(seen, one.count)


def _count(one: Native) -> float:
    return one.count


def _sum(one: Native) -> float:
    return one.sum


#: Functions of one histogram.
FUNCTIONS: dict[str, Callable[[Native], float]] = {
    "histogram_count": _count,
    "histogram_sum": _sum,
    "histogram_avg": average,
    "histogram_stdvar": variance,
    "histogram_stddev": deviation,
}
