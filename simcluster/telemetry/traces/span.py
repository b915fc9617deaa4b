"""A span as Jaeger stores it: one operation of one process, with what its library noted."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import Shared

#: Key and value; the type that Jaeger shows follows from the value's own.
Tag = tuple[str, "str | int | float | bool"]
Tags = tuple[Tag, ...]


class Log(NamedTuple):
    """An event of a span: an instant (microseconds since the Unix epoch) and its fields."""

    at_us: int
    fields: Tags


class Source(NamedTuple):
    """The process that reported a span: name of its service, and tags of the process."""

    service: str
    tags: Tags


class _Fields(NamedTuple):
    """The parts of a `Span`."""

    trace_id: str
    span_id: str
    parent_id: str
    source: Source
    operation: str
    start_us: int
    duration_us: int
    tags: Tags
    logs: tuple[Log, ...] = ()


class Span(_Fields, Shared):
    """One span; immutable, so forks share it.

    Attributes:
        trace_id, span_id: lower-case hexadecimal digits, 16 or 32 of a trace; `parent_id` is "" of a root.
        start_us: microseconds since the Unix epoch.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[type[Span], tuple[object, ...]]:
        return (Span, tuple(self))

    @property
    def kind(self) -> str:
        """`server`, `client`, ..., "" if it was not said."""
        return next((str(value) for key, value in self.tags if key == "span.kind"), "")


def shown(value: str | int | float | bool) -> str:
    """A value of a tag as text (`AsString` of Jaeger's model).

    >>> shown(True), shown(503)
    ('true', '503')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)
