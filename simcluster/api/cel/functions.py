"""Functions of CEL: conversions, texts, lists, optional values; and the tables of all functions.

Sources: cel-spec's standard definitions, cel-go/ext/strings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from simcluster.api.cel import authority, formats, library, network
from simcluster.api.cel.lexer import UInt
from simcluster.api.cel.values import (
    CelError,
    Duration,
    Optional,
    Timestamp,
    TypeName,
    equal,
    is_number,
    less,
    need_int,
    need_list,
    need_text,
    no_overload,
    text_of,
    type_of,
)
from simcluster.engine import SECOND, parse_duration, parse_rfc3339

_INT64 = 1 << 63


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
    return value if isinstance(value, bytes) else need_text(value).encode()


def to_duration(value: Any) -> Duration:
    """`duration("1h")`."""
    if isinstance(value, Duration):
        return value
    try:
        return Duration(parse_duration(need_text(value)))
    except ValueError as error:
        raise CelError(str(error)) from None


def to_timestamp(value: Any) -> Timestamp:
    """`timestamp("2026-03-02T09:00:00Z")`."""
    if isinstance(value, Timestamp):
        return value
    try:
        return Timestamp(parse_rfc3339(need_text(value)))
    except ValueError:
        raise CelError(f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{value}"') from None


def matches(value: Any, pattern: Any) -> bool:
    """Whether the expression is found in the text."""
    try:
        return re.search(need_text(pattern), need_text(value), re.ASCII) is not None
    except re.error as error:
        raise CelError(f"error parsing regexp: {error}") from None


def _find(value: Any, pattern: Any) -> str:
    found = re.search(need_text(pattern), need_text(value), re.ASCII)
    return found[0] if found is not None else ""


def _find_all(value: Any, pattern: Any, limit: Any = -1) -> list[str]:
    found = [match[0] for match in re.finditer(need_text(pattern), need_text(value), re.ASCII)]
    return found if need_int(limit) < 0 else found[: need_int(limit)]


def _contains(value: Any, part: Any) -> bool:
    return need_text(part) in need_text(value)


def _starts(value: Any, part: Any) -> bool:
    return need_text(value).startswith(need_text(part))


def _ends(value: Any, part: Any) -> bool:
    return need_text(value).endswith(need_text(part))


def _char_at(value: Any, at: Any) -> str:
    text, index = need_text(value), need_int(at)
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")
    return text[index : index + 1]


def _index_of(value: Any, part: Any, start: Any = 0) -> int:
    if isinstance(value, list):
        return next((index for index, item in enumerate(value) if equal(item, part)), -1)
    return need_text(value).find(need_text(part), need_int(start))


def _last_index_of(value: Any, part: Any) -> int:
    if isinstance(value, list):
        return max((index for index, item in enumerate(value) if equal(item, part)), default=-1)
    return need_text(value).rfind(need_text(part))


def _lower(value: Any) -> str:
    return "".join(c.lower() if c.isascii() else c for c in need_text(value))


def _upper(value: Any) -> str:
    return "".join(c.upper() if c.isascii() else c for c in need_text(value))


def _replace(value: Any, old: Any, new: Any, limit: Any = -1) -> str:
    return need_text(value).replace(need_text(old), need_text(new), need_int(limit))


def _split(value: Any, separator: Any, limit: Any = -1) -> list[str]:
    text, sign, most = need_text(value), need_text(separator), need_int(limit)
    if most == 0:
        return []
    parts = list(text) if not sign else text.split(sign)
    if 0 < most < len(parts):
        parts = [*parts[: most - 1], sign.join(parts[most - 1 :])]
    return parts


def _join(value: Any, separator: Any = "") -> str:
    return need_text(separator).join(need_text(item) for item in need_list(value))


def _substring(value: Any, start: Any, end: Any = None) -> str:
    text = need_text(value)
    first, last = need_int(start), len(text) if end is None else need_int(end)
    if not 0 <= first <= last <= len(text):
        raise CelError(f"index out of range: {first if not 0 <= first <= len(text) else last}")
    return text[first:last]


def _trim(value: Any) -> str:
    return need_text(value).strip()


def _reverse(value: Any) -> str:
    return need_text(value)[::-1]


def _format(value: Any, arguments: Any) -> str:
    items = iter(need_list(arguments))

    def filled(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        item = next(items, None)
        if match[2] == "s":
            return _shown(item)
        if match[2] == "f":
            return f"{to_double(item):.{match[1] or 6}f}"
        return format(to_int(item), {"d": "d", "x": "x", "X": "X", "o": "o", "b": "b"}[match[2]])

    return re.sub(r"%(?:%|(?:\.(\d+))?([sdfxXob]))", filled, need_text(value))


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_shown(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_shown(k)}: {_shown(value[k])}" for k in sorted(value)) + "}"
    return "null" if value is None else text_of(value)


def _is_sorted(value: Any) -> bool:
    items = need_list(value)
    return not any(less(after, before) for before, after in pairwise(items))


def _sum(value: Any) -> Any:
    total: Any = 0
    for item in need_list(value):
        total = (
            Duration((total.ns if isinstance(total, Duration) else 0) + item.ns)
            if isinstance(item, Duration)
            else total + item
        )
    return total


def _min(value: Any) -> Any:
    items = need_list(value)
    if not items:
        raise CelError("min called on empty list")
    best = items[0]
    for item in items[1:]:
        best = item if less(item, best) else best
    return best


def _max(value: Any) -> Any:
    items = need_list(value)
    if not items:
        raise CelError("max called on empty list")
    best = items[0]
    for item in items[1:]:
        best = item if less(best, item) else best
    return best


def _distinct(value: Any) -> list[Any]:
    found: list[Any] = []
    for item in need_list(value):
        if not any(equal(item, other) for other in found):
            found.append(item)
    return found


def _flatten(value: Any) -> list[Any]:
    return [inner for item in need_list(value) for inner in (item if isinstance(item, list) else [item])]


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
    "cidr": network.to_cidr,
    "ip": network.to_ip,
    "isCIDR": network.is_cidr,
    "isIP": network.is_ip,
    "isQuantity": library.is_quantity,
    "isURL": library.is_url,
    "matches": matches,
    "quantity": library.to_quantity,
    "size": size,
    "string": text_of,
    "timestamp": to_timestamp,
    "type": _type,
    "uint": to_uint,
    "url": library.url,
}
#: Called as `x.f(y)`.
METHODS: dict[str, Callable[..., Any]] = {
    "add": library.added,
    "allowed": authority.allowed,
    "asApproximateFloat": library.as_float,
    "asInteger": library.as_integer,
    "check": authority.check,
    "containsCIDR": network.contains_cidr,
    "containsIP": network.contains_ip,
    "error": authority.error,
    "errored": authority.errored,
    "family": network.family,
    "getDayOfMonth": library.day_of_month,
    "getDayOfWeek": library.day_of_week,
    "getDayOfYear": library.day_of_year,
    "getHostname": library.host_name,
    "getPort": library.port,
    "getQuery": library.query,
    "group": authority.group,
    "ip": network.address_of,
    "isGlobalUnicast": network.is_global_unicast,
    "isInteger": library.is_integer,
    "isLinkLocalMulticast": network.is_link_local_multicast,
    "isLinkLocalUnicast": network.is_link_local_unicast,
    "isLoopback": network.is_loopback,
    "isUnspecified": network.is_unspecified,
    "masked": network.masked,
    "name": authority.name,
    "namespace": authority.namespace,
    "path": authority.path,
    "prefixLength": network.prefix_length,
    "reason": authority.reason,
    "resource": authority.resource,
    "serviceAccount": authority.service_account,
    "subresource": authority.subresource,
    "validate": formats.validate,
    "charAt": _char_at,
    "compareTo": library.compare,
    "contains": _contains,
    "distinct": _distinct,
    "endsWith": _ends,
    "find": _find,
    "findAll": _find_all,
    "flatten": _flatten,
    "format": _format,
    "getDate": library.date,
    "getFullYear": library.year,
    "getHost": library.url_part("host"),
    "getHours": library.hours,
    "getMilliseconds": library.millis,
    "getMinutes": library.minutes,
    "getMonth": library.month,
    "getEscapedPath": library.url_part("path"),
    "getScheme": library.url_part("scheme"),
    "getSeconds": library.seconds,
    "hasValue": _has_value,
    "indexOf": _index_of,
    "isGreaterThan": library.is_greater,
    "isLessThan": library.is_less,
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
    "sign": library.sign,
    "size": size,
    "split": _split,
    "startsWith": _starts,
    "sub": library.subtracted,
    "substring": _substring,
    "sum": _sum,
    "trim": _trim,
    "upperAscii": _upper,
    "value": _value,
}
