"""What a pipeline does to the lines of a stream."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from simcluster.telemetry.logql import syntax
from simcluster.telemetry.logql.context import Context
from simcluster.telemetry.logql.entry import DETAILS, ERROR, METADATA_BYTES, Entry
from simcluster.telemetry.logql.extracting import parser
from simcluster.telemetry.logql.filtering import TextTest, label_test, line_test
from simcluster.telemetry.logql.formatting import template
from simcluster.telemetry.logql.storage import Line, matches
from simcluster.telemetry.promql.storage import Labels

Stage = Callable[[Entry], bool]
_COLOUR = re.compile(r"\x1b\[[0-9;:?<=>!]*[ -/]*[@-~]")


class Pipeline:
    """Stages, made ready.

    Attributes:
        only_filters: whether nothing is done but to look for texts in lines.
    """

    def __init__(self, stages: Sequence[syntax.Stage], context: Context) -> None:
        first = next((at for at, one in enumerate(stages) if not isinstance(one, syntax.LineFilter)), len(stages))
        self._tests: list[TextTest] = [line_test(one) for one in stages[:first] if isinstance(one, syntax.LineFilter)]
        self._stages: list[Stage] = [prepared(one) for one in stages[first:]]
        self._context = context
        self.only_filters = not self._stages

    def filtered(self, read: Iterable[Line]) -> Sequence[Line]:
        """Lines that pass, if there are only filters."""
        passed = lines = list(read)
        for test in self._tests:
            passed = [one for one in passed if test(one[1])]
        self._context.lines += len(lines)
        self._context.size_bytes += sum(len(text) for _, text in lines) + METADATA_BYTES * len(lines)  # integers
        self._context.passed += len(passed)
        return passed

    def run(self, labels: Labels, lines: Iterable[Line]) -> Iterator[Entry]:
        """What becomes of lines, those left out that do not pass.

        Raises:
            QueryError: more is parsed than a query may.
        """
        known, context = dict(labels), self._context
        for t_ns, text in lines:
            context.lines += 1
            context.size_bytes += len(text) + METADATA_BYTES
            if all(test(text) for test in self._tests):
                entry = Entry(t_ns, text, known)
                if self._stages:
                    context.parse(text)
                if all(stage(entry) for stage in self._stages):
                    context.passed += 1
                    yield entry


def needle_of(stages: Sequence[syntax.Stage]) -> str:
    """The longest text that lines must contain to pass, as they came; empty if there is none."""
    found = ""
    for stage in stages:
        if not isinstance(stage, syntax.LineFilter):
            break
        (text, is_address), *others = stage.texts
        if stage.op == "|=" and not others and not is_address and len(text) > len(found):
            found = text
    return found


def prepared(stage: syntax.Stage) -> Stage:
    """What one stage does to an entry, and whether it stays."""
    if isinstance(stage, syntax.LineFilter):
        return partial(_filter, line_test(stage))
    if isinstance(stage, syntax.LabelParser):
        return parser(stage)
    if isinstance(stage, syntax.Condition | syntax.Both):
        return label_test(stage)
    if isinstance(stage, syntax.LineFormat):
        return _line_format(stage)
    if isinstance(stage, syntax.LabelFormat):
        return _label_format(stage)
    if isinstance(stage, syntax.Choice):
        return _drop(stage) if stage.word == "drop" else _keep(stage)
    return _decolorize


def _filter(test: TextTest, entry: Entry) -> bool:
    return test(entry.text)


def _line_format(stage: syntax.LineFormat) -> Stage:
    fill = template(stage.template)

    def run(entry: Entry) -> bool:
        text = fill(entry)
        entry.text = entry.text if text is None else text
        return True

    return run


def _label_format(stage: syntax.LabelFormat) -> Stage:
    fills = [(name, source, template(source) if is_template else None) for name, source, is_template in stage.formats]

    def run(entry: Entry) -> bool:
        for name, source, fill in fills:
            if fill is None:
                value = entry.labels.pop(source, None)
            else:
                value = fill(entry)
            if value is not None:
                entry.labels[name] = value
        return True

    return run


def _drop(stage: syntax.Choice) -> Stage:
    def run(entry: Entry) -> bool:
        for name, condition in stage.labels:
            if name in entry.labels and (condition is None or matches(condition, entry.labels[name])):
                del entry.labels[name]
                if name == ERROR:
                    entry.labels.pop(DETAILS, None)
        return True

    return run


def _keep(stage: syntax.Choice) -> Stage:
    wanted = dict(stage.labels)

    def run(entry: Entry) -> bool:
        for name in list(entry.labels):
            condition = wanted.get(name)
            if name in (ERROR, DETAILS):
                continue
            if name not in wanted or (condition is not None and not matches(condition, entry.labels[name])):
                del entry.labels[name]
        return True

    return run


def _decolorize(entry: Entry) -> bool:
    entry.text = _COLOUR.sub("", entry.text)
    return True
