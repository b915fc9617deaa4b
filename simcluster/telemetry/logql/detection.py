"""What fields lines have, found by taking them apart (`detected_fields`; pkg/querier/queryrange/detected_fields.go).

Every line is read as JSON, and if it is none as logfmt. Values are counted exactly, where Loki estimates (HyperLogLog).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from simcluster.telemetry.logql.entry import DETAILS, ERROR, LEVEL, Entry
from simcluster.telemetry.logql.extracting import parser
from simcluster.telemetry.logql.storage import Stream
from simcluster.telemetry.logql.syntax import LabelParser
from simcluster.telemetry.logql.units import go_duration_ns, size_bytes
from simcluster.telemetry.promql.storage import Labels

_PARSERS = tuple((kind, parser(LabelParser(kind))) for kind in ("json", "logfmt"))
_FLOAT = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
_FLAGS = ("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False")


class Field:
    """A field: its values, the type of the last one, and the parsers that found it."""

    __slots__ = ("kind", "parsers", "values")

    def __init__(self) -> None:
        self.values: dict[str, None] = {}
        self.kind = "string"
        self.parsers: dict[str, None] = {}

    def add(self, value: str, parser: str) -> None:
        """Another value; an empty parser if the field is noted with the line."""
        self.values[value] = None
        self.kind = type_of(value)
        if parser:
            self.parsers[parser] = None


def type_of(value: str) -> str:
    """`int`, `float`, `boolean`, `duration`, `bytes` or `string`.

    >>> [type_of(value) for value in ("7", "7.5", "true", "7ms", "7MB", "seven")]
    ['int', 'float', 'boolean', 'duration', 'bytes', 'string']
    """
    if re.fullmatch(r"[+-]?\d{1,18}", value):
        return "int"
    if _FLOAT.fullmatch(value):
        return "float"
    if value in _FLAGS:
        return "boolean"
    if go_duration_ns(value) is not None:
        return "duration"
    return "bytes" if size_bytes(value) is not None else "string"


def fields(streams: Iterable[Stream], known: Iterable[Labels], limit: int) -> Mapping[str, Field]:
    """The first `limit` fields of lines, by name.

    Args:
        streams: lines with all labels that a query gives them.
        known: labels of the streams as they are stored, which are no fields.
    """
    found: dict[str, Field] = {}
    names = {name for labels in known for name, _ in labels}
    for labels, entries in streams:
        own = {name: value for name, value in labels if name in names}
        noted = [(name, value) for name, value in labels if name not in names and name not in (ERROR, DETAILS)]
        for t_ns, line in reversed(entries):
            kind, parsed = _taken_apart(Entry(t_ns, line, own))
            _add(found, [item for item in noted if item[0] == LEVEL], "", limit)
            _add(found, [item for item in noted if item[0] != LEVEL] + parsed, kind, limit)
    return found


def _add(found: dict[str, Field], items: Iterable[tuple[str, str]], kind: str, limit: int) -> None:
    for name, value in items:
        field = found.get(name)
        if field is None and len(found) < limit:
            field = found[name] = Field()
        if field is not None:
            field.add(value, kind)


def _taken_apart(entry: Entry) -> tuple[str, list[tuple[str, str]]]:
    """The parser that can read a line, and what it finds; empty if none can."""
    for kind, stage in _PARSERS:
        trial = Entry(entry.t_ns, entry.text, entry.stream)
        stage(trial)
        if not trial.failed:
            return kind, [(name, trial.labels[name]) for name in sorted(trial.parsed)]
    return "", []
