"""Functions of CEL and of Kubernetes' libraries: conversions, texts, lists, times, quantities.

Sources: cel-spec's standard definitions, cel-go/ext/strings, k8s.io/apiserver/pkg/cel/library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from simcluster.api import quantity as quantities
from simcluster.api.cel.lexer import UInt
from simcluster.api.cel.values import (
    CelError,
    Duration,
    Optional,
    Quantity,
    Timestamp,
    TypeName,
    equal,
    is_number,
    less,
    no_overload,
    text_of,
    type_of,
)
from simcluster.engine import MILLISECOND, MINUTE, SECOND, parse_duration, parse_rfc3339
from simcluster.engine.clock import HOUR

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?")
_IPV4 = re.compile(r"((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)")
_IPV6 = re.compile(r"[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
_INT64 = 1 << 63


def _text(value: Any) -> str:
    return value if isinstance(value, str) else no_overload()


def _int(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else no_overload()


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else no_overload()


def size(value: Any) -> int:
    """Length of a text, bytes, list or map."""
    if isinstance(value, (str, bytes, list, Mapping)):
        return len(value)
    return no_overload()


def to_int(value: Any) -> int:
    """`int(value)`."""
    if isinstance(value, Timestamp):
        return value.ns // SECOND
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?\d+", value):
            raise CelError(f'strconv.ParseInt: parsing "{value}": invalid syntax')
        return int(value)
    if is_number(value):
        if not -_INT64 <= value < _INT64:
            raise CelError("integer overflow")
        return int(value)
    return no_overload()


def to_uint(value: Any) -> UInt:
    """`uint(value)`."""
    number = to_int(value)
    if number < 0:
        raise CelError("unsigned integer overflow")
    return UInt(number)


def to_double(value: Any) -> float:
    """`double(value)`."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise CelError(f'strconv.ParseFloat: parsing "{value}": invalid syntax') from None
    return float(value) if is_number(value) else no_overload()


def to_bool(value: Any) -> bool:
    """`bool(value)`."""
    if isinstance(value, bool):
        return value
    if value in ("true", "True", "TRUE", "t", "1"):
        return True
    if value in ("false", "False", "FALSE", "f", "0"):
        return False
    raise CelError(f'strconv.ParseBool: parsing "{value}": invalid syntax')


def to_bytes(value: Any) -> bytes:
    """`bytes(value)`."""
    return value if isinstance(value, bytes) else _text(value).encode()


def to_duration(value: Any) -> Duration:
    """`duration("1h")`."""
    if isinstance(value, Duration):
        return value
    try:
        return Duration(parse_duration(_text(value)))
    except ValueError as error:
        raise CelError(str(error)) from None


