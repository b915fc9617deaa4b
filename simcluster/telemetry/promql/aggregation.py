"""Aggregations over series, step by step of all steps at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import isinf
from typing import NamedTuple

import numpy as np

from simcluster.telemetry.promql import text
from simcluster.telemetry.promql.binary import quoted
from simcluster.telemetry.promql.context import Bools, Context, Floats, Ints, QueryError, Vector, get, without
from simcluster.telemetry.promql.folding import add, quantile
from simcluster.telemetry.promql.hashing import label_hash
from simcluster.telemetry.promql.labelfunctions import is_label
from simcluster.telemetry.promql.storage import Labels, LabelSets
from simcluster.telemetry.promql.syntax import Aggregate

Groups = dict[tuple[Labels, bool], list[int]]
#: So many places of a table of groups may stay empty beyond as many as there are series.
MOST_FILLING = 64


def groups(vector: Vector, node: Aggregate) -> Groups:
    """Labels of each group and whether its name is to go -> its rows."""
    if isinstance(vector.labels, LabelSets) and not any(vector.dropped):
        return _groups(vector.labels, tuple(node.grouping), node.without)
    found: Groups = {}
    wanted = sorted(set(node.grouping))
    for index, labels in enumerate(vector.labels):
        if node.without:
            key = without(labels, "__name__", *node.grouping)
        else:
            key = tuple((name, value) for name in wanted if (value := get(labels, name)))
        drops = vector.dropped[index] and any(name == "__name__" for name, _ in key)
        found.setdefault((key, drops), []).append(index)
    return found


@lru_cache(maxsize=1024)
def _groups(labels: LabelSets, grouping: tuple[str, ...], others: bool) -> Groups:
    """The same of series that keep their names; nobody changes it."""
    found: Groups = {}
    wanted = sorted(set(grouping))
    for index, each in enumerate(labels):
        if others:
            key = without(each, "__name__", *grouping)
        else:
            key = tuple((name, value) for name in wanted if (value := get(each, name)))
        found.setdefault((key, False), []).append(index)
    return found


class _Members(NamedTuple):
    """Labels of groups, and a table of their rows, filled up with the place after the last row."""

    labels: LabelSets
    table: Ints


@lru_cache(maxsize=512)
def _members(labels: LabelSets, grouping: tuple[str, ...], others: bool) -> _Members | None:
    """Groups of series that keep their names; None if their sizes are too different for a table."""
    found = _groups(labels, grouping, others)
    width = max(map(len, found.values()), default=0)
    if width * len(found) > 2 * len(labels) + MOST_FILLING:
        return None
    table = [rows + [len(labels)] * (width - len(rows)) for rows in found.values()]
    return _Members(LabelSets(key for key, _ in found), np.array(table, dtype=np.int64).reshape(len(found), width))


def _of_members(ctx: Context, vector: Vector, node: Aggregate) -> Vector | None:
    """`sum` and `count` of series that come again and again; None if they do not."""
    if node.op not in ("sum", "count") or not isinstance(vector.labels, LabelSets) or any(vector.dropped):
        return None
    known = _members(vector.labels, tuple(node.grouping), node.without)
    if known is None:
        return None
    nothing = np.zeros((1, ctx.steps))
    there = np.concatenate((vector.present, nothing.astype(bool)))[known.table]
    if node.op == "count":
        values = there.sum(axis=1, dtype=np.int64).astype(np.float64)
    else:
        numbers = np.concatenate((np.where(vector.present, vector.values, 0.0), nothing))[known.table]
        total = rest = np.zeros((len(known.labels), ctx.steps))
        for place in range(numbers.shape[1]):
            total, rest = add(numbers[:, place], total, rest)
        values = np.where(np.isinf(total), total, total + rest)
    return Vector(known.labels, values, np.any(there, axis=1), [False] * len(known.labels))


def simple(ctx: Context, vector: Vector, node: Aggregate) -> Vector:
    """Aggregations without a parameter."""
    quick = _of_members(ctx, vector, node)
    if quick is not None:
        return quick
    steps = ctx.steps
    found = groups(vector, node)
    if steps == 1 and node.op == "sum":
        return _sums(vector, found)
    values, present = np.zeros((len(found), steps)), np.zeros((len(found), steps), dtype=bool)
    for place, rows in enumerate(found.values()):
        values[place] = _SIMPLE[node.op](vector.values[rows], vector.present[rows])
        present[place] = vector.present[rows].any(axis=0)
        if ctx.options.closed and node.op in ("stdvar", "stddev"):  # 2.x took one sample for itself, whatever it is
            values[place] = np.where(vector.present[rows].sum(axis=0) == 1, 0.0, values[place])  # integers
    return Vector([key for key, _ in found], values, present, [drops for _, drops in found])


def _sum(values: Floats, present: Bools) -> Floats:
    total = rest = np.zeros(values.shape[1])
    for row in np.where(present, values, 0.0):
        total, rest = add(row, total, rest)
    return np.where(np.isinf(total), total, total + rest)


def _sums(vector: Vector, found: Groups) -> Vector:
    """Sums at a single step: the same additions as `_sum`, of plain numbers."""
    numbers, there = vector.values[:, 0].tolist(), vector.present[:, 0].tolist()
    sums = np.array([_sum_of([numbers[row] if there[row] else 0.0 for row in rows]) for rows in found.values()])
    present = np.array([any(there[row] for row in rows) for rows in found.values()], dtype=bool)
    return Vector([key for key, _ in found], sums[:, None], present[:, None], [drops for _, drops in found])


def _sum_of(numbers: list[float]) -> float:
    total = rest = 0.0
    for x in numbers:
        grown = total + x
        rest = 0.0 if isinf(grown) else rest + ((total - grown) + x if abs(total) >= abs(x) else (x - grown) + total)
        total = grown
    return total if isinf(total) else total + rest


def _count(values: Floats, present: Bools) -> Floats:
    count: Floats = present.sum(axis=0, dtype=np.int64).astype(np.float64)
    return count


def _avg(values: Floats, present: Bools) -> Floats:
    steps = values.shape[1]
    total = rest = count = np.zeros(steps)
    stepwise = np.zeros(steps, dtype=bool)
    for x, active in zip(np.where(present, values, 0.0), present, strict=True):
        count = count + active
        grown, lost = add(x, total, rest)
        begins = active & ~stepwise & np.isinf(grown) & (count > 1)
        n = np.maximum(count, 1)
        if bool(begins.any()) or bool(stepwise.any()):
            before = np.maximum(n - 1, 1)
            mean, mean_rest = np.where(begins, total / before, total), np.where(begins, rest / before, rest)
            stepwise = stepwise | begins
            q = (n - 1) / n
            grown_mean, lost_mean = add(x / n, q * mean, q * mean_rest)
            grown, lost = np.where(stepwise, grown_mean, grown), np.where(stepwise, lost_mean, lost)
        total, rest = np.where(active, grown, total), np.where(active, lost, rest)
    count = np.maximum(count, 1)
    return np.where(stepwise, total + rest, total / count + rest / count)


def _extreme(values: Floats, present: Bools, better: Callable[[Floats, Floats], Bools]) -> Floats:
    best, known = values[0], present[0]
    for x, active in zip(values[1:], present[1:], strict=True):
        wins = active & (~known | better(x, best) | np.isnan(best))
        best, known = np.where(wins, x, best), known | active
    result: Floats = best
    return result


def _max(values: Floats, present: Bools) -> Floats:
    return _extreme(values, present, np.greater)


def _min(values: Floats, present: Bools) -> Floats:
    return _extreme(values, present, np.less)


def _group(values: Floats, present: Bools) -> Floats:
    return np.ones(values.shape[1])


def _stdvar(values: Floats, present: Bools) -> Floats:
    steps = values.shape[1]
    count, mean, spread = np.zeros(steps), np.zeros(steps), np.zeros(steps)
    for x, active in zip(values, present, strict=True):
        first = active & (count == 0)
        count = count + active
        delta = x - mean
        moved = mean + delta / np.maximum(count, 1)
        wider = np.where(first, np.where(np.isfinite(x), 0.0, np.nan), spread + delta * (x - moved))
        mean = np.where(active, np.where(first, x, moved), mean)
        spread = np.where(active, wider, spread)
    return spread / np.maximum(count, 1)


def _stddev(values: Floats, present: Bools) -> Floats:
    return np.sqrt(_stdvar(values, present))


_SIMPLE: dict[str, Callable[[Floats, Bools], Floats]] = {
    "sum": _sum, "count": _count, "avg": _avg, "max": _max, "min": _min, "group": _group,
    "stdvar": _stdvar, "stddev": _stddev,
}  # fmt: skip


def quantiles(ctx: Context, vector: Vector, node: Aggregate, q: Floats) -> Vector:
    """`quantile(q, …)`."""
    assert node.param is not None
    if len(vector.labels):
        for each in q[np.isnan(q) | (q < 0) | (q > 1)][:1]:
            shown = text.shortest(float(each))
            ctx.warn(f"quantile value should be between 0 and 1, got {shown}", node.param.start)
    found = groups(vector, node)
    values, present = np.zeros((len(found), ctx.steps)), np.zeros((len(found), ctx.steps), dtype=bool)
    for place, rows in enumerate(found.values()):
        known = vector.present[rows]
        table = np.where(known, vector.values[rows], np.nan).T
        values[place] = quantile(q, np.ascontiguousarray(table), known.sum(axis=0, dtype=np.int64))
        present[place] = known.any(axis=0)
    return Vector([key for key, _ in found], values, present, [drops for _, drops in found])


def count_values(ctx: Context, vector: Vector, node: Aggregate, label: str) -> Vector:
    """`count_values("label", …)`: how many series have each value.

    Raises:
        QueryError: no label can have that name.
    """
    if not is_label(label):
        raise QueryError(f"invalid label name {quoted(label)}")
    found: dict[tuple[Labels, bool], Floats] = {}
    for (labels, drops), rows in groups(vector, node).items():
        row, step = np.nonzero(vector.present[rows])
        values, place = np.unique(vector.values[rows][row, step], return_inverse=True)
        ctx.spent.hold(4 * len(values), ctx.steps)
        counts = np.zeros((len(values), ctx.steps))
        np.add.at(counts, (place, step), 1.0)
        for value, count in zip(values.tolist(), counts, strict=True):
            key = tuple(sorted({**dict(labels), label: text.decimal(value)}.items()))
            place_of = (key, drops and label != "__name__")
            found[place_of] = found[place_of] + count if place_of in found else count
    if not found:
        return Vector.empty(ctx.steps)
    table = np.stack(list(found.values()))
    return Vector([key for key, _ in found], table, table > 0, [drops for _, drops in found])


def selected(ctx: Context, vector: Vector, node: Aggregate, param: Floats) -> Vector:
    """`topk`, `bottomk`, `limitk` and `limit_ratio`: some of the series of each group, as they are.

    Of an instant, what is picked comes in order.
    """
    kept = np.zeros(vector.present.shape, dtype=bool)
    order: list[int] = []
    if node.op == "limit_ratio":
        ratios = _ratios(ctx, node, param, bool(vector.labels))
        for row, labels in enumerate(vector.labels):
            kept[row] = _in_ratio(ratios, label_hash(labels))
        order = list(range(len(vector.labels)))
    else:
        limits = _limits(param)
        for rows in groups(vector, node).values():
            order += _pick(vector, rows, limits, node.op, kept)
    result = Vector(vector.labels, vector.values, vector.present & kept, vector.dropped)
    return result.rows(order).filled() if ctx.steps == 1 and not ctx.ranged else result


def _limits(param: Floats) -> list[int]:
    for value in param:
        if np.isnan(value):
            raise QueryError("Parameter value is NaN")
        if value >= 2.0**63:
            raise QueryError(f"Scalar value {text.shortest(float(value))} overflows int64")
        if value <= -(2.0**63):
            raise QueryError(f"Scalar value {text.shortest(float(value))} underflows int64")
    return [int(value) for value in param]


def _pick(vector: Vector, rows: list[int], limits: list[int], op: str, kept: Bools) -> list[int]:
    """Mark what is kept of a group; of the last step in its order."""
    last: list[int] = []
    for step, k in enumerate(limits):
        k = min(k, len(rows))
        if k < 1:
            last = []
            continue
        there = [row for row in rows if vector.present[row, step]]
        if op == "limitk":
            last = there[:k]
        else:
            last = _best([(float(vector.values[row, step]), row) for row in there], k, 1.0 if op == "topk" else -1.0)
        kept[last, step] = True
    return last


def _best(candidates: list[tuple[float, int]], k: int, sign: float) -> list[int]:
    """The k largest (or smallest), best first; of equals those that Prometheus' heap keeps."""
    heap: list[tuple[float, int]] = []  # worst first; NaN is the worst
    for value, row in candidates:
        ranked = value * sign
        if len(heap) < k:
            heap.append((ranked, row))
            _up(heap, len(heap) - 1)
        elif heap[0][0] < ranked or (heap[0][0] != heap[0][0] and ranked == ranked):
            heap[0] = (ranked, row)
            _down(heap)
    heap.sort(key=lambda each: (each[0] != each[0], -each[0] if each[0] == each[0] else 0.0))
    return [row for _, row in heap]


