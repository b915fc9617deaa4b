"""Go templates of `line_format` and `label_format`."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote_plus, unquote_plus

from simcluster.engine.clock import SECOND, format_rfc3339
from simcluster.telemetry.logql.entry import Entry
from simcluster.telemetry.logql.units import EPOCH_NS, duration_ns, size_bytes
from simcluster.telemetry.promql.regex import anywhere, expand
from simcluster.telemetry.rules import humanize
from simcluster.telemetry.rules.templates import FUNCTIONS as COMMON
from simcluster.telemetry.rules.templates import Execution
from simcluster.telemetry.rules.templatesyntax import Node, TemplateError, parsed

_FAILURES = (TemplateError, TypeError, ValueError, IndexError, KeyError, OverflowError, ZeroDivisionError,
             RecursionError, AttributeError)  # fmt: skip


class Formatted(Execution):
    """A template that is filled in for one line."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry

    def call(self, name: str, args: list[Any]) -> Any:
        """What a function gives.

        Raises:
            TemplateError: there is none of this name.
        """
        if name == "__line__":
            return self._entry.text
        if name == "__timestamp__":
            return Instant(self._entry.t_ns)
        function = FUNCTIONS.get(name) or COMMON.get(name)
        if function is None:
            raise TemplateError(f'function "{name}" not defined')
        return function(*args)


class Instant(int):
    """Nanoseconds since the Unix epoch that are printed as a date."""

    def __str__(self) -> str:
        return format_rfc3339(int(self) - EPOCH_NS, digits=9).replace("T", " ").replace("Z", " +0000 UTC")


def template(source: str) -> Callable[[Entry], str | None]:
    """What fills a template in from the labels of an entry; None, with an error noted, if it cannot be."""
    nodes: Sequence[Node] = parsed(source)

    def run(entry: Entry) -> str | None:
        labels: Mapping[str, Any] = dict(entry.labels)
        try:
            return Formatted(entry).nodes(nodes, labels, {"$": labels})
        except _FAILURES as error:
            entry.fail("TemplateFormatErr", f"template: {error}")
            return None

    return run


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


def _title(text: str) -> str:
    return re.sub(r"\b\w", lambda match: match[0].upper(), text)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ToLower": str.lower, "ToUpper": str.upper, "lower": str.lower, "upper": str.upper, "title": _title,
    "Replace": lambda text, old, new, count: text.replace(old, new, int(count)),
    "replace": lambda old, new, text: text.replace(old, new),
    "Trim": lambda text, cut: text.strip(cut), "TrimLeft": lambda text, cut: text.lstrip(cut),
    "TrimRight": lambda text, cut: text.rstrip(cut), "TrimSpace": str.strip, "trim": str.strip,
    "TrimPrefix": lambda text, cut: text.removeprefix(cut), "TrimSuffix": lambda text, cut: text.removesuffix(cut),
    "trimAll": lambda cut, text: text.strip(cut), "trimPrefix": lambda cut, text: text.removeprefix(cut),
    "trimSuffix": lambda cut, text: text.removesuffix(cut),
    "regexReplaceAll": _replace_all, "regexReplaceAllLiteral": _replace_literally,
    "count": lambda pattern, text: len(list(anywhere(pattern).finditer(text))),
    "contains": lambda part, text: part in text, "hasPrefix": lambda part, text: text.startswith(part),
    "hasSuffix": lambda part, text: text.endswith(part), "repeat": lambda count, text: text * min(int(count), 1000),
    "substr": _substring, "trunc": _truncated, "alignLeft": _aligned_left, "alignRight": _aligned_right,
    "indent": _indented, "nindent": lambda size, text: "\n" + _indented(size, text), "default": _default,
    "urlencode": quote_plus, "urldecode": unquote_plus, "b64enc": _encoded, "b64dec": _decoded,
    "bytes": _size, "duration": _seconds, "duration_seconds": _seconds, "int": _whole, "float64": _float,
    "add": lambda *values: sum(map(_whole, values)),  # integers
    "sub": lambda a, b: _whole(a) - _whole(b), "mul": _product, "div": _quotient,
    "mod": lambda a, b: _whole(a) - _whole(b) * _quotient(a, b),
    "max": lambda *values: max(map(_whole, values)), "min": lambda *values: min(map(_whole, values)),
    "addf": lambda a, b: _float(a) + _float(b), "subf": lambda a, b: _float(a) - _float(b),
    "mulf": lambda a, b: _float(a) * _float(b), "divf": lambda a, b: _float(a) / _float(b),
    "maxf": lambda *values: max(map(_float, values)), "minf": lambda *values: min(map(_float, values)),
    "ceil": lambda value: float(-(-_float(value) // 1)), "floor": lambda value: float(_float(value) // 1),
    "round": _rounded, "unixEpoch": lambda time: str(int(time) // SECOND),
    "unixEpochMillis": lambda time: str(int(time) // 1_000_000), "unixEpochNanos": lambda time: str(int(time)),
    "printf": lambda form, *args: humanize.printf(form, list(args)),
}  # fmt: skip
