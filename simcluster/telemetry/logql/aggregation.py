"""Vector aggregations: `sum`, `topk` and their like, and `label_replace`."""

from __future__ import annotations

import math
from collections.abc import Callable

from simcluster.telemetry.logql import syntax
from simcluster.telemetry.logql.context import QueryError, Row, Rows
from simcluster.telemetry.logql.overtime import Values, deviation, mean, variance
from simcluster.telemetry.promql.regex import compiled, expand
from simcluster.telemetry.promql.storage import Labels


def _count(values: Values) -> float:
    return float(len(values))


_FOLDS: dict[str, Callable[[Values], float]] = {
    "sum": math.fsum, "avg": mean, "max": max, "min": min, "count": _count,
    "stddev": deviation, "stdvar": variance,
}  # fmt: skip


def vector_aggregation(node: syntax.VectorAggregation, rows: Rows) -> Rows:
    """One row for each group; of `topk` and its like the rows that are chosen, and of `sort` all, in order."""
    if node.op in ("sort", "sort_desc"):
        return dict(sorted(rows.items(), key=_last, reverse=node.op == "sort_desc"))
    groups: dict[Labels, list[Labels]] = {}
    for labels in sorted(rows):
        groups.setdefault(_group(node.grouping, labels), []).append(labels)
    if node.op in ("topk", "bottomk", "approx_topk"):
        return _chosen(node, rows, groups)
    fold = _FOLDS[node.op]
    found: Rows = {}
    for group, members in groups.items():
        row: Row = []
        for values in zip(*[rows[one] for one in members], strict=True):
            present = [value for value in values if value is not None]
            row.append(fold(present) if present else None)
        found[group] = row
    return found


def _group(grouping: syntax.Grouping | None, labels: Labels) -> Labels:
    if grouping is None:
        return ()
    return tuple([item for item in labels if (item[0] in grouping.labels) != grouping.without])


def _last(item: tuple[Labels, Row]) -> tuple[bool, float]:
    value = item[1][-1]
    return value is not None and not math.isnan(value), 0.0 if value is None or math.isnan(value) else value


def _chosen(node: syntax.VectorAggregation, rows: Rows, groups: dict[Labels, list[Labels]]) -> Rows:
    top, count = node.op != "bottomk", int(node.parameter)
    found: Rows = {}
    for members in groups.values():
        for at in range(len(rows[members[0]])):
            present = [(value, labels) for labels in members if (value := rows[labels][at]) is not None]
            present.sort(key=_number, reverse=top)
            for value, labels in present[:count]:
                found.setdefault(labels, [None] * len(rows[labels]))[at] = value
    return found


def _number(item: tuple[float, Labels]) -> float:
    return item[0]


def label_replace(node: syntax.LabelReplace, rows: Rows) -> Rows:
    """Rows with one label made of another.

    Raises:
        QueryError: two rows became the same.
    """
    expression = compiled(node.pattern)
    found: Rows = {}
    for labels, row in rows.items():
        known = dict(labels)
        match = expression.match(known.get(node.source, ""))
        if match is not None:
            known[node.target] = expand(node.replacement, match)
        key = tuple(sorted(item for item in known.items() if item[1]))
        if key in found:
            raise QueryError("vector cannot contain metrics with the same labelset")
        found[key] = row
    return found