def _less(a: float, b: float) -> bool:
    return a != a or a < b


def _up(heap: list[tuple[float, int]], at: int) -> None:
    while at > 0:
        above = (at - 1) // 2
        if not _less(heap[at][0], heap[above][0]):
            return
        heap[at], heap[above] = heap[above], heap[at]
        at = above


def _down(heap: list[tuple[float, int]]) -> None:
    at = 0
    while (child := 2 * at + 1) < len(heap):
        if child + 1 < len(heap) and _less(heap[child + 1][0], heap[child][0]):
            child += 1
        if not _less(heap[child][0], heap[at][0]):
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


def _ratios(ctx: Context, node: Aggregate, param: Floats, any_series: bool) -> Floats:
    assert node.param is not None
    if bool(np.isnan(param).any()):
        raise QueryError("Ratio value is NaN")
    for value in param[np.abs(param) > 1][:1] if any_series else ():
        cap = 1 if value > 0 else -1
        shown = text.shortest(float(value))
        ctx.warn(f"ratio value should be between -1 and 1, got {shown}, capping to {cap}", node.param.start)
    return np.clip(param, -1.0, 1.0)


def _in_ratio(ratios: Floats, hashed: int) -> Bools:
    place = float(hashed) / float((1 << 64) - 1)
    return ((ratios >= 0) & (place < ratios)) | ((ratios < 0) & (place >= 1.0 + ratios))
