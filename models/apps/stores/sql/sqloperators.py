"""Operators of SQL on plain values: comparisons over kinds, LIKE in linear time, arithmetic that truncates."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import re2

Value = Any  # None, bool, int, float or str


def order_of(value: Value) -> tuple[int, Any]:
    """By which values are sorted: numbers, texts, and NULL last."""
    return (2, "") if value is None else (1, value) if isinstance(value, str) else (0, value)


def same(one: Value, other: Value) -> bool:
    """Whether two values are equal."""
    return compared(one, other) == 0


def compared(one: Value, other: Value) -> int:
    """Below zero if the first comes before the other."""
    if isinstance(one, str) != isinstance(other, str):
        one, other = text_of(one), text_of(other)
    return int(one > other) - int(one < other)


def text_of(value: Value) -> str:
    """A value as a text."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _like(text: Value, pattern: Value) -> bool:
    """LIKE, by RE2: in time linear in the text."""
    parts = (".*" if one == "%" else "." if one == "_" else re2.escape(one) for one in text_of(pattern))
    return re2.fullmatch("(?s)" + "".join(parts), text_of(text)) is not None


def _divided(one: Value, other: Value) -> Value:
    if isinstance(one, int) and isinstance(other, int):
        quotient = abs(one) // abs(other)
        return quotient if (one < 0) == (other < 0) else -quotient
    return one / other


ARITHMETIC = ("add", "sub", "mul", "div", "mod", "neg", "abs")


def _compare(fits: Callable[[int, int], bool], one: Value, other: Value) -> bool:
    return fits(compared(one, other), 0)


def _remainder(one: Value, other: Value) -> Value:
    rest = math.fmod(one, other) if isinstance(one, float) or isinstance(other, float) else abs(one) % abs(other)
    return rest if isinstance(rest, float) or one >= 0 else -rest


def _joined(one: Value, other: Value) -> str:
    return text_of(one) + text_of(other)


def _ilike(text: Value, pattern: Value) -> bool:
    return _like(text_of(text).lower(), text_of(pattern).lower())


def _lower(value: Value) -> str:
    return text_of(value).lower()


def _upper(value: Value) -> str:
    return text_of(value).upper()


def _length(value: Value) -> int:
    return len(text_of(value))


OPERATORS: dict[str, Callable[..., Value]] = {
    **{"eq": partial(_compare, operator.eq), "neq": partial(_compare, operator.ne)},
    **{"lt": partial(_compare, operator.lt), "lte": partial(_compare, operator.le)},
    **{"gt": partial(_compare, operator.gt), "gte": partial(_compare, operator.ge)},
    **{"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": _divided, "mod": _remainder},
    **{"neg": operator.neg, "not": operator.not_, "abs": abs, "dpipe": _joined, "like": _like, "ilike": _ilike},
    **{"lower": _lower, "upper": _upper, "length": _length},
}