def to_timestamp(value: Any) -> Timestamp:
    """`timestamp("2026-03-02T09:00:00Z")`."""
    if isinstance(value, Timestamp):
        return value
    try:
        return Timestamp(parse_rfc3339(_text(value)))
    except ValueError:
        raise CelError(f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{value}"') from None


def matches(value: Any, pattern: Any) -> bool:
    """Whether the expression is found in the text."""
    try:
        return re.search(_text(pattern), _text(value), re.ASCII) is not None
    except re.error as error:
        raise CelError(f"error parsing regexp: {error}") from None


def _find(value: Any, pattern: Any) -> str:
    found = re.search(_text(pattern), _text(value), re.ASCII)
    return found[0] if found is not None else ""


def _find_all(value: Any, pattern: Any, limit: Any = -1) -> list[str]:
    found = [match[0] for match in re.finditer(_text(pattern), _text(value), re.ASCII)]
    return found if _int(limit) < 0 else found[: _int(limit)]


def _contains(value: Any, part: Any) -> bool:
    return _text(part) in _text(value)


def _starts(value: Any, part: Any) -> bool:
    return _text(value).startswith(_text(part))


def _ends(value: Any, part: Any) -> bool:
    return _text(value).endswith(_text(part))


def _char_at(value: Any, at: Any) -> str:
    text, index = _text(value), _int(at)
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")
    return text[index : index + 1]


def _index_of(value: Any, part: Any, start: Any = 0) -> int:
    if isinstance(value, list):
        return next((index for index, item in enumerate(value) if equal(item, part)), -1)
    return _text(value).find(_text(part), _int(start))


def _last_index_of(value: Any, part: Any) -> int:
    if isinstance(value, list):
        return max((index for index, item in enumerate(value) if equal(item, part)), default=-1)
    return _text(value).rfind(_text(part))


def _lower(value: Any) -> str:
    return "".join(c.lower() if c.isascii() else c for c in _text(value))


def _upper(value: Any) -> str:
    return "".join(c.upper() if c.isascii() else c for c in _text(value))


def _replace(value: Any, old: Any, new: Any, limit: Any = -1) -> str:
    return _text(value).replace(_text(old), _text(new), _int(limit))


def _split(value: Any, separator: Any, limit: Any = -1) -> list[str]:
    text, sign, most = _text(value), _text(separator), _int(limit)
    if most == 0:
        return []
    parts = list(text) if not sign else text.split(sign)
    if 0 < most < len(parts):
        parts = [*parts[: most - 1], sign.join(parts[most - 1 :])]
    return parts


def _join(value: Any, separator: Any = "") -> str:
    return _text(separator).join(_text(item) for item in _list(value))


def _substring(value: Any, start: Any, end: Any = None) -> str:
    text = _text(value)
    first, last = _int(start), len(text) if end is None else _int(end)
    if not 0 <= first <= last <= len(text):
        raise CelError(f"index out of range: {first if not 0 <= first <= len(text) else last}")
    return text[first:last]


def _trim(value: Any) -> str:
    return _text(value).strip()


def _reverse(value: Any) -> str:
    return _text(value)[::-1]


def _format(value: Any, arguments: Any) -> str:
    items = iter(_list(arguments))

    def filled(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        item = next(items, None)
        if match[2] == "s":
            return _shown(item)
        if match[2] == "f":
            return f"{to_double(item):.{match[1] or 6}f}"
        return format(to_int(item), {"d": "d", "x": "x", "X": "X", "o": "o", "b": "b"}[match[2]])

    return re.sub(r"%(?:%|(?:\.(\d+))?([sdfxXob]))", filled, _text(value))


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_shown(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_shown(k)}: {_shown(value[k])}" for k in sorted(value)) + "}"
    return "null" if value is None else text_of(value)


def _is_sorted(value: Any) -> bool:
    items = _list(value)
    return not any(less(after, before) for before, after in pairwise(items))


def _sum(value: Any) -> Any:
    total: Any = 0
    for item in _list(value):
        total = (
            Duration((total.ns if isinstance(total, Duration) else 0) + item.ns)
            if isinstance(item, Duration)
            else total + item
        )
    return total


def _min(value: Any) -> Any:
    items = _list(value)
    if not items:
        raise CelError("min called on empty list")
    best = items[0]
    for item in items[1:]:
        best = item if less(item, best) else best
    return best


def _max(value: Any) -> Any:
    items = _list(value)
    if not items:
        raise CelError("max called on empty list")
    best = items[0]
    for item in items[1:]:
        best = item if less(best, item) else best
    return best


def _distinct(value: Any) -> list[Any]:
    found: list[Any] = []
    for item in _list(value):
        if not any(equal(item, other) for other in found):
            found.append(item)
    return found


def _flatten(value: Any) -> list[Any]:
    return [inner for item in _list(value) for inner in (item if isinstance(item, list) else [item])]


# Quantities.


def to_quantity(value: Any) -> Quantity:
    """`quantity("200m")`."""
    try:
        return Quantity(quantities.parse(_text(value)).nano)
    except quantities.QuantityError as error:
        raise CelError(str(error)) from None


def is_quantity(value: Any) -> bool:
    """Whether a text is a quantity."""
    try:
        quantities.canonical(_text(value))
    except quantities.QuantityError:
        return False
    return True


def _quantity(value: Any) -> Quantity:
    return value if isinstance(value, Quantity) else no_overload()


def _compare(a: Any, b: Any) -> int:
    x, y = _quantity(a).nano, _quantity(b).nano
    return (x > y) - (x < y)


def _is_less(a: Any, b: Any) -> bool:
    return _quantity(a).nano < _quantity(b).nano


def _is_greater(a: Any, b: Any) -> bool:
    return _quantity(a).nano > _quantity(b).nano


def _as_integer(value: Any) -> int:
    nano = _quantity(value).nano
    if nano % 1_000_000_000:
        raise CelError("cannot convert value to integer")
    return nano // 1_000_000_000


def _added(a: Any, b: Any) -> Quantity:
    return Quantity(_quantity(a).nano + (b * 1_000_000_000 if isinstance(b, int) else _quantity(b).nano))


def _subtracted(a: Any, b: Any) -> Quantity:
    return Quantity(_quantity(a).nano - (b * 1_000_000_000 if isinstance(b, int) else _quantity(b).nano))


def _sign(value: Any) -> int:
    nano = _quantity(value).nano
    return (nano > 0) - (nano < 0)


# Addresses.


def is_url(value: Any) -> bool:
    """Whether a text is an absolute URL or path."""
    text = _text(value)
    return _URL.fullmatch(text) is not None or text.startswith("/")


def is_ip(value: Any) -> bool:
    """Whether a text is an IP address."""
    text = _text(value)
    return _IPV4.fullmatch(text) is not None or _IPV6.fullmatch(text) is not None


def _url(value: Any) -> dict[str, Any]:
    match = _URL.fullmatch(_text(value))
    if match is None:
        raise CelError(f'URL parse error during conversion from string: parse "{value}": invalid URI for request')
    return {"scheme": match[1], "host": match[2], "path": match[3], "query": match[4] or ""}


def _url_part(name: str) -> Callable[[Any], Any]:
    def part(value: Any) -> Any:
        return value[name] if isinstance(value, Mapping) else no_overload()

    return part


# Times.


def _hours(value: Any) -> int:
    return value.ns // HOUR if isinstance(value, Duration) else _clock(value)[3]


def _minutes(value: Any) -> int:
    return value.ns // MINUTE if isinstance(value, Duration) else _clock(value)[4]


def _seconds(value: Any) -> int:
    return value.ns // SECOND if isinstance(value, Duration) else _clock(value)[5]


def _millis(value: Any) -> int:
    return value.ns // MILLISECOND if isinstance(value, Duration) else value.ns // MILLISECOND % 1000


def _clock(value: Any) -> list[int]:
    if not isinstance(value, Timestamp):
        no_overload()
    return [int(part) for part in re.findall(r"\d+", text_of(value))[:6]]


def _year(value: Any) -> int:
    return _clock(value)[0]


def _month(value: Any) -> int:
    return _clock(value)[1] - 1


def _date(value: Any) -> int:
    return _clock(value)[2]


# Optional values.


def _or_value(value: Any, default: Any) -> Any:
    return (value.items[0] if value.present else default) if isinstance(value, Optional) else no_overload()


def _or(value: Any, other: Any) -> Any:
    return (value if value.present else other) if isinstance(value, Optional) else no_overload()


def _has_value(value: Any) -> bool:
    return value.present if isinstance(value, Optional) else no_overload()


def _value(value: Any) -> Any:
    if not isinstance(value, Optional):
        no_overload()
    if not value.present:
        raise CelError("optional.none() dereference")
    return value.items[0]


def _type(value: Any) -> TypeName:
    return TypeName(type_of(value))


def _dyn(value: Any) -> Any:
    return value


#: Called as `f(x)`.
GLOBAL: dict[str, Callable[..., Any]] = {
    "bool": to_bool,
    "bytes": to_bytes,
    "double": to_double,
    "duration": to_duration,
    "dyn": _dyn,
    "int": to_int,
    "isIP": is_ip,
    "isQuantity": is_quantity,
    "isURL": is_url,
    "matches": matches,
    "quantity": to_quantity,
    "size": size,
    "string": text_of,
    "timestamp": to_timestamp,
    "type": _type,
    "uint": to_uint,
    "url": _url,
}
#: Called as `x.f(y)`.
METHODS: dict[str, Callable[..., Any]] = {
    "add": _added,
    "asInteger": _as_integer,
    "charAt": _char_at,
    "compareTo": _compare,
    "contains": _contains,
    "distinct": _distinct,
    "endsWith": _ends,
    "find": _find,
    "findAll": _find_all,
    "flatten": _flatten,
    "format": _format,
    "getDate": _date,
    "getFullYear": _year,
    "getHost": _url_part("host"),
    "getHours": _hours,
    "getMilliseconds": _millis,
    "getMinutes": _minutes,
    "getMonth": _month,
    "getEscapedPath": _url_part("path"),
    "getScheme": _url_part("scheme"),
    "getSeconds": _seconds,
    "hasValue": _has_value,
    "indexOf": _index_of,
    "isGreaterThan": _is_greater,
    "isLessThan": _is_less,
    "isSorted": _is_sorted,
    "join": _join,
    "lastIndexOf": _last_index_of,
    "lowerAscii": _lower,
    "matches": matches,
    "max": _max,
    "min": _min,
    "or": _or,
    "orValue": _or_value,
    "replace": _replace,
    "reverse": _reverse,
    "sign": _sign,
    "size": size,
    "split": _split,
    "startsWith": _starts,
    "sub": _subtracted,
    "substring": _substring,
    "sum": _sum,
    "trim": _trim,
    "upperAscii": _upper,
    "value": _value,
}
