"""Expressions of SQL over a row, or over the rows of a group: literals, columns, operators, functions, aggregates.

Trees are those of sqlglot. Left out: collations, time zones, windows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from simcluster.models.apps.stores.sql.definitions import sqlglot
from simcluster.models.apps.stores.sql.sqlfunctions import added, extracted, interval, truncated
from simcluster.models.apps.stores.sql.sqloperators import ARITHMETIC, OPERATORS, order_of, same, text_of
from simcluster.models.apps.stores.sql.tables import Refused, Row, Unsupported, Value

WHOLE = ("INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT", "SERIAL", "BIGSERIAL", "SMALLSERIAL")
BROKEN = ("DECIMAL", "DOUBLE", "FLOAT", "REAL", "NUMERIC")


def place_of(node: Any) -> int:
    """Where a node stands in the text of the statement, counted from 0; -1 if the parser has not kept it."""
    first = min(
        (each.meta["start"] for each in node.find_all(sqlglot().exp.Expression) if "start" in each.meta), default=-1
    )
    return int(first)


def clause_of(node: Any) -> str:
    """In which part of a statement a column is named, in MySQL's words."""
    exp = sqlglot().exp
    for kind, words in (
        (exp.Where, "where clause"), (exp.Order, "order clause"), (exp.Group, "group statement"),
        (exp.Having, "having clause"), (exp.Join, "on clause"),
    ):  # fmt: skip
        if node.find_ancestor(kind) is not None:
            return words
    return "field list"


