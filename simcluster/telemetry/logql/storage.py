"""What LogQL reads: streams of lines by matchers. Who keeps lines implements `LogSource`."""

from __future__ import annotations

from collections.abc import Iterable, Reversible, Sequence
from typing import NamedTuple, Protocol

from simcluster.telemetry.promql.regex import compiled
from simcluster.telemetry.promql.storage import Labels, Matcher

#: Instant in nanoseconds since the Unix epoch, and the line.
Line = tuple[int, str]


class Stream(NamedTuple):
    """Lines with the same labels.

    Attributes:
        labels: sorted by name.
        entries: in order of time; those of one instant in order of arrival.
    """

    labels: Labels
    entries: Reversible[Line]


class Volume(NamedTuple):
    """How many lines and bytes a stream has."""

    labels: Labels
    lines: int
    size_bytes: int


class LogSource(Protocol):
    """Where lines are."""

    def select(self, matchers: Sequence[Matcher], from_ns: int, to_ns: int, needle: str = "") -> list[Stream]:
        """Streams that match all `matchers`, sorted by labels, with their lines in [from_ns, to_ns), if any.

        Args:
            needle: only lines that contain it are wanted; others may be among them.
        """

    def streams(self, matchers: Sequence[Matcher], from_ns: int, to_ns: int) -> list[Labels]:
        """Labels of the same streams, without their lines."""

    def volumes(self, matchers: Sequence[Matcher], from_ns: int, to_ns: int) -> list[Volume]:
        """How much there is of the same streams, sorted by labels."""


def matches(matcher: Matcher, value: str) -> bool:
    """Whether a value ("" for a label that is not there) passes.

    >>> matches(Matcher("app", "=~", "geo|rate"), "rate"), matches(Matcher("app", "!=", "geo"), "")
    (True, True)
    """
    if matcher.op == "=":
        return value == matcher.value
    if matcher.op == "!=":
        return value != matcher.value
    found = compiled(matcher.value).match(value) is not None
    return found == (matcher.op == "=~")


def all_match(matchers: Iterable[Matcher], labels: Labels) -> bool:
    """Whether labels pass all matchers."""
    known = dict(labels)
    return all(matches(one, known.get(one.name, "")) for one in matchers)


def series(source: LogSource, selections: Sequence[Sequence[Matcher]], from_ns: int, to_ns: int) -> list[Labels]:
    """Labels of the streams of any selection, sorted; no selection means every stream."""
    found = {labels for matchers in selections or [()] for labels in source.streams(matchers, from_ns, to_ns)}
    return sorted(found)
