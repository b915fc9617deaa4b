"""Label selectors: the one parser, and deciding whether labels are selected.

Source: k8s.io/apimachinery/pkg/labels/selector.go; the texts of its errors are kept, `<nil>` included.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.api import errors, names

_SETS = {"In": "in", "NotIn": "notin"}
_ORDERS = {"Gt": ">", "Lt": "<"}
#: Operators as they are written, by how they are called here; `=`, `==` and `!=` are called what they are.
_WRITTEN = {**_SETS, **_ORDERS, "=": "=", "==": "==", "!=": "!="}
_OPERATORS = {written: called for called, written in _WRITTEN.items()}
_INTEGER = re.compile(r"[+-]?[0-9]+")


class Requirement(NamedTuple):
    """One term; `op` is one of In, NotIn, Exists, DoesNotExist, Gt, Lt, =, ==, !=. Any other selects nothing."""

    key: str
    op: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels satisfy the term."""
        value, op = labels.get(self.key), self.op
        if op in ("In", "=", "=="):
            return value is not None and value in self.values
        if op in ("NotIn", "!="):
            return value is None or value not in self.values
        if op == "Exists":
            return value is not None
        if op == "DoesNotExist":
            return value is None
        found, bound = _integer(value), _integer(self.values[0] if len(self.values) == 1 else None)
        if found is None or bound is None:
            return False
        return found > bound if op == "Gt" else op == "Lt" and found < bound

    def __str__(self) -> str:
        if self.op not in _WRITTEN:
            return f"!{self.key}" if self.op == "DoesNotExist" else self.key
        values = ",".join(sorted(self.values))
        written = _WRITTEN[self.op]
        return f"{self.key} {written} ({values})" if self.op in _SETS else f"{self.key}{written}{values}"


Requirements = tuple[Requirement, ...]


def _integer(text: str | None) -> int | None:
    """A number of 64 bits, as strconv.ParseInt reads it."""
    if text is None or not _INTEGER.fullmatch(text):
        return None
    value = int(text) if len(text) < 32 else 1 << 63
    return value if -(1 << 63) <= value < 1 << 63 else None


_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!><,()])|([^ \t\r\n=!<>,()]+))")


class _Refused(Exception):
    """A term cannot be read."""


def _expected(found: str, expected: str) -> _Refused:
    return _Refused(f"found '{found}', expected: {expected}")


class _Parser:
    """Recursive descent over the tokens of a label selector."""

    def __init__(self, text: str) -> None:
        self.tokens = [match[1] or match[2] for match in _TOKEN.finditer(text)]
        self.position = 0

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.position += 1
        return token

    def parse(self) -> Requirements:
        found: list[Requirement] = []
        while self.peek():
            if self.peek() != "!" and not _is_identifier(self.peek()):
                raise _expected(self.peek(), "!, identifier, or 'end of string'")
            try:
                found.append(self.requirement())
            except _Refused as why:
                raise _Refused(f"unable to parse requirement: {why}") from None
            token = self.take()
            if token not in ("", ","):
                raise _expected(token, "',' or 'end of string'")
            if token and self.peek() != "!" and not _is_identifier(self.peek()):
                raise _expected(self.peek(), "identifier after ','")
        return tuple(sorted(found, key=lambda term: term.key))

    def requirement(self) -> Requirement:
        is_denied = self.peek() == "!"
        if is_denied:
            self.take()
        key = self.take()
        if not _is_identifier(key):
            raise _expected(key, "identifier")
        problems = names.qualified_name(key)
        if problems:
            raise _Refused(f"<nil>: Invalid value: {json.dumps(key, ensure_ascii=False)}: {'; '.join(problems)}")
        if is_denied or self.peek() in ("", ","):
            return Requirement(key, "DoesNotExist" if is_denied else "Exists")
        token = self.take()
        op = _OPERATORS.get(token)
        if op is None:
            raise _expected(token, "in, notin, =, ==, !=, gt, lt")
        values = self.values() if op in _SETS else (self.value(),)
        _check_values(key, op, values)
        return Requirement(key, op, values)

    def value(self) -> str:
        if self.peek() in ("", ","):
            return ""
        token = self.take()
        if not _is_identifier(token):
            raise _expected(token, "identifier")
        return token

    def values(self) -> tuple[str, ...]:
        token = self.take()
        if token != "(":
            raise _Refused(f"found '{token}' expected: '('")  # without a comma
        if self.peek() not in (")", ",") and not _is_identifier(self.peek()):
            raise _expected(self.peek(), "',', ')' or identifier")
        found: dict[str, None] = {}
        before = ","  # a comma with nothing on one side stands beside an empty value
        while True:
            token = self.take()
            if token in (",", ")"):
                if before == ",":
                    found[""] = None
                if token == ")":
                    return tuple(sorted(found))
            elif not _is_identifier(token):
                raise _expected(token, "',', or identifier" if before == "," else "',' or ')'")
            elif before != ",":
                raise _expected(token, "',' or ')'")
            else:
                found[token] = None
            before = token


def _is_identifier(token: str) -> bool:
    return bool(token) and token[0] not in "=!<>,()"


def _check_values(key: str, op: str, values: Sequence[str]) -> None:
    """Refuse values that no label can have, and bounds that are no numbers."""
    causes = []
    for index, value in enumerate(values):
        if op in _ORDERS and _integer(value) is None:
            why = "for 'Gt', 'Lt' operators, the value must be an integer"
            causes.append(f"values[{index}]: Invalid value: {json.dumps(value, ensure_ascii=False)}: {why}")
    for index, value in enumerate(values):
        problems = names.label_value(value)
        if problems:
            shown = json.dumps(value, ensure_ascii=False)
            causes.append(f"values[{index}][{key}]: Invalid value: {shown}: {'; '.join(problems)}")
    if causes:
        raise _Refused(causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]")


def parse_labels(text: str) -> Requirements:
    """Requirements of a `labelSelector` parameter, by key. Raises ApiError 400.

    >>> [str(term) for term in parse_labels("tier notin (db),app=geo,cores>3")]
    ['app=geo', 'cores>3', 'tier notin (db)']
    """
    try:
        return _Parser(text).parse()
    except _Refused as why:
        raise errors.bad_request(str(why)) from None


def of_label_selector(selector: Mapping[str, Any] | None) -> Requirements:
    """Requirements of a `metav1.LabelSelector` (`matchLabels`, `matchExpressions`)."""
    if not selector:
        return ()
    found = [Requirement(key, "=", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for term in selector.get("matchExpressions") or ():
        found.append(Requirement(term.get("key", ""), term.get("operator", ""), tuple(term.get("values") or ())))
    return tuple(found)


def matches(requirements: Sequence[Requirement], labels: Mapping[str, str]) -> bool:
    """Whether the labels satisfy every requirement."""
    return all(requirement.matches(labels) for requirement in requirements)


def label_text(requirements: Sequence[Requirement]) -> str:
    """The selector as text, as in `status.selector` of a Scale.

    >>> label_text(parse_labels("b in (y,x),a=1,!c"))
    'a=1,b in (x,y),!c'
    """
    return ",".join(map(str, sorted(requirements, key=lambda term: term.key)))


def format_selector(selector: Mapping[str, Any] | None) -> str:
    """A `metav1.LabelSelector` as printers show it (metav1.FormatLabelSelector).

    >>> format_selector({"matchLabels": {"b": "1"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]})
    'a,b=1'
    """
    terms = of_label_selector(selector)
    if any(term.op not in ("Exists", "DoesNotExist", "In", "NotIn", "=") for term in terms):
        return "<error>"
    return label_text(terms) or "<none>"
