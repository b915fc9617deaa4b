"""Range aggregations: `rate`, `count_over_time`, `quantile_over_time` and their like, over (t - range, t]."""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from simcluster.engine.clock import SECOND
from simcluster.telemetry.logql import syntax
from simcluster.telemetry.logql.context import Context, Row, Rows
from simcluster.telemetry.logql.samples import samples
from simcluster.telemetry.promql.storage import Labels

Values = Sequence[float]


def range_aggregation(node: syntax.RangeAggregation, context: Context) -> Rows:
    """Values of every series at every step."""
    ends = [step - node.offset_ns for step in context.steps]
    found: Rows = {}
    for labels, (times, values) in samples(node, context).items():
        lows = [bisect_right(times, end - node.range_ns) for end in ends]
        highs = [bisect_right(times, end) for end in ends]
        row = _row(node, times, values, list(zip(lows, highs, ends, strict=True)))
        if any(value is not None for value in row):
            found[labels] = row
    return _absent(node, found, len(ends)) if node.op == "absent_over_time" else found


def _absent(node: syntax.RangeAggregation, found: Rows, steps: int) -> Rows:
    """1 where no line is, with the labels that the selector fixes."""
    row: Row = [1.0 if all(each[at] is None for each in found.values()) else None for at in range(steps)]
    fixed: dict[str, str] = {}
    twice = set()
    for one in node.selection.matchers:
        if one.name in fixed:
            twice.add(one.name)
        if one.op == "=":
            fixed[one.name] = one.value
    labels: Labels = tuple(sorted(item for item in fixed.items() if item[0] not in twice))
    return {labels: row} if any(value is not None for value in row) else {}


def _row(
    node: syntax.RangeAggregation, times: list[int], values: list[float], windows: Sequence[tuple[int, int, int]]
) -> Row:
    seconds = node.range_ns / SECOND
    if node.unwrap is None:
        totals = [0.0, *accumulate(values)]  # whole numbers: lines or bytes
        per = seconds if "rate" in node.op else 1.0
        return [(totals[high] - totals[low]) / per if high > low else None for low, high, _ in windows]
    if node.op == "rate_counter":
        return [_counter_rate(times[low:high], values[low:high], end, node.range_ns) for low, high, end in windows]
    if node.op == "rate":
        return [math.fsum(values[low:high]) / seconds if high > low else None for low, high, _ in windows]
    if node.op == "quantile_over_time":
        return [quantile(node.parameter, values[low:high]) if high > low else None for low, high, _ in windows]
    fold = FOLDS[node.op]
    return [fold(values[low:high]) if high > low else None for low, high, _ in windows]


def mean(values: Values) -> float:
    """Their average."""
    return math.fsum(values) / len(values)


def variance(values: Values) -> float:
    """Of the population."""
    middle = mean(values)
    return math.fsum((value - middle) * (value - middle) for value in values) / len(values)


def deviation(values: Values) -> float:
    """Of the population."""
    return math.sqrt(variance(values))


def quantile(q: float, values: Values) -> float:
    """Between the two nearest values, as Prometheus does it.

    >>> quantile(0.5, [4.0, 1.0, 3.0, 2.0])
    2.5
    """
    if q < 0 or q > 1:
        return -math.inf if q < 0 else math.inf
    ordered = sorted(values)
    rank = q * (len(ordered) - 1)
    low = max(0, int(rank))
    high = min(len(ordered) - 1, low + 1)
    weight = rank - low
    return ordered[low] * (1 - weight) + ordered[high] * weight


FOLDS: dict[str, Callable[[Values], float]] = {
    "sum_over_time": math.fsum,
    "avg_over_time": mean,
    "max_over_time": max,
    "min_over_time": min,
    "stddev_over_time": deviation,
    "stdvar_over_time": variance,
    "first_over_time": operator.itemgetter(0),
    "last_over_time": operator.itemgetter(-1),
    "absent_over_time": len,
}


def _counter_rate(times: list[int], values: list[float], end: int, range_ns: int) -> float | None:
    """Rate of a counter, extrapolated towards the ends of the range as Prometheus does it."""
    if len(times) < 2:
        return None
    drops = [before for before, after in pairwise(values) if after < before]
    increase = values[-1] - values[0] + math.fsum(drops)
    to_start, to_end = (times[0] - (end - range_ns)) / SECOND, (end - times[-1]) / SECOND
    sampled = (times[-1] - times[0]) / SECOND
    if sampled <= 0:
        return None
    spacing = sampled / (len(times) - 1)
    if increase > 0 and values[0] >= 0:
        to_start = min(to_start, sampled * (values[0] / increase))
    near = spacing * 1.1
    covered = sampled + (to_start if to_start < near else spacing / 2) + (to_end if to_end < near else spacing / 2)
    return increase * (covered / sampled) / (range_ns / SECOND)
