"""Values taken from lines: one of each, the bytes of each, or what `unwrap` names."""

from __future__ import annotations

from collections.abc import Callable

from simcluster.engine.clock import SECOND
from simcluster.telemetry.logql import syntax
from simcluster.telemetry.logql.context import Context, QueryError, braces
from simcluster.telemetry.logql.entry import DETAILS, ERROR, Entry
from simcluster.telemetry.logql.filtering import label_test
from simcluster.telemetry.logql.pipeline import Pipeline
from simcluster.telemetry.logql.units import go_duration_ns, size_bytes
from simcluster.telemetry.promql.storage import Labels

#: Instants and values of a series, in order of time.
Series = tuple[list[int], list[float]]


def pipeline_error(labels: Labels) -> QueryError:
    """What a metric of lines with errors is answered with."""
    kind = dict(labels)[ERROR]
    shown = braces(tuple(item for item in labels if item[0] not in (ERROR, DETAILS)))
    return QueryError(
        f"pipeline error: '{kind}' for series: '{shown}'.\n"
        f'Use a label filter to intentionally skip this error. (e.g | __error__!="{kind}").\n'
        'To skip all potential errors you can match empty errors.(e.g __error__="")\n'
        'The label filter can also be specified after unwrap. (e.g | unwrap latency | __error__="" )\n'
    )


def samples(node: syntax.RangeAggregation, context: Context) -> dict[Labels, Series]:
    """Every series that a range aggregation has, with all samples that any step asks for.

    Raises:
        QueryError: a line could not be read as the query wants it.
    """
    pipeline = Pipeline(node.selection.stages)
    value = _unwrapped(node.unwrap) if node.unwrap is not None else _measure(node.op)
    grouped = _grouping(node)
    tolerant = any(map(_asks_for_errors, [*node.selection.stages, *(node.unwrap.filters if node.unwrap else ())]))
    from_ns = context.steps[0] - node.offset_ns - node.range_ns + 1
    found: dict[Labels, Series] = {}
    for labels, lines in context.select(node.selection.matchers, from_ns, context.steps[-1] - node.offset_ns + 1):
        for entry in pipeline.run(labels, lines):
            number = value(entry)
            if number is None:
                continue
            if entry.failed:
                key = tuple(sorted(entry.labels.items()))
                if not tolerant:
                    raise pipeline_error(key)
            else:
                key = grouped(entry.labels)
            times, values = found.setdefault(key, ([], []))
            times.append(entry.t_ns)
            values.append(number)
    context.count(pipeline)
    return {labels: _ordered(one) for labels, one in found.items()}


def _ordered(one: Series) -> Series:
    """Samples of several streams that became one series are not in order yet."""
    times, values = one
    order = sorted(range(len(times)), key=times.__getitem__)
    return [times[at] for at in order], [values[at] for at in order]


def _asks_for_errors(stage: syntax.Stage) -> bool:
    if isinstance(stage, syntax.Both):
        return _asks_for_errors(stage.left) or _asks_for_errors(stage.right)
    return isinstance(stage, syntax.Condition) and stage.name == ERROR


def _measure(op: str) -> Callable[[Entry], float | None]:
    if op.startswith("bytes"):
        return lambda entry: float(len(entry.text.encode()))
    return lambda entry: 1.0


def _unwrapped(unwrap: syntax.Unwrap) -> Callable[[Entry], float | None]:
    tests = [label_test(one) for one in unwrap.filters]

    def run(entry: Entry) -> float | None:
        text = entry.labels.get(unwrap.label)
        if text is None:
            return None
        number, wrong = converted(unwrap.conversion, text)
        if number is None:
            entry.fail("SampleExtractionErr", wrong)
        if not all(test(entry) for test in tests):
            return None
        return 0.0 if number is None else number

    return run


def converted(conversion: str, text: str) -> tuple[float | None, str]:
    """A label as a number; None and Go's words if it is none.

    >>> converted("duration", "1500ms"), converted("bytes", "2KiB"), converted("", "x")[0]
    ((1.5, ''), (2048.0, ''), None)
    """
    if conversion.startswith("duration"):
        found = go_duration_ns(text)
        return (None, f'time: invalid duration "{text}"') if found is None else (found / SECOND, "")
    if conversion == "bytes":
        size = size_bytes(text)
        return (None, f'strconv.ParseFloat: parsing "{text}": invalid syntax') if size is None else (float(size), "")
    try:
        return float(text), ""
    except ValueError:
        return None, f'strconv.ParseFloat: parsing "{text}": invalid syntax'


def _grouping(node: syntax.RangeAggregation) -> Callable[[dict[str, str]], Labels]:
    """Labels of a line's series: those that it is grouped by; otherwise without the one that was unwrapped."""
    grouping = node.grouping
    if grouping is not None and not grouping.without:
        kept = sorted(set(grouping.labels))
        return lambda labels: tuple([(name, labels[name]) for name in kept if labels.get(name)])
    dropped = set(grouping.labels) if grouping is not None else set()
    if node.unwrap is not None:
        dropped.add(node.unwrap.label)
    return lambda labels: tuple(sorted([item for item in labels.items() if item[1] and item[0] not in dropped]))
