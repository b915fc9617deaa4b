"""Operations on two metrics, or a metric and a number."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

import numpy as np

from simcluster.telemetry.logql.context import QueryError, Row, Rows
from simcluster.telemetry.logql.syntax import Binary, Matching
from simcluster.telemetry.promql.elementary import power
from simcluster.telemetry.promql.storage import Labels

_MANY = "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)"
_TWICE = (
    "found duplicate series on the {side} hand-side;many-to-many matching not allowed: "
    "matching labels must be unique on one side"
)


def _power(a: float, b: float) -> float:
    return float(power(np.array([a]), np.array([b]))[0])


def _divide(a: float, b: float) -> float:
    return math.nan if b == 0 else a / b


def _modulo(a: float, b: float) -> float:
    return math.nan if b == 0 or math.isinf(a) else math.fmod(a, b)


ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divide, "%": _modulo, "^": _power,
}  # fmt: skip
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip


def applied(node: Binary, left: Rows | float, right: Rows | float) -> Rows | float:
    """The result of an operation whose sides are known.

    Raises:
        QueryError: series do not meet as they have to.
    """
    if isinstance(left, float) and isinstance(right, float):
        value = _value(node, left, right, left)
        return 0.0 if value is None else value
    if isinstance(right, float):
        assert isinstance(left, dict)
        return _clean({labels: [_one(node, value, right, value) for value in row] for labels, row in left.items()})
    if isinstance(left, float):
        return _clean({labels: [_one(node, left, value, value) for value in row] for labels, row in right.items()})
    if node.op in ("and", "or", "unless"):
        return _sets(node, left, right)
    return _matched(node, left, right)


def _one(node: Binary, left: float | None, right: float | None, kept: float | None) -> float | None:
    return None if left is None or right is None or kept is None else _value(node, left, right, kept)


def _value(node: Binary, left: float, right: float, kept: float) -> float | None:
    """A comparison without `bool` gives what it keeps, or nothing; of two numbers, 1 or 0."""
    if node.op in ARITHMETIC:
        return ARITHMETIC[node.op](left, right)
    passes = COMPARISONS[node.op](left, right)
    if node.matching.bool_result:
        return 1.0 if passes else 0.0
    return kept if passes else None


def _clean(rows: Rows) -> Rows:
    return {labels: row for labels, row in rows.items() if any(value is not None for value in row)}


def _key(matching: Matching, labels: Labels) -> Labels:
    return tuple([item for item in labels if (item[0] in matching.labels) == matching.on])


def _sets(node: Binary, left: Rows, right: Rows) -> Rows:
    steps = len(next(iter((left or right or {(): []}).values())))
    there = {key: [False] * steps for key in (_key(node.matching, labels) for labels in (*left, *right))}
    found: Rows = {}
    counted = left if node.op == "or" else right
    for labels, row in counted.items():
        marks = there[_key(node.matching, labels)]
        for at, value in enumerate(row):
            marks[at] = marks[at] or value is not None
    if node.op == "or":
        found.update(left)
        for labels, row in right.items():
            marks = there[_key(node.matching, labels)]
            own = found.get(labels, [None] * steps)
            found[labels] = [
                old if old is not None else None if marks[at] else value
                for at, (old, value) in enumerate(zip(own, row, strict=True))
            ]
        return _clean(found)
    wanted = node.op == "and"
    for labels, row in left.items():
        marks = there[_key(node.matching, labels)]
        found[labels] = [value if marks[at] == wanted else None for at, value in enumerate(row)]
    return _clean(found)


def _matched(node: Binary, left: Rows, right: Rows) -> Rows:
    matching = node.matching
    swapped = matching.card == "right"
    many, one = (right, left) if swapped else (left, right)
    partners: dict[Labels, list[tuple[Labels, Row]]] = {}
    for labels, row in sorted(one.items()):
        partners.setdefault(_key(matching, labels), []).append((labels, row))
    found: Rows = {}
    for labels, row in sorted(many.items()):
        for other, values in partners.get(_key(matching, labels), ()):
            result = _result(matching, labels, other)
            own = found.setdefault(result, [None] * len(row))
            for at, (mine, theirs) in enumerate(zip(row, values, strict=True)):
                if mine is None or theirs is None:
                    continue
                if sum(each[at] is not None for _, each in partners[_key(matching, labels)]) > 1:  # integers
                    raise QueryError(_TWICE.format(side="left" if swapped else "right"))
                value = _value(node, theirs, mine, mine) if swapped else _value(node, mine, theirs, mine)
                if value is not None:
                    if own[at] is not None:
                        raise QueryError(_MANY)
                    own[at] = value
    return _clean(found)


def _result(matching: Matching, many: Labels, one: Labels) -> Labels:
    if matching.card == "one":
        return _key(matching, many)
    known = dict(many)
    theirs = dict(one)
    for name in matching.include:
        known.pop(name, None)
        if theirs.get(name):
            known[name] = theirs[name]
    return tuple(sorted(known.items()))
