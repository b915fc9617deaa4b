"""Numbers as Prometheus writes them."""

from __future__ import annotations

import math
from decimal import Decimal


def _digits(value: float) -> tuple[str, str, int]:
    """Sign, shortest digits that read back the same, and the power of ten of the first."""
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    shown = "".join(map(str, digits)).lstrip("0") or "0"
    assert isinstance(exponent, int)
    power = len(shown) + exponent - 1
    return "-" if sign else "", shown.rstrip("0") or "0", 0 if value == 0 else power


def _special(value: float) -> str | None:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return None


def scientific(value: float) -> str:
    """Go's format `e`, shortest: how alerts write their value.

    >>> scientific(0.0), scientific(12.5), scientific(1e-7)
    ('0e+00', '1.25e+01', '1e-07')
    """
    special = _special(value)
    if special:
        return special
    sign, digits, power = _digits(value)
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def decimal(value: float) -> str:
    """Go's format `f`, shortest.

    >>> decimal(1e21), decimal(0.1), decimal(-0.0)
    ('1000000000000000000000', '0.1', '-0')
    """
    special = _special(value)
    if special:
        return special
    sign, digits, power = _digits(value)
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    if len(digits) <= power + 1:
        return sign + digits + "0" * (power + 1 - len(digits))
    return f"{sign}{digits[: power + 1]}.{digits[power + 1 :]}"


def sample(value: float) -> str:
    """A value in an answer of the API: `f`, and `e` below 1e-6 and from 1e21.

    >>> sample(2.0), sample(1e-7), sample(float("inf"))
    ('2', '1e-07', '+Inf')
    """
    shown = repr(value)
    if "e" not in shown and "n" not in shown:  # neither an exponent nor infinite or no number: the same but for `.0`
        return shown.removesuffix(".0")
    return (
        scientific(value) if value != 0 and not 1e-6 <= abs(value) < 1e21 and math.isfinite(value) else decimal(value)
    )


def shortest(value: float) -> str:
    """Go's format `g`: `e` below 1e-4 and from 1e6 (`%v` of a float).

    >>> shortest(1.5), shortest(1e-5), shortest(1234567.0)
    ('1.5', '1e-05', '1.234567e+06')
    """
    return scientific(value) if value != 0 and not 1e-4 <= abs(value) < 1e6 and math.isfinite(value) else decimal(value)


def timestamp(ms: int) -> str:
    """Milliseconds as the seconds of an answer.

    >>> timestamp(1795294207452), timestamp(1795294204000), timestamp(-500)
    ('1795294207.452', '1795294204', '-0.500')
    """
    sign = "-" if ms < 0 else ""
    seconds, rest = divmod(abs(ms), 1000)
    return f"{sign}{seconds}.{rest:03d}" if rest else f"{sign}{seconds}"


def duration(ms: int) -> str:
    """A duration as Prometheus prints it (`model.Duration`).

    >>> duration(5400000), duration(90000), duration(90000000), duration(0), duration(1500)
    ('1h30m', '1m30s', '1d1h', '0s', '1s500ms')
    """
    if ms == 0:
        return "0s"
    out = []
    rest = abs(ms)
    for unit, size, exact in (
        ("y", 31_536_000_000, True),
        ("w", 604_800_000, True),
        ("d", 86_400_000, False),
        ("h", 3_600_000, False),
        ("m", 60_000, False),
        ("s", 1000, False),
        ("ms", 1, False),
    ):
        if exact and rest % size:
            continue
        count, rest = divmod(rest, size)
        if count:
            out.append(f"{count}{unit}")
    return ("-" if ms < 0 else "") + "".join(out)
