"""A LogQL query over a source of lines: entries, or values at steps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from simcluster.telemetry.logql import syntax
from simcluster.telemetry.logql.aggregation import label_replace, vector_aggregation
from simcluster.telemetry.logql.binary import applied
from simcluster.telemetry.logql.context import Context, QueryError, Rows, limited
from simcluster.telemetry.logql.overtime import range_aggregation
from simcluster.telemetry.logql.parameters import check_resolution
from simcluster.telemetry.logql.parsing import parse
from simcluster.telemetry.logql.pipeline import Pipeline, needle_of
from simcluster.telemetry.logql.storage import LogSource, Stream
from simcluster.telemetry.promql.storage import Labels

_ADDITIVE = ("bytes_over_time", "bytes_rate", "sum_over_time", "rate", "count_over_time")


class Result(NamedTuple):
    """An answer.

    Attributes:
        kind: `streams`, `vector`, `matrix` or `scalar`.
        streams: of a log query, sorted by labels, each with its lines in the wanted direction.
        series: labels and values, None where there is none.
        steps: instants of the values, in nanoseconds.
    """

    kind: str
    streams: Sequence[Stream]
    series: Sequence[tuple[Labels, Sequence[float | None]]]
    steps: Sequence[int]
    context: Context


def query_range(
    source: LogSource, text: str, span: tuple[int, int], step_ns: int, limit: int, forward: bool, interval_ns: int = 0
) -> Result:
    """Lines in [start, end), the `limit` newest (oldest if `forward`); of a metric the values from start to end.

    Args:
        interval_ns: a line that is closer to the one before it is left out.

    Raises:
        ParseError: the text is no query.
        QueryError: it cannot be answered.
    """
    start, end = span
    tree = parse(text)
    if isinstance(tree, syntax.Selection):
        context = Context(source, [end])
        wanted = _Wanted(limit, forward, interval_ns)
        return Result("streams", _logs(tree, context, span, wanted), (), (), context)
    check_resolution(span, step_ns)
    first, last = start // step_ns * step_ns, end // step_ns * step_ns  # align_queries_with_step
    context = Context(source, range(first, last + 1, step_ns))
    found = evaluated(tree, context)
    rows: Rows = {(): [found] * len(context.steps)} if isinstance(found, float) else limited(found)
    return Result("matrix", (), sorted(rows.items()), context.steps, context)


def query(source: LogSource, text: str, t_ns: int) -> Result:
    """Values of a metric at one instant.

    Raises:
        ParseError: the text is no query.
        QueryError: it cannot be answered, or asks for lines.
    """
    tree = parse(text)
    if isinstance(tree, syntax.Selection):
        raise QueryError(
            "log queries are not supported as an instant query type, please change your query to a range query type"
        )
    context = Context(source, [t_ns])
    found = evaluated(tree, context)
    if isinstance(found, float):
        return Result("scalar", (), [((), [found])], [t_ns], context)
    limited(found)
    ordered = isinstance(tree, syntax.VectorAggregation) and tree.op in ("topk", "bottomk", "sort", "sort_desc")
    return Result("vector", (), list(found.items()) if ordered else sorted(found.items()), [t_ns], context)


class _Wanted(NamedTuple):
    """Which lines: how many, from which end, how far apart."""

    limit: int
    forward: bool
    interval_ns: int


def _logs(tree: syntax.Selection, context: Context, span: tuple[int, int], wanted: _Wanted) -> list[Stream]:
    limit, forward, interval_ns = wanted
    pipeline = Pipeline(tree.stages, context)
    passed: list[tuple[int, str, Labels]] = []
    for stream in context.select(tree.matchers, *span, needle_of(tree.stages)):
        some = pipeline.run(stream.labels, context.forward(stream) if forward else context.backward(stream))
        some = some if interval_ns else islice(some, limit)
        passed += [(one.t_ns, one.text, tuple(sorted(one.labels.items()))) for one in some]
    passed.sort(key=_earliest if forward else _latest)
    if interval_ns:
        passed = _apart(passed, interval_ns)
    found: dict[Labels, list[tuple[int, str]]] = {}
    for t_ns, line, labels in passed[:limit]:
        found.setdefault(tuple([item for item in labels if item[1]]), []).append((t_ns, line))
    return [Stream(labels, lines) for labels, lines in sorted(found.items())]


def _apart(lines: list[tuple[int, str, Labels]], interval_ns: int) -> list[tuple[int, str, Labels]]:
    """Of lines in order those that are an interval from the last one that was kept."""
    kept: list[tuple[int, str, Labels]] = []
    for one in lines:
        if not kept or abs(one[0] - kept[-1][0]) >= interval_ns:
            kept.append(one)
    return kept


def _earliest(entry: tuple[int, str, Labels]) -> int:
    return entry[0]


def _latest(entry: tuple[int, str, Labels]) -> int:
    return -entry[0]


def _grouped_early(node: syntax.VectorAggregation | syntax.LabelReplace) -> syntax.Metric:
    """What is summed is grouped as it is read: the sum is the same, and there are fewer series."""
    inner = node.inner
    if not isinstance(node, syntax.VectorAggregation) or not isinstance(inner, syntax.RangeAggregation):
        return inner
    if node.op != "sum" or inner.op not in _ADDITIVE or inner.grouping is not None:
        return inner
    if node.grouping is not None and node.grouping.without:
        return inner
    return inner._replace(grouping=syntax.Grouping(False, node.grouping.labels if node.grouping is not None else ()))


def evaluated(node: syntax.Metric, context: Context) -> Rows | float:
    """A metric's values at the steps; a number stays one."""
    if isinstance(node, syntax.Number):
        return node.value
    if isinstance(node, syntax.Vector):
        return {(): [node.value] * len(context.steps)}
    if isinstance(node, syntax.RangeAggregation):
        return range_aggregation(node, context)
    if isinstance(node, syntax.Binary):
        return applied(node, evaluated(node.left, context), evaluated(node.right, context))
    inner = evaluated(_grouped_early(node), context)
    if isinstance(inner, float):
        raise QueryError(f"unsupported expression: {inner:g}")
    return label_replace(node, inner) if isinstance(node, syntax.LabelReplace) else vector_aggregation(node, inner)
