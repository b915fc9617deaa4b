"""Arithmetic on named figures: numbers, names, + - * / and parentheses; nothing else."""

from __future__ import annotations

import ast
from collections.abc import Mapping


class WrongFormula(ValueError):
    """A formula that is none."""


def names_in(formula: str) -> list[str]:
    """The names a formula uses. Raises WrongFormula."""
    return [node.id for node in ast.walk(_parsed(formula)) if isinstance(node, ast.Name)]


def value_of(formula: str, figures: Mapping[str, float]) -> float:
    """Its value; a division by nothing gives 0.

    >>> value_of("capacity / (2 * attempts)", {"capacity": 100.0, "attempts": 5.0})
    10.0
    """
    return _value(_parsed(formula).body, figures)


def _parsed(formula: str) -> ast.Expression:
    try:
        tree = ast.parse(formula, mode="eval")
    except SyntaxError:
        raise WrongFormula(f"{formula!r} is no formula") from None
    allowed = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.USub, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Name,
               ast.Load, ast.Constant)  # fmt: skip
    for node in ast.walk(tree):
        if not isinstance(node, allowed) or (isinstance(node, ast.Constant) and not _is_number(node.value)):
            raise WrongFormula(f"{formula!r} holds more than numbers, names, + - * / and parentheses")
    return tree


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _value(node: ast.expr, figures: Mapping[str, float]) -> float:
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, (int, float))
        return float(node.value)
    if isinstance(node, ast.Name):
        return figures[node.id]
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand, figures)
    assert isinstance(node, ast.BinOp)
    left, right = _value(node.left, figures), _value(node.right, figures)
    if isinstance(node.op, ast.Add):
        return left + right
    if isinstance(node.op, ast.Sub):
        return left - right
    if isinstance(node.op, ast.Mult):
        return left * right
    return left / right if right else 0.0
