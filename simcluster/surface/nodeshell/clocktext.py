"""Instants and spans as systemd's programs write and read them."""

from __future__ import annotations

import re

from simcluster.engine import MINUTE, SECOND, format_rfc3339, parse_rfc3339
from simcluster.engine.clock import DAY, HOUR, month_name, weekday

_UNITS = {
    "s": SECOND,
    "sec": SECOND,
    "second": SECOND,
    "seconds": SECOND,
    "m": MINUTE,
    "min": MINUTE,
    "minute": MINUTE,
    "minutes": MINUTE,
    "h": HOUR,
    "hr": HOUR,
    "hour": HOUR,
    "hours": HOUR,
    "d": DAY,
    "day": DAY,
    "days": DAY,
}
_SPAN = re.compile(r"(\d+)\s*([a-z]+)")


def stamp(t_ns: int) -> str:
    """`Mon 2026-03-02 09:00:00 UTC`."""
    text = format_rfc3339(t_ns)
    return f"{weekday(t_ns)} {text[:10]} {text[11:19]} UTC"


def syslog_stamp(t_ns: int) -> str:
    """`Mar 02 09:00:00`."""
    text = format_rfc3339(t_ns)
    return f"{month_name(int(text[5:7]))} {text[8:10]} {text[11:19]}"


def ago(span_ns: int) -> str:
    """`5min ago`, `1min 30s ago`, `2h 5min ago`, as systemctl status says it.

    Source: systemd, format_timestamp_relative.

    >>> ago(90 * SECOND), ago(600 * SECOND), ago(3 * HOUR + 5 * MINUTE)
    ('1min 30s ago', '10min ago', '3h 5min ago')
    """
    seconds, minutes, hours, days = span_ns // SECOND, span_ns // MINUTE, span_ns // HOUR, span_ns // DAY
    if days >= 2:
        return f"{days} days ago"
    if days:
        return f"1 day {hours - 24}h ago"
    if hours >= 5:
        return f"{hours}h ago"
    if hours:
        return f"{hours}h {minutes % 60}min ago"
    if minutes >= 5:
        return f"{minutes}min ago"
    if minutes:
        return f"{minutes}min {seconds % 60}s ago"
    return f"{seconds}s ago" if seconds else "0s ago"


def parse_instant(text: str, now_ns: int) -> int | None:
    """An instant as `journalctl --since` takes it; None if it cannot be read.

    `10 min ago`, `-5m`, `1h ago`, `2026-03-02 09:05:00`, `09:05`, `today`, `yesterday`, `now`.
    """
    text = text.strip()
    today = parse_rfc3339(format_rfc3339(now_ns)[:10] + "T00:00:00Z")
    named = {"now": now_ns, "today": today, "yesterday": today - DAY}
    if text in named:
        return named[text]
    if text.startswith("-") or text.endswith("ago"):
        parts = _SPAN.findall(text.removesuffix("ago"))
        if not parts or any(unit not in _UNITS for _, unit in parts):
            return None
        return now_ns - sum(int(number) * _UNITS[unit] for number, unit in parts)
    match = re.fullmatch(r"(?:(\d{4}-\d\d-\d\d)[ T]?)?(\d\d:\d\d)?(:\d\d)?(?: ?UTC|Z)?", text)
    if match is None or not text:
        return None
    date = match[1] or format_rfc3339(now_ns)[:10]
    try:
        return parse_rfc3339(f"{date}T{match[2] or '00:00'}{match[3] or ':00'}Z")
    except ValueError:
        return None
