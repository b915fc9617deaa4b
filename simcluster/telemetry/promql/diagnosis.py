"""What is wrong with an expression, in the words of Prometheus: which word does not belong, which type was expected.

A walk over the words by the grammar and the type rules of `promql/parser` that builds nothing: the tree is the
library's, whose messages have no places and other words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from simcluster.telemetry.promql import regex
from simcluster.telemetry.promql.functiontable import FUNCTIONS
from simcluster.telemetry.promql.storage import Matcher
from simcluster.telemetry.promql.syntax import AGGREGATIONS, COMPARISONS, SET_OPERATORS, WITH_PARAMETER
from simcluster.telemetry.promql.tokens import ParseError, Token, duration_ms, parse_error, tokens, unquoted

_NAMES = {"vector": "instant vector", "matrix": "range vector", "scalar": "scalar", "string": "string"}
_BINDING = {
    "or": 1, "and": 2, "unless": 2, **dict.fromkeys(COMPARISONS, 3), "+": 4, "-": 4, "*": 5, "/": 5, "%": 5, "atan2": 5,
    "^": 6,
}  # fmt: skip
#: What fits into 64 bits: seconds of an instant, and of a duration in nanoseconds.
_MOST_SECONDS, _LONGEST_SECONDS = 2.0**63, 2.0**63 / 1e9
_KEYWORDS = ("offset", "by", "without", "on", "ignoring", "group_left", "group_right", "bool")
_WORD_OPERATORS = ("and", "or", "unless", "atan2")


class _Part(NamedTuple):
    """An expression that was read: its type, where it begins and ends, and what modifiers may follow."""

    type: str
    start: int
    end: int
    form: str = ""


def check(text: str, words: Sequence[Token], two: bool = False) -> dict[int, tuple[Matcher, ...]]:
    """The matchers of each selector, by where it begins, if the words are an expression.

    Args:
        two: whether functions have the names of 2.x.

    Raises:
        ParseError: the first thing that is wrong.
    """
    walk = _Walk(text, words, two)
    walk.expression(0)
    if walk.word.kind != "eof":
        raise walk.unexpected()
    if walk.first_wrong_type is not None:
        raise walk.first_wrong_type
    return walk.selections


def selection(text: str) -> tuple[Matcher, ...]:
    """The matchers of a series selector, as `match[]` has it.

    Raises:
        ParseError: it is none.
    """
    walk = _Walk(text, tokens(text), False)
    name = walk.next().text if walk.word.kind == "identifier" else ""
    if not name and walk.word.kind != "{":
        raise walk.unexpected()
    _, found = walk.matchers(name)
    if walk.word.kind != "eof":
        raise walk.unexpected()
    return (*found, Matcher("__name__", "=", name)) if name else tuple(found)


class _Walk:
    """Where in the words the reading is. Wrong types are reported only if the grammar holds to the end."""

    def __init__(self, text: str, words: Sequence[Token], two: bool) -> None:
        self.text, self.words, self.two = text, words, two
        self.at = self.aggregations = 0  # place among the words; aggregations in whose arguments it is
        self.first_wrong_type: ParseError | None = None
        self.selections: dict[int, tuple[Matcher, ...]] = {}

    @property
    def word(self) -> Token:
        return self.words[self.at]

    def lower(self) -> str:
        return self.word.text.lower() if self.word.kind == "identifier" else self.word.kind

    def next(self) -> Token:
        word = self.word
        self.at += 1
        return word

    def end(self) -> int:
        before = self.words[self.at - 1]
        return before.start + len(before.text)

    def unexpected(self, where: str = "", expected: str = "") -> ParseError:
        if self.word.kind == "error":
            return parse_error(self.text, self.word.start, self.word.text)
        message = f"unexpected {_described(self.word)}"
        where = where or ("aggregation" if self.aggregations else "")
        message += f" in {where}" if where else ""
        return parse_error(self.text, self.word.start, message + (f", expected {expected}" if expected else ""))

    def wrong(self, start: int, message: str) -> None:
        if self.first_wrong_type is None:
            self.first_wrong_type = parse_error(self.text, start, message)

    def need(self, kind: str, where: str = "", expected: str = "") -> Token:
        if self.word.kind != kind:
            raise self.unexpected(where, expected)
        return self.next()

    def expression(self, binding: int) -> _Part:
        lhs = self.unary()
        while (op := self.lower()) in _BINDING and _BINDING[op] > binding:
            start = self.next().start
            bound = self.lower() == "bool"
            if bound:
                self.next()
            labels, include, grouped = self.matching()
            rhs = self.expression(_BINDING[op] - (op == "^"))
            self.operator(op, start, (lhs, rhs), bound, (labels, include, grouped))
            both = {lhs.type, rhs.type}
            lhs = _Part("vector" if "vector" in both else "scalar", lhs.start, rhs.end)
        return lhs

    def operator(
        self,
        op: str,
        start: int,
        sides: tuple[_Part, _Part],
        bound: bool,
        match: tuple[list[str], list[str], bool],
    ) -> None:
        lhs, rhs = sides
        labels, include, grouped = match
        if bound and op not in COMPARISONS:
            self.wrong(start, "bool modifier can only be used on comparison operators")
        if op in COMPARISONS and not bound and lhs.type == rhs.type == "scalar":
            self.wrong(start, "comparisons between scalars must use BOOL modifier")
        for name in labels:
            if name in include:
                self.wrong(start, f'label "{name}" must not occur in ON and GROUP clause at once')
        for side in sides:
            if side.type not in ("scalar", "vector"):
                self.wrong(side.start, "binary expression must contain only scalar and instant vector types")
        vectors = lhs.type == rhs.type == "vector"
        if not vectors and labels:
            self.wrong(lhs.start, "vector matching only allowed between instant vectors")
        if vectors and op in SET_OPERATORS and grouped:
            self.wrong(lhs.start, f'no grouping allowed for "{op}" operation')
        if op in SET_OPERATORS and "scalar" in (lhs.type, rhs.type):
            self.wrong(lhs.start, f'set operator "{op}" not allowed in binary scalar expression')

    def matching(self) -> tuple[list[str], list[str], bool]:
        labels: list[str] = []
        include: list[str] = []
        grouped = False
        on = self.lower() == "on"
        if self.lower() in ("on", "ignoring"):
            self.next()
            labels = self.label_list()
            if self.lower() in ("group_left", "group_right"):
                self.next()
                grouped = True
                include = self.label_list() if self.word.kind == "(" else []
        while self.lower() in ("fill", "fill_left", "fill_right") and self.words[self.at + 1].kind == "(":
            self.next()
            self.next()
            while self.word.kind in ("-", "+", "number", "duration"):
                self.next()
            self.need(")", "fill modifier")
        return labels, include if on else [], grouped

    def label_list(self) -> list[str]:
        self.need("(", "grouping opts", '"("')
        found = []
        while self.word.kind != ")":
            if self.word.kind not in ("identifier", "string"):
                raise self.unexpected("grouping opts", "label")
            found.append(self.next().text)
            if self.word.kind != ")":
                self.need(",", "grouping opts", '"," or ")"')
        self.next()
        return found

    def unary(self) -> _Part:
        if self.word.kind not in ("-", "+"):
            return self.modified(self.primary())
        start = self.next().start
        part = self.expression(5)
        if part.type not in ("scalar", "vector"):
            self.wrong(
                start,
                "unary expression only allowed on expressions of type scalar or instant vector, got"
                f' "{_NAMES[part.type]}"',
            )
        return _Part(part.type, start, part.end)

    def modified(self, part: _Part) -> _Part:
        """Ranges, offsets and `@` after an expression."""
        while True:
            if self.word.kind == "[":
                part = self.range(part)
            elif self.lower() == "offset":
                self.next()
                if self.word.kind in ("-", "+"):
                    self.next()
                self.span("offset")
                self.must_select(part, "offset modifier")
            elif self.word.kind == "@":
                self.next()
                self.instant(part.start)
                self.must_select(part, "@ modifier")
            else:
                return part._replace(end=self.end())

    def must_select(self, part: _Part, what: str) -> None:
        if part.form not in ("selector", "range", "subquery"):
            kinds = "an instant vector selector or range vector selector or a subquery"
            self.wrong(part.start, f"{what} must be preceded by {kinds}")

    def instant(self, start: int) -> None:
        if self.lower() in ("start", "end"):
            self.next()
            self.need("(", "@", '"("')
            self.need(")", "@", '")"')
            return
        if self.word.kind in ("-", "+"):
            self.next()
        if self.word.kind not in ("number", "duration"):
            raise self.unexpected("@", "timestamp")
        word = self.next()
        seconds = _number(word.text) if word.kind == "number" else 0.0
        if not abs(seconds) < _MOST_SECONDS:
            shown = {"inf": "+Inf", "nan": "NaN"}.get(f"{seconds:f}", f"{seconds:f}")
            raise parse_error(self.text, start, f"timestamp out of bounds for @ modifier: {shown}")

    def range(self, part: _Part) -> _Part:
        bracket = self.next().start
        self.duration("subquery or range selector")
        if self.word.kind == ":":
            self.next()
            if self.word.kind != "]":
                self.duration("subquery")
            self.need("]", "subquery selector", '"]"')
            if part.type != "vector":
                got = _NAMES[part.type]
                self.wrong(part.start, f"subquery is only allowed on instant vector, got {got} instead")
            return _Part("matrix", part.start, self.end(), "subquery")
        self.need("]", "subquery or range", '":" or "]"')
        if part.form != "selector":
            self.wrong(bracket, "ranges only allowed for vector selectors")
        return _Part("matrix", part.start, self.end(), "range")

    def duration(self, where: str) -> None:
        start = self.word.start
        if self.span(where) <= 0:
            raise parse_error(self.text, start, "duration must be greater than 0")

    def span(self, where: str) -> float:
        """A duration in seconds."""
        if self.word.kind not in ("number", "duration"):
            raise self.unexpected(where, "number, duration, step(), or range()")
        word = self.next()
        seconds = duration_ms(word.text) / 1000 if word.kind == "duration" else _number(word.text)
        if not abs(seconds) <= _LONGEST_SECONDS:
            raise parse_error(self.text, word.start, "duration out of range")
        return seconds

    def primary(self) -> _Part:
        word = self.word
        if word.kind in ("number", "duration"):
            self.next()
            if word.kind == "number" and word.text[0] in ".0123456789" and _number(word.text) == math.inf:
                problem = f'error parsing number: strconv.ParseFloat: parsing "{word.text}": value out of range'
                raise parse_error(self.text, word.start, problem)
            return _Part("scalar", word.start, self.end())
        if word.kind == "string":
            self.next()
            return _Part("string", word.start, self.end())
        if word.kind == "(":
            self.next()
            inner = self.expression(0)
            self.need(")")
            return _Part(inner.type, word.start, self.end(), "paren")
        if word.kind == "{":
            return self.selector("")
        if word.kind != "identifier" or self.lower() in _KEYWORDS or self.lower() in _WORD_OPERATORS:
            raise self.unexpected()
        following = self.words[self.at + 1]
        if self.lower() in AGGREGATIONS and (following.kind == "(" or following.text.lower() in ("by", "without")):
            return self.aggregate()
        if following.kind == "(":
            return self.call()
        self.next()
        return self.selector(word.text)

    def selector(self, name: str) -> _Part:
        start, matchers = self.matchers(name)
        self.selections[start] = (*matchers, Matcher("__name__", "=", name)) if name else tuple(matchers)
        twice = [one for one in matchers if one.name == "__name__"]
        if name and twice:
            self.wrong(start, f'metric name must not be set twice: "{name}" or "{twice[0].value}"')
        elif not name and all(matches_empty(one) for one in matchers):
            self.wrong(start, "vector selector must contain at least one non-empty matcher")
        return _Part("vector", start, self.end(), "selector")

    def matchers(self, name: str) -> tuple[int, list[Matcher]]:
        start = self.words[self.at - 1].start if name else self.word.start
        matchers: list[Matcher] = []
        if self.word.kind == "{":
            self.next()
            while self.word.kind != "}":
                matchers.append(self.matcher())
                if self.word.kind != "}":
                    self.need(",", "label matching", '"," or "}"')
            self.next()
        return start, matchers

    def matcher(self) -> Matcher:
        if self.word.kind not in ("identifier", "string"):
            raise self.unexpected("label matching", 'identifier or "}"')
        word = self.next()
        if word.kind == "string" and self.word.kind in (",", "}"):
            return Matcher("__name__", "=", unquoted(word.text))
        if self.word.kind not in ("=", "!=", "=~", "!~"):
            raise self.unexpected("label matching", "label matching operator")
        op = self.next().kind
        if self.word.kind != "string":
            raise self.unexpected("label matching", "string")
        name = unquoted(word.text) if word.kind == "string" else word.text
        raw = self.next().text
        if op in ("=~", "!~"):
            try:
                regex.compiled(unquoted(raw))
            except regex.RegexError as error:
                raise parse_error(self.text, word.start, str(error)) from None
        return Matcher(name, op, unquoted(raw))

    def arguments(self, where: str) -> list[_Part]:
        self.need("(", where)
        found: list[_Part] = []
        while self.word.kind != ")":
            found.append(self.expression(0))
            if self.word.kind == ",":
                comma = self.next().start
                if self.word.kind == ")":
                    raise parse_error(self.text, comma, "trailing commas not allowed in function call args")
            elif self.word.kind != ")":
                raise self.unexpected(where)
        self.next()
        return found

    def expect(self, part: _Part, kind: str, where: str) -> None:
        if part.type != kind:
            self.wrong(part.start, f"expected type {_NAMES[kind]} in {where}, got {_NAMES[part.type]}")

    def aggregate(self) -> _Part:
        word = self.next()
        before = self.lower() in ("by", "without")
        if before:
            self.next()
            self.label_list()
        self.aggregations += 1
        args = self.arguments("aggregation")
        self.aggregations -= 1
        if not before and self.lower() in ("by", "without"):
            self.next()
            self.label_list()
        op, wanted = word.text.lower(), 2 if word.text.lower() in WITH_PARAMETER else 1
        if not args:
            raise parse_error(self.text, word.start, "no arguments for aggregate expression provided")
        if len(args) != wanted:
            raise parse_error(
                self.text,
                word.start,
                f"wrong number of arguments for aggregate expression provided, expected {wanted}, got {len(args)}",
            )
        self.expect(args[-1], "vector", "aggregation expression")
        if wanted == 2:
            self.expect(args[0], "string" if op == "count_values" else "scalar", "aggregation parameter")
        return _Part("vector", word.start, self.end())

    def call(self) -> _Part:
        word = self.next()
        name = word.text
        if self.two and name == "holt_winters":
            name = "double_exponential_smoothing"
        signature = FUNCTIONS.get(name)
        if name.lower() in ("start", "end"):  # words of `@`
            raise self.unexpected()
        if signature is None:
            raise parse_error(self.text, word.start, f'unknown function with name "{name}"')
        args = self.arguments("")
        count, most = len(signature.args), len(signature.args) - 1 + signature.variadic
        if signature.variadic == 0:
            if len(args) != count:
                self.wrong(word.start, f'expected {count} argument(s) in call to "{name}", got {len(args)}')
        elif len(args) < count - 1:
            self.wrong(word.start, f'expected at least {count - 1} argument(s) in call to "{name}", got {len(args)}')
        elif signature.variadic > 0 and len(args) > most:
            self.wrong(word.start, f'expected at most {most} argument(s) in call to "{name}", got {len(args)}')
        for index, arg in enumerate(args):
            if signature.args and (index < count or signature.variadic):
                kind = signature.args[min(index, count - 1)]
                self.expect(arg, kind, f'call to function "{name}"')
        return _Part(signature.returns, word.start, self.end())


def _number(text: str) -> float:
    plain = text.replace("_", "").lower()
    return float(int(plain, 16)) if plain.startswith("0x") else float(plain)


def matches_empty(one: Matcher) -> bool:
    """Whether a matcher holds for a label that is absent."""
    if one.op in ("=", "!="):
        return (one.value == "") == (one.op == "=")
    return (regex.compiled(one.value).match("") is not None) == (one.op == "=~")


def _described(word: Token) -> str:
    lower = word.text.lower()
    if word.kind == "eof":
        return "end of input"
    if word.kind == "identifier":
        if lower in AGGREGATIONS:
            return f"<aggr:{word.text}>"
        if lower in _WORD_OPERATORS:
            return f"<op:{word.text}>"
        if lower in _KEYWORDS:
            return f"<{word.text}>"
        return f'identifier "{word.text}"'
    if word.kind in ("number", "duration"):
        return f'{word.kind} "{word.text}"'
    if word.kind == "string":
        return 'string "' + word.text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if word.kind in _BINDING or word.kind in ("=~", "!~"):
        return f"<op:{word.text}>"
    return f'"{word.text}"'
