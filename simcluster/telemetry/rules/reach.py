"""What the value of an expression depends on: so long as nothing of it changes, it need not be evaluated again."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.telemetry.promql.printing import shown
from simcluster.telemetry.promql.syntax import (
    Binary,
    Call,
    Expr,
    Matching,
    MatrixSelector,
    Number,
    Selector,
    Subquery,
    bare,
    children,
)

#: Functions of a window whose value does not change while all samples in it are equal and there are several.
_STEADY = (
    *("avg_over_time", "changes", "delta", "idelta", "increase", "irate", "last_over_time", "max_over_time"),
    *("min_over_time", "present_over_time", "rate", "resets"),
)
#: Functions that look at the clock, or at when samples were taken.
_CLOCKS = (
    *("day_of_month", "day_of_week", "day_of_year", "days_in_month", "hour", "minute", "month", "time", "timestamp"),
    *("year", "info"),
)


class Reach(NamedTuple):
    """Metrics that an expression reads, and how far it looks back."""

    names: tuple[str, ...]
    window_ms: int


def reach_of(expr: Expr) -> Reach | None:
    """What an expression depends on; None if on the time, too, or on series of names that it does not tell."""
    names: dict[str, None] = {}
    window_ms = _visit(expr, names)
    return None if window_ms is None else Reach(tuple(names), window_ms)


class Share(NamedTuple):
    """What is above in a rule `above / below > bound`: while it is zero, nothing is found.

    Attributes:
        query: its text; reach: what it depends on.
    """

    query: str
    reach: Reach


def share_of(expr: Expr) -> Share | None:
    """The share of which a rule asks whether it is above a bound that is not negative; None if it asks otherwise.

    Of vectors that are matched by all their labels, so that nothing is refused that is not evaluated.
    """
    expr = bare(expr)
    if not isinstance(expr, Binary) or expr.op != ">" or expr.returns_bool:
        return None
    quotient, bound = bare(expr.lhs), bare(expr.rhs)
    if not isinstance(bound, Number) or not bound.value >= 0.0:
        return None
    if not isinstance(quotient, Binary) or quotient.op != "/" or quotient.matching != Matching():
        return None
    reach = reach_of(quotient.lhs)
    return None if reach is None else Share(shown(quotient.lhs), reach)


def _visit(expr: Expr, names: dict[str, None]) -> int | None:
    if isinstance(expr, Selector):
        exact = next((one.value for one in expr.matchers if one.name == "__name__" and one.op == "="), "")
        if not exact or expr.offset_ms or expr.at is not None:
            return None
        names[exact] = None
        return 0
    if isinstance(expr, Subquery) or (isinstance(expr, Call) and expr.function in _CLOCKS):
        return None
    window_ms = 0
    for child in children(expr):
        if isinstance(child, MatrixSelector) and not (isinstance(expr, Call) and expr.function in _STEADY):
            return None
        below = _visit(child, names)
        if below is None:
            return None
        window_ms = max(window_ms, below)
    return max(window_ms, expr.range_ms) if isinstance(expr, MatrixSelector) else window_ms
