"""Properties and methods of values: of arrays, strings, numbers, objects, dates."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simcluster.engine import parse_rfc3339
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


def mapped(script: Script, items: list[Any], how: Any, *_: Any) -> list[Any]:
    """What a function makes of each item."""
    return [script.call(how, [item, at, items]) for at, item in enumerate(list(items))]


def _filtered(script: Script, items: list[Any], how: Any, *_: Any) -> list[Any]:
    return [item for at, item in enumerate(list(items)) if truthy(script.call(how, [item, at, items]))]


def _for_each(script: Script, items: list[Any], how: Any, *_: Any) -> Any:
    mapped(script, items, how)
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
    return _flat(script, mapped(script, items, how))


def _as_is(script: Script, of: Any, *_: Any) -> Any:
    return of


def _as_text(script: Script, of: Any, *_: Any) -> str:
    return text_of(of)


_ARRAYS: dict[str, Callable[..., Any]] = {
    "concat": _with, "every": _every, "filter": _filtered, "find": _found, "findIndex": _found_at, "flat": _flat,
    "flatMap": _flat_mapped, "forEach": _for_each, "includes": _has, "indexOf": _index, "join": _joined,
    "map": mapped, "pop": _popped, "push": _pushed, "reduce": _reduced, "reverse": _reversed, "shift": _shifted,
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


def _char(script: Script, text: str, at: Any = 0) -> str:
    return text[max(0, int(number_of(at))) :][:1] if number_of(at) >= 0 else ""


def _code(script: Script, text: str, at: Any = 0) -> float:
    return ord(text[int(number_of(at))]) if 0 <= number_of(at) < len(text) else math.nan


def _and_texts(script: Script, text: str, *more: Any) -> str:
    return bounded(text + "".join(map(text_of, more)))


def _starts(script: Script, text: str, what: Any, *_: Any) -> bool:
    return text.startswith(text_of(what))


def _ends(script: Script, text: str, what: Any, *_: Any) -> bool:
    return text.endswith(text_of(what))


def _order(script: Script, text: str, other: Any, *_: Any) -> int:
    return (text > text_of(other)) - (text < text_of(other))


def _part(script: Script, text: str, at: Any = 0, *count: Any) -> str:
    rest = text[int(number_of(at)) :]
    return rest[: max(0, int(number_of(count[0])))] if count else rest


def _trimmed(script: Script, text: str, *, ends: int) -> str:
    text = text.lstrip() if ends & 1 else text
    return text.rstrip() if ends & 2 else text


_STRINGS: dict[str, Callable[..., Any]] = {
    "charAt": _char, "charCodeAt": _code, "concat": _and_texts, "endsWith": _ends,
    "includes": _has, "indexOf": _index,
    "localeCompare": _order,
    "padEnd": functools.partial(_padded, left=False), "padStart": functools.partial(_padded, left=True),
    "repeat": _repeated, "replace": _replaced, "replaceAll": _replaced_all, "slice": _slice, "split": _split,
    "startsWith": _starts, "substr": _part, "substring": _substring,
    "toLowerCase": functools.partial(_cased, upper=False), "toString": _as_text,
    "toUpperCase": functools.partial(_cased, upper=True), "trim": functools.partial(_trimmed, ends=3),
    "trimEnd": functools.partial(_trimmed, ends=2), "trimStart": functools.partial(_trimmed, ends=1),
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


def _number(value: float, *_: Any) -> float:
    return value


def _grouped(value: float, *_: Any) -> str:
    return f"{value:,}"


def _written(value: Any, *_: Any) -> str:
    return text_of(value)


def _owns(of: dict[str, Any], name: Any) -> bool:
    return text_of(name) in of


_NUMBERS: dict[str, Callable[..., Any]] = {
    "toFixed": _fixed, "toString": _written, "valueOf": _number, "toNumber": _number, "toLocaleString": _grouped,
}  # fmt: skip
_OBJECTS: dict[str, Callable[..., Any]] = {"hasOwnProperty": _owns, "toString": _written}


def _instant_ms(date: dict[str, Any]) -> float:
    try:
        return whole(parse_rfc3339(str(date["$date"])) // 1_000_000 + unix_seconds(0) * 1000)
    except ValueError:
        return math.nan


def _date_part(date: dict[str, Any], *_: Any, start: int, stop: int, less: int = 0) -> float:
    digits = str(date["$date"])[start:stop]
    return int(digits) - less if digits.isdigit() else math.nan


_DATES: dict[str, Callable[..., Any]] = {
    "getTime": _instant_ms, "valueOf": _instant_ms, "toISOString": _written, "toString": _written, "toJSON": _written,
    "getFullYear": functools.partial(_date_part, start=0, stop=4),
    "getMonth": functools.partial(_date_part, start=5, stop=7, less=1),
    "getDate": functools.partial(_date_part, start=8, stop=10),
    "getHours": functools.partial(_date_part, start=11, stop=13),
    "getMinutes": functools.partial(_date_part, start=14, stop=16),
}  # fmt: skip
