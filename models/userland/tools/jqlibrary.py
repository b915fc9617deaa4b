"""jq's own functions: those written in jq, and those that cannot be."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from typing import Any

from simcluster.engine.arithmetic import exp, log, power
from simcluster.models.userland.backtrack import TooHard
from simcluster.models.userland.datetimes import days_of, formatted_at
from simcluster.models.userland.outcome import Exhausted, fitting
from simcluster.models.userland.regex import RegexError, compile_pattern
from simcluster.models.userland.tools.jqmachine import Closure, Found, Machine, Path, Scope, compiled
from simcluster.models.userland.tools.jqparser import Node
from simcluster.models.userland.tools.jqpaths import applied, at_path, changed, without
from simcluster.models.userland.tools.jqvalues import JqError, described, key_of, kind_of, truth, written

Native = Callable[[Machine, list[Node], Any, Path, Scope], Iterator[Found]]


@cache
def library() -> dict[tuple[str, int], Closure]:
    """Functions that are written in jq."""
    found: dict[tuple[str, int], Closure] = {}
    source = resources.files("simcluster.models.userland.tools").joinpath("jqlibrary.jq").read_text(encoding="utf-8")
    for line in source.splitlines():
        _, name, params, body, _ = compiled(line)
        found[name, len(params)] = Closure(name, params, body, Scope({}, {}, {}))
    return found


def _plain(function: Callable[..., Any]) -> Native:
    """A function of values: its arguments vary like interpolations, the last one slowest."""

    walks = function.__name__ not in ("_length", "_has")  # through all of its input

    def native(machine: Machine, args: list[Node], value: Any, path: Path, scope: Scope) -> Iterator[Found]:
        def each(at: int, given: list[Any]) -> Iterator[Found]:
            if at < 0:
                machine.steps += len(value) // 4 if walks and isinstance(value, (list, dict)) else 0
                yield function(machine, value, *given), None
                return
            for found in machine.run(args[at], value, scope):
                yield from each(at - 1, [found, *given])

        return each(len(args) - 1, [])

    return native


def _empty(machine: Machine, args: list[Node], value: Any, path: Path, scope: Scope) -> Iterator[Found]:
    return iter(())


def _error(machine: Machine, args: list[Node], value: Any, path: Path, scope: Scope) -> Iterator[Found]:
    raise JqError(value)


def _path(machine: Machine, args: list[Node], value: Any, path: Path, scope: Scope) -> Iterator[Found]:
    for found in machine.paths(args[0], value, scope):
        yield [dict(key) if isinstance(key, dict) else key for key in found], None


def _getpath(machine: Machine, args: list[Node], value: Any, path: Path, scope: Scope) -> Iterator[Found]:
    for keys in machine.run(args[0], value, scope):
        if not isinstance(keys, list):
            raise JqError("Path must be specified as an array")
        try:
            found = at_path(value, keys)
        except JqError:
            if value is not None:
                raise
            found = None
        yield found, None if path is None else (*path, *keys)


def _range(machine: Machine, args: list[Node], value: Any, path: Path, scope: Scope) -> Iterator[Found]:
    for first in machine.run(args[0], value, scope):
        for last in machine.run(args[1], value, scope):
            for step in machine.run(args[2], value, scope) if len(args) > 2 else (1,):
                if any(kind_of(each) != "number" for each in (first, last, step)):
                    raise JqError("Range bounds must be numeric")
                at = first
                while (at < last) if step > 0 else (at > last) if step < 0 else first < last:
                    machine.steps += 1
                    if machine.steps > 400_000:
                        raise Exhausted
                    yield at, None
                    at += step


def _last(machine: Machine, args: list[Node], value: Any, path: Path, scope: Scope) -> Iterator[Found]:
    found: list[Found] = []
    for each in machine.eval(args[0], value, path, scope):
        found = [each]
    yield from found


def _input(machine: Machine, args: list[Node], value: Any, path: Path, scope: Scope) -> Iterator[Found]:
    found = next(machine.inputs, _END)
    if found is _END:
        raise JqError("No more inputs")
    yield found, None


_END = object()


def _inputs(machine: Machine, args: list[Node], value: Any, path: Path, scope: Scope) -> Iterator[Found]:
    for found in machine.inputs:
        yield found, None


def _need(value: Any, kind: str, text: str) -> None:
    if kind_of(value) != kind:
        raise JqError(text)


def _length(machine: Machine, value: Any) -> Any:
    kind = kind_of(value)
    if kind == "boolean":
        raise JqError(f"{described(value)} has no length")
    return 0 if value is None else abs(value) if kind == "number" else len(value)


def _keys(machine: Machine, value: Any) -> Any:
    if isinstance(value, dict):
        return sorted(value)
    if isinstance(value, list):
        return list(range(len(value)))
    raise JqError(f"{described(value)} has no keys")


def _keys_unsorted(machine: Machine, value: Any) -> Any:
    return list(value) if isinstance(value, dict) else _keys(machine, value)


def _has(machine: Machine, value: Any, key: Any) -> bool:
    if isinstance(value, dict) and isinstance(key, str):
        return key in value
    if isinstance(value, list) and kind_of(key) == "number":
        return bool(0 <= key < len(value))
    raise JqError(
        f"Cannot check whether {kind_of(value)} has a {'string' if isinstance(key, str) else kind_of(key)} key"
    )


def _contains(machine: Machine, value: Any, other: Any) -> bool:
    kinds = (kind_of(value), kind_of(other))
    if kinds == ("object", "object"):
        return all(name in value and _contains(machine, value[name], item) for name, item in other.items())
    if kinds == ("array", "array"):
        return all(
            any(kind_of(held) == kind_of(item) and _contains(machine, held, item) for held in value) for item in other
        )
    if kinds == ("string", "string"):
        return other in value
    if kinds[0] == kinds[1]:
        return key_of(value) == key_of(other)
    raise JqError(f"{described(value)} and {described(other)} cannot have their containment checked")


def _add(machine: Machine, value: Any) -> Any:
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        raise JqError(f"Cannot iterate over {described(value)}")
    if value and all(isinstance(each, str) for each in value):
        return fitting("".join(value))
    if value and all(isinstance(each, list) for each in value):
        return [item for each in value for item in each]
    total: Any = None
    for each in value:
        total = applied("+", total, each)
    return total


def _tonumber(machine: Machine, value: Any) -> Any:
    if kind_of(value) == "number":
        return value
    if isinstance(value, str):
        if re.fullmatch(r"\s*-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*", value) and len(value) < 400:
            return int(value) if value.strip().lstrip("-").isdigit() else float(value)
        raise JqError(f"Invalid numeric literal at EOF at line 1, column {len(value)} (while parsing '{value}')")
    raise JqError(f"{described(value)} cannot be parsed as a number")


def _join(machine: Machine, value: Any, sign: Any) -> Any:
    if not isinstance(value, list):
        raise JqError(f"Cannot iterate over {described(value)}")
    parts: list[str] = []
    for each in value:
        if isinstance(each, (list, dict)):
            raise JqError(
                f"{described(sign.join(parts) + sign if parts else sign)} and {described(each)} cannot be added"
            )
        parts.append("" if each is None else each if isinstance(each, str) else written(each))
    return fitting(str(sign).join(parts))


def _flatten(machine: Machine, value: Any, depth: Any) -> Any:
    if depth < 0:
        raise JqError("flatten depth must not be negative")
    if not isinstance(value, (list, dict)):
        raise JqError(f"Cannot iterate over {described(value)}")
    out: list[Any] = []
    for each in value if isinstance(value, list) else value.values():
        out += _flatten(machine, each, depth - 1) if isinstance(each, list) and depth > 0 else [each]
    return out


def _sort(machine: Machine, value: Any) -> Any:
    _need(value, "array", f"{described(value)} cannot be sorted, as it is not an array")
    return sorted(value, key=key_of)


def _sort_by(machine: Machine, value: Any, keys: Any) -> Any:
    _need(value, "array", f"Cannot index {kind_of(value)} with number")
    return sorted(([key, item] for key, item in zip(keys, value, strict=True)), key=lambda pair: key_of(pair[0]))


def _grouped(machine: Machine, value: Any) -> Any:
    groups: list[tuple[Any, list[Any]]] = []
    for key, item in value:
        if groups and groups[-1][0] == key_of(key):
            groups[-1][1].append(item)
        else:
            groups.append((key_of(key), [item]))
    return [items for _, items in groups]


def _unique(machine: Machine, value: Any) -> Any:
    out: list[Any] = []
    for each in _sort(machine, value):
        if not out or key_of(out[-1]) != key_of(each):
            out.append(each)
    return out


def _extreme(machine: Machine, value: Any, *, least: bool) -> Any:
    _need(value, "array", f"Cannot index {kind_of(value)} with number")
    if not value:
        return None
    return min(value, key=key_of) if least else sorted(value, key=key_of)[-1]


def _split(machine: Machine, value: Any, sign: Any) -> Any:
    if not isinstance(value, str) or not isinstance(sign, str):
        raise JqError("split input and separator must be strings")
    if not value:
        return []
    return value.split(sign) if sign else list(value)


def _trim(machine: Machine, value: Any, part: Any, *, left: bool) -> Any:
    if not (isinstance(value, str) and isinstance(part, str)):
        return value
    return value.removeprefix(part) if left else value.removesuffix(part)


def _pattern(value: Any, pattern: Any, flags: Any) -> tuple[Any, bool]:
    if not isinstance(value, str):
        raise JqError(f"{described(value)} cannot be matched, as it is not a string")
    if isinstance(pattern, list):
        pattern, flags = pattern[0], pattern[1] if len(pattern) > 1 else flags
    if not isinstance(pattern, str):
        raise JqError(f"{described(pattern)} cannot be matched, as it is not a string")
    letters = flags or ""
    source = re.sub(r"\(\?<(?=\w)", "(?P<", pattern)
    source = (
        f"(?{'i' if 'i' in letters else ''}{'s' if 's' in letters else ''}){source}"
        if set(letters) & {"i", "s"}
        else source
    )
    try:
        return compile_pattern(source, "P"), "g" in letters
    except (RegexError, TooHard):
        raise JqError(f"{pattern} (at offset 0) is not a valid regex: not supported") from None


def _found(value: str, pattern: Any, flags: Any) -> list[dict[str, Any]]:
    program, everywhere = _pattern(value, pattern, flags)
    names = (
        {number: name for name, number in program._program.groupindex.items()} if program._program is not None else {}
    )
    out: list[dict[str, Any]] = []
    for match in program.iterate(value):
        captures = [
            {"offset": span[0], "length": max(0, span[1] - span[0]), "string": text, "name": names.get(number)}
            for number, (span, text) in enumerate(zip(match.spans, match.groups, strict=True))
            if number
        ]
        out.append(
            {"offset": match.start, "length": match.end - match.start, "string": match.groups[0], "captures": captures}
        )
        if not everywhere:
            break
        if len(out) > 50_000:  # of one search
            raise Exhausted
    return out


def _match(machine: Machine, args: list[Node], value: Any, path: Path, scope: Scope) -> Iterator[Found]:
    for flags in machine.run(args[1], value, scope):
        for pattern in machine.run(args[0], value, scope):
            for found in _found(value, pattern, flags):
                yield found, None


def _test(machine: Machine, value: Any, pattern: Any, flags: Any) -> bool:
    return bool(_found(value, pattern, flags))


def _sub(machine: Machine, args: list[Node], value: Any, path: Path, scope: Scope) -> Iterator[Found]:
    for flags in machine.run(args[2], value, scope):
        for pattern in machine.run(args[0], value, scope):
            texts: list[list[str]] = [[]]
            at = 0
            for match in _found(value, pattern, flags):
                machine.steps += 4
                names = {each["name"]: each["string"] for each in match["captures"] if each["name"]}
                filled = list(machine.run(args[1], names, scope))
                if any(not isinstance(each, str) for each in filled):
                    raise JqError(f"{described(names)} cannot be added to a string")
                before = value[at : match["offset"]]
                if len(filled) == 1:
                    for parts in texts:
                        parts += (before, filled[0])
                else:
                    texts = [[fitting("".join([*parts, before, each]))] for parts in texts for each in filled]
                at = match["offset"] + match["length"]
            for parts in texts:
                yield fitting("".join([*parts, value[at:]])), None


def _resplit(machine: Machine, value: Any, pattern: Any, flags: Any) -> Any:
    out, at = [], 0
    for match in _found(value, pattern, f"g{flags or ''}"):
        out.append(value[at : match["offset"]])
        at = match["offset"] + match["length"]
    return [*out, value[at:]]


def _fromjson(machine: Machine, value: Any) -> Any:
    _need(value, "string", f"{described(value)} cannot be parsed as JSON")
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise JqError(f"{value[:11]} (while parsing '{value[:40]}')") from None


def _case(machine: Machine, value: Any, *, up: bool) -> Any:
    _need(value, "string", "explode input must be a string")
    return (
        "".join(char.upper() if up else char.lower() if char.isascii() else char for char in value)
        if not up
        else "".join(char.upper() if char.isascii() else char for char in value)
    )


def _numeric(function: Callable[[Any], Any]) -> Native:
    def native(machine: Machine, value: Any) -> Any:
        if kind_of(value) != "number":
            raise JqError(f"{described(value)} number required")
        try:
            return function(value)
        except (ValueError, OverflowError):
            return math.nan

    return _plain(native)


def _indices(machine: Machine, value: Any, part: Any) -> Any:
    if value is None:
        return None
    machine.steps += len(value) // (3 if isinstance(value, list) else 50)
    if isinstance(value, str) and isinstance(part, str):
        return [at for at in range(len(value)) if part and value.startswith(part, at)]
    if isinstance(part, list):
        return [at for at in range(len(value) - len(part) + 1) if part and value[at : at + len(part)] == part]
    wanted = key_of(part)
    return [at for at, item in enumerate(value) if key_of(item) == wanted]


def _place(machine: Machine, value: Any, part: Any, *, last: bool) -> Any:
    found = _indices(machine, value, part) or []
    return None if not found else found[-1] if last else found[0]


def _strptime(machine: Machine, value: Any, form: Any) -> Any:
    if not isinstance(value, str) or not isinstance(form, str):
        raise JqError("strptime/1 requires string inputs and arguments")
    parts = {
        "Y": r"(?P<Y>\d{4})",
        "m": r"(?P<m>\d{1,2})",
        "d": r"(?P<d>\d{1,2})",
        "H": r"(?P<H>\d{1,2})",
        "M": r"(?P<M>\d{1,2})",
        "S": r"(?P<S>\d{1,2})",
        "Z": r"[A-Za-z]+",
        "z": r"[-+]\d{4}",
    }
    whole = form.replace("%T", "%H:%M:%S").replace("%F", "%Y-%m-%d")
    source = re.sub(r"%(\w)|([^%\w\s])", lambda m: parts.get(m[1], ".*?") if m[1] else "\\" + m[2], whole)
    match = re.fullmatch(source, value) if len(value) < 100 else None
    if match is None:
        raise JqError(f'date "{value}" does not match format "{form}"')
    got = {
        name: int(match.groupdict().get(name) or (1 if name in "md" else 1970 if name == "Y" else 0))
        for name in "YmdHMS"
    }
    day = days_of(got["Y"], got["m"], got["d"])
    return [
        got["Y"],
        got["m"] - 1,
        got["d"],
        got["H"],
        got["M"],
        got["S"],
        (day + 4) % 7,
        day - days_of(got["Y"], 1, 1),
    ]


def _mktime(machine: Machine, value: Any) -> Any:
    if not isinstance(value, list) or len(value) < 6 or any(kind_of(each) != "number" for each in value):
        raise JqError("mktime requires array of 6 numbers")
    return (
        days_of(int(value[0]), int(value[1]) + 1, int(value[2])) * 86_400
        + int(value[3]) * 3600
        + int(value[4]) * 60
        + int(value[5])
    )


def _strftime(machine: Machine, value: Any, form: Any) -> Any:
    if isinstance(value, list):
        value = _mktime(machine, value)
    if kind_of(value) != "number" or not isinstance(form, str):
        raise JqError("strftime/1 requires parsed datetime inputs")
    return formatted_at(form, int(value))


def _gmtime(machine: Machine, value: Any) -> Any:
    _need(value, "number", "gmtime() requires a number")
    seconds = int(value)
    return (
        [int(each) for each in formatted_at("%Y", seconds).split()]
        + [int(formatted_at("%m", seconds)) - 1]
        + [int(formatted_at(f"%{letter}", seconds)) for letter in "dHMS"]
        + [int(formatted_at("%w", seconds)), int(formatted_at("%j", seconds)) - 1]
    )


def _implode(machine: Machine, value: Any) -> Any:
    _need(value, "array", "implode input must be an array")
    return "".join(chr(int(code)) for code in value if kind_of(code) == "number" and 0 <= code < 0x110000)


def _splits_text(machine: Machine, value: Any) -> Any:
    _need(value, "string", "explode input must be a string")
    return [ord(char) for char in value]


def _tostring(machine: Machine, value: Any) -> Any:
    return value if isinstance(value, str) else written(value)


def _trimmed(machine: Machine, value: Any, *, sides: str) -> Any:
    _need(value, "string", f"{described(value)} cannot be trimmed")
    return value.strip(" \t\n\r\f\v") if sides == "both" else value.lstrip() if sides == "left" else value.rstrip()


def _halt(machine: Machine, args: list[Node], value: Any, path: Path, scope: Scope) -> Iterator[Found]:
    raise Halt(None, 0)


class Halt(Exception):
    """`halt` and `halt_error`."""

    def __init__(self, value: Any, code: int) -> None:
        super().__init__("halt")
        self.value, self.code = value, code


def _halt_error(machine: Machine, args: list[Node], value: Any, path: Path, scope: Scope) -> Iterator[Found]:
    raise Halt(value, int(machine.one(args[0], value, scope)) if args else 5)


def _near(value: float) -> float:
    return float(round(value)) if abs(value - round(value)) < 1e-12 else value


def _raised(a: float, b: float) -> float:
    if b == int(b) and abs(b) < 1100:
        value = 1.0
        for _ in range(int(abs(b))):
            value *= a
        return value if b >= 0 else 1 / value
    return power(a, b) if a > 0 else math.nan


NATIVES: dict[tuple[str, int], Native] = {
    ("empty", 0): _empty,
    ("error", 0): _error,
    ("path", 1): _path,
    ("getpath", 1): _getpath,
    ("range", 2): _range,
    ("range", 3): _range,
    ("last", 1): _last,
    ("input", 0): _input,
    ("inputs", 0): _inputs,
    ("match", 2): _match,
    ("sub", 3): _sub,
    ("halt", 0): _halt,
    ("halt_error", 0): _halt_error,
    ("halt_error", 1): _halt_error,
    ("not", 0): _plain(lambda m, v: not truth(v)),
    ("true", 0): _plain(lambda m, v: True),
    ("false", 0): _plain(lambda m, v: False),
    ("null", 0): _plain(lambda m, v: None),
    ("length", 0): _plain(_length),
    ("utf8bytelength", 0): _plain(lambda m, v: len(v.encode())),
    ("keys", 0): _plain(_keys),
    ("keys_unsorted", 0): _plain(_keys_unsorted),
    ("has", 1): _plain(_has),
    ("contains", 1): _plain(_contains),
    ("add", 0): _plain(_add),
    ("type", 0): _plain(lambda m, v: kind_of(v)),
    ("tostring", 0): _plain(_tostring),
    ("tonumber", 0): _plain(_tonumber),
    ("tojson", 0): _plain(lambda m, v: written(v)),
    ("fromjson", 0): _plain(_fromjson),
    ("join", 1): _plain(_join),
    ("flatten", 1): _plain(_flatten),
    ("sort", 0): _plain(_sort),
    ("_sort_by_impl", 1): _plain(_sort_by),
    ("_grouped", 0): _plain(_grouped),
    ("_unique", 0): _plain(_unique),
    ("min", 0): _plain(lambda m, v: _extreme(m, v, least=True)),
    ("max", 0): _plain(lambda m, v: _extreme(m, v, least=False)),
    ("reverse", 0): _plain(lambda m, v: v[::-1] if v is not None else []),
    ("split", 1): _plain(_split),
    ("split", 2): _plain(_resplit),
    ("ltrimstr", 1): _plain(lambda m, v, p: _trim(m, v, p, left=True)),
    ("rtrimstr", 1): _plain(lambda m, v, p: _trim(m, v, p, left=False)),
    ("startswith", 1): _plain(lambda m, v, p: _ends(v, p, "startswith")),
    ("endswith", 1): _plain(lambda m, v, p: _ends(v, p, "endswith")),
    ("test", 2): _plain(_test),
    ("ascii_downcase", 0): _plain(lambda m, v: _case(m, v, up=False)),
    ("ascii_upcase", 0): _plain(lambda m, v: _case(m, v, up=True)),
    ("explode", 0): _plain(_splits_text),
    ("implode", 0): _plain(_implode),
    ("floor", 0): _numeric(math.floor),
    ("ceil", 0): _numeric(math.ceil),
    ("round", 0): _numeric(lambda v: math.floor(abs(v) + 0.5) * (1 if v >= 0 else -1)),
    ("sqrt", 0): _numeric(math.sqrt),
    ("fabs", 0): _numeric(abs),
    ("trunc", 0): _numeric(math.trunc),
    ("log", 0): _numeric(log),
    ("log2", 0): _numeric(lambda v: _near(log(v) / 0.6931471805599453)),
    ("log10", 0): _numeric(lambda v: _near(log(v) / 2.302585092994046)),
    ("exp", 0): _numeric(exp),
    ("pow", 2): _plain(lambda m, v, a, b: _raised(float(a), float(b))),
    ("infinite", 0): _plain(lambda m, v: math.inf),
    ("nan", 0): _plain(lambda m, v: math.nan),
    ("isnan", 0): _plain(lambda m, v: v != v),
    ("isinfinite", 0): _plain(lambda m, v: math.isinf(v)),
    ("isnormal", 0): _plain(lambda m, v: math.isfinite(v) and v != 0),
    ("now", 0): _plain(lambda m, v: m.now_s),
    ("mktime", 0): _plain(_mktime),
    ("gmtime", 0): _plain(_gmtime),
    ("localtime", 0): _plain(_gmtime),
    ("strftime", 1): _plain(_strftime),
    ("strflocaltime", 1): _plain(_strftime),
    ("strptime", 1): _plain(_strptime),
    ("indices", 1): _plain(_indices),
    ("index", 1): _plain(lambda m, v, p: _place(m, v, p, last=False)),
    ("rindex", 1): _plain(lambda m, v, p: _place(m, v, p, last=True)),
    ("setpath", 2): _plain(lambda m, v, p, x: changed(v, p, x)),
    ("delpaths", 1): _plain(lambda m, v, p: without(v, p)),
    ("trim", 0): _plain(lambda m, v: _trimmed(m, v, sides="both")),
    ("ltrim", 0): _plain(lambda m, v: _trimmed(m, v, sides="left")),
    ("rtrim", 0): _plain(lambda m, v: _trimmed(m, v, sides="right")),
    ("builtins", 0): _plain(lambda m, v: []),
}


def _ends(value: Any, part: Any, name: str) -> bool:
    if not (isinstance(value, str) and isinstance(part, str)):
        raise JqError(f"{name}() requires string inputs")
    return bool(value.startswith(part) if name == "startswith" else value.endswith(part))
