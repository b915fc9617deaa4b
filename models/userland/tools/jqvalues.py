"""Values of jq: how they compare, and how they are written."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from simcluster.models.userland.outcome import ROOM, Exhausted

_COLOURS: dict[str, str] = {}


class JqError(Exception):
    """An error of a filter.

    Attributes:
        value: what `catch` gets.
    """

    def __init__(self, value: Any) -> None:
        super().__init__(value if isinstance(value, str) else json.dumps(value))
        self.value = value


def kind_of(value: Any) -> str:
    """`null`, `boolean`, `number`, `string`, `array` or `object`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def described(value: Any) -> str:
    """A value as errors name it.

    >>> described({"a": 1})
    'object ({"a":1})'
    """
    text = written(value)
    return f"{kind_of(value)} ({text if len(text) <= 11 else text[:10] + '...'})"


def number_text(value: float) -> str:
    """A number as jq prints it.

    >>> number_text(2.0), number_text(1e18), number_text(0.1), number_text(12345678901234567)
    ('2', '1000000000000000000', '0.1', '12345678901234567')
    """
    if isinstance(value, int):
        return str(value) if abs(value) < 10**17 else number_text(float(value))
    if math.isnan(value):
        return "null"
    if math.isinf(value):
        return "1.7976931348623157e+308" if value > 0 else "-1.7976931348623157e+308"
    if value == int(value) and abs(value) < 1e17:
        return "-0" if value == 0 and math.copysign(1, value) < 0 else str(int(value))
    if value == int(value) and abs(value) < 1e19:
        return str(int(value))
    text = repr(value)
    return re.sub(r"e([-+]?)(\d)$", lambda match: f"e{match[1] or '+'}0{match[2]}", text)


def quoted(text: str, *, ascii_only: bool = False) -> str:
    """A string as JSON."""
    shown = json.dumps(text, ensure_ascii=ascii_only)
    return shown.replace("\x7f", "\\u007f")


def written(value: Any, indent: int | str = 0, *, sort: bool = False, ascii_only: bool = False, depth: int = 0) -> str:
    """A value as JSON.

    Args:
        indent: so many blanks, or a text, for each level; 0 writes one line.
    """
    if isinstance(value, str):
        return quoted(value, ascii_only=ascii_only)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return number_text(value)
    if depth > 256:
        raise Exhausted
    step = indent if isinstance(indent, str) else " " * indent
    lead, tail = (f"\n{step * (depth + 1)}", f"\n{step * depth}") if step else ("", "")
    inner = []
    if isinstance(value, list):
        inner = [written(each, indent, sort=sort, ascii_only=ascii_only, depth=depth + 1) for each in value]
    else:
        colon = ": " if step else ":"
        for key in sorted(value) if sort else value:
            inner.append(
                quoted(key, ascii_only=ascii_only)
                + colon
                + written(value[key], indent, sort=sort, ascii_only=ascii_only, depth=depth + 1)
            )
    signs = "[]" if isinstance(value, list) else "{}"
    if not inner:
        return signs
    text = signs[0] + lead + f",{lead}".join(inner) + tail + signs[1]
    if len(text) > ROOM:
        raise Exhausted
    return text


_ORDER = {"null": 0, "boolean": 1, "number": 3, "string": 4, "array": 5, "object": 6}


#: Values inside of one another that a comparison walks through.
_COMPARED = 300_000


def key_of(value: Any) -> tuple[Any, ...]:
    """A key by which values of all kinds are ordered. Raises Exhausted: there is too much in it."""
    return _key_of(value, [_COMPARED])


def comparable(left: Any, right: Any) -> tuple[Any, Any, int]:
    """What stands for two values where they are compared, and how much was walked through. Raises Exhausted."""
    kinds = kind_of(left), kind_of(right)
    if kinds[0] != kinds[1]:
        return _ORDER[kinds[0]], _ORDER[kinds[1]], 0
    if kinds[0] == "string":
        return left, right, 0
    room = [_COMPARED]
    keys = _key_of(left, room), _key_of(right, room)
    return *keys, _COMPARED - room[0]


def _key_of(value: Any, left: list[int]) -> tuple[Any, ...]:
    left[0] -= 1
    if left[0] < 0:
        raise Exhausted
    kind = kind_of(value)
    rank = 2 if value is True else _ORDER[kind]
    if kind in ("null", "boolean"):
        return (rank,)
    if kind == "number":
        return (rank, -math.inf if value != value else value)
    if kind == "string":
        return (rank, value)
    if kind == "array":
        return (rank, tuple(_key_of(each, left) for each in value))
    names = sorted(value)
    return (rank, tuple(names), tuple(_key_of(value[name], left) for name in names))


def truth(value: Any) -> bool:
    """All but null and false."""
    return value is not None and value is not False
