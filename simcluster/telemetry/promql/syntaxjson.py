"""An expression as `/api/v1/parse_query` describes it."""

from __future__ import annotations

from typing import Any

from simcluster.telemetry.promql import text
from simcluster.telemetry.promql.context import Kind
from simcluster.telemetry.promql.functiontable import FUNCTIONS
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


def described(expr: Expr) -> dict[str, Any]:
    """The node and what is below it (`translateAST` of Prometheus' web API)."""
    if isinstance(expr, Number):
        return {"type": "numberLiteral", "val": text.decimal(expr.value)}
    if isinstance(expr, String):
        return {"type": "stringLiteral", "val": expr.value}
    if isinstance(expr, Selector):
        return {"type": "vectorSelector", **_selector(expr)}
    if isinstance(expr, MatrixSelector):
        return {"type": "matrixSelector", **_selector(expr.selector), "range": expr.range_ms}
    if isinstance(expr, Paren):
        return {"type": "parenExpr", "expr": described(expr.expr)}
    if isinstance(expr, Unary):
        return {"type": "unaryExpr", "op": expr.op, "expr": described(expr.expr)}
    if isinstance(expr, Subquery):
        return {
            "type": "subquery",
            "expr": described(expr.expr),
            "range": expr.range_ms,
            "offset": expr.offset_ms,
            "step": expr.step_ms or 0,
            **_at(expr.at),
        }
    if isinstance(expr, Binary):
        return _binary(expr)
    if isinstance(expr, Aggregate):
        return {
            "type": "aggregation",
            "op": expr.op,
            "expr": described(expr.expr),
            "param": None if expr.param is None else described(expr.param),
            "grouping": list(expr.grouping),
            "without": expr.without,
        }
    assert isinstance(expr, Call)
    return _call(expr)


def _at(at: At) -> dict[str, Any]:
    return {
        "timestamp": at if isinstance(at, int) else None,
        "startOrEnd": at if isinstance(at, str) else None,
    }


def _selector(expr: Selector) -> dict[str, Any]:
    matchers = [{"name": one.name, "value": one.value, "type": one.op} for one in expr.matchers]
    return {"name": expr.name, "offset": expr.offset_ms, "matchers": matchers, **_at(expr.at)}


def _binary(expr: Binary) -> dict[str, Any]:
    match = expr.matching
    return {
        "type": "binaryExpr",
        "op": expr.op,
        "lhs": described(expr.lhs),
        "rhs": described(expr.rhs),
        "matching": {
            "card": match.card,
            "labels": list(match.labels),
            "on": match.on,
            "include": list(match.include),
        }
        if "vector" in (_kind(expr.lhs), _kind(expr.rhs)) and _kind(expr.lhs) == _kind(expr.rhs)
        else None,
        "bool": expr.returns_bool,
    }


def _call(expr: Call) -> dict[str, Any]:
    signature = FUNCTIONS[expr.function]
    return {
        "type": "call",
        "func": {
            "name": expr.function,
            "argTypes": list(signature.args),
            "variadic": signature.variadic,
            "returnType": signature.returns,
        },
        "args": [described(arg) for arg in expr.args],
    }


def _kind(expr: Expr) -> Kind:
    if isinstance(expr, Number):
        return "scalar"
    if isinstance(expr, String):
        return "string"
    if isinstance(expr, MatrixSelector | Subquery):
        return "matrix"
    if isinstance(expr, Paren | Unary):
        return _kind(expr.expr)
    if isinstance(expr, Call):
        return FUNCTIONS[expr.function].returns
    if isinstance(expr, Binary) and _kind(expr.lhs) == _kind(expr.rhs) == "scalar":
        return "scalar"
    return "vector"
