"""What the value of an expression depends on: so long as nothing of it changes, it need not be evaluated again."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.telemetry.promql.printing import shown
from simcluster.telemetry.promql.syntax import (
    Aggregate,
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

#: Functions of a window whose value does not change while all samples in it are equal and there are several; and those
#: whose value another sample that is equal to the last one does not change, whatever came before.
_STEADY = ("avg_over_time", "delta", "idelta", "increase", "irate", "rate")
_LASTING = ("changes", "last_over_time", "max_over_time", "min_over_time", "present_over_time", "resets")
#: Functions of a counter that are zero only if it has not grown in the window; and what keeps that apart from others.
_GROWTH, _KEEPING = ("increase", "irate", "rate"), ("avg", "max", "sum")
#: Functions that look at the clock, or at when samples were taken.
_CLOCKS = (
    *("day_of_month", "day_of_week", "day_of_year", "days_in_month", "hour", "minute", "month", "time", "timestamp"),
    *("year", "info"),
)


class Reach(NamedTuple):
    """Metrics that an expression reads, and how far it looks back.

    Attributes:
        window_ms: so long nothing may have changed; lasting_ms: so far back nothing may have been lost.
    """

    names: tuple[str, ...]
    window_ms: int
    lasting_ms: int = 0


def reach_of(expr: Expr) -> Reach | None:
    """What an expression depends on; None if on the time, too, or on series of names that it does not tell."""
    names: dict[str, None] = {}
    windows = _visit(expr, names)
    return None if windows is None else Reach(tuple(names), *windows)


class Share(NamedTuple):
    """What is above in a rule `above / below > bound`: while it is zero, nothing is found.

    Attributes:
        query: its text.
        reach: what it depends on while it is zero. What did not grow in a window has not in its end either.
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
    if reach is None:
        return None
    return Share(shown(quotient.lhs), Reach(reach.names, 0) if _grows(quotient.lhs) else reach)


def _grows(expr: Expr) -> bool:
    """Whether an expression is growth of counters, or sums of it: zero only if none has grown."""
    expr = bare(expr)
    if isinstance(expr, Aggregate):
        return expr.op in _KEEPING and expr.param is None and _grows(expr.expr)
    return isinstance(expr, Call) and expr.function in _GROWTH


def _visit(expr: Expr, names: dict[str, None]) -> tuple[int, int] | None:
    """Both windows of a `Reach`, whose metrics are added to `names`; None if it has none."""
    if isinstance(expr, Selector):
        exact = next((one.value for one in expr.matchers if one.name == "__name__" and one.op == "="), "")
        if not exact or expr.offset_ms or expr.at is not None:
            return None
        names[exact] = None
        return 0, 0
    if isinstance(expr, Subquery) or (isinstance(expr, Call) and expr.function in _CLOCKS):
        return None
    steady = isinstance(expr, Call) and expr.function in _STEADY
    lasting = isinstance(expr, Call) and expr.function in _LASTING
    window_ms = lasting_ms = 0
    for child in children(expr):
        if isinstance(child, MatrixSelector) and not (steady or lasting):
            return None
        below = _visit(child, names)
        if below is None:
            return None
        if isinstance(child, MatrixSelector):
            below = (child.range_ms, 0) if steady else (0, child.range_ms)
        window_ms, lasting_ms = max(window_ms, below[0]), max(lasting_ms, below[1])
    return window_ms, lasting_ms
