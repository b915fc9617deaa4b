"""Kubernetes' own CEL functions and those of times: quantities, URLs, addresses, parts of instants.

Sources: k8s.io/apiserver/pkg/cel/library, cel-spec's standard definitions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from simcluster.api import quantity as quantities
from simcluster.api.cel.values import CelError, Duration, Quantity, Timestamp, need_text, no_overload, text_of
from simcluster.engine import MILLISECOND, MINUTE, SECOND
from simcluster.engine.clock import HOUR

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?")


# Quantities.


def to_quantity(value: Any) -> Quantity:
    """`quantity("200m")`."""
    try:
        return Quantity(quantities.parse(need_text(value)).nano)
    except quantities.QuantityError as error:
        raise CelError(str(error)) from None


def is_quantity(value: Any) -> bool:
    """Whether a text is a quantity."""
    try:
        quantities.canonical(need_text(value))
    except quantities.QuantityError:
        return False
    return True


def _quantity(value: Any) -> Quantity:
    return value if isinstance(value, Quantity) else no_overload()


def compare(a: Any, b: Any) -> int:
    """`a.compareTo(b)`: -1, 0 or 1."""
    x, y = _quantity(a).nano, _quantity(b).nano
    return (x > y) - (x < y)


def is_less(a: Any, b: Any) -> bool:
    """`a.isLessThan(b)`."""
    return _quantity(a).nano < _quantity(b).nano


def is_greater(a: Any, b: Any) -> bool:
    """`a.isGreaterThan(b)`."""
    return _quantity(a).nano > _quantity(b).nano


def as_integer(value: Any) -> int:
    """`q.asInteger()`."""
    nano = _quantity(value).nano
    if nano % 1_000_000_000:
        raise CelError("cannot convert value to integer")
    return nano // 1_000_000_000


def added(a: Any, b: Any) -> Quantity:
    """`q.add(other)`."""
    return Quantity(_quantity(a).nano + (b * 1_000_000_000 if isinstance(b, int) else _quantity(b).nano))


def subtracted(a: Any, b: Any) -> Quantity:
    """`q.sub(other)`."""
    return Quantity(_quantity(a).nano - (b * 1_000_000_000 if isinstance(b, int) else _quantity(b).nano))


def sign(value: Any) -> int:
    """`q.sign()`: -1, 0 or 1."""
    nano = _quantity(value).nano
    return (nano > 0) - (nano < 0)


def is_integer(value: Any) -> bool:
    """`q.isInteger()`: whether `asInteger` gives a value."""
    nano = _quantity(value).nano
    return not nano % 1_000_000_000 and abs(nano) < (1 << 63) * 1_000_000_000


def as_float(value: Any) -> float:
    """`q.asApproximateFloat()`."""
    return _quantity(value).nano / 1_000_000_000


# URLs.


def is_url(value: Any) -> bool:
    """Whether a text is an absolute URL or path."""
    text = need_text(value)
    return _URL.fullmatch(text) is not None or text.startswith("/")


def url(value: Any) -> dict[str, Any]:
    """`url("https://...")`."""
    match = _URL.fullmatch(need_text(value))
    if match is None:
        raise CelError(f'URL parse error during conversion from string: parse "{value}": invalid URI for request')
    return {"scheme": match[1], "host": match[2], "path": match[3], "query": match[4] or ""}


def url_part(name: str) -> Callable[[Any], Any]:
    """A method that gives one part of a URL."""

    def part(value: Any) -> Any:
        return value[name] if isinstance(value, Mapping) and name in value else no_overload()

    return part


def host_name(value: Any) -> str:
    """`url.getHostname()`: the host without port."""
    host = _part(value, "host")
    if host.startswith("["):
        return host[1 : host.find("]")]
    return host.partition(":")[0]


def port(value: Any) -> str:
    """`url.getPort()`, empty without one."""
    return _part(value, "host").rpartition("]")[2].partition(":")[2]


def query(value: Any) -> dict[str, list[str]]:
    """`url.getQuery()`: the values of every parameter."""
    found: dict[str, list[str]] = {}
    for key, entry in parse_qsl(_part(value, "query"), keep_blank_values=True):
        found.setdefault(key, []).append(entry)
    return found


def _part(value: Any, name: str) -> str:
    return str(value[name]) if isinstance(value, Mapping) and name in value else no_overload()


# Times.


def hours(value: Any) -> int:
    """Hours of a duration or of the clock."""
    return value.ns // HOUR if isinstance(value, Duration) else _clock(value)[3]


def minutes(value: Any) -> int:
    """Minutes of a duration or of the clock."""
    return value.ns // MINUTE if isinstance(value, Duration) else _clock(value)[4]


def seconds(value: Any) -> int:
    """Seconds of a duration or of the clock."""
    return value.ns // SECOND if isinstance(value, Duration) else _clock(value)[5]


def millis(value: Any) -> int:
    """Milliseconds of a duration or of the clock."""
    return value.ns // MILLISECOND if isinstance(value, Duration) else value.ns // MILLISECOND % 1000


def _clock(value: Any) -> list[int]:
    if not isinstance(value, Timestamp):
        no_overload()
    return [int(part) for part in re.findall(r"\d+", text_of(value))[:6]]


def year(value: Any) -> int:
    """`t.getFullYear()`."""
    return _clock(value)[0]


def month(value: Any) -> int:
    """`t.getMonth()`, counted from 0."""
    return _clock(value)[1] - 1


def date(value: Any) -> int:
    """`t.getDate()`, counted from 1."""
    return _clock(value)[2]


def day_of_month(value: Any) -> int:
    """`t.getDayOfMonth()`, counted from 0."""
    return _clock(value)[2] - 1


def day_of_week(value: Any) -> int:
    """`t.getDayOfWeek()`, Sunday is 0."""
    # 1970-01-01, from which days are counted, was a Thursday.
    return (_days(*_clock(value)[:3]) + 4) % 7


def day_of_year(value: Any) -> int:
    """`t.getDayOfYear()`, counted from 0."""
    now = _clock(value)
    return _days(*now[:3]) - _days(now[0], 1, 1)


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01."""
    years = year - (month <= 2)
    era = years // 400
    of_era = years - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
