"""A LogQL query as a tree: log queries, and metrics made of them."""

from __future__ import annotations

from functools import lru_cache

from simcluster.telemetry.logql import syntax
from simcluster.telemetry.logql.cursor import Cursor
from simcluster.telemetry.logql.stageparsing import FILTERS, number, restricted, selector, stages
from simcluster.telemetry.logql.tokens import RANGE_OPS, VECTOR_OPS, ParseError, shown
from simcluster.telemetry.promql.regex import RegexError, anywhere
from simcluster.telemetry.promql.storage import Matcher

_RANGE = {shown(one): one for one in RANGE_OPS}
_VECTOR = {shown(one): one for one in VECTOR_OPS}
_POWERS = {
    "or": 1, "and": 2, "unless": 2, "==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3,
    "+": 4, "-": 4, "*": 5, "/": 5, "%": 5, "^": 6,
}  # fmt: skip
_WITH_PARAMETER = ("topk", "bottomk", "approx_topk")
_GROUPED = (
    "avg_over_time", "stddev_over_time", "stdvar_over_time", "quantile_over_time", "max_over_time", "min_over_time",
    "first_over_time", "last_over_time",
)  # fmt: skip
_COUNTING = ("bytes_over_time", "bytes_rate", "count_over_time", "rate", "absent_over_time")
_NOT_UNWRAPPED = ("bytes_over_time", "bytes_rate", "count_over_time")
#: How deep a query may be nested before it is refused.
_DEEPEST = 100


@lru_cache(maxsize=256)
def parse(query: str) -> syntax.Query:
    """The tree of a query.

    Raises:
        ParseError: it is none, or selects every stream.
    """
    cursor = Cursor(query)
    found = _expression(cursor, 0, 0)
    if cursor.kind != "$end":
        cursor.fail()
    _validate(found)
    return found


def parse_selector(query: str) -> tuple[Matcher, ...]:
    """The matchers of a query that has nothing else.

    Raises:
        ParseError: it is none.
    """
    cursor = Cursor(query)
    if cursor.kind != "{":
        cursor.fail()
    found = selector(cursor)
    if cursor.kind != "$end":
        if cursor.kind in ("|", *FILTERS):
            raise ParseError("only label matchers is supported")
        cursor.fail()
    restricted(found)
    return found


def _validate(query: syntax.Query) -> None:
    if isinstance(query, syntax.Selection):
        restricted(query.matchers)
    elif isinstance(query, syntax.RangeAggregation):
        restricted(query.selection.matchers)
    elif isinstance(query, syntax.VectorAggregation | syntax.LabelReplace):
        _validate(query.inner)
    elif isinstance(query, syntax.Binary):
        _validate(query.left)
        _validate(query.right)


def _expression(cursor: Cursor, least: int, depth: int) -> syntax.Query:
    if depth > _DEEPEST:
        raise ParseError("query is nested too deeply")
    left = _operand(cursor, depth + 1)
    while _POWERS.get(cursor.kind, 0) > least:
        op = cursor.advance().kind
        matching = _matching(cursor)
        right = _expression(cursor, _POWERS[op] - (op == "^"), depth + 1)
        left = syntax.Binary(op, _leg(op, "left", left), _leg(op, "right", right), matching)
        _checked_sets(left)
    return left


def _leg(op: str, side: str, found: syntax.Query) -> syntax.Metric:
    if isinstance(found, syntax.Selection):
        kind = "*syntax.PipelineExpr" if found.stages else "*syntax.MatchersExpr"
        raise ParseError(f"unexpected type for {side} leg of binary operation ({op}): {kind}")
    return found


def _checked_sets(found: syntax.Binary) -> None:
    if found.op in ("or", "and", "unless"):
        for side, leg in (("left", found.left), ("right", found.right)):
            if isinstance(leg, syntax.Number):
                raise ParseError(
                    f"unexpected literal for {side} leg of logical/set binary operation ({found.op}): {leg.value:f}"
                )
    elif found.matching.bool_result and found.op not in ("==", "!=", "<", "<=", ">", ">="):
        raise ParseError(f"unexpected bool modifier for arithmetic operation ({found.op})")


def _operand(cursor: Cursor, depth: int) -> syntax.Query:
    kind = cursor.kind
    if kind == "(":
        cursor.advance()
        found = _expression(cursor, 0, depth)
        if cursor.kind != ")":
            cursor.fail()
        cursor.advance()
        return found
    if kind == "{":
        matchers = selector(cursor)
        pipeline, unwrap = stages(cursor)
        if unwrap is not None:
            cursor.fail()
        return syntax.Selection(matchers, pipeline)
    if kind in ("NUMBER", "+", "-"):
        return syntax.Number(number(cursor))
    if kind == "VECTOR":
        cursor.advance()
        cursor.expect("(")
        if cursor.kind != "NUMBER":
            cursor.fail("NUMBER")
        value = number(cursor)
        cursor.expect(")")
        return syntax.Vector(value)
    if kind == "label_replace":
        return _label_replace(cursor, depth)
    if kind in _RANGE:
        return _range_aggregation(cursor)
    if kind in _VECTOR:
        return _vector_aggregation(cursor, depth)
    cursor.fail()


def _metric(cursor: Cursor, depth: int) -> syntax.Metric:
    token = cursor.token
    found = _expression(cursor, 0, depth)
    if isinstance(found, syntax.Selection):
        if cursor.kind == "$end" or cursor.kind == "RANGE":
            cursor.fail()
        raise ParseError(f"syntax error: unexpected {token.kind}", token.line, token.column)
    return found


