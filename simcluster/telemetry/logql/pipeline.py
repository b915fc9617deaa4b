"""What a pipeline does to the lines of a stream."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from simcluster.telemetry.logql import syntax
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
        lines: how many lines went in; size_bytes: how many bytes those had, with what is noted of each; passed: how
            many came out.
    """

    def __init__(self, stages: Sequence[syntax.Stage]) -> None:
        first = next((at for at, one in enumerate(stages) if not isinstance(one, syntax.LineFilter)), len(stages))
        self._tests: list[TextTest] = [line_test(one) for one in stages[:first] if isinstance(one, syntax.LineFilter)]
        self._stages: list[Stage] = [prepared(one) for one in stages[first:]]
        self.lines = self.size_bytes = self.passed = 0

    def run(self, labels: Labels, lines: Iterable[Line]) -> Iterator[Entry]:
        """What becomes of lines, those left out that do not pass."""
        known = dict(labels)
        for t_ns, text in lines:
            self.lines += 1
            self.size_bytes += len(text) + METADATA_BYTES
            if all(test(text) for test in self._tests):
                entry = Entry(t_ns, text, known)
                if all(stage(entry) for stage in self._stages):
                    self.passed += 1
                    yield entry


def prepared(stage: syntax.Stage) -> Stage:
    """What one stage does to an entry, and whether it stays."""
    if isinstance(stage, syntax.LineFilter):
        test = line_test(stage)
        return lambda entry: test(entry.text)
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
