"""Functions that take every value by itself: arithmetic, trigonometry, clamping, dates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simcluster.telemetry.promql import elementary
from simcluster.telemetry.promql.context import Floats, Ints

_DAY = 86_400


def _sgn(x: Floats) -> Floats:
    return np.where(x < 0, -1.0, np.where(x > 0, 1.0, x))


def _rad(x: Floats) -> Floats:
    return x * elementary.PI / 180


def _deg(x: Floats) -> Floats:
    return x * 180 / elementary.PI


#: Functions of one number.
UNARY: dict[str, Callable[[Floats], Floats]] = {
    "abs": np.abs, "ceil": np.ceil, "floor": np.floor, "sqrt": np.sqrt, "sgn": _sgn, "rad": _rad, "deg": _deg,
    **{
        name: getattr(elementary, name)
        for name in (
            "exp", "ln", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
            "asinh", "acosh", "atanh",
        )
    },
}  # fmt: skip


def clamp(x: Floats, low: Floats | float, high: Floats | float) -> Floats:
    """Not below `low`, not above `high`."""
    return np.maximum(low, np.minimum(high, x))


def rounded(x: Floats, nearest: Floats | float) -> Floats:
    """To the nearest multiple, ties up."""
    inverse = 1.0 / np.asarray(nearest, dtype=np.float64)
    return np.floor(x * inverse + 0.5) / inverse


def _days(seconds: Ints) -> Ints:
    return seconds // _DAY


def _civil(seconds: Ints) -> tuple[Ints, Ints, Ints]:
    """Year, month and day of the Gregorian calendar (H. Hinnant's `civil_from_days`)."""
    shifted = _days(seconds) + 719_468
    era = shifted // 146_097
    of_era = shifted - era * 146_097
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted_month = (5 * of_year + 2) // 153
    month = np.where(shifted_month < 10, shifted_month + 3, shifted_month - 9)
    return year + era * 400 + (month <= 2), month, of_year - (153 * shifted_month + 2) // 5 + 1


def _leap(year: Ints) -> Ints:
    leap: Ints = (((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0)).astype(np.int64)
    return leap


def _days_in_month(seconds: Ints) -> Ints:
    year, month, _ = _civil(seconds)
    lengths = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    return lengths[month - 1] + np.where(month == 2, _leap(year), 0)


def _day_of_year(seconds: Ints) -> Ints:
    year, month, day = _civil(seconds)
    before = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])
    return before[month - 1] + day + np.where(month > 2, _leap(year), 0)


def _year(seconds: Ints) -> Ints:
    return _civil(seconds)[0]


def _month(seconds: Ints) -> Ints:
    return _civil(seconds)[1]


def _day_of_month(seconds: Ints) -> Ints:
    return _civil(seconds)[2]


def _day_of_week(seconds: Ints) -> Ints:
    return (_days(seconds) + 4) % 7


def _hour(seconds: Ints) -> Ints:
    return seconds % _DAY // 3600


def _minute(seconds: Ints) -> Ints:
    return seconds % 3600 // 60


_DATES: dict[str, Callable[[Ints], Ints]] = {
    "year": _year, "month": _month, "day_of_month": _day_of_month, "day_of_week": _day_of_week,
    "day_of_year": _day_of_year, "days_in_month": _days_in_month, "hour": _hour, "minute": _minute,
}  # fmt: skip
DATES = tuple(_DATES)
#: Beyond this many seconds a year is no number that Go's calendar keeps.
_FAR = 2.0**55


def date(name: str, seconds: Floats) -> Floats:
    """A part of the date, in UTC, of seconds since the epoch."""
    whole = np.where(np.abs(seconds) < _FAR, seconds, 0.0).astype(np.int64)
    return _DATES[name](whole).astype(np.float64)
