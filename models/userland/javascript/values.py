"""Values of JavaScript as Python has them, and how they become texts, numbers and truth.

Numbers are int and float, strings str, arrays list, objects dict, null None; `undefined` is `UNDEFINED`. Dates and ids
are documents as MongoDB's extended JSON writes them (`{"$date": ...}`, `{"$oid": ...}`). Left out: symbols, prototypes,
getters, strings of UTF-16 units.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

#: Characters of a string and elements of an array at most: V8 has 512 MB, and a shell less patience.
MOST_TEXT, MOST_ITEMS = 2_000_000, 200_000


class _Undefined:
    def __repr__(self) -> str:
        return "undefined"

    def __bool__(self) -> bool:
        return False


UNDEFINED = _Undefined()


class ScriptError(Exception):
    """An exception that nobody has caught, or that is on its way: kind (`TypeError`), text, the value thrown."""

    def __init__(self, kind: str, text: str, value: Any = None) -> None:
        super().__init__(f"{kind}: {text}" if kind else text)
        self.kind = kind
        self.text = text
        self.value = {"name": kind, "message": text} if value is None else value


class Unsupported(ScriptError):
    """The language has it and this part of it has not; no script can catch it."""


class Exhausted(ScriptError):
    """The script has had its steps, or its memory; no script can catch it."""


class Host(ABC):
    """An object of the program around the script."""

    kind = "object"

    @abstractmethod
    def get(self, name: str) -> Any:
        """A property; UNDEFINED if there is none."""

    def shown(self) -> Any:
        """What stands for it where its value is printed."""
        return UNDEFINED


class Native:
    """A function of the program around the script, or of the language."""

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        self.name = name
        self.call = call


class Function:
    """A function that the script has made."""

    def __init__(self, name: str, parameters: list[Any], body: Any, scope: Any, *, is_expression: bool) -> None:
        self.name = name
        self.parameters = parameters
        self.body = body
        self.scope = scope
        self.is_expression = is_expression


def is_plain(value: Any) -> bool:
    """Whether it is an object of the script's own, and no date or id."""
    return isinstance(value, dict) and not ("$date" in value or "$oid" in value)


def truthy(value: Any) -> bool:
    """As a condition takes it."""
    if isinstance(value, float) and math.isnan(value):
        return False
    return True if isinstance(value, list | dict) else bool(value) or isinstance(value, Host | Native | Function)


def kind_of(value: Any) -> str:
    """`typeof`."""
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "function" if isinstance(value, Native | Function) else "object"


def number_text(value: Any) -> str:
    """A number as JavaScript writes it.

    >>> number_text(2.0), number_text(0.1), number_text(1e21), number_text(float("nan"))
    ('2', '0.1', '1e+21', 'NaN')
    """
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        if value == int(value) and abs(value) < 1e21:
            return str(int(value))
        text = repr(value)
        return text.replace("e-0", "e-")
    return str(value) if abs(value) < 10**21 else number_text(float(value)).replace(".0e", "e")


def text_of(value: Any) -> str:
    """As `String(value)`."""
    if isinstance(value, str):
        return value
    if value is UNDEFINED or value is None:
        return "undefined" if value is UNDEFINED else "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, list):
        return bounded(",".join("" if one is None or one is UNDEFINED else text_of(one) for one in value))
    if isinstance(value, dict):
        if "$oid" in value:
            return str(value["$oid"])
        if "$date" in value:
            return str(value["$date"])
        return f"{value['name']}: {value['message']}" if {"name", "message"} == set(value) else "[object Object]"
    if isinstance(value, Native | Function):
        return f"function {value.name}() {{ [native code] }}"
    shown = value.shown() if isinstance(value, Host) else UNDEFINED
    return "[object Object]" if shown is UNDEFINED else text_of(shown)


def bounded(text: str) -> str:
    """A string, if there is room for it. Raises Exhausted."""
    if len(text) > MOST_TEXT:
        raise Exhausted("RangeError", "Invalid string length")
    return text


def number_of(value: Any) -> float:
    """As `Number(value)`."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value
    if value is None:
        return 0
    if isinstance(value, str):
        return _parsed(value.strip())
    if isinstance(value, list) and len(value) < 2:
        return number_of(value[0]) if value else 0
    return math.nan


def _parsed(text: str) -> float:
    if not text:
        return 0
    if text[:1] in "+-.0123456789" and "_" not in text:
        try:
            return int(text, 16) if text[:2].lower() == "0x" else whole(float(text))
        except (ValueError, OverflowError):
            return math.nan
    return math.inf if text == "Infinity" else math.nan


def whole(value: float) -> float:
    """A number as an int if it is one."""
    fits = isinstance(value, float) and math.isfinite(value) and value == int(value) and abs(value) < 2**53
    return int(value) if fits else value


def same(one: Any, other: Any) -> bool:
    """`===`: objects by identity."""
    if isinstance(one, list | dict | Host | Native | Function) or isinstance(other, list | dict | Host):
        return one is other
    if isinstance(one, bool) != isinstance(other, bool) or kind_of(one) != kind_of(other):
        return False
    return bool(one == other)


def alike(one: Any, other: Any) -> bool:
    """`==`."""
    nothing = (None, UNDEFINED)
    if any(one is each for each in nothing) or any(other is each for each in nothing):
        return any(one is each for each in nothing) and any(other is each for each in nothing)
    if kind_of(one) == kind_of(other) or isinstance(one, list | dict) or isinstance(other, list | dict):
        texts = isinstance(one, str) or isinstance(other, str)
        return same(one, other) or (texts and text_of(one) == text_of(other) and not same(one, other))
    return number_of(one) == number_of(other)
