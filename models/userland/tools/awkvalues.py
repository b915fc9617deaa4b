"""Values of awk: numbers, texts, and texts of the input that may be numbers."""

from __future__ import annotations

import math
import re
from typing import Any

from simcluster.engine.arithmetic import power

_NUMBER = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*", re.ASCII)
#: A backslash and what follows it, and the characters that awk writes so.
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CONTROLS = {"r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_LEADING = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)


class Field(str):
    """A text that came from the input: a number where it looks like one."""

    __slots__ = ()


def number(value: Any) -> float:
    """A value as a number."""
    if isinstance(value, float):
        return value
    match = _LEADING.match(value)
    return float(match[0]) if match is not None else 0.0


def looks_numeric(value: Any) -> bool:
    """Whether a value compares as a number."""
    return isinstance(value, float) or (isinstance(value, Field) and _NUMBER.fullmatch(value) is not None)


def raised(a: float, b: float) -> float:
    """A power; not a number where there is none."""
    if b == int(b) and abs(b) < 1100:
        value = 1.0
        for _ in range(int(abs(b))):
            value *= a
        return value if b >= 0 else 1 / value
    return power(a, b) if a > 0 else math.nan


def indexes(node: Any, name: str) -> bool:
    """Whether a body uses a name as an array."""
    if isinstance(node, (tuple, list)):
        if len(node) > 2 and node[0] in ("item", "forin", "in", "delete") and name in node[1:3]:
            return True
        return any(indexes(each, name) for each in node)
    return False


def controls(text: str) -> str:
    r"""A pattern of awk in which `\r` and its kin, which a regular expression does not know, are the characters.

    >>> controls(r"a\r\\r[\f]") == "a\r" + r"\\r[" + "\f]"
    True
    """
    return _ESCAPED.sub(lambda found: _CONTROLS.get(found[1], found[0]), text)
