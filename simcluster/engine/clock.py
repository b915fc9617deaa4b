"""Simulated time: an `int` of nanoseconds since the epoch of the simulated world.

Wall-clock text (RFC 3339) exists only at the borders, and always from the fixed
`EPOCH`; nothing in the package reads the clock of the machine it runs on.
"""

from __future__ import annotations

import functools
import re

MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

#: Instant 0 of every simulation, as days since 1970-01-01: Monday 2026-03-02T09:00:00Z.
_EPOCH_UNIX_S = 20_514 * 86_400 + 9 * 3_600

_DURATION_UNITS_NS = {
    "ns": 1,
    "us": MICROSECOND,
    "µs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_DURATION_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|z|[+-]\d\d:\d\d)")


@functools.lru_cache(maxsize=256)
def parse_duration(text: str) -> int:
    """Nanoseconds of a Go duration such as `90s`, `1m30s`, `250ms`, `0` or `-5s`.

    Raises:
        ValueError: the text is no Go duration; the message is Go's.

    >>> parse_duration("1m30s") // SECOND, parse_duration("0.5s") // MILLISECOND
    (90, 500)
    """
    body = text.strip()
    sign = -1 if body.startswith("-") else 1
    body = body[1:] if body[:1] in ("+", "-") else body
    if body == "0":
        return 0
    total, position = 0, 0
    for part in _DURATION_PART.finditer(body):
        if part.start() != position:
            break
        whole, _, fraction = part[1].partition(".")
        unit = _DURATION_UNITS_NS[part[2]]
        total += int(whole or "0") * unit
        if fraction:
            total += int(fraction) * unit // 10 ** len(fraction)
        position = part.end()
    if not body or position != len(body):
        raise ValueError(f'time: invalid duration "{text}"')
    return sign * total


def parse_age(text: str) -> int:
    """Nanoseconds of an age as the AGE columns write it: days, a Go duration, or both.

    Raises:
        ValueError: it is no age.

    >>> parse_age("74d") // DAY, parse_age("2d7h") // HOUR
    (74, 55)
    """
    days, mark, rest = text.strip().partition("d")
    if not mark:
        days, rest = "0", days
    try:
        age = int(days) * DAY + (parse_duration(rest) if rest else 0)
    except ValueError:
        age = -1
    if age < 0 or not days.isdecimal():
        raise ValueError(f"{text!r} is no age; write one like 74d, 2d7h or 36h")
    return age


def _civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month, day of a count of days since 1970-01-01 (proleptic Gregorian)."""
    shifted = days + 719_468
    era, day_of_era = divmod(shifted, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_index = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_index + 2) // 5 + 1
    month = month_index + 3 if month_index < 10 else month_index - 9
    return year_of_era + era * 400 + (month <= 2), month, day


def _days_from_civil(year: int, month: int, day: int) -> int:
    """Inverse of `_civil_from_days`."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * 146_097 + day_of_era - 719_468


def format_rfc3339(t_ns: int, *, digits: int = 0) -> str:
    """`2026-03-02T09:00:00Z` for simulated instant 0; `digits` of a second's fraction.

    >>> format_rfc3339(0), format_rfc3339(1_500_000_000, digits=6)
    ('2026-03-02T09:00:00Z', '2026-03-02T09:00:01.500000Z')
    """
    seconds, fraction_ns = divmod(t_ns, SECOND)
    if not digits:
        return _second_text(seconds)
    return f"{_second_text(seconds)[:-1]}.{fraction_ns:09d}"[: 20 + digits] + "Z"


@functools.lru_cache(maxsize=4096)
def _second_text(seconds: int) -> str:
    days, second_of_day = divmod(seconds + _EPOCH_UNIX_S, 86_400)
    year, month, day = _civil_from_days(days)
    minute_of_day, second = divmod(second_of_day, 60)
    return f"{year:04d}-{month:02d}-{day:02d}T{minute_of_day // 60:02d}:{minute_of_day % 60:02d}:{second:02d}Z"


@functools.lru_cache(maxsize=4096)
def parse_rfc3339(text: str) -> int:
    """Simulated nanoseconds of an RFC 3339 instant.

    Raises:
        ValueError: the text is no RFC 3339 date-time.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f'parsing time "{text}" as RFC 3339: cannot parse')
    year, month, day, hour, minute, second = (int(match[i]) for i in range(1, 7))
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 61):
        raise ValueError(f'parsing time "{text}": out of range')
    unix_s = _days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    zone = match[8]
    if zone not in "Zz":
        offset_s = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
        unix_s -= offset_s if zone[0] == "+" else -offset_s
    return (unix_s - _EPOCH_UNIX_S) * SECOND + int((match[7] or "").ljust(9, "0"))


def unix_seconds(t_ns: int) -> int:
    """Whole seconds since 1970 of a simulated instant (for wire formats that want them)."""
    return t_ns // SECOND + _EPOCH_UNIX_S


def unix_us(t_ns: int) -> int:
    """Microseconds since 1970 of a simulated instant (for wire formats that want them)."""
    return t_ns // MICROSECOND + _EPOCH_UNIX_S * 1_000_000


def weekday(t_ns: int) -> str:
    """Three-letter English weekday, as RFC 1123 and syslog print it."""
    days = (t_ns // SECOND + _EPOCH_UNIX_S) // 86_400
    return ("Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed")[days % 7]


def month_name(month: int) -> str:
    """Three-letter English month name of 1..12."""
    return ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")[month - 1]


def format_rfc1123(t_ns: int) -> str:
    """`Mon, 02 Mar 2026 09:00:00 +0000`, as `kubectl describe` prints times."""
    text = format_rfc3339(t_ns)
    return f"{weekday(t_ns)}, {text[8:10]} {month_name(int(text[5:7]))} {text[:4]} {text[11:19]} +0000"


def format_age(duration_ns: int) -> str:
    """A duration as the AGE columns of Kubernetes print it.

    Source: k8s.io/apimachinery/pkg/util/duration, HumanDuration.

    >>> [format_age(s * SECOND) for s in (5, 119, 180, 605, 7200, 11_000, 200_000, 90 * 86_400)]
    ['5s', '119s', '3m', '10m', '120m', '3h3m', '2d7h', '90d']
    """
    seconds = -((-duration_ns) // SECOND) if duration_ns < 0 else duration_ns // SECOND
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    minutes, hours = seconds // 60, seconds // 3600
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return f"{hours // 24}d{hours % 24}h" if hours % 24 else f"{hours // 24}d"
    if hours < 24 * 365 * 2:
        return f"{hours // 24}d"
    years, days = hours // 24 // 365, hours // 24 % 365
    if hours < 24 * 365 * 8:
        return f"{years}y{days}d" if days else f"{years}y"
    return f"{years}y"
