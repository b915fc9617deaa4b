"""Functions of the templates of `line_format` and `label_format`, with Go's order of arguments."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus, unquote_plus

from simcluster.engine.clock import SECOND
from simcluster.telemetry.logql import golayout
from simcluster.telemetry.logql.units import duration_ns, size_bytes
from simcluster.telemetry.promql.regex import anywhere, expand
from simcluster.telemetry.rules.templatesyntax import TemplateError


def _replace_all(pattern: str, text: str, replacement: str) -> str:
    out, at = [], 0
    for match in anywhere(pattern).finditer(text):
        out += [text[at : match.start()], expand(replacement, match)]
        at = match.end()
    return "".join(out) + text[at:]


def _replace_literally(pattern: str, text: str, replacement: str) -> str:
    return _replace_all(pattern, text, replacement.replace("$", "$$"))


def _substring(start: int, end: int, text: str) -> str:
    return text[max(start, 0) : end if end >= 0 else None]


def _truncated(size: int, text: str) -> str:
    return text[:size] if size >= 0 else text[size:]


def _aligned_left(size: int, text: str) -> str:
    return text[:size].ljust(size)


def _aligned_right(size: int, text: str) -> str:
    return text[-size:].rjust(size) if size > 0 else ""


def _indented(size: int, text: str) -> str:
    pad = " " * min(size, 1000)
    return pad + text.replace("\n", "\n" + pad)


def _whole(value: Any) -> int:
    try:
        return int(value) if isinstance(value, str) else int(value or 0)
    except ValueError:
        return 0


def _float(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        return 0.0


def _quotient(a: Any, b: Any) -> int:
    left, right = _whole(a), _whole(b)
    size = abs(left) // abs(right)
    return size if (left < 0) == (right < 0) else -size


def _product(*values: Any) -> int:
    found = 1
    for value in values:
        found *= _whole(value)
    return found


def _rounded(value: Any, digits: int = 0) -> float:
    scale = float(10 ** min(int(digits), 15))
    moved = abs(_float(value)) * scale
    size = float(int(moved + 0.5)) / scale
    return -size if _float(value) < 0 else size


def _seconds(text: str) -> float:
    found = duration_ns(text)
    if found is None:
        raise TemplateError(f'time: invalid duration "{text}"')
    return found / SECOND


def _size(text: str) -> float:
    found = size_bytes(text)
    if found is None:
        raise TemplateError(f'strconv.ParseFloat: parsing "{text}": invalid syntax')
    return float(found)


def _default(fallback: Any, value: Any) -> Any:
    return value or fallback


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode(errors="replace")


_WORD = re.compile(r"\b\w")


def _capital(match: re.Match[str]) -> str:
    return match[0].upper()


def _title(text: str) -> str:
    return _WORD.sub(_capital, text)


def _replaced(text: str, old: str, new: str, count: Any) -> Any:
    return text.replace(old, new, int(count))


def _replaced_by(old: str, new: str, text: str) -> Any:
    return text.replace(old, new)


def _trim(text: str, cut: str) -> Any:
    return text.strip(cut)


def _trim_left(text: str, cut: str) -> Any:
    return text.lstrip(cut)


def _trim_right(text: str, cut: str) -> Any:
    return text.rstrip(cut)


def _trim_prefix(text: str, cut: str) -> Any:
    return text.removeprefix(cut)


def _trim_suffix(text: str, cut: str) -> Any:
    return text.removesuffix(cut)


def _trim_all(cut: str, text: str) -> Any:
    return text.strip(cut)


def _without_prefix(cut: str, text: str) -> Any:
    return text.removeprefix(cut)


def _without_suffix(cut: str, text: str) -> Any:
    return text.removesuffix(cut)


def _count(pattern: str, text: str) -> Any:
    return len(list(anywhere(pattern).finditer(text)))


def _contains(part: str, text: str) -> Any:
    return part in text


def _has_prefix(part: str, text: str) -> Any:
    return text.startswith(part)


def _has_suffix(part: str, text: str) -> Any:
    return text.endswith(part)


def _repeat(count: Any, text: str) -> Any:
    return text * min(int(count), 1000)


def _nindent(size: int, text: str) -> Any:
    return "\n" + _indented(size, text)


def _add(*values: Any) -> Any:
    return sum(map(_whole, values))  # integers


def _sub(a: Any, b: Any) -> Any:
    return _whole(a) - _whole(b)


def _mod(a: Any, b: Any) -> Any:
    return _whole(a) - _whole(b) * _quotient(a, b)


def _max(*values: Any) -> Any:
    return max(map(_whole, values))


def _min(*values: Any) -> Any:
    return min(map(_whole, values))


def _addf(a: Any, b: Any) -> Any:
    return _float(a) + _float(b)


def _subf(a: Any, b: Any) -> Any:
    return _float(a) - _float(b)


def _mulf(a: Any, b: Any) -> Any:
    return _float(a) * _float(b)


def _divf(a: Any, b: Any) -> Any:
    return _float(a) / _float(b)


def _maxf(*values: Any) -> Any:
    return max(map(_float, values))


def _minf(*values: Any) -> Any:
    return min(map(_float, values))


def _ceil(value: Any) -> Any:
    return float(-(-_float(value) // 1))


def _floor(value: Any) -> Any:
    return float(_float(value) // 1)


def _unix_epoch(time: Any) -> Any:
    return str(int(time) // SECOND)


def _unix_epoch_millis(time: Any) -> Any:
    return str(int(time) // 1_000_000)


def _unix_epoch_nanos(time: Any) -> Any:
    return str(int(time))


def _date(layout: str, time: Any) -> str:
    if not isinstance(time, int):
        raise TemplateError(f"wrong type for value; expected time.Time; got {type(time).__name__}")
    return golayout.formatted(layout, time)


def _from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ToLower": str.lower, "ToUpper": str.upper, "lower": str.lower, "upper": str.upper, "title": _title,
    "Replace": _replaced, "replace": _replaced_by, "Trim": _trim, "TrimLeft": _trim_left, "TrimRight": _trim_right,
    "TrimSpace": str.strip, "trim": str.strip, "TrimPrefix": _trim_prefix, "TrimSuffix": _trim_suffix,
    "trimAll": _trim_all, "trimPrefix": _without_prefix, "trimSuffix": _without_suffix,
    "regexReplaceAll": _replace_all, "regexReplaceAllLiteral": _replace_literally, "count": _count,
    "contains": _contains, "hasPrefix": _has_prefix, "hasSuffix": _has_suffix, "repeat": _repeat,
    "substr": _substring, "trunc": _truncated, "alignLeft": _aligned_left, "alignRight": _aligned_right,
    "indent": _indented, "nindent": _nindent, "default": _default, "urlencode": quote_plus, "urldecode": unquote_plus,
    "b64enc": _encoded, "b64dec": _decoded, "bytes": _size, "duration": _seconds, "duration_seconds": _seconds,
    "int": _whole, "float64": _float, "add": _add, "sub": _sub, "mul": _product, "div": _quotient, "mod": _mod,
    "max": _max, "min": _min, "addf": _addf, "subf": _subf, "mulf": _mulf, "divf": _divf, "maxf": _maxf,
    "minf": _minf, "ceil": _ceil, "floor": _floor, "round": _rounded, "unixEpoch": _unix_epoch,
    "unixEpochMillis": _unix_epoch_millis, "unixEpochNanos": _unix_epoch_nanos, "date": _date, "toDate": golayout.read,
    "unixToTime": golayout.of_epoch, "fromJson": _from_json,
}  # fmt: skip
#: Functions of text/template itself.
BUILT_IN = (
    "and", "call", "html", "index", "slice", "js", "len", "not", "or", "print", "printf", "println", "urlquery", "eq",
    "ge", "gt", "le", "lt", "ne",
)  # fmt: skip
#: Whatever a template may call.
KNOWN = frozenset((*FUNCTIONS, *BUILT_IN, "__line__", "__timestamp__", "now", "toDateInZone"))
