"""Durations as Go prints them: `771ms`, `1.542s`, `1m20s`, `5m0s`."""

from __future__ import annotations

from simcluster.engine import MICROSECOND, MILLISECOND, SECOND


def go_duration(duration_ns: int) -> str:
    """`time.Duration.String()`.

    >>> [go_duration(n * MILLISECOND) for n in (0, 771, 1542, 10_000, 80_000, 300_000)]
    ['0s', '771ms', '1.542s', '10s', '1m20s', '5m0s']
    """
    if duration_ns < 0:
        return "-" + go_duration(-duration_ns)
    if duration_ns < SECOND:
        for unit, name in ((MILLISECOND, "ms"), (MICROSECOND, "µs")):
            if duration_ns >= unit:
                return _decimal(duration_ns, unit) + name
        return f"{duration_ns}ns" if duration_ns else "0s"
    minutes, rest = divmod(duration_ns, 60 * SECOND)
    text = _decimal(rest, SECOND) + "s"
    if not minutes:
        return text
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"


def truncated(duration_ns: int, unit_ns: int = MILLISECOND) -> str:
    """The duration cut to whole units, as `Truncate` does before printing."""
    return go_duration(duration_ns // unit_ns * unit_ns)


def _decimal(value: int, unit: int) -> str:
    whole, fraction = divmod(value, unit)
    if not fraction:
        return str(whole)
    digits = str(fraction).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}"
