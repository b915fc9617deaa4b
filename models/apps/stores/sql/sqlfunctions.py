"""Functions of PostgreSQL on values, and its instants and spans of time.

Instants are texts as the server prints them in UTC (`2026-03-02 09:00:00.5+00`), spans are texts as it prints intervals
(`00:05:00`, `3 days 01:00:00`). Left out: other time zones, months of their own length.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from simcluster.engine import format_rfc3339, parse_rfc3339

Value = Any

_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(\.\d{1,6})?(?:\+00(?::00)?|Z)?)?")
_SPAN = re.compile(r"(-)?(?:(\d{1,9}) days? ?)?(?:(\d{2,9}):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?")
#: Microseconds of the units of an interval; a month is 30 days, a year 365.25.
_UNITS = {
    "MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000, "WEEK": 604_800_000_000, "MONTH": 2_592_000_000_000, "YEAR": 31_557_600_000_000,
}  # fmt: skip
_SECOND = 1_000_000
_DAY = 86_400_000_000


def instant(now_ns: int) -> str:
    """A simulated instant as the server prints it.

    >>> instant(0), instant(1_500_000_000)
    ('2026-03-02 09:00:00+00', '2026-03-02 09:00:01.5+00')
    """
    text = format_rfc3339(now_ns, digits=6).replace("T", " ")[:-1]
    return text.rstrip("0").rstrip(".") + "+00"


def micros_at(value: Value) -> int | None:
    """Simulated microseconds of an instant; None if the value is none."""
    found = _INSTANT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    try:
        return parse_rfc3339(f"{found[1]}T{found[2] or '00:00:00'}{found[3] or ''}Z") // 1000
    except ValueError:
        return None


def micros_of(value: Value) -> int | None:
    """Microseconds of a span; None if the value is none."""
    found = _SPAN.fullmatch(value) if isinstance(value, str) and value else None
    if found is None or not (found[2] or found[3]):
        return None
    whole = (
        int(found[2] or 0) * _DAY + (int(found[3] or 0) * 3600 + int(found[4] or 0) * 60 + int(found[5] or 0)) * _SECOND
    )
    whole += int((found[6] or "0").ljust(6, "0"))
    return -whole if found[1] else whole


def span(micros: int) -> str:
    """A span of time as PostgreSQL prints it.

    >>> span(301_500_000), span(90_000_000_000)
    ('00:05:01.5', '1 day 01:00:00')
    """
    sign, micros = ("-" if micros < 0 else ""), abs(micros)
    days, rest = divmod(micros, _DAY)
    seconds, part = divmod(rest, _SECOND)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    fraction = f".{part:06d}".rstrip("0") if part else ""
    lead = f"{days} day{'' if days == 1 else 's'}" if days else ""
    text = clock + fraction if rest or not days else ""
    return sign + " ".join(each for each in (lead, text) if each)


def interval(text: str, unit: str) -> str | None:
    """`interval '5 minutes'`; None if it is none."""
    if unit:
        number = re.fullmatch(r"-?\d+(?:\.\d+)?", text.strip())
        size = _UNITS.get(unit.upper().rstrip("S"))
        return None if number is None or size is None else span(int(float(text) * size))
    if micros_of(text) is not None:
        return span(micros_of(text) or 0)
    total, rest = 0, text.strip().lower()
    while rest:
        found = re.match(r"(-?\d+(?:\.\d+)?)\s*([a-z]+)\s*", rest)
        names = {"min": "minute", "mins": "minute", "sec": "second", "secs": "second", "hr": "hour", "hrs": "hour"}
        size = _UNITS.get(names.get(found[2], found[2].rstrip("s")).upper()) if found is not None else None
        if found is None or size is None:
            return None
        total, rest = total + int(float(found[1]) * size), rest[found.end() :]
    return span(total)


def added(one: Value, other: Value, sign: int) -> Value:
    """Sum or difference where an instant or a span is among them; None if neither is."""
    at, to = micros_at(one), micros_at(other)
    if at is not None and to is not None and sign < 0:
        return span(at - to)
    lasting, more = micros_of(one), micros_of(other)
    if at is not None and more is not None:
        return instant((at + sign * more) * 1000)
    if to is not None and lasting is not None and sign > 0:
        return instant((to + lasting) * 1000)
    if lasting is not None and more is not None:
        return span(lasting + sign * more)
    return None


def extracted(part: str, value: Value) -> Value:
    """`extract(PART from VALUE)`; None if the part is unknown."""
    lasting, at = micros_of(value), micros_at(value)
    if lasting is not None:
        whole = {"EPOCH": lasting, "SECOND": lasting % (60 * _SECOND)}.get(part)
        if whole is not None:
            return _decimal(whole)
        sizes = {"MINUTE": (60, 60), "HOUR": (3600, 24), "DAY": (86_400, 1 << 60)}
        return lasting // _SECOND // sizes[part][0] % sizes[part][1] if part in sizes else None
    if at is None:
        return None
    text = instant(at * 1000)
    if part == "EPOCH":
        return _decimal(at - (micros_at("1970-01-01") or 0))
    places = {"YEAR": (0, 4), "MONTH": (5, 7), "DAY": (8, 10), "HOUR": (11, 13), "MINUTE": (14, 16), "SECOND": (17, 19)}
    return int(text[slice(*places[part])]) if part in places else None


def _decimal(micros: int) -> float | int:
    return micros // _SECOND if micros % _SECOND == 0 else micros / _SECOND


def truncated(unit: str, value: Value) -> Value:
    """`date_trunc`."""
    at = micros_at(value)
    if at is None:
        return None
    text = instant(at * 1000)[:19]
    keep = {"YEAR": 4, "MONTH": 7, "DAY": 10, "HOUR": 13, "MINUTE": 16, "SECOND": 19}.get(unit.upper())
    return None if keep is None else text[:keep] + "0000-01-01 00:00:00"[keep:] + "+00"


def pretty(size: Value) -> str:
    """`pg_size_pretty`: the next unit from ten thousand on.

    >>> pretty(8192), pretty(7_500_000), pretty(53_687_091_200)
    ('8192 bytes', '7324 kB', '50 GB')
    """
    value, units = int(size), ("bytes", "kB", "MB", "GB", "TB", "PB")
    rank = 0
    while abs(value) >= 10_240 and rank < len(units) - 1:
        value, rank = (value + 512) // 1024, rank + 1
    return f"{value} {units[rank]}"


def _left(text: Value, count: Value) -> str:
    return str(text)[: int(count)]


def _right(text: Value, count: Value) -> str:
    return str(text)[-int(count) :] if int(count) > 0 else str(text)[-int(count) :] if int(count) else ""


def _substring(text: Value, start: Value, length: Value = None) -> str:
    begin = int(start) - 1
    end = None if length is None else max(0, begin + int(length))
    return str(text)[max(0, begin) : end]


def _rounded(value: Value, digits: Value = 0) -> Value:
    scale = 10 ** min(30, max(0, int(digits)))
    whole = int(abs(value) * scale * 2 + 1) // 2  # half away from zero
    signed = -whole if value < 0 else whole
    return signed if int(digits) <= 0 else signed / scale


def _split_part(text: Value, sign: Value, number: Value) -> str:
    parts = str(text).split(str(sign)) if str(sign) else [str(text)]
    at = int(number) - 1 if int(number) > 0 else len(parts) + int(number)
    return parts[at] if 0 <= at < len(parts) else ""


def _replaced(text: Value, old: Value, new: Value) -> str:
    return str(text).replace(str(old), str(new))


def _trimmed(text: Value) -> str:
    return str(text).strip()


def _from_left(text: Value) -> str:
    return str(text).lstrip()


def _from_right(text: Value) -> str:
    return str(text).rstrip()


def _reversed(text: Value) -> str:
    return str(text)[::-1]


def _titled(text: Value) -> str:
    return str(text).title()


def _up(value: Value) -> int:
    return -int(-value // 1)


def _down(value: Value) -> int:
    return int(value // 1)


def _place(text: Value, part: Value) -> int:
    return str(text).find(str(part)) + 1


def _age(one: Value, other: Value) -> Value:
    return added(one, other, -1)


def _characters(text: Value) -> int:
    return len(str(text))


def _octets(text: Value) -> int:
    return len(str(text).encode())


def _padded(text: Value, size: Value, fill: Value, *, left: bool) -> str:
    wide, cells = min(int(size), 1_000_000), str(text)
    if len(cells) >= wide or not str(fill):
        return cells[: max(0, wide)]
    more = (str(fill) * (wide // len(str(fill)) + 1))[: wide - len(cells)]
    return more + cells if left else cells + more


def _left_padded(text: Value, size: Value, fill: Value = " ") -> str:
    return _padded(text, size, fill, left=True)


def _right_padded(text: Value, size: Value, fill: Value = " ") -> str:
    return _padded(text, size, fill, left=False)


def constant(value: Value, *arguments: Value) -> Value:
    """The function of whatever arguments that always has this value (with `partial`)."""
    return value


#: Name -> what it does with arguments of which none is NULL.
FUNCTIONS: dict[str, Callable[..., Value]] = {
    "left": _left, "right": _right, "substring": _substring, "substr": _substring, "round": _rounded,
    "replace": _replaced, "trim": _trimmed, "ltrim": _from_left, "rtrim": _from_right, "split_part": _split_part,
    "reverse": _reversed, "initcap": _titled, "pg_size_pretty": pretty, "ceil": _up, "floor": _down, "greatest": max,
    "least": min, "strpos": _place, "age": _age, "char_length": _characters, "octet_length": _octets,
    "lpad": _left_padded, "rpad": _right_padded,
}  # fmt: skip
