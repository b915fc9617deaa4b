"""The tree of an expression: plain values that can be kept, printed and walked.

Durations are integer milliseconds. `start` is the offset of the expression in its text, which annotations point at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from simcluster.telemetry.promql.storage import Matcher

#: `@ start()`, `@ end()` or an instant in milliseconds; None where there is no `@`.
At: TypeAlias = Literal["start", "end"] | int | None

COMPARISONS = ("==", "!=", ">", "<", ">=", "<=")
SET_OPERATORS = ("and", "or", "unless")
#: Aggregations with a parameter before the vector.
WITH_PARAMETER = ("topk", "bottomk", "quantile", "count_values", "limitk", "limit_ratio")
AGGREGATIONS = ("sum", "avg", "count", "min", "max", "group", "stddev", "stdvar", *WITH_PARAMETER)


@dataclass(frozen=True, slots=True)
class Number:
    """A scalar literal; a duration is its seconds."""

    value: float
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class String:
    """A string literal."""

    value: str
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Selector:
    """An instant vector selector; `name` is what stands before the braces, and is among the matchers."""

    name: str
    matchers: tuple[Matcher, ...]
    offset_ms: int = 0
    at: At = None
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class MatrixSelector:
    """`selector[range]`."""

    selector: Selector
    range_ms: int
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Subquery:
    """`expr[range:step]`; without a step the default of the server."""

    expr: Expr
    range_ms: int
    step_ms: int | None
    offset_ms: int = 0
    at: At = None
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """`-expr` or `+expr`."""

    op: str
    expr: Expr
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Paren:
    """`(expr)`."""

    expr: Expr
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Matching:
    """How the two sides of a binary operator find each other.

    Attributes:
        card: `one-to-one`, `many-to-one`, `one-to-many`, `many-to-many`.
        on: whether `labels` are those that count, or those that do not.
        include: labels that `group_left` or `group_right` copies.
        fill_left, fill_right: values for what has no partner on that side.
    """

    card: str = "one-to-one"
    labels: tuple[str, ...] = ()
    on: bool = False
    include: tuple[str, ...] = ()
    fill_left: float | None = None
    fill_right: float | None = None


@dataclass(frozen=True, slots=True)
class Binary:
    """`lhs op rhs`; `returns_bool` of a comparison with `bool`."""

    op: str
    lhs: Expr
    rhs: Expr
    returns_bool: bool = False
    matching: Matching = Matching()
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`op(param, expr)` by or without labels."""

    op: str
    expr: Expr
    param: Expr | None = None
    grouping: tuple[str, ...] = ()
    without: bool = False
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the language."""

    function: str
    args: tuple[Expr, ...]
    start: int = field(default=0, compare=False)


Expr: TypeAlias = Number | String | Selector | MatrixSelector | Subquery | Unary | Paren | Binary | Aggregate | Call


def bare(expr: Expr) -> Expr:
    """The expression without the parentheses around it."""
    while isinstance(expr, Paren):
        expr = expr.expr
    return expr


def children(expr: Expr) -> tuple[Expr, ...]:
    """What an expression is made of, in the order of the text."""
    if isinstance(expr, Binary):
        return expr.lhs, expr.rhs
    if isinstance(expr, Aggregate):
        return (expr.expr,) if expr.param is None else (expr.param, expr.expr)
    if isinstance(expr, Call):
        return expr.args
    if isinstance(expr, MatrixSelector):
        return (expr.selector,)
    if isinstance(expr, Subquery | Unary | Paren):
        return (expr.expr,)
    return ()


def selectors(expr: Expr) -> list[Selector]:
    """All instant and range vector selectors in an expression."""
    if isinstance(expr, Selector):
        return [expr]
    return [one for child in children(expr) for one in selectors(child)]