class Expressions:
    """Evaluates expressions.

    Attributes:
        _functions: of the server and the session, by name in lower case; `_now`: the instant as the server prints it.
    """

    _functions: dict[str, Callable[..., Value]]
    _now: str

    def _value(self, node: Any, row: Row, members: list[Row] | None = None) -> Value:
        exp = sqlglot().exp
        if isinstance(node, exp.Alias | exp.Paren):
            return self._value(node.this, row, members)
        if isinstance(node, exp.Literal):
            text = str(node.this)
            return text if node.is_string else int(text) if text.isdigit() and len(text) < 100 else float(text)
        if isinstance(node, exp.RawString):
            return str(node.this)
        if isinstance(node, exp.Null):
            return None
        if isinstance(node, exp.Filter):
            kept = [each for each in members or [] if self._value(node.expression.this, each)]
            return self._value(node.this, row, kept)
        if isinstance(node, exp.Boolean):
            return bool(node.this)
        if isinstance(node, exp.Column):
            return row[self._known(node, row)]
        if isinstance(node, exp.AggFunc):
            return self._aggregate(node, members or [])
        if isinstance(node, exp.And | exp.Or):
            left, right = (self._value(each, row, members) for each in (node.left, node.right))
            return (left and right) if isinstance(node, exp.And) else (left or right)
        if isinstance(node, exp.Case):
            for each in node.args["ifs"]:
                asked = self._value(each.this, row, members)
                if asked == self._value(node.this, row, members) if node.this is not None else asked:
                    return self._value(each.args["true"], row, members)
            default = node.args.get("default")
            return None if default is None else self._value(default, row, members)
        return self._applied(node, row, members)

    @staticmethod
    def _known(node: Any, names: Mapping[str, object]) -> str:
        """The key of a column in a row. Raises Refused."""
        name = f"{node.table}.{node.name}" if node.table else node.name
        if name in names:
            return str(name)
        folded = None if node.this.quoted else next((each for each in names if each.lower() == name.lower()), None)
        if folded is None:
            raise Refused("no column", name, at=place_of(node), clause=clause_of(node))
        return str(folded)

    def _applied(self, node: Any, row: Row, members: list[Row] | None) -> Value:
        exp = sqlglot().exp
        if isinstance(node, exp.CurrentTimestamp | exp.CurrentDate):
            return self._now if isinstance(node, exp.CurrentTimestamp) else self._now[:10]
        if isinstance(node, exp.Coalesce):
            every = [self._value(each, row, members) for each in (node.this, *node.expressions)]
            return next((each for each in every if each is not None), None)
        if isinstance(node, exp.In):
            this = self._value(node.this, row, members)
            if node.args.get("query") is not None:
                raise Unsupported("subqueries")
            return (
                None if this is None else any(same(this, self._value(each, row, members)) for each in node.expressions)
            )
        if isinstance(node, exp.Between):
            low, high = (self._value(node.args[each], row, members) for each in ("low", "high"))
            this = self._value(node.this, row, members)
            return None if None in (this, low, high) else order_of(low) <= order_of(this) <= order_of(high)
        if isinstance(node, exp.Is):
            this, other = self._value(node.this, row, members), self._value(node.expression, row, members)
            holds = this is other if other is None or isinstance(other, bool) else this == other
            return holds != bool(node.args.get("negate"))
        if isinstance(node, exp.Cast):
            return self._cast(self._value(node.this, row, members), str(node.to.this.value))
        if isinstance(node, exp.Interval):
            made = interval(text_of(self._value(node.this, row, members)), node.args["unit"].name if node.unit else "")
            if made is None:
                raise Refused("wrong value", "interval", node.this.name, "")
            return made
        if isinstance(node, exp.Extract):
            return extracted(node.name.upper(), self._value(node.expression, row, members))
        if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
            return truncated(node.args["unit"].name, self._value(node.this, row, members))
        if isinstance(node, exp.Concat):
            every = [self._value(each, row, members) for each in node.expressions]
            return "".join(text_of(each) for each in every if each is not None)
        if isinstance(node, exp.SessionParameter) and "@@" in self._functions:
            return self._functions["@@"](str(node.args.get("kind") or ""), node.name)
        name = node.name.lower() if isinstance(node, exp.Anonymous) else node.key
        applied = self._functions.get(name) or OPERATORS.get(node.key)
        if applied is None and isinstance(node, exp.Anonymous) and not name.startswith("pg_"):
            given = f"{name}({', '.join(['unknown'] * len(node.expressions))})"
            raise Refused("no function", given, at=place_of(node))
        if applied is None:
            raise Unsupported((node.name or node.key).upper())
        given = node.expressions if isinstance(node, exp.Anonymous) else node.iter_expressions()
        arguments = [self._value(each, row, members) for each in given]
        if any(each is None for each in arguments):
            return None
        if isinstance(node, exp.Add | exp.Sub) and any(isinstance(each, str) for each in arguments):
            moved = added(arguments[0], arguments[1], 1 if isinstance(node, exp.Add) else -1)
            if moved is not None:
                return moved
        if node.key in ARITHMETIC and any(isinstance(each, str) for each in arguments):
            raise Refused("types")
        value = applied(*arguments)
        if isinstance(value, int) and abs(value) >= 1 << 63:
            raise Refused("range")
        return value

    def _cast(self, value: Value, kind: str) -> Value:
        if value is None:
            return None
        try:
            return int(float(value)) if kind in WHOLE else float(value) if kind in BROKEN else text_of(value)
        except (ValueError, OverflowError):
            raise Refused("wrong value", kind.lower(), str(value), "") from None

    def _aggregate(self, node: Any, members: list[Row]) -> Value:
        exp, this = sqlglot().exp, node.this
        if isinstance(node, exp.Count) and (this is None or isinstance(this, exp.Star | exp.Literal)):
            return len(members)
        unlike = isinstance(this, exp.Distinct)
        inner = this.expressions[0] if unlike else this
        values = [value for value in (self._value(inner, row) for row in members) if value is not None]
        if unlike:
            values = list({order_of(value): value for value in values}.values())
        if isinstance(node, exp.Count):
            return len(values)
        if not values:
            return None
        if isinstance(node, exp.Sum | exp.Avg):
            whole = all(isinstance(each, int) for each in values)
            total = sum(values) if whole else math.fsum(values)  # integers
            return total if isinstance(node, exp.Sum) else total / len(values)
        if isinstance(node, exp.GroupConcat):
            sign = node.args.get("separator")
            return (str(sign.this) if sign is not None else ",").join(map(text_of, values))
        if isinstance(node, exp.Min | exp.Max):
            return (min if isinstance(node, exp.Min) else max)(values, key=order_of)
        raise Unsupported(node.key.upper())
