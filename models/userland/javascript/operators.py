"""Operators of JavaScript over values."""

from __future__ import annotations

import math
from typing import Any

from simcluster.engine.arithmetic import power
from simcluster.models.userland.javascript.values import (
    UNDEFINED,
    Exhausted,
    Host,
    Native,
    ScriptError,
    Unsupported,
    alike,
    bounded,
    kind_of,
    number_of,
    same,
    text_of,
    truthy,
    whole,
)

__all__ = ["binary", "iterated", "raised", "same", "unary", "whole"]

#: A power beyond this is infinite.
_MOST_EXPONENT = 1100


def unary(operator: str, value: Any) -> Any:
    """`-x`, `+x`, `!x`, `~x`, `typeof x`, `void x`."""
    if operator == "!":
        return not truthy(value)
    if operator == "typeof":
        return kind_of(value)
    if operator == "void":
        return UNDEFINED
    number = number_of(value)
    return -number if operator == "-" else number if operator == "+" else ~_bits(number)


def binary(operator: str, left: Any, right: Any) -> Any:
    """Two values and what stands between them. Raises ScriptError."""
    if operator == "+":
        texts = any(isinstance(one, str | list | dict | Host) for one in (left, right))
        return bounded(text_of(left) + text_of(right)) if texts else whole(number_of(left) + number_of(right))
    if operator in ("===", "!=="):
        return same(left, right) == (operator == "===")
    if operator in ("==", "!="):
        return alike(left, right) == (operator == "==")
    if operator in ("<", ">", "<=", ">="):
        return _compared(operator, left, right)
    if operator == "in":
        if not isinstance(right, dict | list):
            raise ScriptError("TypeError", f"Cannot use 'in' operator to search for '{text_of(left)}' in a value")
        return text_of(left) in right if isinstance(right, dict) else 0 <= number_of(left) < len(right)
    if operator == "instanceof":
        return _is_instance(left, getattr(right, "name", ""))
    return _arithmetic(operator, number_of(left), number_of(right))


def _is_instance(value: Any, name: str) -> bool:
    if name == "Array":
        return isinstance(value, list)
    if name == "Date":
        return isinstance(value, dict) and "$date" in value
    if name.endswith("Error"):
        return isinstance(value, dict) and "message" in value and name in ("Error", value.get("name"))
    return isinstance(value, dict | list) and name == "Object"


def _compared(operator: str, left: Any, right: Any) -> bool:
    one: Any
    other: Any
    if all(isinstance(each, str) or (isinstance(each, dict) and "$date" in each) for each in (left, right)):
        one, other = text_of(left), text_of(right)
    else:
        one, other = number_of(left), number_of(right)
        if math.isnan(one) or math.isnan(other):
            return False
    return bool({"<": one < other, ">": one > other, "<=": one <= other, ">=": one >= other}[operator])


def _bits(value: float) -> int:
    """As 32 bits with a sign."""
    if not math.isfinite(value):
        return 0
    found = int(value) & 0xFFFF_FFFF
    return found - (1 << 32) if found >> 31 else found


def _arithmetic(operator: str, left: float, right: float) -> Any:
    if operator in ("&", "|", "^", "<<", ">>", ">>>"):
        return _shifted(operator, left, right)
    try:
        if operator == "-":
            return whole(left - right)
        if operator == "*":
            return whole(float(left) * float(right)) if abs(left) > 1 << 53 or abs(right) > 1 << 53 else left * right
        if operator == "/":
            return whole(left / right) if right else math.nan if not left or math.isnan(left) else math.copysign(
                math.inf, left)  # fmt: skip
        if operator == "%":
            return whole(math.fmod(left, right)) if right and math.isfinite(left) else math.nan
        if operator == "**":
            return raised(left, right)
    except OverflowError:
        return math.inf
    except (ValueError, ZeroDivisionError, TypeError):
        return math.nan
    raise Unsupported("SyntaxError", f"operator '{operator}' cannot be run here")


def raised(left: float, right: float) -> float:
    """A power, with the same bits everywhere.

    >>> raised(2, 10), raised(2, -1), raised(4, 0.5), raised(-8, 3)
    (1024, 0.5, 2, -512)
    """
    if math.isnan(left) or math.isnan(right) or (left < 0 and right != int(right)):
        return math.nan
    if right < 0:
        below = raised(left, -right)
        return whole(1 / below) if below else math.inf
    if right > _MOST_EXPONENT:
        return math.inf if abs(left) > 1 else 1 if left == 1 else 0
    if right == int(right):
        value: float = 1
        for _ in range(int(right)):
            value *= left
            if abs(value) > 1 << 53:
                value = float(value)
        return whole(value)
    return whole(math.sqrt(left)) if right == 0.5 else whole(power(left, right))


def _shifted(operator: str, left: float, right: float) -> int:
    one, other = _bits(left), _bits(right)
    if operator == "&":
        return one & other
    if operator == "|":
        return one | other
    if operator == "^":
        return one ^ other
    count = other & 31
    if operator == ">>>":
        return (one & 0xFFFF_FFFF) >> count
    return one >> count if operator == ">>" else _bits(one << count)


def iterated(value: Any) -> list[Any]:
    """The items of what can be walked. Raises ScriptError."""
    if isinstance(value, list):
        return value
    if isinstance(value, str):
        return list(value)
    items = value.get("toArray") if isinstance(value, Host) else UNDEFINED
    if isinstance(items, Native):
        found = items.call()
        if isinstance(found, list):
            return found
        raise Exhausted("TypeError", "object is not iterable")
    raise ScriptError("TypeError", f"{text_of(value)} is not iterable")
