"""An expression as Prometheus prints it: on one line, or split where a line would be too long."""

from __future__ import annotations

import re

from simcluster.telemetry.promql import text
from simcluster.telemetry.promql.binary import quoted
from simcluster.telemetry.promql.syntax import (
    Aggregate,
    At,
    Binary,
    Call,
    Expr,
    MatrixSelector,
    Number,
    Paren,
    Selector,
    String,
    Subquery,
    Unary,
)

#: `maxCharactersPerLine` of `promql/parser/prettier.go`.
LINE = 100
_PLAIN_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_METRIC = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")


def shown(expr: Expr) -> str:
    """On one line.

    >>> from simcluster.telemetry.promql.parsing import parse
    >>> shown(parse('sum by(job)(rate(up{a="b"}[5m] offset 1m)) > bool 2'))
    'sum by (job) (rate(up{a="b"}[5m] offset 1m)) > bool 2'
    """
    if isinstance(expr, Number):
        return text.decimal(expr.value)
    if isinstance(expr, String):
        return quoted(expr.value)
    if isinstance(expr, Selector):
        return _series(expr) + _suffix(expr.at, expr.offset_ms)
    if isinstance(expr, MatrixSelector):
        inner = expr.selector
        return f"{_series(inner)}[{text.duration(expr.range_ms)}]{_suffix(inner.at, inner.offset_ms)}"
    if isinstance(expr, Subquery):
        return shown(expr.expr) + _window(expr)
    if isinstance(expr, Unary):
        return expr.op + shown(expr.expr)
    if isinstance(expr, Paren):
        return f"({shown(expr.expr)})"
    if isinstance(expr, Binary):
        return f"{shown(expr.lhs)} {_operator(expr)} {shown(expr.rhs)}"
    if isinstance(expr, Aggregate):
        param = "" if expr.param is None else shown(expr.param) + ", "
        return f"{_aggregation(expr)}({param}{shown(expr.expr)})"
    assert isinstance(expr, Call)
    return f"{expr.function}({', '.join(shown(arg) for arg in expr.args)})"


def pretty(expr: Expr, level: int = 0) -> str:
    """On as many lines as it needs, two spaces a level."""
    space = "  " * level
    if isinstance(expr, Unary):
        return space + expr.op + pretty(expr.expr, level).strip()
    if isinstance(expr, Subquery) and len(shown(expr)) > LINE:
        return pretty(expr.expr, level) + _window(expr)
    if len(shown(expr)) <= LINE or isinstance(expr, Number | String | Selector | MatrixSelector | Subquery):
        return space + shown(expr)
    if isinstance(expr, Paren):
        return f"{space}(\n{pretty(expr.expr, level + 1)}\n{space})"
    if isinstance(expr, Binary):
        return f"{pretty(expr.lhs, level + 1)}\n{space}{_operator(expr)}\n{pretty(expr.rhs, level + 1)}"
    if isinstance(expr, Aggregate):
        param = "" if expr.param is None else pretty(expr.param, level + 1) + ",\n"
        return f"{space}{_aggregation(expr)}(\n{param}{pretty(expr.expr, level + 1)}\n{space})"
    args = ",\n".join(pretty(arg, level + 1) for arg in expr.args)
    return f"{space}{expr.function}(\n{args}\n{space})"


def _label(name: str) -> str:
    return name if _PLAIN_LABEL.fullmatch(name) else quoted(name)


def _series(expr: Selector) -> str:
    inside = []
    plain = _PLAIN_METRIC.fullmatch(expr.name) is not None
    if expr.name and not plain:
        inside.append(quoted(expr.name))
    skipped = not expr.name
    for one in expr.matchers:
        if not skipped and one.name == "__name__" and one.op == "=" and one.value == expr.name:
            skipped = True
        else:
            inside.append(f"{_label(one.name)}{one.op}{quoted(one.value)}")
    name = expr.name if plain else ""
    return name + ("{" + ",".join(inside) + "}" if inside else "")


def _suffix(at: At, offset_ms: int) -> str:
    shown_at = "" if at is None else f" @ {at}()" if isinstance(at, str) else f" @ {at / 1000:.3f}"
    return shown_at + (f" offset {text.duration(offset_ms)}" if offset_ms else "")


def _window(expr: Subquery) -> str:
    step = "" if expr.step_ms is None else text.duration(expr.step_ms)
    return f"[{text.duration(expr.range_ms)}:{step}]{_suffix(expr.at, expr.offset_ms)}"


def _aggregation(expr: Aggregate) -> str:
    if not expr.grouping and not expr.without:
        return expr.op
    return f"{expr.op} {'without' if expr.without else 'by'} ({', '.join(map(_label, expr.grouping))}) "


def _operator(expr: Binary) -> str:
    match = expr.matching
    out = expr.op + (" bool" if expr.returns_bool else "")
    if match.labels or match.on:
        out += f" {'on' if match.on else 'ignoring'} ({', '.join(map(_label, match.labels))})"
    if match.card in ("many-to-one", "one-to-many"):
        side = "group_left" if match.card == "many-to-one" else "group_right"
        out += f" {side} ({', '.join(map(_label, match.include))})"
    return out
