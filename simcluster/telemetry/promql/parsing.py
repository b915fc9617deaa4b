"""From text to our tree: the parser library's tree, completed with positions from the words of the text.

The library folds `+x` into `x`, cuts negative `@` instants at zero and takes bytes for letters; the last two are mended
from the words. Old names that 3.x renamed are accepted where `two` says that the server is one of 2.x.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import promql_parser

from simcluster.telemetry.promql import diagnosis
from simcluster.telemetry.promql.storage import Matcher
from simcluster.telemetry.promql.syntax import (
    AGGREGATIONS,
    Aggregate,
    At,
    Binary,
    Call,
    Expr,
    Matching,
    MatrixSelector,
    Number,
    Paren,
    Selector,
    String,
    Subquery,
    Unary,
)
from simcluster.telemetry.promql.tokens import ParseError, Token, duration_ms, parse_error, tokens, unquoted

_CARDS = {
    "OneToOne": "one-to-one",
    "ManyToOne": "many-to-one",
    "OneToMany": "one-to-many",
    "ManyToMany": "many-to-many",
}
#: Words before a list of labels.
_LISTS = ("by", "without", "on", "ignoring", "group_left", "group_right")
_FILLS = ("fill", "fill_left", "fill_right")
#: An instant that is farther away is looked for there: nothing is kept so far.
_FARTHEST_MS = 2**61
_OPERATORS = ("and", "or", "unless", "atan2", "bool", "offset")
#: The library recurses on the machine's stack and would fall through it; nesting ends in Python's own limit before.
MAX_WORDS = 2_000
TOO_DEEP = "expression is too long or nested too deeply"
#: Names of 2.x that 3.x gave up.
RENAMED = {"holt_winters": "double_exponential_smoothing"}


class _Places(NamedTuple):
    """Offsets of things in the order of the text, and what the library loses or mistakes."""

    matchers: dict[int, tuple[Matcher, ...]]

    selectors: Iterator[int]
    calls: Iterator[int]
    aggregates: Iterator[int]
    numbers: Iterator[int]
    strings: Iterator[Token]
    parens: Iterator[int]
    instants: Iterator[At]


@lru_cache(maxsize=1024)
def parse(text: str, two: bool = False) -> Expr:
    """The tree of an expression.

    Args:
        two: whether functions have the names that they had in 2.x.

    Raises:
        ParseError: in Prometheus' words.
    """
    words = tokens(text)
    if len(words) > MAX_WORDS:
        raise ParseError(f"unknown position: parse error: {TOO_DEEP}")
    if words[0].kind == "eof":
        raise ParseError("unknown position: parse error: no expression found in input")
    try:
        matchers = diagnosis.check(text, words, two)
        tree = promql_parser.parse(_accepted(words))
        return _expr(tree, _places(words, matchers))
    except RecursionError:
        raise ParseError(f"unknown position: parse error: {TOO_DEEP}") from None
    except (ValueError, OverflowError) as error:
        raise error if isinstance(error, ParseError) else parse_error(text, 0, str(error)) from None


def _accepted(words: list[Token]) -> str:
    """The text as the library takes it: comments away, names and numbers in the forms that it knows."""
    shown = []
    for before, word in zip([Token("eof", "", 0), *words], words, strict=False):
        text = word.text
        if word.kind == "number":
            text = text.replace("_", "")
        elif word.kind == "identifier" and text in RENAMED and before.kind != "{":
            text = RENAMED[text]
        shown.append(text)
    return " ".join(shown)


def _places(words: list[Token], matchers: dict[int, tuple[Matcher, ...]]) -> _Places:
    found: dict[str, list[Any]] = {name: [] for name in _Places._fields[1:]}
    index = 0
    while words[index].kind != "eof":
        word, after = words[index], words[index + 1]
        if word.kind == "identifier":
            lower = word.text.lower()
            if lower in (*_LISTS, *_FILLS) and after.kind == "(":
                index = _closing(words, index + 1)
            elif lower == "offset":
                index += 2 if after.kind in "+-" else 1
            elif lower in AGGREGATIONS and (after.kind == "(" or after.text.lower() in ("by", "without")):
                found["aggregates"].append(word.start)
                index = _skip_list(words, index + 1)
            elif after.kind == "(" and lower not in _OPERATORS:
                found["calls"].append(word.start)
                index += 1
            elif lower not in (*_OPERATORS, *_LISTS):
                found["selectors"].append(word.start)
                index = _closing(words, index + 1) if after.kind == "{" else index
        elif word.kind == "{":
            found["selectors"].append(word.start)
            index = _closing(words, index)
        elif word.kind == "[":
            index = _closing(words, index)
        elif word.kind == "@":
            instant, index = _instant(words, index + 1)
            found["instants"].append(instant)
        elif word.kind in ("number", "duration"):
            found["numbers"].append(word.start)
        elif word.kind == "string":
            found["strings"].append(word)
        elif word.kind == "(":
            found["parens"].append(word.start)
        index += 1
    return _Places(matchers, **{name: iter(each) for name, each in found.items()})


def _skip_list(words: list[Token], index: int) -> int:
    """Index of the parenthesis that opens the arguments of an aggregation."""
    if words[index].kind == "(":
        return index
    return _closing(words, index + 1) + 1


def _closing(words: list[Token], index: int) -> int:
    depth = 0
    for at in range(index, len(words)):
        depth += (words[at].kind in "([{") - (words[at].kind in ")]}")
        if depth == 0:
            return at
    raise AssertionError("brackets match, or there had been an error")


def _instant(words: list[Token], index: int) -> tuple[At, int]:
    word = words[index]
    if word.kind == "identifier":
        return ("start" if word.text.lower() == "start" else "end"), index + 2
    sign = -1 if word.kind == "-" else 1
    if word.kind in ("-", "+"):
        index += 1
        word = words[index]
    ms = duration_ms(word.text) if word.kind == "duration" else number(word.text) * 1000
    return max(-_FARTHEST_MS, min(_FARTHEST_MS, round(sign * ms))), index


def number(text: str) -> float:
    """A numeric literal."""
    plain = text.replace("_", "")
    return float(int(plain, 16)) if plain[:2].lower() == "0x" else float(plain)


def _expr(node: Any, places: _Places) -> Expr:
    kind = type(node).__name__
    if kind == "NumberLiteral":
        return Number(node.val, next(places.numbers, 0))
    if kind == "StringLiteral":
        word = next(places.strings)
        return String(unquoted(word.text), word.start)
    if kind == "VectorSelector":
        return _selector(node, places)
    if kind == "MatrixSelector":
        selector = _selector(node.vector_selector, places)
        return MatrixSelector(selector, _ms(node.range), selector.start)
    if kind == "SubqueryExpr":
        inner = _expr(node.expr, places)
        step = None if node.step is None else _ms(node.step)
        return Subquery(inner, _ms(node.range), step, _offset(node.offset), _at(node.at, places), inner.start)
    if kind == "ParenExpr":
        start = next(places.parens, 0)
        return Paren(_expr(node.expr, places), start)
    if kind == "UnaryExpr":
        inner = _expr(node.expr, places)
        return Unary("-", inner, max(0, inner.start - 1))
    if kind == "BinaryExpr":
        lhs = _expr(node.lhs, places)
        return _binary(node, lhs, _expr(node.rhs, places))
    if kind == "AggregateExpr":
        start = next(places.aggregates, 0)
        param = None if node.param is None else _expr(node.param, places)
        grouping = () if node.modifier is None else tuple(node.modifier.labels)
        without = node.modifier is not None and str(node.modifier.type).endswith("Without")
        return Aggregate(str(node.op), _expr(node.expr, places), param, grouping, without, start)
    assert kind == "Call", kind
    start = next(places.calls, 0)
    return Call(node.func.name, tuple(_expr(each, places) for each in node.args), start)


def _selector(node: Any, places: _Places) -> Selector:
    start = next(places.selectors)
    matchers = places.matchers[start]
    return Selector(node.name or "", matchers, _offset(node.offset), _at(node.at, places), start)


def _binary(node: Any, lhs: Expr, rhs: Expr) -> Binary:
    op, modifier = str(node.op), node.modifier
    card = "many-to-many" if op in ("and", "or", "unless") else "one-to-one"
    if modifier is None:
        return Binary(op, lhs, rhs, False, Matching(card), lhs.start)
    labels, on = (), False
    if modifier.matching is not None:
        labels = tuple(modifier.matching.labels)
        on = str(modifier.matching.type).endswith("Include")
    if card == "one-to-one":
        card = _CARDS[str(modifier.card).rpartition(".")[2]]
    fill = modifier.fill_values
    matching = Matching(
        card,
        labels,
        on,
        tuple(modifier.group_labels or ()),
        None if fill is None else fill.lhs,
        None if fill is None else fill.rhs,
    )
    return Binary(op, lhs, rhs, bool(modifier.return_bool), matching, lhs.start)


def _ms(duration: Any) -> int:
    return int(duration.days * 86_400_000 + duration.seconds * 1000 + round(duration.microseconds / 1000))


def _offset(duration: Any) -> int:
    return 0 if duration is None else _ms(duration)


def _at(at: Any, places: _Places) -> At:
    return None if at is None else next(places.instants)
