"""The names that every script finds: Math, JSON, Object, Array, String, Number, Date, errors, and functions."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simcluster.engine import format_rfc3339, parse_rfc3339
from simcluster.engine.arithmetic import log
from simcluster.engine.clock import unix_seconds
from simcluster.models.userland.javascript.operators import raised
from simcluster.models.userland.javascript.properties import mapped, own_names
from simcluster.models.userland.javascript.values import (
    MOST_ITEMS,
    UNDEFINED,
    Exhausted,
    Function,
    Host,
    Native,
    ScriptError,
    bounded,
    number_of,
    text_of,
    truthy,
    whole,
)

if TYPE_CHECKING:
    from simcluster.models.userland.javascript.evaluator import Script


class _Class(Native):
    """A constructor with members of its own."""

    def __init__(self, name: str, call: Callable[..., Any], **members: Callable[..., Any] | float) -> None:
        super().__init__(name, call)
        self.members = {key: Native(key, one) if callable(one) else one for key, one in members.items()}


def json_text(value: Any, indent: Any = UNDEFINED) -> Any:
    """`JSON.stringify`."""
    pad = int(indent) if isinstance(indent, int) else len(indent) if isinstance(indent, str) else 0
    try:
        cleaned = _cleaned(value)
    except RecursionError:
        raise ScriptError("TypeError", "Converting circular structure to JSON") from None
    if cleaned is UNDEFINED:
        return UNDEFINED
    spaces = (None, (",", ":")) if not pad else (min(pad, 10), (",", ": "))
    return bounded(json.dumps(cleaned, ensure_ascii=False, indent=spaces[0], separators=spaces[1]))


def _cleaned(value: Any) -> Any:
    if isinstance(value, Host):
        return _cleaned(value.shown())
    if isinstance(value, list):
        return [None if (one := _cleaned(item)) is UNDEFINED else one for item in value]
    if isinstance(value, dict):
        if "$date" in value or "$oid" in value:
            return text_of(value)
        pairs = ((name, _cleaned(item)) for name, item in value.items())
        return {name: item for name, item in pairs if item is not UNDEFINED}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return UNDEFINED if isinstance(value, Native | Function) else value


def _parsed_json(text: Any) -> Any:
    try:
        return json.loads(text_of(text))
    except RecursionError:
        raise ScriptError("RangeError", "Maximum call stack size exceeded") from None
    except ValueError:
        raise ScriptError("SyntaxError", "Unexpected token in JSON at position 0") from None


def _error(name: str) -> _Class:
    return _Class(name, lambda text="", *_: {"name": name, "message": text_of(text)})


def _made_array(*given: Any) -> list[Any]:
    if len(given) == 1 and isinstance(given[0], int | float):
        if not 0 <= given[0] <= MOST_ITEMS:
            raise Exhausted("RangeError", "Invalid array length")
        return [UNDEFINED] * int(given[0])
    return list(given)


def _array_from(script: Script, given: Any, how: Any = UNDEFINED) -> list[Any]:
    if isinstance(given, dict):
        items: list[Any] = _made_array(int(number_of(given.get("length", 0))))
    else:
        items = list(given) if isinstance(given, list | str) else []
    return items if how is UNDEFINED else mapped(script, items, how)


def _assigned(target: dict[str, Any], *more: Any) -> dict[str, Any]:
    for one in more:
        target.update(one if isinstance(one, dict) else {})
    return target


def _rounded(value: Any) -> float:
    number = number_of(value)
    return whole(math.floor(number + 0.5)) if math.isfinite(number) else number


def _extreme(*given: Any, largest: bool) -> float:
    numbers = [number_of(one) for one in given]
    if any(one != one for one in numbers):
        return math.nan
    return (max if largest else min)(numbers, default=-math.inf if largest else math.inf)


def _integer(text: Any, base: Any = 10) -> float:
    digits = "0123456789abcdef"[: int(base)] if 2 <= number_of(base) <= 16 else "0123456789"
    found = re.match(rf"\s*([+-]?[{digits}]{{1,300}})", text_of(text).lower())
    return int(found[1], int(base)) if found else math.nan


def _float(text: Any) -> float:
    found = re.match(r"\s*([+-]?(?:\d{1,300}\.?\d{0,300}|\.\d{1,300})(?:[eE][+-]?\d{1,3})?)", text_of(text))
    return whole(float(found[1])) if found else math.nan


def _date(script: Script, *given: Any) -> dict[str, str]:
    if not given:
        return {"$date": format_rfc3339(script.now_ns, digits=3)}
    first = given[0]
    if isinstance(first, int | float):
        return {"$date": format_rfc3339(int(first) * 1_000_000 - unix_seconds(0) * 10**9, digits=3)}
    if isinstance(first, dict) and "$date" in first:
        return dict(first)
    try:
        text = text_of(first)
        return {"$date": format_rfc3339(parse_rfc3339(text if "T" in text else f"{text[:10]}T00:00:00Z"), digits=3)}
    except ValueError:
        return {"$date": "Invalid Date"}


def _plain(*_: Any) -> dict[str, Any]:
    return {}


def _values(of: Any) -> list[Any]:
    return list(of.values()) if isinstance(of, dict) else list(of)


def _entries(of: Any) -> list[Any]:
    return [[key, of[key]] for key in of] if isinstance(of, dict) else [[str(at), one] for at, one in enumerate(of)]


def _from_entries(pairs: Any) -> dict[str, Any]:
    return {text_of(pair[0]): pair[1] for pair in pairs}


def _is_array(of: Any = UNDEFINED) -> bool:
    return isinstance(of, list)


def _listed(*items: Any) -> list[Any]:
    return list(items)


def _is_integer(of: Any = UNDEFINED) -> bool:
    return isinstance(of, int) and not isinstance(of, bool)


def _now(script: Script) -> float:
    return whole(script.now_ns // 1_000_000 + unix_seconds(0) * 1000)


def _is_nan(of: Any = UNDEFINED) -> bool:
    return math.isnan(number_of(of))


def _size(of: Any) -> float:
    return abs(number_of(of))


def _to_integer(of: Any, how: Callable[[float], int]) -> float:
    number = number_of(of)
    return how(number) if math.isfinite(number) else number


def _root(of: Any) -> float:
    return whole(math.sqrt(number_of(of))) if number_of(of) >= 0 else math.nan


def _logarithm(of: Any, base: float = 0.0) -> float:
    number = number_of(of)
    if not number > 0 or math.isinf(number):
        return -math.inf if number == 0 else number if number > 0 else math.nan
    return whole(log(number) / (log(base) if base else 1.0))


def _power(left: Any, right: Any) -> float:
    return raised(number_of(left), number_of(right))


_MATH: dict[str, Callable[..., Any]] = {
    "abs": _size, "ceil": functools.partial(_to_integer, how=math.ceil), "floor": functools.partial(
        _to_integer, how=math.floor), "trunc": functools.partial(_to_integer, how=math.trunc), "round": _rounded,
    "max": functools.partial(_extreme, largest=True), "min": functools.partial(_extreme, largest=False),
    "sqrt": _root, "log": _logarithm, "log2": functools.partial(_logarithm, base=2.0),
    "log10": functools.partial(_logarithm, base=10.0), "pow": _power,
}  # fmt: skip


def _stringified(value: Any = UNDEFINED, how: Any = None, indent: Any = UNDEFINED) -> Any:
    return json_text(value, indent)


def globals_of(script: Script) -> dict[str, Any]:
    """What every script has."""
    maths: dict[str, Any] = {"PI": 3.141592653589793, "E": 2.718281828459045}
    maths |= {name: Native(name, call) for name, call in _MATH.items()}
    errors = ("Error", "TypeError", "RangeError", "ReferenceError", "SyntaxError")
    return {
        "undefined": UNDEFINED, "NaN": math.nan, "Infinity": math.inf, "Math": maths,
        "JSON": {"stringify": Native("stringify", _stringified), "parse": Native("parse", _parsed_json)},
        "Object": _Class("Object", _plain, keys=own_names, assign=_assigned, values=_values, entries=_entries,
                         fromEntries=_from_entries),
        "Array": _Class("Array", _made_array, isArray=_is_array, of=_listed, **{
            "from": functools.partial(_array_from, script)}),
        "String": _Class("String", text_of), "Boolean": _Class("Boolean", truthy),
        "Number": _Class("Number", number_of, isInteger=_is_integer, MAX_SAFE_INTEGER=(1 << 53) - 1),
        "Date": _Class("Date", functools.partial(_date, script), now=functools.partial(_now, script)),
        "parseInt": Native("parseInt", _integer), "parseFloat": Native("parseFloat", _float),
        "isNaN": Native("isNaN", _is_nan),
        **{name: _error(name) for name in errors},
    }  # fmt: skip
