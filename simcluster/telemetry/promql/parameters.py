"""Parameters of requests to Prometheus: instants, durations, selectors, limits."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs

from simcluster.engine.clock import SECOND, parse_rfc3339, unix_seconds
from simcluster.telemetry.promql.context import QueryError
from simcluster.telemetry.promql.diagnosis import matches_empty, selection
from simcluster.telemetry.promql.storage import Matcher
from simcluster.telemetry.promql.tokens import ParseError, duration_ms

#: `minTime` and `maxTime` of Prometheus' web API, as milliseconds that NumPy can hold with room to spare.
EARLIEST_MS, LATEST_MS = -(1 << 52), 1 << 52
_FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:[iI]nf|[nN]a[nN])")
_DURATION = re.compile(r"(?=\d)(?:\d+y)?(?:\d+w)?(?:\d+d)?(?:\d+h)?(?:\d+m(?!s))?(?:\d+s)?(?:\d+ms)?")


class Parameters:
    """What stands in the query and in the form of a request."""

    def __init__(self, query: str, body: bytes = b"") -> None:
        self._values: Mapping[str, list[str]] = _merged(query, body.decode(errors="replace"))

    def one(self, name: str) -> str:
        """The first value, empty if there is none."""
        return self._values.get(name, [""])[0]

    def all(self, name: str) -> Sequence[str]:
        """Every value."""
        return self._values.get(name, [])

    def instant(self, name: str, default: int | None = None) -> int:
        """Milliseconds of an instant; one with a default need not be given.

        Raises:
            QueryError: it is none.
        """
        value = self.one(name)
        if not value and default is not None:
            return default
        found = instant_ms(value)
        if found is None:
            prefix = "" if default is None else f"Invalid time value for '{name}': "
            raise QueryError(
                f'invalid parameter "{name}": {prefix}cannot parse "{value}" to a valid timestamp', "bad_data"
            )
        return found

    def duration(self, name: str) -> int:
        """Milliseconds of a duration, in seconds or as `1m30s`.

        Raises:
            QueryError: it is none.
        """
        value = self.one(name)
        wrong = f'invalid parameter "{name}": cannot parse "{value}" to a valid duration'
        if _FLOAT.fullmatch(value):
            seconds = float(value)
            if abs(seconds) * SECOND >= 2.0**63:
                raise QueryError(wrong + ("" if _too_large(value) else ". It overflows int64"), "bad_data")
            if math.isnan(seconds):
                return 0
            return math.trunc(seconds * 1000) or int(
                seconds * SECOND >= 1.0
            )  # nothing here is shorter than a millisecond
        if not value or _DURATION.fullmatch(value) is None:
            raise QueryError(wrong, "bad_data")
        return duration_ms(value)

    def count(self, name: str, default: int, least: int | None = None) -> int:
        """A number of things.

        Raises:
            QueryError: it is no number, or below `least`.
        """
        value = self.one(name)
        if value and not re.fullmatch(r"[+-]?\d{1,18}", value):
            raise QueryError(f"{name} must be a {'number' if least is None else 'positive number'}", "bad_data")
        found = int(value or default)
        if least is not None and found < least:
            raise QueryError(f"{name} must be a positive number", "bad_data")
        return found

    def limit(self) -> int:
        """`limit`, 0 for none.

        Raises:
            QueryError: it is no number, or negative.
        """
        value = self.one("limit")
        if not value:
            return 0
        if not re.fullmatch(r"[+-]?\d+", value):
            raise QueryError(
                f'invalid parameter "limit": strconv.Atoi: parsing "{value}": invalid syntax',
                "bad_data",
            )
        if int(value) < 0:
            raise QueryError('invalid parameter "limit": limit must be non-negative', "bad_data")
        return int(value)

    def selections(self, prefix: str = "") -> list[tuple[Matcher, ...]]:
        """All `match[]`; `prefix`: of what is said of a wrong one.

        Raises:
            QueryError: one is no selector, or selects everything.
        """
        found = []
        for value in self.all("match[]"):
            try:
                matchers = selection(value)
            except ParseError as error:
                raise QueryError(f"{prefix}{error}", "bad_data") from None
            if all(matches_empty(one) for one in matchers):
                raise QueryError(f"{prefix}match[] must contain at least one non-empty matcher", "bad_data")
            found.append(matchers)
        return found


def _merged(query: str, body: str) -> dict[str, list[str]]:
    found = parse_qs(body, keep_blank_values=True)
    for name, values in parse_qs(query, keep_blank_values=True).items():
        found.setdefault(name, []).extend(values)
    return found


def _too_large(value: str) -> bool:
    """Whether a number in digits is beyond what a float holds; Go refuses to read it."""
    return value[-1:].isdigit() and math.isinf(float(value))


def instant_ms(value: str) -> int | None:
    """Milliseconds since the Unix epoch of seconds or RFC 3339 text; None if it is neither.

    >>> instant_ms("1795294204.5"), instant_ms("2026-03-02T09:00:00Z"), instant_ms("now")
    (1795294204500, 1772442000000, None)
    """
    if _FLOAT.fullmatch(value):
        seconds = float(value)
        if _too_large(value):
            return None
        if not math.isfinite(seconds):
            return EARLIEST_MS  # what an amd64 makes of it
        return max(EARLIEST_MS, min(LATEST_MS, math.floor(seconds * 1000 + 0.5)))
    if value in ("-292273086-05-16T16:47:06Z", "292277025-08-18T07:12:54.999999999Z"):
        return EARLIEST_MS if value.startswith("-") else LATEST_MS
    try:
        t_ns = parse_rfc3339(value)
    except ValueError:
        return None
    return unix_seconds(t_ns) * 1000 + t_ns % SECOND // 1_000_000
