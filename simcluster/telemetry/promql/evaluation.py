"""Evaluating an expression at all steps of a query at once."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from simcluster.telemetry.promql import (
    aggregation,
    binary,
    calls,
    nativeaggregation,
    nativerows,
    selection,
)
from simcluster.telemetry.promql.context import (
    MAX_STEPS,
    Context,
    Floats,
    Ints,
    NativeRow,
    Options,
    QueryError,
    Spent,
    Value,
    Vector,
    named_at_last,
    nameless,
    without,
)
from simcluster.telemetry.promql.native import Native
from simcluster.telemetry.promql.parsing import parse
from simcluster.telemetry.promql.storage import Labels, Queryable
from simcluster.telemetry.promql.syntax import (
    COMPARISONS,
    SET_OPERATORS,
    Aggregate,
    Binary,
    Call,
    Expr,
    Matching,
    MatrixSelector,
    Number,
    Paren,
    Selector,
    String,
    Subquery,
    Unary,
    bare,
)

#: As a server of 3.x without feature flags.
DEFAULT = Options()


class Series(NamedTuple):
    """One series of a result: labels, milliseconds, values; native histograms with their milliseconds."""

    labels: Labels
    times: Ints
    values: Floats
    natives: tuple[tuple[int, Native], ...] = ()


class Result(NamedTuple):
    """What a query came to.

    Attributes:
        kind: `scalar`, `string`, `vector` or `matrix`.
        series: of a vector one sample each; of a scalar one series without labels.
        text: of a string.
        time: of an instant query, in milliseconds.
    """

    kind: str
    series: list[Series]
    text: str
    time: int
    warnings: list[str]
    infos: list[str]


#: Functions of a window alone, which no value and no number of samples is wrong for.
_OF_WINDOWS = (
    *("changes", "count_over_time", "delta", "increase", "last_over_time", "max_over_time", "min_over_time"),
    *("present_over_time", "rate", "resets", "sum_over_time"),
)
_Range: TypeAlias = MatrixSelector | Subquery


def query(store: Queryable, text: str, time: int, options: Options = DEFAULT, spent: Spent | None = None) -> Result:
    """The value of an expression at an instant (milliseconds); `spent` counts what it reads.

    Raises:
        ParseError: it is no expression.
        QueryError: it has no value, or costs too much.
    """
    expr = parse(text, options.closed)
    ctx = Context(store, text, np.array([time], dtype=np.int64), time, time, 1, options, spent=spent or Spent())
    inner = bare(expr)
    if isinstance(inner, MatrixSelector | Subquery):
        return _matrix(ctx, inner, time)
    value = evaluate(ctx, expr)
    if isinstance(value, str):
        return Result("string", [], value, time, [], [])
    if isinstance(value, Vector):
        value = named_at_last(value)
        found = [
            Series(labels, ctx.times, value.values[row])
            for row, labels in enumerate(value.labels)
            if value.present[row, 0]
        ]
        found += [Series(row.labels, ctx.times[:0], value.values[:0, 0], _timed(ctx, row)) for row in value.natives]
        return Result("vector", found, "", time, list(ctx.warnings), list(ctx.infos))
    return Result("scalar", [Series((), ctx.times, value)], "", time, list(ctx.warnings), list(ctx.infos))


def _matrix(ctx: Context, expr: _Range, time: int) -> Result:
    windows = range_of(ctx, expr)
    found = []
    for row, labels in enumerate(windows.labels):
        inside = slice(int(windows.lo[row, 0]), int(windows.hi[row, 0]))
        natives = tuple(
            each
            for each in windows.natives.get(row, ())
            if int(windows.ends[0]) - windows.range_ms < each[0] <= int(windows.ends[0])
        )
        if inside.start < inside.stop or natives:
            kept = without(labels, "__name__") if windows.dropped[row] else labels
            found.append(Series(kept, windows.times[inside], windows.values[inside], natives))
    found.sort(key=lambda one: one.labels)
    return Result("matrix", found, "", time, list(ctx.warnings), list(ctx.infos))


def query_range(
    store: Queryable,
    text: str,
    start: int,
    end: int,
    step: int,
    options: Options = DEFAULT,
    spent: Spent | None = None,
) -> Result:
    """The values of an expression at `start`, `start + step`, … up to `end` (milliseconds); `spent` as of `query`.

    Raises:
        ParseError: it is no expression, or no instant vector or scalar.
        QueryError: it has no value, or costs too much.
    """
    expr = parse(text, options.closed)
    inner = bare(expr)
    if isinstance(inner, MatrixSelector | Subquery | String):
        kind = "string" if isinstance(inner, String) else "range vector"
        raise QueryError(
            f'invalid expression type "{kind}" for range query, must be Scalar or instant Vector', "bad_data"
        )
    if (end - start) // step > MAX_STEPS:
        raise QueryError(
            "exceeded maximum resolution of 11,000 points per timeseries."
            " Try decreasing the query resolution (?step=XX)",
            "bad_data",
        )
    times = np.arange(start, end + 1, step, dtype=np.int64)
    ctx = Context(store, text, times, start, end, step, options, True, spent or Spent())
    value = evaluate(ctx, expr)
    assert not isinstance(value, str)
    if not isinstance(value, Vector):
        value = Vector.of([()], np.broadcast_to(value, (1, len(times))), np.ones((1, len(times)), dtype=bool))
    value = named_at_last(value)
    natives = {row.labels: _timed(ctx, row) for row in value.natives}
    found = [
        Series(labels, times[value.present[row]], value.values[row][value.present[row]], natives.pop(labels, ()))
        for row, labels in enumerate(value.labels)
        if value.present[row].any()
    ]
    found += [Series(labels, times[:0], np.zeros(0), timed) for labels, timed in natives.items()]
    found.sort(key=lambda one: one.labels)
    return Result("matrix", found, "", end, list(ctx.warnings), list(ctx.infos))


def _timed(ctx: Context, row: NativeRow) -> tuple[tuple[int, Native], ...]:
    return tuple((int(ctx.times[step]), one) for step, one in sorted(row.samples.items()))


def evaluate(ctx: Context, expr: Expr) -> Value:
    """The value of an expression that is no range vector, at all steps."""
    if isinstance(expr, Number):
        return np.full(ctx.steps, expr.value)
    if isinstance(expr, String):
        return expr.value
    if isinstance(expr, Paren):
        return evaluate(ctx, expr.expr)
    if isinstance(expr, Selector):
        return selection.instant(ctx, expr)[0]
    with np.errstate(all="ignore"):
        if isinstance(expr, Unary):
            return _negative(ctx, evaluate(ctx, expr.expr), expr.op)
        if isinstance(expr, Binary):
            return _binary(ctx, expr)
        if isinstance(expr, Aggregate):
            return _aggregate(ctx, expr)
        assert isinstance(expr, Call), expr
        return calls.call(ctx, expr, evaluate, range_of)


def range_of(ctx: Context, expr: Expr) -> selection.Windows:
    """Windows of a range vector."""
    expr = bare(expr)
    if isinstance(expr, MatrixSelector):
        return selection.windows(ctx, expr)
    assert isinstance(expr, Subquery), expr
    ends, grid, step = selection.subquery_times(ctx, expr)
    value = evaluate(ctx.during(grid, step), expr.expr)
    assert not isinstance(value, str)
    if not isinstance(value, Vector):
        value = Vector.of([()], np.broadcast_to(value, (1, len(grid))), np.ones((1, len(grid)), dtype=bool))
    return selection.subquery_windows(ctx, value, grid, ends, expr.range_ms)


def _negative(ctx: Context, value: Value, op: str) -> Value:
    assert not isinstance(value, str)
    if op == "+":
        return value
    if not isinstance(value, Vector):
        return -value
    natives = nativerows.mapped(ctx, value.natives, _negated)
    return nameless(ctx, Vector(value.labels, -value.values, value.present, value.dropped, natives))


def _negated(step: int, one: Native) -> Native:
    return one.scaled(-1.0)


def _binary(ctx: Context, node: Binary) -> Value:
    lhs = _quotient(ctx, node) if ctx.options.brief else evaluate(ctx, node.lhs)
    kept = ctx.options.brief and node.op in ("and", "unless") and isinstance(lhs, Vector) and not lhs.natives
    if kept and isinstance(lhs, Vector) and not bool(lhs.present.any()) and _has_value(node.rhs):
        return Vector.empty(ctx.steps)
    rhs = evaluate(ctx, node.rhs)
    assert not isinstance(lhs, str)
    assert not isinstance(rhs, str)
    if isinstance(lhs, Vector) and isinstance(rhs, Vector):
        if node.op in SET_OPERATORS:
            return binary.sets(node, lhs, rhs)
        return binary.vectors(ctx, node, lhs, rhs)
    if isinstance(lhs, Vector):
        assert not isinstance(rhs, Vector)
        return binary.with_scalar(ctx, node, lhs, rhs, False)
    if isinstance(rhs, Vector):
        return binary.with_scalar(ctx, node, rhs, lhs, True)
    return binary.scalars(node.op, lhs, rhs)


def _has_value(expr: Expr) -> bool:
    """Whether an expression has a value whatever is stored: of one metric, of its windows, compared with a number."""
    expr = bare(expr)
    if isinstance(expr, Binary):
        return expr.op in COMPARISONS and isinstance(bare(expr.rhs), Number) and _has_value(expr.lhs)
    if isinstance(expr, Call):
        return expr.function in _OF_WINDOWS and _has_value(expr.args[0])
    found = expr.selector if isinstance(expr, MatrixSelector) else expr
    return isinstance(found, Selector) and any(one.name == "__name__" and one.op == "=" for one in found.matchers)


def _quotient(ctx: Context, node: Binary) -> Value:
    """The left side of a comparison; of `a / b > c` with c >= 0 only if some `a` is not zero: else none is above.

    Of vectors that are matched by all their labels, so that nothing is refused that is not evaluated.
    """
    share, bound = bare(node.lhs), bare(node.rhs)
    above = node.op == ">" and not node.returns_bool and isinstance(bound, Number) and bound.value >= 0.0
    if not above or not isinstance(share, Binary) or share.op != "/" or share.matching != Matching():
        return evaluate(ctx, node.lhs)
    parts = evaluate(ctx, share.lhs)
    if isinstance(parts, Vector) and not parts.natives:
        if not bool((parts.present & (parts.values != 0.0)).any()):
            return Vector.empty(ctx.steps)
        wholes = evaluate(ctx, share.rhs)
        if isinstance(wholes, Vector):
            return binary.vectors(ctx, share, parts, wholes)
    return evaluate(ctx, node.lhs)


def _aggregate(ctx: Context, node: Aggregate) -> Vector:
    param = None if node.param is None else evaluate(ctx, node.param)
    vector = evaluate(ctx, node.expr)
    assert isinstance(vector, Vector)
    assert not isinstance(param, Vector)
    vector = vector.filled()
    result = _aggregated(ctx, node, vector, param)
    return nativeaggregation.added(ctx, node, vector, result, param) if vector.natives else result


def _aggregated(ctx: Context, node: Aggregate, vector: Vector, param: Floats | str | None) -> Vector:
    if isinstance(param, str):
        return aggregation.count_values(ctx, vector, node, param)
    if param is None:
        return aggregation.simple(ctx, vector, node)
    if node.op == "quantile":
        return aggregation.quantiles(ctx, vector, node, param)
    return aggregation.selected(ctx, vector, node, param)
