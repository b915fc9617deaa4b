"""Aggregations over vectors with native histograms: what they add to, or take from, those of the numbers."""

from __future__ import annotations

import numpy as np

from simcluster.telemetry.promql import nativerows
from simcluster.telemetry.promql.aggregation import groups
from simcluster.telemetry.promql.binary import with_numbers
from simcluster.telemetry.promql.context import Context, Floats, Ints, NativeRow, Vector, merged
from simcluster.telemetry.promql.hashing import label_hash
from simcluster.telemetry.promql.native import Native
from simcluster.telemetry.promql.storage import Labels
from simcluster.telemetry.promql.syntax import Aggregate

#: Aggregations that pass over histograms, with a note.
IGNORE = ("min", "max", "stddev", "stdvar", "quantile", "topk", "bottomk")


def added(ctx: Context, node: Aggregate, vector: Vector, result: Vector, param: Floats | str | None) -> Vector:
    """The result of an aggregation with what its histograms come to.

    Args:
        vector: what is aggregated; `result` is that of its numbers.
        param: of the aggregation, if it has one.
    """
    if node.op in IGNORE:
        ctx.inform(f"ignored histogram in {node.op} aggregation", node.expr.start)
        return result
    if param is not None and not isinstance(param, str):
        return _picked(ctx, node, (vector, result), param)
    found = nativerows.grouped(vector.natives, node)
    if node.op in ("sum", "avg"):
        return _summed(ctx, node, (vector, result), found)
    rows: dict[tuple[Labels, bool], dict[int, float]] = {}
    for (labels, drops), by_step in found.items():
        for step, samples in by_step.items():
            if node.op != "count_values":
                rows.setdefault((labels, drops), {})[step] = float(len(samples)) if node.op == "count" else 1.0
                continue
            for one in samples:
                key = tuple(sorted({**dict(labels), str(param): str(one)}.items()))
                counts = rows.setdefault((key, drops), {})
                counts[step] = counts.get(step, 0.0) + 1.0
    return _counted(result, rows, node.op == "group")


def _counted(result: Vector, rows: dict[tuple[Labels, bool], dict[int, float]], group: bool) -> Vector:
    places = {(labels, result.dropped[row]): row for row, labels in enumerate(result.labels)}
    fresh = []
    for key, counts in rows.items():
        row = places.get(key)
        if row is None:
            fresh.append((*key, counts))
            continue
        for step, count in counts.items():
            before = result.values[row, step] if result.present[row, step] else 0.0
            result.values[row, step] = 1.0 if group else before + count
            result.present[row, step] = True
    return with_numbers(result, fresh)


def _summed(
    ctx: Context,
    node: Aggregate,
    vectors: tuple[Vector, Vector],
    found: dict[tuple[Labels, bool], dict[int, list[Native]]],
) -> Vector:
    vector, result = vectors
    members = groups(vector, node)
    places = {(labels, result.dropped[row]): row for row, labels in enumerate(result.labels)}
    for key, by_step in found.items():
        numbers = np.any(vector.present[members[key]], axis=0) if key in members else np.zeros(ctx.steps, dtype=bool)
        samples = {}
        for step, histograms in by_step.items():
            if numbers[step]:
                nativerows.mixed(ctx, node.expr.start, "aggregation")
                result.present[places[key], step] = False
                continue
            total = nativerows.total(ctx, histograms, node.op == "avg", node.expr.start, 'metric name ""')
            if total is not None:
                samples[step] = total
        if samples:
            result.natives.append(NativeRow(key[0], key[1], samples))
    return result


def _picked(ctx: Context, node: Aggregate, vectors: tuple[Vector, Vector], param: Floats) -> Vector:
    """Histograms that `limitk` has room for, or that `limit_ratio` draws."""
    vector, result = vectors
    taken: dict[tuple[Labels, bool], Ints] = {}
    for key, rows in groups(result, node).items():
        taken[key] = result.present[rows].sum(axis=0)  # integers
    for row in vector.natives:
        counts = taken.setdefault(nativerows.key_of(row, node), np.zeros(ctx.steps, dtype=np.int64))
        place = float(label_hash(row.labels)) / float((1 << 64) - 1)
        samples = {}
        for step, one in row.samples.items():
            limit = float(param[step])
            if node.op == "limitk":
                kept = counts[step] < limit
                counts[step] += int(kept)
            else:
                kept = place < limit if limit >= 0 else place >= 1.0 + max(limit, -1.0)
            if kept:
                samples[step] = one
        if samples:
            result.natives.append(NativeRow(row.labels, row.dropped, samples))
    return merged(result)
