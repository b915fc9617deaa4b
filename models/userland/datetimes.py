"""Dates: formatting as strftime does it and reading what people give to `date -d`."""

from __future__ import annotations

import re

from simcluster.engine import SECOND
from simcluster.engine.clock import parse_rfc3339, unix_seconds

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_UNITS = {
    "sec": 1,
    "second": 1,
    "min": 60,
    "minute": 60,
    "hour": 3600,
    "day": 86_400,
    "week": 7 * 86_400,
    "fortnight": 14 * 86_400,
}


def civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day since 1970-01-01.

    >>> civil(20514)
    (2026, 3, 2)
    """
    days += 719_468
    era, day = divmod(days, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    inside = day - (365 * year + year // 4 - year // 100)
    month = (5 * inside + 2) // 153
    return year + era * 400 + (month >= 10), (month + 2) % 12 + 1, inside - (153 * month + 2) // 5 + 1


def days_of(year: int, month: int, day: int) -> int:
    """The day since 1970-01-01 of a date.

    >>> days_of(2026, 3, 2)
    20514
    """
    year -= month <= 2
    era, inside = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + inside * 365 + inside // 4 - inside // 100 + day_of_year - 719_468


def formatted(form: str, t_ns: int) -> str:
    """strftime for a simulated instant, UTC, with GNU's `%N` and `%-d`.

    >>> formatted("%F %-H:%M:%S %a %j", 0)
    '2026-03-02 9:00:00 Mon 061'
    """
    return formatted_at(form, unix_seconds(t_ns), t_ns % SECOND)


_WHOLE = {
    "T": "%H:%M:%S",
    "R": "%H:%M",
    "F": "%Y-%m-%d",
    "D": "%m/%d/%y",
    "c": "%a %b %e %H:%M:%S %Y",
    "x": "%m/%d/%y",
    "X": "%H:%M:%S",
    "r": "%I:%M:%S %p",
}


def _directives(seconds: int, nanoseconds: int, zone: tuple[int, str]) -> dict[str, tuple[str, int]]:
    """What each directive gives, and how many digits it has."""
    days, inside = divmod(seconds + zone[0], 86_400)
    year, month, day = civil(days)
    weekday, day_of_year = (days + 3) % 7, days - days_of(year, 1, 1)
    hour, rest = divmod(inside, 3600)
    minute, second = divmod(rest, 60)
    week_year, week = _iso_week(year, weekday, day_of_year)
    return {
        "Y": (str(year), 0),
        "C": (str(year // 100), 2),
        "y": (str(year % 100), 2),
        "m": (str(month), 2),
        "d": (str(day), 2),
        "e": (f"{day:2d}", 0),
        "H": (str(hour), 2),
        "k": (f"{hour:2d}", 0),
        "I": (str((hour + 11) % 12 + 1), 2),
        "l": (f"{(hour + 11) % 12 + 1:2d}", 0),
        "M": (str(minute), 2),
        "S": (str(second), 2),
        "j": (str(day_of_year + 1), 3),
        "N": (f"{nanoseconds:09d}", 0),
        "s": (str(seconds), 0),
        "p": ("AM" if hour < 12 else "PM", 0),
        "P": ("am" if hour < 12 else "pm", 0),
        "a": (_DAYS[weekday][:3], 0),
        "A": (_DAYS[weekday], 0),
        "b": (_MONTHS[month - 1][:3], 0),
        "h": (_MONTHS[month - 1][:3], 0),
        "B": (_MONTHS[month - 1], 0),
        "u": (str(weekday + 1), 0),
        "w": (str((weekday + 1) % 7), 0),
        "V": (str(week), 2),
        "G": (str(week_year), 0),
        "g": (str(week_year % 100), 2),
        "U": (str((day_of_year + 7 - (weekday + 1) % 7) // 7), 2),
        "W": (str((day_of_year + 7 - weekday) // 7), 2),
        "Z": (zone[1], 0),
        "z": (_offset(zone[0]), 0),
        "n": ("\n", 0),
        "t": ("\t", 0),
        "%": ("%", 0),
        "q": (str((month + 2) // 3), 0),
    }


def _offset(seconds: int, sign: str = "") -> str:
    """An offset from UTC as `%z` writes it.

    >>> _offset(-12600), _offset(7200, ":"), _offset(0, "::")
    ('-0330', '+02:00', '+00:00:00')
    """
    hours, minutes = divmod(abs(seconds) // 60, 60)
    colon = ":" if sign else ""
    return f"{'-' if seconds < 0 else '+'}{hours:02d}{colon}{minutes:02d}" + (":00" if sign == "::" else "")


#: Offset in seconds and abbreviation of a time zone (`timezones`).
UTC = (0, "UTC")


def formatted_at(form: str, seconds: int, nanoseconds: int = 0, zone: tuple[int, str] = UTC) -> str:
    """The same for Unix seconds, in a time zone."""
    values = _directives(seconds, nanoseconds, zone)

    def one(match: re.Match[str]) -> str:
        flag, width, letter = match[1], match[2], match[4]
        if letter in _WHOLE:
            return formatted_at(_WHOLE[letter], seconds, nanoseconds, zone)
        if letter not in values:
            return match[0]
        if letter == "z" and match[3]:
            return _offset(zone[0], match[3]) if len(match[3]) < 3 else _offset(zone[0])[:3]
        text, digits = values[letter]
        if letter == "N":
            return text[: int(width)] if width else text.rstrip("0") or "0" if flag == "-" else text
        fill = {"-": "", "_": " ", "0": "0"}.get(flag, "0" if digits else " ")
        if flag == "^":
            text = text.upper()
        size = min(int(width), 100) if width else digits
        if flag == "-":
            return text.lstrip() if not text.lstrip().isdigit() else str(int(text))
        return text.strip().rjust(size, fill or " ") if size else text if flag != "0" else text.replace(" ", "0")

    return re.sub(r"%([-_0^#]?)(\d{0,3})(:*)([A-Za-z%])", one, form)


def _iso_week(year: int, weekday: int, day_of_year: int) -> tuple[int, int]:
    week = (day_of_year - weekday + 10) // 7
    if week < 1:
        days = 366 if _leap(year - 1) else 365
        return year - 1, (day_of_year + days - weekday + 10) // 7
    days = 366 if _leap(year) else 365
    thursday = day_of_year - weekday + 3
    return (year + 1, 1) if thursday >= days else (year, week)


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


#: Hours from UTC of the abbreviations that GNU date reads.
_ZONES = {
    **{"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7},
    **{"cet": 1, "cest": 2, "bst": 1},
}


def read_date(text: str, now_ns: int) -> tuple[int, int] | None:
    """Unix seconds and nanoseconds of what `date -d` takes; None if it is no date.

    >>> read_date("2026-03-02 11:00:00", 0), read_date("@5", 0), read_date("never", 0)
    ((1772449200, 0), (5, 0), None)
    """
    text = text.strip()
    seconds, nanoseconds = unix_seconds(now_ns), now_ns % SECOND
    if text.startswith("@"):
        match = re.fullmatch(r"@(-?\d{1,18})(?:\.(\d{1,9}))?", text)
        return None if match is None else (int(match[1]), int((match[2] or "0").ljust(9, "0")))
    iso = re.match(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)", text)
    rest = text.lower()
    if iso is not None:
        try:
            at_ns = parse_rfc3339(iso[0].upper())
        except ValueError:
            return None
        seconds, nanoseconds = unix_seconds(at_ns), at_ns % SECOND
        rest = rest[iso.end() :]
    return _read_words(rest, seconds, nanoseconds, given=iso is not None)


def _offset_of(match: re.Match[str]) -> int | None:
    """Seconds of a time zone: what a number with a sign after a time of day is, whatever unit follows."""
    digits = match[2] + (match[3] or "")
    hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
    return None if hours > 24 else (1 if match[1] == "+" else -1) * (hours * 3600 + minutes * 60)


def _count_of(match: re.Match[str]) -> int:
    """How many units: a number, or a word for one; `ago` turns it round."""
    words = {"next": 1, "last": -1, "a": 1, "an": 1, "": 1}
    count = words.get(match[1]) or int(match[1].replace(" ", "")[:12] or 0)
    return -count if match[3] else count


def _read_words(rest: str, seconds: int, nanoseconds: int, *, given: bool) -> tuple[int, int] | None:
    days, clock, moved, months = seconds // 86_400, seconds % 86_400, 0, 0
    dated, timed = given, False
    while rest := rest.strip(" \t,"):
        match = re.match(r"(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?:t(?=\d))?", rest)
        if match is not None and 1 <= int(match[3]) <= 12 and 1 <= int(match[4]) <= 31:
            days, dated = days_of(int(match[1]), int(match[3]), int(match[4])), True
            clock, nanoseconds = (0, 0)
        elif match := re.match(r"(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d+))?)?\s*(am|pm)?", rest):
            hour = int(match[1]) % 12 + (12 if match[5] == "pm" else 0) if match[5] else int(match[1])
            clock, nanoseconds = (
                hour * 3600 + int(match[2]) * 60 + int(match[3] or 0),
                int((match[4] or "0")[:9].ljust(9, "0")),
            )
            if hour > 23 or int(match[2]) > 59:
                return None
            timed = True
        elif match := re.match(r"(1[0-2]|0?[1-9])\s*([ap])\.?m\b\.?", rest):
            clock, nanoseconds = (int(match[1]) % 12 + (12 if match[2] == "p" else 0)) * 3600, 0
            timed = True
        elif timed and (match := re.match(r"([-+])\s*(\d{1,4})(?::(\d\d))?", rest)):
            offset_s = _offset_of(match)
            if offset_s is None:
                return None
            moved -= offset_s
            timed = False
        elif timed and (match := re.match(r"([ecmp][sd]t|cest|cet|bst)\b", rest)):
            moved -= _ZONES[match[1]] * 3600
            timed = False
        elif match := re.match(r"(now|today|midnight|noon|yesterday|tomorrow|utc|gmt|z\b|\+00:?00\b)", rest):
            moved += {"yesterday": -86_400, "tomorrow": 86_400}.get(match[1], 0)
            timed = timed and match[1] not in ("utc", "gmt", "z")
            clock, nanoseconds = {"midnight": (0, 0), "noon": (43_200, 0)}.get(match[1], (clock, nanoseconds))
        elif match := re.match(
            r"([+-]?\s*\d+|next|last|a|an|)\s*(sec|second|min|minute|hour|day|week|fortnight|month|year)s?\b(\s+ago\b)?",
            rest,
        ):
            count = _count_of(match)
            if match[2] in _UNITS:
                moved += count * _UNITS[match[2]]
            else:
                months += count * (12 if match[2] == "year" else 1)
        elif (match := re.match(r"(?:(next|last)\s+)?(mon|tue|wed|thu|fri|sat|sun)[a-z]*", rest)) and match[0]:
            wanted = [day[:3].lower() for day in _DAYS].index(match[2])
            if not dated:
                ahead = (wanted - (days + 3) % 7) % 7
                days += ahead + (7 if match[1] == "next" and ahead == 0 else -7 if match[1] == "last" else 0)
                clock, nanoseconds = 0, 0
        elif match := re.match(
            r"(?:(\d{1,2})\s+)?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?(?:\s+(\d{1,2})(?!\d|:))?(?:\s+(\d{4}))?",
            rest,
        ):
            month = [name[:3].lower() for name in _MONTHS].index(match[2]) + 1
            year = int(match[4]) if match[4] else civil(days)[0]
            days, dated = days_of(year, month, int(match[1] or match[3] or 1)), True
            clock, nanoseconds = 0, 0
        elif re.match(r"\d{8}\b", rest):
            match = re.match(r"(\d{4})(\d\d)(\d\d)", rest)
            if match is None or not 1 <= int(match[2]) <= 12:
                return None
            days, dated, clock, nanoseconds = days_of(int(match[1]), int(match[2]), int(match[3])), True, 0, 0
        else:
            return None
        rest = rest[match.end() :]
    if months:
        year, month, day = civil(days)
        total = year * 12 + month - 1 + months
        days = days_of(total // 12, total % 12 + 1, 1) + day - 1
    found = days * 86_400 + clock + moved
    return (found, nanoseconds) if abs(found) < 10**14 else None
