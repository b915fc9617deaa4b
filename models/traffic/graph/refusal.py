"""What is wrong with a file of the language, in plain words: place, reason, and what would be right.

A refusal reads `FILE:LINE: load.users.open.rate: must be at least 0, not -1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from simcluster.engine.content import ContentError, Document, Where, nearest

#: pydantic's kinds of offence that say what a value must be -> the words.
_KINDS = {
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a number of fewer digits",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "tuple_type": "must be a list, written [a, b] or with one - for each item",
    "dict_type": "must be a map of names, written with one name: for each item",
}
_BOUNDS = {
    "greater_than": ("gt", "must be greater than {}"),
    "greater_than_equal": ("ge", "must be at least {}"),
    "less_than": ("lt", "must be less than {}"),
    "less_than_equal": ("le", "must be at most {}"),
}
_SHOWN = 40


def explained(document: Document, error: ValidationError) -> ContentError:
    """The first offence, in the order of the file's lines."""
    found: list[tuple[int, str]] = []
    entries = error.errors(include_url=False)
    for entry in entries:
        where: Where = tuple(step for step in entry["loc"] if step != "[key]")
        if entry["type"] == "too_short" and any(e["loc"][: len(where)] == where and e is not entry for e in entries):
            continue  # pydantic drops items that have an error, and then misses them
        if entry["type"] == "unknown_key":
            at, where = (*where, entry["ctx"]["key"]), where
        elif entry["type"] == "missing":
            at, where = where[:-1], where[:-1]
        else:
            at = where
        place = ".".join(str(step) for step in where)
        problem = _words(entry, _value(document.data, where))
        found.append((document.line(at), f"{place}: {problem}" if place else problem))
    line, problem = min(found)
    return ContentError(document.path, line, problem)


def shown(value: Any) -> str:
    """A value as somebody wrote it, cut where it is long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a map" if value else "an empty map"
    if isinstance(value, (list, tuple)):
        return "a list" if value else "an empty list"
    if isinstance(value, int) and abs(value) >= 10**18:
        return f"a number of {len(str(abs(value))) if abs(value) < 10**4000 else 'thousands of'} digits"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _words(entry: Mapping[str, Any], value: Any) -> str:
    kind, ctx = str(entry["type"]), entry.get("ctx", {})
    if kind in ("value_error", "unknown_key", "not_a_map"):
        return str(entry["msg"]).removeprefix("Value error, ")
    if kind == "missing":
        return f"the key {entry['loc'][-1]!r} is missing"
    if kind == "too_short":
        return "must not be empty"
    if kind == "literal_error":
        words = [word.strip().strip("'") for word in str(ctx["expected"]).replace(" or ", ", ").split(",")]
        close = nearest(value, words) if isinstance(value, str) else []
        offer = f"; did you mean {close[0]}?" if close else ""
        return f"must be {' or '.join(words)}, not {shown(value)}{offer}"
    if kind in _BOUNDS:
        key, phrase = _BOUNDS[kind]
        return f"{phrase.format(_bound(ctx[key], value))}, not {shown(value)}"
    if "[key]" in entry["loc"]:
        return f"a name is text: put quotes around {shown(entry.get('input'))}"
    if kind in _KINDS:
        return f"{_KINDS[kind]}, not {shown(value)}"
    return f"{entry['msg']}, not {shown(value)}"


def _bound(bound: Any, value: Any) -> str:
    """A bound as a person writes it; those of durations stand next to a duration."""
    if isinstance(value, str) and value[-1:].isalpha():
        return f"{bound / 1e9:g}s"
    return f"{bound:,}".replace(",", " ") if isinstance(bound, int) else f"{bound:g}"


def _value(data: Any, where: Where) -> Any:
    """What the file has at a place; steps that pydantic adds (names of union members) are skipped."""
    for step in where:
        if isinstance(data, Mapping):
            data = data.get(step, data)
        elif isinstance(data, (list, tuple)) and isinstance(step, int):
            data = data[step] if step < len(data) else data
    return data
