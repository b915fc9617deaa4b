"""Values taken from lines: one of each, the bytes of each, or what `unwrap` names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from simcluster.engine.clock import SECOND
from simcluster.telemetry.logql import syntax
from simcluster.telemetry.logql.context import Context, QueryError, braces
from simcluster.telemetry.logql.entry import DETAILS, ERROR, LEVEL, Entry
from simcluster.telemetry.logql.filtering import Stage, label_test
from simcluster.telemetry.logql.pipeline import Pipeline, needle_of
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
    pipeline = Pipeline(node.selection.stages, context)
    from_ns, to_ns = context.steps[0] - node.offset_ns - node.range_ns + 1, context.steps[-1] - node.offset_ns + 1
    found: dict[Labels, Series] = {}
    key = Grouped(node)
    needle = needle_of(node.selection.stages)
    for stream in context.select(node.selection.matchers, from_ns, to_ns, needle):
        labels, lines = stream.labels, context.forward(stream)
        if pipeline.only_filters and node.unwrap is None and key.kept is not None and LEVEL not in key.kept:
            times, values = found.setdefault(key.of(dict(labels)), ([], []))
            measure = _size if node.op.startswith("bytes") else _one
            for t_ns, text in pipeline.filtered(lines):
                times.append(t_ns)
                values.append(measure(text))
        else:
            _add(found, node, pipeline.run(labels, lines), key)
    return {labels: _ordered(one) for labels, one in found.items() if one[0]}


def _add(found: dict[Labels, Series], node: syntax.RangeAggregation, entries: Iterable[Entry], key: Grouped) -> None:
    tests = [label_test(one) for one in node.unwrap.filters] if node.unwrap is not None else []
    tolerant = any(map(_asks_for_errors, [*node.selection.stages, *(node.unwrap.filters if node.unwrap else ())]))
    measure = _size if node.op.startswith("bytes") else _one
    for entry in entries:
        number = measure(entry.text) if node.unwrap is None else _unwrapped(node.unwrap, tests, entry)
        if number is None:
            continue
        if entry.failed:
            labels = tuple(sorted(entry.labels.items()))
            if not tolerant:
                raise pipeline_error(labels)
        else:
            labels = key.of(entry.labels)
        times, values = found.setdefault(labels, ([], []))
        times.append(entry.t_ns)
        values.append(number)


def _ordered(one: Series) -> Series:
    """Samples of several streams that became one series are not in order yet."""
    times, values = one
    order = sorted(range(len(times)), key=times.__getitem__)
    return [times[at] for at in order], [values[at] for at in order]


def _asks_for_errors(stage: syntax.Stage) -> bool:
    if isinstance(stage, syntax.Both):
        return _asks_for_errors(stage.left) or _asks_for_errors(stage.right)
    return isinstance(stage, syntax.Condition) and stage.name == ERROR


def _size(text: str) -> float:
    return float(len(text) if text.isascii() else len(text.encode()))


def _one(text: str) -> float:
    return 1.0


def _unwrapped(unwrap: syntax.Unwrap, tests: Sequence[Stage], entry: Entry) -> float | None:
    text = entry.labels.get(unwrap.label)
    if text is None:
        return None
    number, wrong = converted(unwrap.conversion, text)
    if number is None:
        entry.fail("SampleExtractionErr", wrong)
    if not all(test(entry) for test in tests):
        return None
    return 0.0 if number is None else number


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


class Grouped:
    """Labels of a line's series: those that it is grouped by; otherwise without the one that was unwrapped.

    Attributes:
        kept: names of `by`.
    """

    def __init__(self, node: syntax.RangeAggregation) -> None:
        grouping = node.grouping
        by = grouping is not None and not grouping.without
        self.kept = sorted(set(grouping.labels)) if grouping is not None and by else None
        self._dropped = set(grouping.labels) if grouping is not None else set()
        if node.unwrap is not None:
            self._dropped.add(node.unwrap.label)

    def of(self, labels: Mapping[str, str]) -> Labels:
        """Of a line with these labels."""
        if self.kept is not None:
            return tuple([(name, labels[name]) for name in self.kept if labels.get(name)])
        return tuple(sorted([item for item in labels.items() if item[1] and item[0] not in self._dropped]))
