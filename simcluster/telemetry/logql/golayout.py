"""Instants by Go's layouts (`2006-01-02T15:04:05Z07:00`), in UTC, as templates print and read them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from simcluster.engine.clock import SECOND, format_rfc3339, month_name, parse_rfc3339, unix_seconds, weekday
from simcluster.telemetry.logql.units import EPOCH_NS
from simcluster.telemetry.rules.templatesyntax import TemplateError

#: Parts of a layout, the longest first (stdFormat of Go's package time).
_PART = re.compile(
    r"2006|January|Jan|Monday|Mon|MST|Z07:00|Z0700|Z07|-07:00|-0700|-07|[.,](?:0+|9+)(?!\d)|01|02|03|04|05|06|15|_2|"
    r"PM|pm|1|2|3|4|5"
)
#: What of a text a part reads, and which field that is: year, month, day, hour, minute, second.
_READS: Mapping[str, tuple[str, str]] = {
    "2006": (r"(\d{4})", "year"), "01": (r"(\d{2})", "month"), "1": (r"(\d{1,2})", "month"),
    "02": (r"(\d{2})", "day"), "_2": (r"\s?(\d{1,2})", "day"), "2": (r"(\d{1,2})", "day"),
    "15": (r"(\d{2})", "hour"), "04": (r"(\d{2})", "minute"), "05": (r"(\d{2})", "second"),
    "Z07:00": (r"(?:Z|[+-]\d\d:\d\d)", ""), "MST": (r"[A-Z]{3,4}", ""),
}  # fmt: skip


class Instant(int):
    """Nanoseconds since the Unix epoch that are printed as a date."""

    def __str__(self) -> str:
        return format_rfc3339(int(self) - EPOCH_NS, digits=9).replace("T", " ").replace("Z", " +0000 UTC")


def formatted(layout: str, instant: int) -> str:
    """An instant by a layout.

    >>> formatted("2006-01-02 15:04:05.000 Mon Z07:00", 1772442000_500_000_000)
    '2026-03-02 09:00:00.500 Mon Z'
    """
    text = format_rfc3339(instant - EPOCH_NS, digits=9)
    date, _, clock = text[:-1].partition("T")
    (year, month, day), (hour, minute, rest) = date.split("-"), clock.split(":")
    second, _, nanos = rest.partition(".")
    name, of_week = month_name(int(month)), weekday(instant - EPOCH_NS)
    half, noon = str((int(hour) + 11) % 12 + 1), "PM" if int(hour) >= 12 else "AM"
    shown = {
        "2006": year, "06": year[2:], "01": month, "1": str(int(month)), "Jan": name[:3], "January": name, "02": day,
        "2": str(int(day)), "_2": f"{int(day):2d}", "15": hour, "03": half.zfill(2), "3": half, "04": minute,
        "4": str(int(minute)), "05": second, "5": str(int(second)), "PM": noon, "pm": noon.lower(), "Mon": of_week[:3],
        "Monday": _DAYS[of_week[:3]], "MST": "UTC", "Z07:00": "Z", "Z0700": "Z", "Z07": "Z", "-07:00": "+00:00",
        "-0700": "+0000", "-07": "+00",
    }  # fmt: skip

    def part(match: re.Match[str]) -> str:
        word = match[0]
        if word[0] not in ".,":
            return shown[word]
        digits = nanos[: len(word) - 1]
        if word[1] == "9":
            digits = digits.rstrip("0")
        return word[0] + digits if digits else ""

    return _PART.sub(part, layout)


_DAYS = {day[:3]: day for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")}


def read(layout: str, text: str) -> Instant:
    """The instant that a text says by a layout of digits; midnight and UTC where it says nothing.

    Raises:
        TemplateError: it says none.

    >>> formatted("15:04", read("2006-01-02 15:04", "2026-03-02 09:30"))
    '09:30'
    """
    fields, pattern, at = list[str](), "", 0
    for match in _PART.finditer(layout):
        pattern += re.escape(layout[at : match.start()])
        found, name = _READS.get(match[0], (r"[.,]\d+" if match[0][0] in ".," else r"\S+", ""))
        pattern += found
        fields += [name] if name else []
        at = match.end()
    read = re.fullmatch(pattern + re.escape(layout[at:]), text)
    if read is None:
        raise TemplateError(f'parsing time "{text}" as "{layout}": cannot parse "{text}" as "{layout}"')
    known = dict(zip(fields, read.groups(), strict=True))
    year, month, day = (known.get(name, default) for name, default in (("year", "0001"), ("month", "1"), ("day", "1")))
    hour, minute, second = (known.get(name, "0").zfill(2) for name in ("hour", "minute", "second"))
    try:
        t_ns = parse_rfc3339(f"{year}-{month.zfill(2)}-{day.zfill(2)}T{hour}:{minute}:{second}Z")
    except ValueError as error:
        raise TemplateError(f'parsing time "{text}": {error}') from None
    return Instant(unix_seconds(t_ns) * SECOND)


def of_epoch(text: str) -> Instant:
    """An instant of digits: days, seconds or fractions of them, by how many there are (`unixToTime`).

    Raises:
        TemplateError: there are others.

    >>> formatted("2006", of_epoch("1772442000"))
    '2026'
    """
    units = {5: 86_400 * SECOND, 10: SECOND, 13: 10**6, 16: 1000, 19: 1}
    unit = units.get(len(text)) if text.isdecimal() else None
    if unit is None:
        raise TemplateError(f"unable to parse time '{text}': need a timestamp of 5, 10, 13, 16 or 19 digits")
    return Instant(int(text) * unit)
