"""Properties and methods of values: of arrays, strings, numbers, objects, dates; and the language's own names."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simcluster.engine import format_rfc3339, parse_rfc3339
from simcluster.engine.clock import unix_seconds
from simcluster.models.userland.javascript.values import (
    MOST_ITEMS,
    MOST_TEXT,
    UNDEFINED,
    Exhausted,
    Function,
    Host,
    Native,
    ScriptError,
    bounded,
    number_of,
    same,
    text_of,
    truthy,
    whole,
)

if TYPE_CHECKING:
    from simcluster.models.userland.javascript.evaluator import Script


def get(script: Script, of: Any, name: Any) -> Any:
    """A property. Raises ScriptError."""
    if of is None or of is UNDEFINED:
        raise ScriptError("TypeError", f"Cannot read properties of {text_of(of)} (reading '{text_of(name)}')")
    if isinstance(of, list | str):
        if isinstance(name, int | float) or (isinstance(name, str) and name.isdigit()):
            at = int(number_of(name))
            return of[at] if 0 <= at < len(of) else UNDEFINED
        if name == "length":
            return len(of)
        table: dict[str, Callable[..., Any]] = _ARRAYS if isinstance(of, list) else _STRINGS
        method = table.get(text_of(name))
        return UNDEFINED if method is None else Native(text_of(name), functools.partial(method, script, of))
    key = text_of(name)
    if isinstance(of, Host):
        return of.get(key)
    if isinstance(of, dict):
        if key in of:
            return of[key]
        if "$date" in of and key in _DATES:
            return Native(key, functools.partial(_DATES[key], of))
        if "$oid" in of and key in ("toString", "str", "toHexString"):
            return Native(key, functools.partial(str, of["$oid"])) if key != "str" else of["$oid"]
        if "$regex" in of and key == "test":
            return Native(key, functools.partial(_tested, of))
        method = _OBJECTS.get(key)
        return UNDEFINED if method is None else Native(key, functools.partial(method, of))
    if isinstance(of, bool | int | float):
        method = _NUMBERS.get(key)
        return UNDEFINED if method is None else Native(key, functools.partial(method, of))
    if isinstance(of, Native):
        return getattr(of, "members", {}).get(key, UNDEFINED)
    return of.name if isinstance(of, Function) and key == "name" else UNDEFINED


def put(of: Any, name: Any, value: Any) -> None:
    """Set a property. Raises ScriptError."""
    if isinstance(of, dict):
        of[text_of(name)] = value
    elif isinstance(of, list):
        at = number_of(name)
        if name == "length":
            at = number_of(value)
            if not 0 <= at <= MOST_ITEMS:
                raise Exhausted("RangeError", "Invalid array length")
            del of[int(at) :]
            of += [UNDEFINED] * (int(at) - len(of))
        elif at == at and 0 <= at < MOST_ITEMS:
            of += [UNDEFINED] * (int(at) + 1 - len(of))
            of[int(at)] = value
        else:
            raise Exhausted("RangeError", "Invalid array length")
    elif of is None or of is UNDEFINED:
        raise ScriptError("TypeError", f"Cannot set properties of {text_of(of)} (setting '{text_of(name)}')")


def own_names(of: Any) -> list[str]:
    """Names that `for (… in …)` and `Object.keys` walk."""
    if isinstance(of, list | str):
        return [str(at) for at in range(len(of))]
    return list(of) if isinstance(of, dict) else []


# Arrays.


def _each(script: Script, items: list[Any], how: Any, keep: Callable[[Any, Any], bool]) -> None:
    for at, item in enumerate(list(items)):
        if keep(item, script.call(how, [item, at, items])):
            return


def _mapped(script: Script, items: list[Any], how: Any, *_: Any) -> list[Any]:
    return [script.call(how, [item, at, items]) for at, item in enumerate(list(items))]


def _filtered(script: Script, items: list[Any], how: Any, *_: Any) -> list[Any]:
    return [item for at, item in enumerate(list(items)) if truthy(script.call(how, [item, at, items]))]


def _for_each(script: Script, items: list[Any], how: Any, *_: Any) -> Any:
    _mapped(script, items, how)
    return UNDEFINED


def _reduced(script: Script, items: list[Any], how: Any, *first: Any) -> Any:
    left = list(items)
    if not left and not first:
        raise ScriptError("TypeError", "Reduce of empty array with no initial value")
    value = first[0] if first else left.pop(0)
    for at, item in enumerate(left, 0 if first else 1):
        value = script.call(how, [value, item, at, items])
    return value


def _sorted(script: Script, items: list[Any], how: Any = UNDEFINED) -> list[Any]:
    def order(one: Any, other: Any) -> int:
        if how is UNDEFINED:
            texts = text_of(one), text_of(other)
            return (texts[0] > texts[1]) - (texts[0] < texts[1])
        found = number_of(script.call(how, [one, other]))
        return 0 if found != found else (found > 0) - (found < 0)

    items.sort(key=functools.cmp_to_key(order))
    return items


def _found_at(script: Script, items: list[Any], how: Any, *_: Any) -> int:
    return next((at for at, item in enumerate(list(items)) if truthy(script.call(how, [item, at, items]))), -1)


def _found(script: Script, items: list[Any], how: Any, *_: Any) -> Any:
    at = _found_at(script, items, how)
    return items[at] if at >= 0 else UNDEFINED


def _some(script: Script, items: list[Any], how: Any, *_: Any) -> bool:
    return _found_at(script, items, how) >= 0


def _every(script: Script, items: list[Any], how: Any, *_: Any) -> bool:
    return all(truthy(script.call(how, [item, at, items])) for at, item in enumerate(list(items)))


def _span(length: int, start: Any, end: Any) -> tuple[int, int]:
    found = []
    for given, default in ((start, 0), (end, length)):
        at = default if given is UNDEFINED else number_of(given)
        at = 0 if at != at else min(max(at + length if at < 0 else at, 0), length)
        found.append(int(at))
    return found[0], found[1]


def _slice(script: Script, of: Any, start: Any = UNDEFINED, end: Any = UNDEFINED) -> Any:
    first, last = _span(len(of), start, end)
    return of[first:last]


def _spliced(script: Script, items: list[Any], start: Any = 0, count: Any = UNDEFINED, *more: Any) -> list[Any]:
    first, _ = _span(len(items), start, UNDEFINED)
    many = len(items) - first if count is UNDEFINED else max(0, int(number_of(count)))
    taken = items[first : first + many]
    items[first : first + many] = more
    return taken


def _pushed(script: Script, items: list[Any], *more: Any) -> int:
    items.extend(more)
    if len(items) > MOST_ITEMS:
        raise Exhausted("RangeError", "Invalid array length")
    return len(items)


def _popped(script: Script, items: list[Any], *_: Any) -> Any:
    return items.pop() if items else UNDEFINED


def _shifted(script: Script, items: list[Any], *_: Any) -> Any:
    return items.pop(0) if items else UNDEFINED


def _unshifted(script: Script, items: list[Any], *more: Any) -> int:
    items[:0] = more
    return len(items)


def _joined(script: Script, items: list[Any], between: Any = ",") -> str:
    return bounded(text_of(between).join("" if one is None or one is UNDEFINED else text_of(one) for one in items))


def _with(script: Script, items: list[Any], *more: Any) -> list[Any]:
    found = list(items)
    for one in more:
        found += one if isinstance(one, list) else [one]
    return found


def _index(script: Script, of: Any, what: Any, *_: Any) -> int:
    if isinstance(of, str):
        return of.find(text_of(what))
    return next((at for at, item in enumerate(of) if same(item, what)), -1)


def _has(script: Script, of: Any, what: Any, *_: Any) -> bool:
    return _index(script, of, what) >= 0


def _reversed(script: Script, items: list[Any], *_: Any) -> list[Any]:
    items.reverse()
    return items


def _flat(script: Script, items: list[Any], depth: Any = 1, *_: Any) -> list[Any]:
    found: list[Any] = []
    for item in items:
        found += _flat(script, item, depth - 1) if isinstance(item, list) and depth > 0 else [item]
    return found


def _flat_mapped(script: Script, items: list[Any], how: Any, *_: Any) -> list[Any]:
    return _flat(script, _mapped(script, items, how))


def _as_is(script: Script, of: Any, *_: Any) -> Any:
    return of


def _as_text(script: Script, of: Any, *_: Any) -> str:
    return text_of(of)


_ARRAYS: dict[str, Callable[..., Any]] = {
    "concat": _with, "every": _every, "filter": _filtered, "find": _found, "findIndex": _found_at, "flat": _flat,
    "flatMap": _flat_mapped, "forEach": _for_each, "includes": _has, "indexOf": _index, "join": _joined,
    "map": _mapped, "pop": _popped, "push": _pushed, "reduce": _reduced, "reverse": _reversed, "shift": _shifted,
    "slice": _slice, "some": _some, "sort": _sorted, "splice": _spliced, "toArray": _as_is, "toString": _as_text,
    "unshift": _unshifted,
}  # fmt: skip

# Strings.


def _replaced(script: Script, text: str, what: Any, by: Any) -> str:
    if isinstance(what, dict) and "$regex" in what:
        from simcluster.models.userland.regex import RegexError, compile_pattern  # noqa: PLC0415

        try:
            pattern = compile_pattern(str(what["$regex"]), "P", ignore_case="i" in str(what.get("$options", "")))
        except RegexError as problem:
            raise ScriptError("SyntaxError", f"Invalid regular expression: {problem}") from None
        found = list(pattern.iterate(text))
        for match in reversed(found if "g" in str(what.get("$options", "")) else found[:1]):
            new = script.call(by, list(match.groups)) if isinstance(by, Function | Native) else by
            text = text[: match.start] + text_of(new) + text[match.end :]
        return bounded(text)
    return bounded(text.replace(text_of(what), text_of(by), 1))


def _replaced_all(script: Script, text: str, what: Any, by: Any) -> str:
    return bounded(text.replace(text_of(what), text_of(by)))


def _split(script: Script, text: str, by: Any = UNDEFINED, *_: Any) -> list[str]:
    if by is UNDEFINED:
        return [text]
    return text.split(text_of(by)) if text_of(by) else list(text[:MOST_ITEMS])


def _repeated(script: Script, text: str, count: Any = 0) -> str:
    times = number_of(count)
    if not 0 <= times < math.inf or len(text) * times > MOST_TEXT:
        raise Exhausted("RangeError", f"Invalid count value: {text_of(count)}")
    return text * int(times)


def _padded(script: Script, text: str, width: Any, by: Any = " ", *, left: bool) -> str:
    wide = int(min(number_of(width), MOST_TEXT)) if number_of(width) == number_of(width) else 0
    fill = (text_of(by) * wide)[: max(0, wide - len(text))] if len(text_of(by)) < 1000 else ""
    return fill + text if left else text + fill


def _substring(script: Script, text: str, start: Any = 0, end: Any = UNDEFINED) -> str:
    marks = [min(max(int(number_of(at)), 0), len(text)) for at in (start, len(text) if end is UNDEFINED else end)]
    return text[min(marks) : max(marks)]


def _cased(script: Script, text: str, *_: Any, upper: bool) -> str:
    return text.upper() if upper else text.lower()


_STRINGS: dict[str, Callable[..., Any]] = {
    "charAt": lambda script, text, at=0: text[int(number_of(at)) : int(number_of(at)) + 1],
    "charCodeAt": lambda script, text, at=0: ord(text[int(at)]) if 0 <= at < len(text) else math.nan,
    "concat": lambda script, text, *more: bounded(text + "".join(map(text_of, more))),
    "endsWith": lambda script, text, what: text.endswith(text_of(what)),
    "includes": _has, "indexOf": _index,
    "localeCompare": lambda script, text, other: (text > text_of(other)) - (text < text_of(other)),
    "padEnd": functools.partial(_padded, left=False), "padStart": functools.partial(_padded, left=True),
    "repeat": _repeated, "replace": _replaced, "replaceAll": _replaced_all, "slice": _slice, "split": _split,
    "startsWith": lambda script, text, what: text.startswith(text_of(what)), "substr": lambda script, text, at, *n: (
        text[int(at) :][: int(n[0])] if n else text[int(at) :]), "substring": _substring,
    "toLowerCase": functools.partial(_cased, upper=False), "toString": _as_text,
    "toUpperCase": functools.partial(_cased, upper=True), "trim": lambda script, text: text.strip(),
    "trimEnd": lambda script, text: text.rstrip(), "trimStart": lambda script, text: text.lstrip(),
}  # fmt: skip


def _tested(pattern: dict[str, Any], text: Any = "") -> bool:
    from simcluster.models.userland.regex import RegexError, compile_pattern  # noqa: PLC0415

    try:
        found = compile_pattern(str(pattern["$regex"]), "P", ignore_case="i" in str(pattern.get("$options", "")))
    except RegexError as problem:
        raise ScriptError("SyntaxError", f"Invalid regular expression: {problem}") from None
    return found.matches(text_of(text))


# Numbers, objects, dates.


def _fixed(value: float, digits: Any = 0) -> str:
    return f"{value:.{min(100, max(0, int(number_of(digits))))}f}"


_NUMBERS: dict[str, Callable[..., Any]] = {
    "toFixed": _fixed, "toString": lambda value, *_: text_of(value), "valueOf": lambda value: value,
    "toNumber": lambda value: value, "toLocaleString": lambda value, *_: f"{value:,}",
}  # fmt: skip
_OBJECTS: dict[str, Callable[..., Any]] = {
    "hasOwnProperty": lambda of, name: text_of(name) in of, "toString": lambda of: text_of(of),
}  # fmt: skip


def _instant_ms(date: dict[str, Any]) -> float:
    try:
        return whole(parse_rfc3339(str(date["$date"])) // 1_000_000 + unix_seconds(0) * 1000)
    except ValueError:
        return math.nan


_DATES: dict[str, Callable[..., Any]] = {
    "getTime": _instant_ms, "valueOf": _instant_ms, "toISOString": lambda date: str(date["$date"]),
    "toString": lambda date: str(date["$date"]), "getFullYear": lambda date: int(str(date["$date"])[:4]),
    "getMonth": lambda date: int(str(date["$date"])[5:7]) - 1, "getDate": lambda date: int(str(date["$date"])[8:10]),
    "getHours": lambda date: int(str(date["$date"])[11:13]), "toJSON": lambda date: str(date["$date"]),
}  # fmt: skip


# The language's own names.


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
    return items if how is UNDEFINED else _mapped(script, items, how)


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


def globals_of(script: Script) -> dict[str, Any]:
    """What every script has."""
    maths: dict[str, Any] = {"PI": math.pi, "E": math.e}
    functions: dict[str, Callable[..., Any]] = {
        "abs": lambda x: abs(number_of(x)), "ceil": lambda x: whole(float(math.ceil(number_of(x)))),
        "floor": lambda x: whole(float(math.floor(number_of(x)))), "round": _rounded,
        "max": functools.partial(_extreme, largest=True), "min": functools.partial(_extreme, largest=False),
        "sqrt": lambda x: whole(math.sqrt(number_of(x))) if number_of(x) >= 0 else math.nan,
        "trunc": lambda x: int(number_of(x)), "log2": lambda x: math.log2(x), "log10": lambda x: math.log10(x),
        "pow": lambda x, y: whole(float(x) ** float(y)),
    }  # fmt: skip
    maths |= {name: Native(name, call) for name, call in functions.items()}
    stringify = Native("stringify", lambda value=UNDEFINED, how=None, indent=UNDEFINED: json_text(value, indent))
    errors = ("Error", "TypeError", "RangeError", "ReferenceError", "SyntaxError")
    return {
        "undefined": UNDEFINED, "NaN": math.nan, "Infinity": math.inf, "Math": maths,
        "JSON": {"stringify": stringify, "parse": Native("parse", _parsed_json)},
        "Object": _Class("Object", lambda *_: {}, keys=own_names, assign=_assigned,
                         values=lambda of: list(of.values()) if isinstance(of, dict) else list(of),
                         entries=lambda of: [[key, value] for key, value in of.items()] if isinstance(of, dict) else [],
                         fromEntries=lambda pairs: {text_of(pair[0]): pair[1] for pair in pairs}),
        "Array": _Class("Array", _made_array, isArray=lambda of=UNDEFINED: isinstance(of, list),
                        of=lambda *items: list(items), **{"from": functools.partial(_array_from, script)}),
        "String": _Class("String", lambda of="": text_of(of)), "Number": _Class(
            "Number", lambda of=0: number_of(of), isInteger=lambda of: isinstance(of, int),
            MAX_SAFE_INTEGER=(1 << 53) - 1), "Boolean": _Class("Boolean", lambda of=False: truthy(of)),
        "Date": _Class("Date", functools.partial(_date, script), now=lambda: whole(
            script.now_ns // 1_000_000 + unix_seconds(0) * 1000)),
        "parseInt": Native("parseInt", _integer), "parseFloat": Native("parseFloat", _float),
        "isNaN": Native("isNaN", lambda of: number_of(of) != number_of(of)),
        **{name: _error(name) for name in errors},
    }  # fmt: skip
