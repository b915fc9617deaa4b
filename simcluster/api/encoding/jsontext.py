"""JSON as Go's decoder reads it: no NaN, no numbers beyond float64, no endless nesting, no half characters.

Source: encoding/json and sigs.k8s.io/json. The real limit of nesting is 10,000 levels; here it is lower,
because every reader of a stored object recurses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

DEEPEST = 150
_TOO_DEEP = "exceeded max depth"
#: An integer of more digits than any 64-bit one is read as a float64, as Go does.
_LONGEST_INTEGER = 40
#: Brackets, and texts, within which brackets mean nothing.
_PIECES = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.S)


class JsonError(Exception):
    """A text that is no JSON to the server; the message is Go's."""


def parse(raw: str) -> Any:
    """The value of a text. Raises JsonError."""
    try:
        check_brackets(raw)
        value = json.loads(raw, parse_constant=_constant, parse_float=_float, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise JsonError(syntax_error(raw, error)) from None
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None
    return _whole(value) if "\\ud" in raw or "\\uD" in raw else value


def check_depth(value: Any) -> None:
    """Refuse a value that nests too deeply. Raises JsonError."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [inner for one in level for inner in _members(one) if isinstance(inner, (Mapping, list))]
        if not level:
            return
    raise JsonError(_TOO_DEEP)


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def check_brackets(raw: str) -> None:
    """Refuse a text whose brackets nest too deeply, before anything recurses over it. Raises JsonError."""
    if raw.count("{") + raw.count("[") <= DEEPEST:
        return
    depth = 0
    for piece in _PIECES.findall(raw):
        if piece in "[{":
            depth += 1
            if depth > DEEPEST:
                raise JsonError(_TOO_DEEP)
        elif piece in "]}":
            depth -= 1


def _constant(name: str) -> Any:
    """`NaN` and `Infinity`, which Python would read."""
    raise JsonError(f"invalid character {_quoted(name.lstrip('-')[0])} " + (
        "in numeric literal" if name.startswith("-") else "looking for beginning of value"
    ))  # fmt: skip


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _LONGEST_INTEGER else _float(text)


def _float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise JsonError(f"json: cannot unmarshal number {text[:400]} into Go value of type float64")
    return number


def _whole(value: Any) -> Any:
    """A value whose texts have U+FFFD where half of a surrogate pair stood."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return {_whole(key): _whole(item) for key, item in value.items()} if isinstance(value, dict) else value


def syntax_error(raw: str, error: json.JSONDecodeError) -> str:
    """Go's words for a JSON syntax error.

    >>> try: json.loads("{bad")
    ... except json.JSONDecodeError as e: print(syntax_error("{bad", e))
    invalid character 'b' looking for beginning of object key string
    """
    position = error.pos
    while position < len(raw) and raw[position] in " \t\r\n":
        position += 1
    if position >= len(raw) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    where = {
        "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
        "Expecting value": "looking for beginning of value",
        "Expecting ':' delimiter": "after object key",
        "Extra data": "after top-level value",
        "Expecting ',' delimiter": "after object key:value pair",
    }.get(error.msg, "in string literal")
    return f"invalid character {_quoted(raw[position])} {where}"


def _quoted(character: str) -> str:
    """A character as Go's scanner quotes it."""
    if character == "'":
        return "'\\''"
    if character == '"':
        return "'\"'"
    if character.isprintable():
        return f"'{character}'"
    return "'" + json.dumps(character)[1:-1].replace("\\u00", "\\x") + "'"
