"""Series of native histograms beside those of numbers: what operators and aggregations make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from simcluster.telemetry.promql.context import Context, Floats, NativeRow, get, without
from simcluster.telemetry.promql.native import MixedSchemas, Native
from simcluster.telemetry.promql.storage import Labels
from simcluster.telemetry.promql.syntax import Aggregate, Binary

Samples: TypeAlias = dict[int, Native]
_MIXED = "encountered a mix of histograms and floats for "


def relabelled(ctx: Context, rows: Iterable[NativeRow]) -> list[NativeRow]:
    """The same without names, now or at the end."""
    if ctx.options.delayed_names:
        return [NativeRow(row.labels, True, row.samples) for row in rows]
    return [NativeRow(without(row.labels, "__name__"), False, row.samples) for row in rows]


def mapped(ctx: Context, rows: Iterable[NativeRow], change: Callable[[int, Native], Native]) -> list[NativeRow]:
    """Each sample changed, by step and value; names go."""
    return relabelled(
        ctx,
        [
            NativeRow(row.labels, row.dropped, {step: change(step, one) for step, one in row.samples.items()})
            for row in rows
        ],
    )


def with_scalar(ctx: Context, node: Binary, rows: list[NativeRow], scalar: Floats, swapped: bool) -> list[NativeRow]:
    """Histogram and number: only `*`, and `/` by a number."""
    if not rows:
        return []
    if node.op == "*":
        return mapped(ctx, rows, lambda step, one: one.scaled(float(scalar[step])))
    if node.op == "/" and not swapped:
        return mapped(ctx, rows, lambda step, one: one.divided(float(scalar[step])))
    types = ("float", "histogram") if swapped else ("histogram", "float")
    incompatible(ctx, node, *types)
    return []


def incompatible(ctx: Context, node: Binary, lhs: str, rhs: str) -> None:
    """Note that an operator has no meaning for the types."""
    ctx.inform(
        f'incompatible sample types encountered for binary operator "{node.op}": {lhs} {node.op} {rhs}', node.start
    )


def between(ctx: Context, node: Binary, lhs: Native | float, rhs: Native | float) -> Native | float | None:
    """Two partners, at least one a histogram; None if nothing comes of it."""
    op = node.op
    left, right = isinstance(lhs, Native), isinstance(rhs, Native)
    if isinstance(lhs, Native) and isinstance(rhs, Native):
        if op in ("==", "!="):
            holds = lhs.same(rhs) == (op == "==")
            return float(holds) if node.returns_bool else lhs if holds else None
        if op in ("+", "-"):
            try:
                return lhs.plus(rhs, 1.0 if op == "+" else -1.0)
            except MixedSchemas:
                ctx.warn(f"incompatible bucket layout encountered for binary operator {op}", node.start)
                return None
    elif isinstance(lhs, Native) and not isinstance(rhs, Native) and op in ("*", "/"):
        return lhs.scaled(rhs) if op == "*" else lhs.divided(rhs)
    elif isinstance(rhs, Native) and not isinstance(lhs, Native) and op == "*":
        return rhs.scaled(lhs)
    incompatible(ctx, node, "histogram" if left else "float", "histogram" if right else "float")
    return None


def key_of(row: NativeRow, node: Aggregate) -> tuple[Labels, bool]:
    """The group of a row, and whether the group's name is to go."""
    if node.without:
        return without(row.labels, "__name__", *node.grouping), False
    key = tuple((name, value) for name in sorted(set(node.grouping)) if (value := get(row.labels, name)))
    return key, row.dropped and "__name__" in node.grouping


def grouped(rows: Iterable[NativeRow], node: Aggregate) -> dict[tuple[Labels, bool], dict[int, list[Native]]]:
    """Samples of each group by step."""
    found: dict[tuple[Labels, bool], dict[int, list[Native]]] = {}
    for row in rows:
        by_step = found.setdefault(key_of(row, node), {})
        for step, one in row.samples.items():
            by_step.setdefault(step, []).append(one)
    return found


def total(ctx: Context, found: list[Native], mean: bool, start: int, what: str) -> Native | None:
    """Sum or mean of some; None if their buckets do not go together, with a note."""
    result = found[0]
    try:
        for one in found[1:]:
            result = result.plus(one)
    except MixedSchemas:
        ctx.warn(f"vector contains a mix of histograms with exponential and custom buckets schemas for {what}", start)
        return None
    return result.divided(float(len(found))) if mean else result


def mixed(ctx: Context, start: int, what: str) -> None:
    """Note that floats and histograms met."""
    ctx.warn(_MIXED + what, start)


def as_floats(
    rows: Iterable[NativeRow], change: Callable[[int, Native], float]
) -> list[tuple[Labels, bool, Mapping[int, float]]]:
    """A number of each sample."""
    return [(row.labels, row.dropped, {step: change(step, one) for step, one in row.samples.items()}) for row in rows]
