"""Quantiles and fractions of classic histograms, whose buckets are series with a label `le`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simcluster.telemetry.promql import text
from simcluster.telemetry.promql.context import Bools, Context, Floats, Ints, Vector, get, nameless, without
from simcluster.telemetry.promql.storage import Labels, LabelSets

#: Differences of neighbours smaller than this, relative to their sum, are taken as errors of the arithmetic.
TOLERANCE = 1e-12
_SMALLEST = 2.2250738585072014e-308
_MONOTONIC = (
    "input to histogram_quantile needed to be fixed for monotonicity"
    " (see https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile)"
)
_NUMBER = re.compile(r"[+-]?(?:inf(?:inity)?|nan|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|0x[0-9a-f]+)", re.IGNORECASE)


@dataclass
class Buckets:
    """One histogram at all steps: cumulative counts by upper bound, ascending.

    Attributes:
        repaired: steps at which a count fell where it must not.
    """

    labels: Labels
    dropped: bool
    bounds: list[float]
    counts: Floats
    present: Bools
    repaired: Bools

    @property
    def complete(self) -> Bools:
        """Where there is a bucket without an upper bound."""
        return self.present[-1] if self.bounds[-1] == math.inf else np.zeros(self.present.shape[1], dtype=bool)


class _Alike(NamedTuple):
    """Histograms of the same bounds among some series: their labels, the bounds, and rows by bound and histogram."""

    labels: LabelSets
    bounds: tuple[float, ...]
    rows: Ints

    def at_once(self, vector: Vector) -> Buckets:
        """All of them as one of so many times the steps."""
        there = vector.present[self.rows].reshape(len(self.bounds), -1)
        counts = np.where(there, vector.values[self.rows].reshape(len(self.bounds), -1), 0.0) + 0.0
        return Buckets((), False, list(self.bounds), counts, there, np.zeros(counts.shape[1], dtype=bool))


@lru_cache(maxsize=256)
def _alike_among(labels: LabelSets) -> _Alike | None:
    """Histograms as they should be: a series of each bound, the same bounds in all; None if they are otherwise."""
    found: dict[Labels, dict[float, int]] = {}
    for row, each in enumerate(labels):
        le = get(each, "le")
        if (
            _NUMBER.fullmatch(le) is None
            or found.setdefault(without(each, "le"), {}).setdefault(_bound(le), row) != row
        ):
            return None
    bounds = sorted(next(iter(found.values()), ()))
    if not bounds or any(bound != bound for bound in bounds) or any(sorted(each) != bounds for each in found.values()):
        return None
    rows = [[each[bound] for each in found.values()] for bound in bounds]
    return _Alike(LabelSets(found), tuple(bounds), np.array(rows, dtype=np.int64))


def _bound(le: str) -> float:
    return float(int(le, 16)) if "x" in le.lower() else float(le)


def _known(vector: Vector) -> _Alike | None:
    """Histograms among series that come again and again."""
    remembered = isinstance(vector.labels, LabelSets) and not any(vector.dropped)
    return _alike_among(vector.labels) if remembered and isinstance(vector.labels, LabelSets) else None


def histograms(ctx: Context, vector: Vector, at: int) -> list[Buckets]:
    """The histograms among the series; what has no proper `le` is noted and left out."""
    found: dict[tuple[Labels, bool], list[tuple[float, int]]] = {}
    for row, labels in enumerate(vector.labels):
        le = get(labels, "le")
        if _NUMBER.fullmatch(le) is None:
            name = get(labels, "__name__")
            named = f' for metric name "{name}"' if name else ""
            ctx.warn(f'bucket label "le" is missing or has a malformed value of "{le}"{named}', at)
            continue
        found.setdefault((without(labels, "le"), vector.dropped[row]), []).append((_bound(le), row))
    return _monotonic([_buckets(vector, labels, drops, rows) for (labels, drops), rows in found.items()])


def _alike(found: list[Buckets]) -> list[list[int]]:
    """Places of histograms that have the same bounds: what is done to one can be done to all at once."""
    by_bounds: dict[tuple[float, ...], list[int]] = {}
    for place, one in enumerate(found):
        by_bounds.setdefault(tuple(one.bounds), []).append(place)
    return list(by_bounds.values())


def _together(found: list[Buckets]) -> Buckets:
    """Histograms of the same bounds as one of so many times the steps."""
    counts = np.concatenate([one.counts for one in found], axis=1)
    present = np.concatenate([one.present for one in found], axis=1)
    repaired = np.concatenate([one.repaired for one in found])
    return Buckets((), False, found[0].bounds, counts, present, repaired)


def _monotonic(found: list[Buckets]) -> list[Buckets]:
    """The same with counts that never fall."""
    for places in _alike(found):
        whole = _together([found[place] for place in places])
        repaired, steps = _made_monotonic(whole.counts, whole.present), found[places[0]].counts.shape[1]
        for number, place in enumerate(places):
            part = slice(number * steps, (number + 1) * steps)
            found[place].counts[:], found[place].repaired[:] = whole.counts[:, part], repaired[part]
    return found


def _buckets(vector: Vector, labels: Labels, dropped: bool, rows: list[tuple[float, int]]) -> Buckets:
    by_bound: dict[float, list[int]] = {}
    for bound, row in sorted(rows):
        by_bound.setdefault(bound, []).append(row)
    if len(by_bound) == len(rows):  # as it should be: a series of each bound
        places = [row for (row,) in by_bound.values()]
        there = vector.present[places]
        table = np.where(there, vector.values[places], 0.0) + 0.0
        return Buckets(labels, dropped, list(by_bound), table, there, np.zeros(table.shape[1], dtype=bool))
    counts, present = [], []
    for same in by_bound.values():
        total = np.zeros(vector.values.shape[1])
        for row in same:
            total = total + np.where(vector.present[row], vector.values[row], 0.0)
        counts.append(total)
        present.append(vector.present[same].any(axis=0))
    table, there = np.stack(counts), np.stack(present)
    return Buckets(labels, dropped, list(by_bound), table, there, np.zeros(table.shape[1], dtype=bool))


def _made_monotonic(counts: Floats, present: Bools) -> Bools:
    """Raise every count to the one before it; where that was more than an error of the arithmetic."""
    repaired = np.zeros(counts.shape[1], dtype=bool)
    before, known = counts[0].copy(), present[0].copy()
    for row in range(1, len(counts)):
        now, there = counts[row], present[row] & known
        size = np.abs(before) + np.abs(now)
        apart = np.abs(before - now)
        tiny = (before == 0) | (now == 0) | (size < _SMALLEST)
        close = np.where(tiny, apart < TOLERANCE * _SMALLEST, apart / np.where(size > 0, size, 1.0) < TOLERANCE)
        falls = there & ~close & (now < before)
        counts[row] = np.where(there & (close | falls) & (now != before), before, now)
        repaired |= falls
        before = np.where(present[row], counts[row], before)
        known = known | present[row]
    return repaired


def quantile(ctx: Context, q: Floats, vector: Vector, q_at: int, at: int) -> Vector:
    """`histogram_quantile(q, vector)`."""
    found = _quantiles(ctx, q, vector, q_at, at)
    return nameless(ctx, found)


def _quantiles(ctx: Context, q: Floats, vector: Vector, q_at: int, at: int) -> Vector:
    wrong = q[np.isnan(q) | (q < 0) | (q > 1)]
    if len(wrong):
        ctx.warn(f"quantile value should be between 0 and 1, got {text.shortest(float(wrong[0]))}", q_at)
    known = _known(vector) if not ctx.options.delayed_names else None
    if known is not None:
        every, shape = known.at_once(vector), (len(known.labels), ctx.steps)
        if bool(_made_monotonic(every.counts, every.present).any()):
            ctx.inform(_MONOTONIC, at)
        there = np.any(every.present, axis=0).reshape(shape)
        return Vector(known.labels, _quantile(np.tile(q, shape[0]), every).reshape(shape), there, [False] * shape[0])
    found = histograms(ctx, vector, at)
    if not found:
        return Vector.empty(ctx.steps)
    for one in found:
        if bool(one.repaired.any()):
            name = get(one.labels, "__name__") if ctx.options.delayed_names else ""
            ctx.inform(_MONOTONIC + (f' for metric name "{name}"' if name else ""), at)
    values = np.zeros((len(found), len(q)))
    for places in _alike(found):
        whole = _quantile(np.tile(q, len(places)), _together([found[place] for place in places]))
        values[places] = whole.reshape(len(places), len(q))
    present = np.stack([one.present.any(axis=0) for one in found])
    return Vector([one.labels for one in found], values, present, [one.dropped for one in found])


def _quantile(q: Floats, one: Buckets) -> Floats:
    number = one.present.sum(axis=0, dtype=np.int64)
    total = one.counts[-1]
    rank = q * total
    steps = len(rank)
    result = np.full(steps, np.nan)
    below_bound, below_count = np.zeros(steps), np.zeros(steps)
    first, settled = np.ones(steps, dtype=bool), np.zeros(steps, dtype=bool)
    for bound, counts, present in zip(one.bounds[:-1], one.counts[:-1], one.present[:-1], strict=True):
        here = present & ~settled & (counts >= rank)
        share = (rank - below_count) / (counts - below_count)
        inside = below_bound + (bound - below_bound) * share
        result = np.where(here, np.where(first & (bound <= 0), bound, inside), result)
        settled |= here
        below_bound, below_count = np.where(present, bound, below_bound), np.where(present, counts, below_count)
        first &= ~present
    result = np.where(settled, result, below_bound)
    result = np.where((number < 2) | (total == 0) | np.isnan(total) | ~one.complete, np.nan, result)
    return np.where(q < 0, -np.inf, np.where(q > 1, np.inf, np.where(np.isnan(q), np.nan, result)))


def fraction(ctx: Context, lower: Floats, upper: Floats, vector: Vector, at: int) -> Vector:
    """`histogram_fraction(lower, upper, vector)`."""
    found = histograms(ctx, vector, at)
    if not found:
        return Vector.empty(ctx.steps)
    values = np.stack([_fraction(lower, upper, one) for one in found])
    present = np.stack([one.present.any(axis=0) for one in found])
    result = Vector([one.labels for one in found], values, present, [one.dropped for one in found])
    return nameless(ctx, result)


def _fraction(lower: Floats, upper: Floats, one: Buckets) -> Floats:
    total = one.counts[-1]
    low, high = _rank(lower, one), _rank(upper, one)
    result = np.where(lower >= upper, 0.0, (np.minimum(high, total) - np.minimum(low, total)) / total)
    return np.where((total == 0) | np.isnan(lower) | np.isnan(upper) | ~one.complete, np.nan, result)


def _rank(value: Floats, one: Buckets) -> Floats:
    """How many observations are below a value, in a straight line inside of a bucket."""
    steps = len(value)
    rank = np.zeros(steps)
    result: Floats = one.counts[-1].copy()
    settled, first = np.zeros(steps, dtype=bool), np.ones(steps, dtype=bool)
    below = np.zeros(steps)
    for bound, counts, present in zip(one.bounds, one.counts, one.present, strict=True):
        below = np.where(first & present, 0.0 if bound > 0 else -np.inf, below)
        before = present & ~settled & (below >= value)
        result, settled = np.where(before, rank, result), settled | before
        within = present & ~settled & (below < value) & (bound > value)
        line = rank + (counts - rank) * (value - below) / (bound - below)
        result = np.where(within, np.where(np.isneginf(below), counts, line), result)
        settled |= within
        rank, below = np.where(present, counts, rank), np.where(present, bound, below)
        first &= ~present
    return result


def quantiles(ctx: Context, vector: Vector, label: str, qs: list[tuple[Floats, int]], at: int) -> Vector:
    """`histogram_quantiles(vector, "label", q, …)`: a series for each quantile."""
    parts: list[Vector] = []
    for q, q_at in qs:
        part = _quantiles(ctx, q, vector, q_at, at)
        value = float(q[0])
        named = text.shortest(value) if value != int(value) else f"{text.shortest(value)}.0"
        part.labels = [tuple(sorted({**dict(each), label: named}.items())) for each in part.labels]
        parts.append(part)
    return nameless(
        ctx,
        Vector(
            [labels for part in parts for labels in part.labels],
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.present for part in parts]),
            [dropped for part in parts for dropped in part.dropped],
        ),
    )
