"""Parameters of requests to Loki: instants, spans, steps, limits."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from simcluster.engine.clock import SECOND, parse_rfc3339, unix_seconds
from simcluster.telemetry.logql.context import QueryError
from simcluster.telemetry.logql.parsing import parse
from simcluster.telemetry.logql.syntax import Selection
from simcluster.telemetry.logql.units import go_duration, range_ns
from simcluster.telemetry.promql.parameters import Parameters as Form
from simcluster.telemetry.promql.text import duration

#: `max_entries_limit_per_query`, and lines that are given when nothing else is asked for.
MAX_ENTRIES, DEFAULT_ENTRIES = 5000, 100
#: `max_query_length`, 721 h; and what is looked at when no start is given.
MAX_LENGTH_NS, DEFAULT_SINCE_NS = 721 * 3600 * SECOND, 3600 * SECOND
#: `ErrStepTooSmall`: more points than this are refused.
MAX_POINTS = 11_000
#: `maxDelayForInTailing`.
MAX_DELAY_S = 5
_FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


class Parameters:
    """What stands in the query and in the form of a request that is made at an instant (ns since the Unix epoch)."""

    def __init__(self, form: Form, now_ns: int) -> None:
        self.form, self.now_ns = form, now_ns

    def one(self, name: str) -> str:
        """The first value, empty if there is none."""
        return self.form.one(name)

    def instant(self) -> int:
        """`time`, in nanoseconds since the Unix epoch.

        Raises:
            QueryError: it is none.
        """
        return _timestamp(self.one("time"), self.now_ns)

    def span(self) -> tuple[int, int]:
        """`start` and `end`, or what `since` says.

        Raises:
            QueryError: one is no instant.
        """
        since = range_ns(self.one("since")) if self.one("since") else DEFAULT_SINCE_NS
        if since is None:
            raise QueryError(f"could not parse 'since' parameter: not a valid duration string: \"{self.one('since')}\"")
        end = self._bound("end", self.now_ns)
        return self._bound("start", min(end, self.now_ns) - since), end

    def _bound(self, name: str, default: int) -> int:
        try:
            return _timestamp(self.one(name), default)
        except QueryError as error:
            raise QueryError(f"could not parse '{name}' parameter: {error}") from None

    def limit(self, name: str = "limit", default: int = DEFAULT_ENTRIES) -> int:
        """`limit`, or one of another name.

        Raises:
            QueryError: it is no number, or none above zero.
        """
        text = self.one(name)
        if not text:
            return default
        if not re.fullmatch(r"[+-]?\d+", text):
            raise QueryError(f'strconv.Atoi: parsing "{text}": invalid syntax')
        if len(text) > 18:
            raise QueryError(f'strconv.Atoi: parsing "{text}": value out of range')
        if int(text) <= 0:
            raise QueryError("limit must be a positive value")
        return int(text)

    def forward(self) -> bool:
        """Whether `direction` says oldest first.

        Raises:
            QueryError: it is neither direction.
        """
        text = self.one("direction").upper() or "BACKWARD"
        if text not in ("FORWARD", "BACKWARD"):
            raise QueryError(f"invalid direction '{self.one('direction')}'")
        return text == "FORWARD"

    def step(self, span: tuple[int, int]) -> int:
        """`step` in nanoseconds; otherwise 250 of them fill the span.

        Raises:
            QueryError: it is no duration, or none above zero.
        """
        text = self.one("step")
        if not text:
            return max((span[1] - span[0]) // SECOND // 250, 1) * SECOND
        found = _seconds_or_duration(text)
        if found <= 0:
            raise QueryError("zero or negative query resolution step widths are not accepted. Try a positive integer")
        return found

    def interval(self) -> int:
        """`interval` in nanoseconds: of lines closer together only the first is wanted; 0 for all.

        Raises:
            QueryError: it is no duration, or below zero.
        """
        found = _seconds_or_duration(self.one("interval")) if self.one("interval") else 0
        if found < 0:
            raise QueryError("interval must be >= 0")
        return found


def check_length(span: tuple[int, int]) -> None:
    """Refuse a span that is longer than a query may look back.

    Raises:
        QueryError: it is.
    """
    length = span[1] - span[0]
    if length > MAX_LENGTH_NS:
        limit = duration(MAX_LENGTH_NS // 1_000_000)
        raise QueryError(
            f"the query time range exceeds the limit (query length: {go_duration(length)}, limit: {limit})"
        )


def check_resolution(span: tuple[int, int], step_ns: int) -> None:
    """Refuse steps that are too short for a span.

    Raises:
        QueryError: they are.
    """
    if (span[1] - span[0]) // step_ns > MAX_POINTS:
        raise QueryError(
            "exceeded maximum resolution of 11,000 points per time series. "
            "Try increasing the value of the step parameter"
        )


def _seconds_or_duration(text: str) -> int:
    if not _FLOAT.fullmatch(text):
        parsed = range_ns(text)
        if parsed is None:
            raise QueryError(f'cannot parse "{text}" to a valid duration')
        return parsed
    seconds = float(text)
    if not abs(seconds) * SECOND < 2.0**63:
        raise QueryError(f'cannot parse "{text}" to a valid duration. It overflows int64')
    return math.trunc(seconds * SECOND)


def _timestamp(text: str, default: int) -> int:
    if not text:
        return default
    if "." in text and _FLOAT.fullmatch(text) and abs(float(text)) < 2**33:
        whole, part = divmod(float(text), 1.0)
        return int(whole) * SECOND + round(part * 1000) * 1_000_000
    if re.fullmatch(r"[+-]?\d+", text):
        if len(text) > 20 or not -(2**63) <= int(text) < 2**63:
            raise QueryError(f'strconv.ParseInt: parsing "{text}": value out of range')
        return int(text) * SECOND if len(text) <= 10 else int(text)
    try:
        t_ns = parse_rfc3339(text)
    except ValueError:
        raise QueryError(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None
    return unix_seconds(t_ns) * SECOND + t_ns % SECOND


class Following(NamedTuple):
    """What a `tail` asks for: a query, how many lines of before, since when, and so many seconds late."""

    query: str
    limit: int
    start_ns: int
    delay_s: int


def following(values: Parameters) -> Following:
    """The parameters of `tail`.

    Raises:
        ParseError: the query is none.
        QueryError: another parameter is wrong, or the query is of a metric.
    """
    query = values.one("query")
    if not isinstance(parse(query), Selection):
        raise QueryError("unexpected expression type in tail request: only log queries can be followed", 400)
    limit = values.limit()
    start, _ = values.span()
    text = values.one("delay_for")
    if text and not re.fullmatch(r"[+-]?\d{1,18}", text):
        raise QueryError(f'strconv.Atoi: parsing "{text}": invalid syntax')
    if int(text or 0) > MAX_DELAY_S:
        raise QueryError(f"delay_for can't be greater than {MAX_DELAY_S}")
    return Following(query, limit, start, max(0, int(text or 0)))
