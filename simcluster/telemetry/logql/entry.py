"""One line on its way through a pipeline, with its labels."""

from __future__ import annotations

import re
from collections.abc import Mapping

ERROR, DETAILS = "__error__", "__error_details__"
LEVEL = "detected_level"
#: Of the level that is noted with each line: two references to texts.
METADATA_BYTES = 8
#: Names under which programs write how bad it is (`allowed_labels`, `log_level_fields` of Loki's limits).
_LEVEL_FIELD = re.compile(
    r"(?:^|[\s,{])\"?(?:level|LEVEL|Level|severity|SEVERITY|Severity|lvl|LVL|Lvl|severity_text|SEVERITY_TEXT|"
    r"Severity_Text)\"?\s*[=:]\s*\"?([A-Za-z]+)"
)
_LEVELS = {
    "trace": "trace", "trc": "trace", "debug": "debug", "dbg": "debug", "info": "info", "inf": "info",
    "information": "info", "warn": "warn", "wrn": "warn", "warning": "warn", "error": "error", "err": "error",
    "critical": "critical", "fatal": "fatal",
}  # fmt: skip
_WORDS = (
    ("info", "INFO", "info"), ("error", "ERROR", "error"), ("err:", "ERR:", "error"), ("warn", "WARN", "warn"),
    ("critical", "CRITICAL", "critical"), ("debug", "DEBUG", "debug"),
)  # fmt: skip


def detected_level(line: str) -> str:
    """What Loki says of how bad a line is, when it takes it in (`discover_log_levels`).

    >>> detected_level('{"level": "ERROR", "msg": "x"}'), detected_level("ts=1 lvl=warn"), detected_level("hello")
    ('error', 'warn', 'unknown')
    """
    field = _LEVEL_FIELD.search(line)
    if field is not None:
        return _LEVELS.get(field[1].lower(), "unknown")
    return next((level for low, high, level in _WORDS if low in line or high in line), "unknown")


class Entry:
    """A line.

    Attributes:
        stream: labels of its stream, never changed.
        labels: what it has now.
        parsed: names that a parser has already set.
        first: text that the store has.
    """

    __slots__ = ("first", "labels", "parsed", "stream", "t_ns", "text")

    def __init__(self, t_ns: int, text: str, stream: Mapping[str, str]) -> None:
        self.t_ns, self.text, self.first = t_ns, text, text
        self.stream = stream
        self.labels: dict[str, str] = {LEVEL: detected_level(text), **stream}
        self.parsed: set[str] = set()

    @property
    def failed(self) -> bool:
        """Whether a stage could not do its work."""
        return ERROR in self.labels

    def fail(self, kind: str, details: str) -> None:
        """Note what could not be done; the first error stays."""
        if ERROR not in self.labels:
            self.labels[ERROR] = kind
            self.labels[DETAILS] = details

    def extract(self, name: str, value: str) -> None:
        """A label that a parser found: it takes another name than the stream's, and the first of a name stays."""
        if name in self.stream:
            name += "_extracted"
        if name in self.parsed:
            return
        self.parsed.add(name)
        self.labels[name] = value
