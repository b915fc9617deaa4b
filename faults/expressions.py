"""A small language for values: numbers, names, `+ - * /` and parentheses between `${{` and `}}`.

A text that is one hole is what stands in it, of whatever type; text around holes stays. Numbers are exact; amounts of
CPU and memory become quantities, everything else that is computed a whole number, rounded up.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

_HOLE = re.compile(r"\$\{\{([^{}]*)\}\}")
_MIB = 1 << 20


class Amount(NamedTuple):
    """A number with a unit: `cpu` (cores), `memory` (bytes), or none."""

    value: Fraction
    unit: str = ""

    def plain(self) -> int | str:
        """As a manifest has it, rounded up.

        >>> Amount(Fraction(1, 8), "cpu").plain(), Amount(Fraction(3 << 20), "memory").plain()
        ('125m', '3Mi')
        >>> Amount(Fraction(7, 2)).plain()
        4
        """
        if self.unit == "cpu":
            return f"{ceil(self.value * 1000)}m"
        return f"{ceil(self.value / _MIB)}Mi" if self.unit == "memory" else ceil(self.value)


def is_open(value: Any) -> bool:
    """Whether something in a value is still to be computed."""
    if isinstance(value, str):
        return _HOLE.search(value) is not None
    if isinstance(value, Mapping):
        return any(is_open(one) for pair in value.items() for one in pair)
    return isinstance(value, (list, tuple)) and any(is_open(one) for one in value)


def names_in(value: Any) -> set[str]:
    """The names of which a value is computed. Raises ValueError: an expression that is none."""
    found: set[str] = set()
    texts = [value]
    while texts:
        one = texts.pop()
        if isinstance(one, str):
            trees = [parsed(hole.strip()) for hole in _HOLE.findall(one)]
            found |= {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
        elif isinstance(one, Mapping):
            texts += [*one, *one.values()]
        elif isinstance(one, (list, tuple)):
            texts += one
    return found


def walk(value: Any, fill: Callable[[str], Any]) -> Any:
    """A value with every text in it, keys too, filled."""
    if isinstance(value, str):
        return fill(value)
    if isinstance(value, Mapping):
        return {walk(key, fill): walk(one, fill) for key, one in value.items()}
    return [walk(one, fill) for one in value] if isinstance(value, (list, tuple)) else value


def filled(text: str, hole: Callable[[str], Any]) -> Any:
    """A text that is one hole is what stands in it, of whatever type; others are put together."""
    whole = _HOLE.fullmatch(text)
    if whole is not None:
        return hole(whole[1].strip())
    pieces = _HOLE.split(text)
    return "".join(str(hole(piece.strip())) if index % 2 else piece for index, piece in enumerate(pieces))


def parsed(expression: str) -> ast.Expression:
    """An expression as a tree. Raises ValueError."""
    try:
        return ast.parse(expression, mode="eval")
    except SyntaxError:
        raise ValueError(f"{expression!r} is no expression of numbers, names, + - * / and parentheses") from None


def plain(value: Any) -> Any:
    """A computed value as a manifest has it."""
    return value.plain() if isinstance(value, Amount) else value


def evaluated(node: ast.expr, name: Callable[[str], Any]) -> Any:
    """A text, or an Amount. Raises ValueError: it is no expression of this language."""
    if isinstance(node, ast.Name):
        found = name(node.id)
        return Amount(Fraction(str(found))) if isinstance(found, (int, float)) else found
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return Amount(Fraction(str(node.value)))
    if isinstance(node, ast.BinOp):
        one, other = evaluated(node.left, name), evaluated(node.right, name)
        if isinstance(one, Amount) and isinstance(other, Amount):
            return _combined(node.op, one, other)
    raise ValueError(f"{ast.unparse(node)!r} is no expression of numbers, names, + - * / and parentheses")


def _combined(op: ast.operator, one: Amount, other: Amount) -> Amount:
    unit = one.unit or other.unit
    if isinstance(op, ast.Add):
        return Amount(one.value + other.value, unit)
    if isinstance(op, ast.Sub):
        return Amount(one.value - other.value, unit)
    if isinstance(op, ast.Mult):
        return Amount(one.value * other.value, unit)
    if isinstance(op, ast.Div) and other.value:
        return Amount(one.value / other.value, one.unit if one.unit != other.unit else "")
    raise ValueError("only + - * / are understood, and nothing is divided by zero")
