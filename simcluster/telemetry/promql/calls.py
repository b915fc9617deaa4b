"""Calling functions: which arguments they take, what becomes of names, and what is worth a note."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from simcluster.telemetry.promql import elementwise, folding, histograms, information, labelfunctions, overtime, text
from simcluster.telemetry.promql.context import Bools, Context, Floats, QueryError, Value, Vector, get, nameless
from simcluster.telemetry.promql.folding import Chunk
from simcluster.telemetry.promql.overtime import Folded
from simcluster.telemetry.promql.selection import Windows, instant
from simcluster.telemetry.promql.syntax import Call, Expr, MatrixSelector, Selector, bare

Evaluate: TypeAlias = Callable[[Context, Expr], Value]
RangeOf: TypeAlias = Callable[[Context, Expr], Windows]

#: Suffixes that a counter has by convention.
COUNTERS = ("_total", "_sum", "_count", "_bucket")
#: Functions of native histograms.
NATIVE = ("histogram_avg", "histogram_count", "histogram_stddev", "histogram_stdvar", "histogram_sum")


def call(ctx: Context, node: Call, evaluate: Evaluate, range_of: RangeOf) -> Value:
    """The value of a function at all steps.

    Raises:
        QueryError: an argument has no meaning.
    """
    name = node.function
    if name in overtime.PLAIN or name in overtime.EXTRAPOLATED or name in _WITH_RANGE:
        return _over_time(ctx, node, evaluate, range_of)
    if name == "absent_over_time":
        windows = range_of(ctx, node.args[0])
        there = np.any(windows.hi > windows.lo, axis=0) if windows.labels else np.zeros(ctx.steps, dtype=bool)
        return _absent(node, there)
    if name == "timestamp" and isinstance(bare(node.args[0]), Selector):
        selector = bare(node.args[0])
        assert isinstance(selector, Selector)
        vector, at = instant(ctx, selector)
        return nameless(ctx, Vector(vector.labels, at / 1000, vector.present, vector.dropped))
    if name == "info":
        return information.info(ctx, _vector(evaluate(ctx, node.args[0])), node.args[1:])
    args = [evaluate(ctx, arg) for arg in node.args]
    if not args or name == "vector":
        return _of_no_vector(ctx, node, args)
    if name in ("label_replace", "label_join", "sort_by_label", "sort_by_label_desc"):
        return _of_labels(ctx, node, _vector(args[0]), [each for each in args[1:] if isinstance(each, str)])
    if name.startswith("histogram_") and name not in NATIVE:
        return _of_histograms(ctx, node, args)
    return _of_vector(ctx, node, _vector(args[0]).filled(), [_scalar(each) for each in args[1:]])


def _vector(value: Value) -> Vector:
    assert isinstance(value, Vector)
    return value


def _scalar(value: Value) -> Floats:
    assert not isinstance(value, Vector | str)
    return value


def _absent(node: Call, there: Bools) -> Vector:
    inner = bare(node.args[0])
    if isinstance(inner, MatrixSelector):
        inner = inner.selector
    return labelfunctions.absent(inner.matchers if isinstance(inner, Selector) else (), there)


def _of_no_vector(ctx: Context, node: Call, args: list[Value]) -> Value:
    name = node.function
    if name == "vector":
        return Vector.of([()], _scalar(args[0])[None, :], np.ones((1, ctx.steps), dtype=bool))
    if name == "pi":
        return np.full(ctx.steps, 3.141592653589793)
    now = ctx.times / 1000
    if name == "time":
        return now
    values = elementwise.date(name, np.floor(now))
    return Vector.of([()], values[None, :], np.ones((1, ctx.steps), dtype=bool))


def _of_labels(ctx: Context, node: Call, vector: Vector, args: list[str]) -> Vector:
    name = node.function
    if name == "label_replace":
        return labelfunctions.label_replace(vector, *args)
    if name == "label_join":
        return labelfunctions.label_join(vector, args[0], args[1], args[2:])
    if _unordered(ctx, node):
        return vector
    return labelfunctions.by_labels(vector, args, name.endswith("desc"))


def _unordered(ctx: Context, node: Call) -> bool:
    if ctx.ranged:
        ctx.warn("sort is ineffective for range queries since results are always ordered by labels", node.start)
    return ctx.ranged or ctx.steps > 1


def _of_histograms(ctx: Context, node: Call, args: list[Value]) -> Vector:
    if node.function == "histogram_quantile":
        q, vector = _scalar(args[0]), _vector(args[1]).filled()
        return histograms.quantile(ctx, q, vector, node.args[0].start, node.args[1].start)
    if node.function == "histogram_fraction":
        vector = _vector(args[2]).filled()
        return histograms.fraction(ctx, _scalar(args[0]), _scalar(args[1]), vector, node.args[2].start)
    label = args[1]
    assert isinstance(label, str)
    qs = [(_scalar(q), arg.start) for q, arg in zip(args[2:], node.args[2:], strict=True)]
    return histograms.quantiles(ctx, _vector(args[0]).filled(), label, qs, node.args[0].start)


def _of_vector(ctx: Context, node: Call, vector: Vector, args: list[Floats]) -> Value:
    name = node.function
    if name == "absent":
        return _absent(node, np.any(vector.present, axis=0))
    if name == "scalar":
        count = vector.present.sum(axis=0)  # integers
        only = np.where(vector.present, vector.values, -np.inf).max(axis=0, initial=-np.inf)
        return np.where(count == 1, only, np.nan)
    if name in ("sort", "sort_desc"):
        return vector if _unordered(ctx, node) else labelfunctions.by_value(vector, name == "sort_desc")
    if name in NATIVE:
        return Vector.empty(ctx.steps)
    present = vector.present
    if name in elementwise.UNARY:
        values = elementwise.UNARY[name](vector.values)
    elif name in elementwise.DATES:
        values = elementwise.date(name, np.trunc(vector.values))
    elif name == "round":
        values = elementwise.rounded(vector.values, args[0] if args else 1.0)
    elif name == "timestamp":
        values = np.broadcast_to(ctx.times / 1000, vector.values.shape)
    elif name == "clamp":
        values = elementwise.clamp(vector.values, args[0], args[1])
        present = present & ~(args[1] < args[0])
    elif name == "clamp_min":
        values = elementwise.clamp(vector.values, args[0], np.inf)
    else:
        assert name == "clamp_max", name
        values = elementwise.clamp(vector.values, -np.inf, args[0])
    return nameless(ctx, Vector(vector.labels, values, present, vector.dropped))


_WITH_RANGE = ("irate", "idelta", "quantile_over_time", "predict_linear", "double_exponential_smoothing")


def _over_time(ctx: Context, node: Call, evaluate: Evaluate, range_of: RangeOf) -> Vector:
    name = node.function
    scalars = [_scalar(evaluate(ctx, arg)) for arg in node.args if not _is_range(arg)]
    ranged = next(arg for arg in node.args if _is_range(arg))
    windows = range_of(ctx, ranged)
    if not windows.labels:
        return Vector.empty(ctx.steps)
    _check(name, scalars)
    values = np.zeros(windows.lo.shape)
    present = np.zeros(windows.lo.shape, dtype=bool)
    longest = int((windows.hi - windows.lo).max(initial=0))
    width = longest if name in ("quantile_over_time", "mad_over_time") else 1
    for rows, chunk in folding.chunks(windows, width):
        values[rows], present[rows] = _folded(ctx, name, chunk, scalars)
    _note(ctx, node, windows, ranged, scalars)
    result = Vector(windows.labels, values, present, windows.dropped).filled()
    return result if name in overtime.KEEP_NAMES else nameless(ctx, result)


def _is_range(arg: Expr) -> bool:
    return type(bare(arg)).__name__ in ("MatrixSelector", "Subquery")


def _folded(ctx: Context, name: str, chunk: Chunk, scalars: list[Floats]) -> Folded:
    if name in overtime.EXTRAPOLATED:
        counter, rate = overtime.EXTRAPOLATED[name]
        return overtime.extrapolated(chunk, counter, rate, ctx.options.closed)
    if name in ("irate", "idelta"):
        return overtime.instantaneous(chunk, name == "irate")
    if name == "quantile_over_time":
        return overtime.quantile_over_time(chunk, scalars[0])
    if name == "predict_linear":
        return overtime.predict_linear(chunk, scalars[0], ctx.times.astype(np.float64))
    if name == "double_exponential_smoothing":
        return overtime.double_exponential_smoothing(chunk, scalars[0], scalars[1])
    return overtime.PLAIN[name](chunk)


def _check(name: str, scalars: list[Floats]) -> None:
    if name != "double_exponential_smoothing":
        return
    for values, what, short in ((scalars[0], "smoothing", "sf"), (scalars[1], "trend", "tf")):
        wrong = values[(values <= 0) | (values >= 1)]
        if len(wrong):
            raise QueryError(f"invalid {what} factor. Expected: 0 < {short} < 1, got: {wrong[0]:f}")


def _note(ctx: Context, node: Call, windows: Windows, ranged: Expr, scalars: list[Floats]) -> None:
    if node.function in ("rate", "increase"):
        filled = (windows.hi > windows.lo).any(axis=1)
        names = {get(windows.labels[int(row)], "__name__"): None for row in np.flatnonzero(filled)}
        for name in names:
            if name and not name.endswith(COUNTERS):
                ctx.inform(
                    f'metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "{name}"',
                    ranged.start,
                )
    elif node.function == "quantile_over_time":
        wrong = scalars[0][np.isnan(scalars[0]) | (scalars[0] < 0) | (scalars[0] > 1)]
        if len(wrong):
            shown = text.shortest(float(wrong[0]))
            ctx.warn(f"quantile value should be between 0 and 1, got {shown}", node.args[0].start)
