"""Parameters of Jaeger's query API (`cmd/query/app/query_parser.go`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qs

from simcluster.engine.clock import MICROSECOND
from simcluster.telemetry.traces import gotext
from simcluster.telemetry.traces.store import Query

#: How far back is looked when nobody says: two days for traces, one for dependencies; and traces of an answer.
LOOKBACK_US, DEPENDENCIES_MS, LIMIT = 2 * 24 * 3600 * 1_000_000, 24 * 3600 * 1000, 100


class WrongParameter(ValueError):
    """A parameter cannot be read; the message is Jaeger's."""


class Parameters:
    """What stands in the query of a request, at an instant in microseconds since the Unix epoch."""

    def __init__(self, text: str, now_us: int) -> None:
        self._values: Mapping[str, list[str]] = parse_qs(text, keep_blank_values=True)
        self.now_us = now_us

    def one(self, name: str) -> str:
        """The first value, empty if there is none."""
        return self._values.get(name, [""])[0]

    def all(self, name: str) -> Sequence[str]:
        """Every value."""
        return self._values.get(name, [])

    def whole(self, name: str, default: int) -> int:
        """An integer. Raises WrongParameter."""
        return self._read(name, default, gotext.integer)

    def duration_us(self, name: str) -> int:
        """A Go duration in microseconds, 0 without one. Raises WrongParameter."""
        return self._read(name, 0, gotext.duration) // MICROSECOND

    def _read(self, name: str, default: int, reader: Callable[[str], int]) -> int:
        text = self.one(name)
        try:
            return reader(text) if text else default
        except ValueError as error:
            raise WrongParameter(f"unable to parse param '{name}': {error}") from None

    def tags(self) -> tuple[tuple[str, str], ...]:
        """Tags that a span must have: `tag=key:value`, or `tags` with a JSON object. Raises WrongParameter."""
        found: dict[str, str] = {}
        for text in self.all("tag"):
            key, colon, value = text.partition(":")
            if not colon:
                raise WrongParameter(f"malformed 'tag' parameter, expecting key:value, received: {text}")
            found[key] = value
        for text in self.all("tags"):
            try:
                found |= gotext.texts(text)
            except ValueError as error:
                raise WrongParameter(f"malformed 'tags' parameter, cannot unmarshal JSON: {error}") from None
        return tuple(found.items())


class Search(NamedTuple):
    """What `/api/traces` asks for: traces by their ids, or by a query."""

    ids: tuple[str, ...]
    query: Query


def search(values: Parameters) -> Search:
    """The parameters of `/api/traces`. Raises WrongParameter."""
    start = values.whole("start", values.now_us - LOOKBACK_US)
    end = values.whole("end", values.now_us)
    tags = values.tags()
    limit = LIMIT
    if values.one("limit"):
        try:
            limit = gotext.integer(values.one("limit"), 32)
        except ValueError as error:
            raise WrongParameter(str(error)) from None
    shortest, longest = values.duration_us("minDuration"), values.duration_us("maxDuration")
    try:
        ids = tuple(trace_id(text) for text in values.all("traceID"))
    except ValueError as error:
        raise WrongParameter(f"cannot parse traceID param: {error}") from None
    service = values.one("service")
    if not ids and not service:
        raise WrongParameter("parameter 'service' is required")
    if shortest and longest and longest < shortest:
        raise WrongParameter("'maxDuration' should be greater than 'minDuration'")
    return Search(ids, Query(service, values.one("operation"), tags, start, end, shortest, longest, limit))


def trace_id(text: str) -> str:
    """A trace's id as it is stored. Raises ValueError with Go's words.

    >>> trace_id("abc"), trace_id("1abc0000000000000001")
    ('0000000000000abc', '0000000000001abc0000000000000001')
    """
    if len(text) > 32:
        raise ValueError(f"TraceID cannot be longer than 32 hex characters: {text}")
    high = gotext.hexadecimal(text[:-16]) if len(text) > 16 else 0
    low = gotext.hexadecimal(text[-16:])
    return f"{high:016x}{low:016x}" if high else f"{low:016x}"
