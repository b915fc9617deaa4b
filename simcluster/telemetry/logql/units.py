"""Durations and sizes as LogQL and its labels spell them."""

from __future__ import annotations

import re

from simcluster.engine.clock import SECOND, unix_seconds

#: Instants here are nanoseconds since the Unix epoch; this is the one at which the clock of a world begins.
EPOCH_NS = unix_seconds(0) * SECOND
#: As many digits as fit into 64 bits.
_COUNT = r"(\d{1,18})"
_PROMETHEUS = re.compile(
    rf"(?=\d)(?:{_COUNT}y)?(?:{_COUNT}w)?(?:{_COUNT}d)?(?:{_COUNT}h)?(?:{_COUNT}m(?!s))?(?:{_COUNT}s)?(?:{_COUNT}ms)?"
)
_UNITS_NS = (31_536_000 * 10**9, 604_800 * 10**9, 86_400 * 10**9, 3600 * 10**9, 60 * 10**9, 10**9, 10**6)
_PART = re.compile(r"(\d{1,18}\.?\d{0,18}|\.\d{1,18})(ns|us|µs|μs|ms|s|m|h)")
_GO_NS = {"ns": 1, "us": 1000, "µs": 1000, "μs": 1000, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_SIZE = re.compile(r"\s*([\d.,]{1,18})\s*([a-zA-Z]*)\s*")
_PREFIXES = "kmgtpe"


def range_ns(text: str) -> int | None:
    """Nanoseconds of a duration between brackets (Prometheus's form); None if it is none.

    >>> range_ns("1m30s"), range_ns("5minutes")
    (90000000000, None)
    """
    if text == "0":
        return 0
    match = _PROMETHEUS.fullmatch(text)
    if match is None:
        return None
    return sum(int(part or 0) * unit for part, unit in zip(match.groups(), _UNITS_NS, strict=True))  # integers


def go_duration_ns(text: str) -> int | None:
    """Nanoseconds of a duration as Go prints it, which may have a sign and fractions; None if it is none.

    >>> go_duration_ns("1.5s"), go_duration_ns("-250us"), go_duration_ns("1d")
    (1500000000, -250000, None)
    """
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    total, at = 0, 0
    while at < len(rest):
        match = _PART.match(rest, at)
        if match is None:
            return None
        whole, _, part = match[1].partition(".")
        unit = _GO_NS[match[2]]
        total += int(whole or 0) * unit
        total += int(part) * unit // 10 ** len(part) if part else 0
        at = match.end()
    return sign * total if at else None


def duration_ns(text: str) -> int | None:
    """Nanoseconds of either form."""
    found = range_ns(text)
    return go_duration_ns(text) if found is None else found


def size_bytes(text: str) -> int | None:
    """Bytes of a size; decimal prefixes without `i`; None if it is none.

    >>> size_bytes("1.5KB"), size_bytes("2 MiB"), size_bytes("x")
    (1500, 2097152, None)
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    unit = match[2].lower().removesuffix("b")
    base = 1024 if unit.endswith("i") else 1000
    unit = unit.removesuffix("i")
    if unit and (len(unit) > 1 or unit not in _PREFIXES):
        return None
    try:
        number = float(match[1].replace(",", ""))
    except ValueError:
        return None
    scale = 1
    for _ in range(_PREFIXES.index(unit) + 1 if unit else 0):
        scale *= base
    return int(number * scale)


def go_duration(t_ns: int) -> str:
    """Go's text of a duration.

    >>> go_duration(960 * 3600 * 10**9), go_duration(1_500_000)
    ('960h0m0s', '1.5ms')
    """
    if t_ns == 0:
        return "0s"
    sign, rest = ("-" if t_ns < 0 else ""), abs(t_ns)
    if rest < 10**9:
        unit, size = next((unit, size) for unit, size in (("ms", 10**6), ("µs", 1000), ("ns", 1)) if rest >= size)
        return sign + _decimal(rest, size) + unit
    minutes, rest = divmod(rest, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    head = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{head}{_decimal(rest, 10**9)}s"


def _decimal(count: int, unit: int) -> str:
    whole, part = divmod(count, unit)
    digits = f"{part:0{len(str(unit)) - 1}d}".rstrip("0") if part else ""
    return f"{whole}.{digits}" if digits else str(whole)
