"""What jq does to values: indexing, changing what lies on a path, arithmetic."""

from __future__ import annotations

import math
from typing import Any

from simcluster.models.userland.outcome import Exhausted, fitting
from simcluster.models.userland.tools.jqvalues import JqError, described, key_of, kind_of


def indexed(value: Any, key: Any) -> Any:
    """`value[key]`. Raises JqError."""
    if isinstance(key, dict) and "start" in key:
        if value is None:
            return None
        if not isinstance(value, (list, str)):
            raise JqError(f"Cannot index {kind_of(value)} with object")
        start, stop = key["start"], key["end"]
        first = 0 if start is None else math.floor(start)
        last = len(value) if stop is None else math.ceil(stop)
        first, last = (max(0, at + len(value)) if at < 0 else at for at in (first, last))
        return value[first:last]
    if isinstance(value, dict) and isinstance(key, str):
        return value.get(key)
    if isinstance(value, list) and kind_of(key) == "number":
        at = math.floor(key)
        at = at + len(value) if at < 0 else at
        return value[at] if 0 <= at < len(value) else None
    if value is None and (isinstance(key, (str, dict)) or kind_of(key) in ("number", "null")):
        return None
    if isinstance(value, list) and isinstance(key, list):
        return [at for at in range(len(value) - len(key) + 1) if key and value[at : at + len(key)] == key]
    shown = f'"{key}"' if isinstance(key, str) else kind_of(key)
    raise JqError(f"Cannot index {kind_of(value)} with {shown}")


def at_path(value: Any, path: tuple[Any, ...] | list[Any]) -> Any:
    """What lies on a path."""
    for key in path:
        value = indexed(value, key)
    return value


def changed(value: Any, path: tuple[Any, ...] | list[Any], new: Any, depth: int = 0) -> Any:
    """The value with another one on a path. Raises JqError."""
    if depth >= len(path):
        return new
    key = path[depth]
    if isinstance(key, dict):
        held = value or []
        stop = len(held) if key["end"] is None else int(key["end"])
        start = 0 if key["start"] is None else int(key["start"])
        start, stop = (max(0, at + len(held)) if at < 0 else at for at in (start, stop))
        inner = changed(held[start:stop], path, new, depth + 1)
        if not isinstance(inner, list):
            raise JqError("A slice of an array can only be assigned another array")
        return [*held[:start], *inner, *held[stop:]]
    inner = changed(indexed(value, key), path, new, depth + 1)
    if isinstance(key, str):
        return {**(value or {}), key: inner}
    items = list(value or [])
    at = int(key)
    at = at + len(items) if at < 0 else at
    if at < 0:
        raise JqError("Out of bounds negative array index")
    if at > 500_000:
        raise Exhausted
    items += [None] * (at + 1 - len(items))
    items[at] = inner
    return items


def without(value: Any, paths: list[Any]) -> Any:
    """The value without what lies on paths."""
    for path in sorted(
        paths, key=lambda path: key_of([dict(key) if isinstance(key, dict) else key for key in path]), reverse=True
    ):
        value = _deleted(value, list(path))
    return value


def _deleted(value: Any, path: list[Any]) -> Any:
    if not path:
        return None
    if value is None:
        return None
    key = path[0]
    if len(path) > 1:
        inner = indexed(value, key)
        return value if inner is None else changed(value, [key], _deleted(inner, path[1:]))
    if isinstance(value, dict) and isinstance(key, str):
        return {name: item for name, item in value.items() if name != key}
    if isinstance(value, list) and isinstance(key, dict):
        kept = indexed(list(range(len(value))), key)
        return [item for at, item in enumerate(value) if at not in kept]
    if isinstance(value, list) and kind_of(key) == "number":
        at = int(key) + len(value) if key < 0 else int(key)
        return [item for place, item in enumerate(value) if place != at]
    kind = {"array": "array", "object": "object"}.get(kind_of(value), kind_of(value))
    raise JqError(f"Cannot delete field at {'object' if isinstance(key, str) else 'array'} index of {kind}")


def applied(operator: str, a: Any, b: Any) -> Any:
    """`a operator b`. Raises JqError."""
    kinds = (kind_of(a), kind_of(b))
    if operator == "+" and (a is None or b is None):
        return b if a is None else a
    if kinds == ("number", "number"):
        return _arithmetic(operator, a, b)
    if isinstance(a, list) and isinstance(b, list) and len(a) + len(b) > 500_000:
        raise Exhausted
    if operator == "+" and kinds[0] == kinds[1] and kinds[0] in ("string", "array", "object"):
        return {**a, **b} if kinds[0] == "object" else fitting(a + b) if kinds[0] == "string" else a + b
    if operator == "-" and kinds == ("array", "array"):
        gone = frozenset(key_of(each) for each in b)
        return [each for each in a if key_of(each) not in gone]
    if operator == "*" and kinds == ("object", "object"):
        return _merged(a, b)
    if operator == "*" and "string" in kinds and "number" in kinds:
        text, count = (a, b) if kinds[0] == "string" else (b, a)
        if count <= 0:
            return None
        if len(text) * count > 8_000_000:
            raise Exhausted
        return text * max(1, int(count))
    if operator == "/" and kinds == ("string", "string"):
        return a.split(b) if b else list(a)
    verb = {"+": "added", "-": "subtracted", "*": "multiplied", "/": "divided", "%": "divided (remainder)"}[operator]
    raise JqError(f"{described(a)} and {described(b)} cannot be {verb}")


def _arithmetic(operator: str, a: Any, b: Any) -> Any:
    if operator in ("/", "%") and (b == 0 or (operator == "%" and int(b) == 0)):
        verb = "divided" if operator == "/" else "divided (remainder)"
        raise JqError(f"{described(a)} and {described(b)} cannot be {verb} because the divisor is zero")
    try:
        if operator == "%":
            return int(math.fmod(int(a), abs(int(b))))
        value = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if operator == "/" else 0}[operator]
    except (OverflowError, ValueError):
        return math.inf
    if isinstance(value, int) and abs(value) > 1 << 53:
        return float(value) if abs(value) < 10**308 else math.inf
    return value


def _merged(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    made = dict(a)
    for name, item in b.items():
        held = made.get(name)
        made[name] = _merged(held, item) if isinstance(held, dict) and isinstance(item, dict) else item
    return made
