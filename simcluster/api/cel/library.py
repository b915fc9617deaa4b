"""Kubernetes' own CEL functions and those of times: quantities, URLs, addresses, parts of instants.

Sources: k8s.io/apiserver/pkg/cel/library, cel-spec's standard definitions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from simcluster.api import quantity as quantities
from simcluster.api.cel.values import CelError, Duration, Quantity, Timestamp, need_text, no_overload, text_of
from simcluster.engine import MILLISECOND, MINUTE, SECOND
from simcluster.engine.clock import HOUR

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?")
_IPV4 = re.compile(r"((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)")
_IPV6 = re.compile(r"[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")


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


# Addresses.


def is_url(value: Any) -> bool:
    """Whether a text is an absolute URL or path."""
    text = need_text(value)
    return _URL.fullmatch(text) is not None or text.startswith("/")


def is_ip(value: Any) -> bool:
    """Whether a text is an IP address."""
    text = need_text(value)
    return _IPV4.fullmatch(text) is not None or _IPV6.fullmatch(text) is not None


def url(value: Any) -> dict[str, Any]:
    """`url("https://...")`."""
    match = _URL.fullmatch(need_text(value))
    if match is None:
        raise CelError(f'URL parse error during conversion from string: parse "{value}": invalid URI for request')
    return {"scheme": match[1], "host": match[2], "path": match[3], "query": match[4] or ""}


def url_part(name: str) -> Callable[[Any], Any]:
    """A method that gives one part of a URL."""

    def part(value: Any) -> Any:
        return value[name] if isinstance(value, Mapping) else no_overload()

    return part


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
