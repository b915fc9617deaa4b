"""Time zones by name, as `TZ=Europe/Berlin date` knows them: offset and abbreviation at an instant.

A zone is a POSIX rule (`CET-1CEST,M3.5.0,M10.5.0/3`), those of today, from the IANA time zone database 2024a; what was
so in other years is left out. A name that there is not means UTC, under the letters with which it begins, as glibc
does.
"""

from __future__ import annotations

import re

from simcluster.models.userland.datetimes import civil, days_of

_EUROPE = ",M3.5.0/2,M10.5.0/3"
_AMERICA = ",M3.2.0/2,M11.1.0/2"
_CENTRAL = "Amsterdam Berlin Brussels Budapest Copenhagen Madrid Oslo Paris Prague Rome Stockholm Vienna Warsaw Zurich"
_RULES = {
    **dict.fromkeys(("UTC", "Etc/UTC", "Universal", "Zulu"), "UTC0"),
    **dict.fromkeys(("GMT", "Etc/GMT", "Africa/Abidjan"), "GMT0"),
    **dict.fromkeys(("Europe/London", "GB"), "GMT0BST,M3.5.0/1,M10.5.0/2"),
    "Europe/Dublin": "GMT0IST,M3.5.0/1,M10.5.0/2",
    "Europe/Lisbon": "WET0WEST,M3.5.0/1,M10.5.0/2",
    **{f"Europe/{city}": "CET-1CEST" + _EUROPE for city in _CENTRAL.split()},
    "CET": "CET-1CEST" + _EUROPE,
    **{
        f"Europe/{city}": "EET-2EEST,M3.5.0/3,M10.5.0/4"
        for city in ("Athens", "Helsinki", "Kyiv", "Kiev", "Sofia", "Vilnius")
    },
    "Europe/Istanbul": "<+03>-3",
    "Europe/Moscow": "MSK-3",
    "America/Sao_Paulo": "<-03>3",
    **dict.fromkeys(("America/New_York", "US/Eastern", "EST5EDT", "America/Toronto"), "EST5EDT" + _AMERICA),
    **dict.fromkeys(("America/Chicago", "US/Central", "CST6CDT"), "CST6CDT" + _AMERICA),
    **dict.fromkeys(("America/Denver", "US/Mountain", "MST7MDT"), "MST7MDT" + _AMERICA),
    **dict.fromkeys(("America/Los_Angeles", "US/Pacific", "PST8PDT"), "PST8PDT" + _AMERICA),
    **dict.fromkeys(("Asia/Kolkata", "Asia/Calcutta"), "IST-5:30"),
    **dict.fromkeys(("Asia/Shanghai", "PRC"), "CST-8"),
    "Asia/Dubai": "<+04>-4",
    "Asia/Hong_Kong": "HKT-8",
    "Asia/Seoul": "KST-9",
    "Asia/Singapore": "<+08>-8",
    "Asia/Tokyo": "JST-9",
    **dict.fromkeys(("Australia/Sydney", "Australia/Melbourne"), "AEST-10AEDT,M10.1.0/2,M4.1.0/3"),
}
_NAME = r"(?:<([-+\w]{3,})>|([A-Za-z]{3,}))"
_OFFSET = r"([-+]?\d{1,2})(?::(\d\d))?"
_RULE = re.compile(rf"{_NAME}{_OFFSET}(?:{_NAME}(?:,(M[\d.]+(?:/\d+)?),(M[\d.]+(?:/\d+)?))?)?")


def zone(name: str, seconds: int) -> tuple[int, str]:
    """Offset from UTC in seconds, and abbreviation, at an instant in Unix seconds.

    >>> zone("Europe/Berlin", 1719828000), zone("EST5EDT", 0), zone("Foo/Bar", 0), zone("UTC+2", 0)
    ((7200, 'CEST'), (-18000, 'EST'), (0, 'Foo'), (-7200, 'UTC'))
    """
    name = name.removeprefix(":")
    if not name:
        return 0, "UTC"
    match = _RULE.fullmatch(_RULES.get(name, name))
    if match is None:
        letters = re.match(r"[A-Za-z]+", name)
        return 0, letters[0] if letters is not None else "UTC"
    hours = int(match[3])
    standard = -(hours * 3600 + (-1 if match[3][0] == "-" else 1) * int(match[4] or 0) * 60)
    plain, other = match[1] or match[2], match[5] or match[6]
    if not match[7]:
        return standard, plain
    year = civil((seconds + standard) // 86_400)[0]
    begins = _instant(match[7], year) - standard
    ends = _instant(match[8], year) - standard - 3600
    summer = begins <= seconds < ends if begins < ends else not ends <= seconds < begins
    return (standard + 3600, other) if summer else (standard, plain)


def _instant(rule: str, year: int) -> int:
    """Local seconds of `Mm.w.d/h`: the w-th day d of month m (5: the last), at hour h."""
    day, _, hour = rule[1:].partition("/")
    month, week, weekday = map(int, day.split("."))
    first = days_of(year, month, 1)
    found = first + (weekday - (first + 4) % 7) % 7 + (week - 1) * 7
    following = days_of(year + month // 12, month % 12 + 1, 1)
    return (found if found < following else found - 7) * 86_400 + int(hour or 2) * 3600