def _label_replace(cursor: Cursor, depth: int) -> syntax.LabelReplace:
    cursor.advance()
    cursor.expect("(")
    inner = _metric(cursor, depth)
    texts = []
    for _ in range(4):
        cursor.expect(",")
        texts.append(cursor.expect("STRING").text)
    cursor.expect(")")
    try:
        anywhere(f"^(?:{texts[3]})$")
    except RegexError as error:
        raise ParseError(f"invalid regex in label_replace: {error}") from None
    return syntax.LabelReplace(inner, *texts)


def _grouping(cursor: Cursor) -> syntax.Grouping | None:
    if cursor.kind not in ("by", "without"):
        return None
    without = cursor.advance().kind == "without"
    return syntax.Grouping(without, _names(cursor))


def _names(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("(")
    if cursor.accept(")"):
        return ()
    found = [cursor.expect("IDENTIFIER", ")").text]
    while cursor.expect(",", ")").kind == ",":
        found.append(cursor.expect("IDENTIFIER").text)
    return tuple(found)


def _range_aggregation(cursor: Cursor) -> syntax.RangeAggregation:
    op = _RANGE[cursor.advance().kind]
    cursor.expect("(")
    parameter = None
    if cursor.kind == "NUMBER":
        parameter = number(cursor)
        cursor.expect(",")
    elif cursor.kind not in ("{", "("):
        cursor.fail("NUMBER", "{", "(")
    found = _log_range(cursor, op)
    cursor.expect(")")
    grouping = _grouping(cursor)
    if (op == "quantile_over_time") != (parameter is not None):
        if parameter is None:
            raise ParseError(f"parameter required for operation {op}")
        raise ParseError(f"parameter {parameter:g} not supported for operation {op}")
    if grouping is not None and op not in _GROUPED:
        raise ParseError(f"grouping not allowed for {op} aggregation")
    if found.unwrap is not None and op in _NOT_UNWRAPPED:
        raise ParseError(f"invalid aggregation {op} with unwrap")
    if found.unwrap is None and op not in _COUNTING:
        raise ParseError(f"invalid aggregation {op} without unwrap")
    return found._replace(grouping=grouping, parameter=parameter or 0.0)


def _log_range(cursor: Cursor, op: str) -> syntax.RangeAggregation:
    if cursor.kind == "(":
        cursor.advance()
        found = _parenthesised(cursor, op)
        return found
    if cursor.kind != "{":
        cursor.fail("{", "(")
    matchers = selector(cursor)
    before, unwrap = stages(cursor)
    if cursor.kind != "RANGE":
        cursor.fail()
    size = cursor.advance().number
    offset = _offset(cursor)
    if not before and unwrap is None:
        before, unwrap = stages(cursor)
    return syntax.RangeAggregation(op, syntax.Selection(matchers, before), size, offset, unwrap, None, 0.0)


def _parenthesised(cursor: Cursor, op: str) -> syntax.RangeAggregation:
    """After `(`: a log query whose range follows the `)`, or all of it."""
    if cursor.kind == "(":
        found = _log_range(cursor, op)
        cursor.expect(")")
        return found
    if cursor.kind != "{":
        cursor.fail("{", "(")
    matchers = selector(cursor)
    before, unwrap = stages(cursor)
    size = cursor.advance().number if cursor.kind == "RANGE" else -1
    offset = _offset(cursor) if size >= 0 else 0
    if size >= 0 and not before and unwrap is None:
        before, unwrap = stages(cursor)
    if cursor.kind != ")":
        cursor.fail(*([")"] if size >= 0 else []))
    cursor.advance()
    if size < 0:
        size = cursor.expect("RANGE").number
        offset = _offset(cursor)
    return syntax.RangeAggregation(op, syntax.Selection(matchers, before), size, offset, unwrap, None, 0.0)


def _offset(cursor: Cursor) -> int:
    return cursor.expect("DURATION").number if cursor.accept("offset") else 0


def _vector_aggregation(cursor: Cursor, depth: int) -> syntax.VectorAggregation:
    op = _VECTOR[cursor.advance().kind]
    if cursor.kind not in ("(", "by", "without"):
        cursor.fail("(", "by", "without")
    grouping = _grouping(cursor)
    cursor.expect("(")
    parameter = None
    if cursor.kind == "NUMBER" and cursor.after(1) == ",":
        parameter = cursor.advance().text
        cursor.advance()
    inner = _metric(cursor, depth)
    if cursor.kind != ")":
        cursor.fail()
    cursor.advance()
    grouping = grouping or _grouping(cursor)
    if op in ("sort", "sort_desc") and grouping is not None and grouping.labels:
        raise ParseError("sort and sort_desc doesn't allow grouping by ")
    return syntax.VectorAggregation(op, inner, grouping, _parameter(op, parameter))


def _parameter(op: str, text: str | None) -> float:
    if op not in _WITH_PARAMETER:
        if text is not None:
            raise ParseError(f"unsupported parameter for operation {op}({text},")
        return 0.0
    if text is None:
        raise ParseError(f"parameter required for operation {op}")
    if not text.isdecimal() or len(text) > 18:
        raise ParseError(f'invalid parameter {op}({text},: strconv.Atoi: parsing "{text}": invalid syntax')
    if int(text) <= 0:
        raise ParseError(f"invalid parameter (must be greater than 0) {op}({text}")
    return float(text)


def _matching(cursor: Cursor) -> syntax.Matching:
    found = syntax.Matching(bool_result=cursor.accept("bool"))
    if cursor.kind not in ("on", "ignoring"):
        return found
    on = cursor.advance().kind == "on"
    found = found._replace(on=on, labels=_names(cursor))
    if cursor.kind in ("group_left", "group_right"):
        card = cursor.advance().kind.removeprefix("group_")
        include = _names(cursor) if cursor.kind == "(" and cursor.after(1) in ("IDENTIFIER", ")") else ()
        found = found._replace(card=card, include=include)
    return found
