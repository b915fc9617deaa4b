"""Cron schedules: five fields, `@daily` and the like, `@every 90s`.

Source: github.com/robfig/cron v3 (ParseStandard), which kube-controller-manager uses: if
both day fields are restricted, a day that fits either will do; `?` is `*`; Sunday is 0.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from simcluster.engine import MINUTE, SECOND, format_rfc3339, parse_duration, parse_rfc3339

_DAY_NS = 24 * 60 * MINUTE
#: A schedule that never comes is given up after so many years.
_MOST_YEARS = 5

_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: n + 1 for n, name in enumerate(_MONTH_NAMES)}
_WEEKDAYS = {name: n for n, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
_BOUNDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _WEEKDAYS),
)
_ZONE = re.compile(r"(?:CRON_)?TZ=(\S+)\s+(.*)")
_FIXED_ZONE = re.compile(r"Etc/GMT([+-])(\d{1,2})")
_UTC = ("", "UTC", "Etc/UTC", "Etc/UCT", "UCT", "GMT", "Etc/GMT", "Zulu", "Etc/Zulu", "Greenwich", "Etc/Greenwich")


class ScheduleError(ValueError):
    """A schedule or time zone cannot be understood; the message is the controller's."""


def zone_offset_ns(name: str) -> int:
    """What a time zone adds to UTC. Only zones without rules are known: UTC and `Etc/GMT+5`.

    Raises:
        ScheduleError: there is no such zone (here).
    """
    if name in _UTC:
        return 0
    match = _FIXED_ZONE.fullmatch(name)
    if match is None or int(match[2]) > 14:
        raise ScheduleError(f"unknown time zone {name}")
    # POSIX counts to the west: Etc/GMT+5 is five hours behind UTC.
    return int(match[2]) * 60 * MINUTE * (-1 if match[1] == "+" else 1)


class Schedule(NamedTuple):
    """When a CronJob is due.

    Attributes:
        fields: allowed minutes, hours, days of the month, months and weekdays.
        either_day: both day fields are restricted, so that one of them is enough.
        every_ns: distance of an `@every` schedule, else 0.
        offset_ns: what the schedule's time zone adds to UTC.
    """

    fields: tuple[tuple[int, ...], ...]
    either_day: bool
    every_ns: int = 0
    offset_ns: int = 0

    def next_ns(self, after_ns: int) -> int | None:
        """The first instant later than `after_ns`; None if there is none within five years."""
        if self.every_ns:
            return (after_ns // SECOND) * SECOND + self.every_ns
        # Simulated time begins at a whole minute of UTC.
        local_ns = (after_ns + self.offset_ns) // MINUTE * MINUTE + MINUTE
        limit_ns = local_ns + _MOST_YEARS * 366 * _DAY_NS
        while local_ns < limit_ns:
            text = format_rfc3339(local_ns)
            month, day, hour, minute = int(text[5:7]), int(text[8:10]), int(text[11:13]), int(text[14:16])
            minutes, hours, _, months, _ = self.fields
            if month not in months:
                local_ns = _next_month(text)
            elif not self._is_day(day, text):
                local_ns = _start_of_day(text) + _DAY_NS
            elif hour not in hours:
                local_ns += (60 - minute) * MINUTE
            elif minute not in minutes:
                local_ns += MINUTE
            else:
                return local_ns - self.offset_ns
        return None

    def _is_day(self, day: int, text: str) -> bool:
        fits_day, fits_weekday = day in self.fields[2], _weekday(text) in self.fields[4]
        return fits_day or fits_weekday if self.either_day else fits_day and fits_weekday


def _start_of_day(text: str) -> int:
    return parse_rfc3339(f"{text[:10]}T00:00:00Z")


def _next_month(text: str) -> int:
    year, month = int(text[:4]), int(text[5:7])
    year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    return parse_rfc3339(f"{year:04d}-{month:02d}-01T00:00:00Z")


def _weekday(text: str) -> int:
    """0 for Sunday. 2026-03-01 was one."""
    days = (_start_of_day(text) - parse_rfc3339("2026-03-01T00:00:00Z")) // _DAY_NS
    return days % 7


def parse(text: str, time_zone: str = "") -> Schedule:
    """The schedule of a CronJob's `spec.schedule` and `spec.timeZone`.

    Raises:
        ScheduleError: it is none.

    >>> parse("*/20 3-4 * * mon").fields[:2]
    ((0, 20, 40), (3, 4))
    """
    match = _ZONE.fullmatch(text.strip())
    if match is not None:
        time_zone, text = match[1], match[2]
    offset_ns = zone_offset_ns(time_zone)
    text = text.strip()
    if text.startswith("@every "):
        try:
            every_ns = parse_duration(text.removeprefix("@every "))
        except ValueError as error:
            raise ScheduleError(f"failed to parse duration {text}: {error}") from None
        return Schedule((), False, max(SECOND, every_ns // SECOND * SECOND), offset_ns)
    if text.startswith("@"):
        if text not in _DESCRIPTORS:
            raise ScheduleError(f"unrecognized descriptor: {text}")
        text = _DESCRIPTORS[text]
    parts = text.split()
    if len(parts) != 5:
        raise ScheduleError(f"expected exactly 5 fields, found {len(parts)}: {parts}")
    fields = tuple(_field(part, *bounds) for part, bounds in zip(parts, _BOUNDS, strict=True))
    return Schedule(fields, not (_is_star(parts[2]) or _is_star(parts[4])), 0, offset_ns)


def _is_star(field: str) -> bool:
    """Whether the field says nothing: one of its parts is `*` without a step greater than 1."""
    return any(part in ("*", "?", "*/1", "?/1") for part in field.split(","))


def _field(field: str, low: int, high: int, names: dict[str, int]) -> tuple[int, ...]:
    found: dict[int, None] = {}
    for part in field.split(","):
        span, slash, step_text = part.partition("/")
        first_text, dash, last_text = span.partition("-")
        step = _number(step_text, {}) if slash else 1
        if first_text in ("*", "?"):
            first, last = low, high
        else:
            first = _number(first_text, names)
            last = _number(last_text, names) if dash else (high if slash else first)
        if first < low:
            raise ScheduleError(f"beginning of range ({first}) below minimum ({low}): {part}")
        if last > high:
            raise ScheduleError(f"end of range ({last}) above maximum ({high}): {part}")
        if first > last:
            raise ScheduleError(f"beginning of range ({first}) beyond end of range ({last}): {part}")
        if step == 0:
            raise ScheduleError(f"step of range should be a positive number: {part}")
        found.update(dict.fromkeys(range(first, last + 1, step)))
    return tuple(sorted(found))


def _number(text: str, names: dict[str, int]) -> int:
    known = names.get(text.lower())
    if known is not None:
        return known
    if not text.isdecimal():
        raise ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)
