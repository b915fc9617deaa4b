"""Label selectors: parsing, and deciding whether labels are selected.

Source: k8s.io/apimachinery/pkg/labels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.api import errors, names
from simcluster.api.errors import ApiError


class Requirement(NamedTuple):
    """One term of a label selector; `op` is one of In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    op: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels satisfy the term."""
        value = labels.get(self.key)
        if self.op == "In":
            return value is not None and value in self.values
        if self.op == "NotIn":
            return value is None or value not in self.values
        if self.op == "Exists":
            return value is not None
        if self.op == "DoesNotExist":
            return value is None
        if value is None or not value.lstrip("-").isdecimal():
            return False
        bound = int(self.values[0])
        return int(value) > bound if self.op == "Gt" else int(value) < bound


Requirements = tuple[Requirement, ...]

#: Symbols, longest first; `in` and `notin` are words like others but where an operator stands.
_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|=|!|>|<|,|\(|\))|([^ \t\r\n=!<>,()]+))")
_SYMBOLS = ("=", "==", "!=", ">", "<", ",", "(", ")", "!", "")
_OPERATORS = {"=": "In", "==": "In", "in": "In", "!=": "NotIn", "notin": "NotIn", ">": "Gt", "<": "Lt"}


class _Parser:
    """Recursive descent over the tokens of a label selector; an empty token is the end."""

    def __init__(self, text: str) -> None:
        self.tokens = [symbol or word for symbol, word in _TOKEN.findall(text)]
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
            if self.peek() in _SYMBOLS and self.peek() != "!":
                raise _found(self.peek(), "!, identifier, or 'end of string'")
            try:
                found.append(self.requirement())
            except ApiError as error:
                raise errors.bad_request(f"unable to parse requirement: {error.message}") from None
            token = self.take()
            if token not in ("", ","):
                raise _found(token, "',' or 'end of string'")
            if token and self.peek() in _SYMBOLS and self.peek() != "!":
                raise _found(self.peek(), "identifier after ','")
        return tuple(sorted(found))

    def requirement(self) -> Requirement:
        absent = self.peek() == "!"
        if absent:
            self.take()
        key = self.take()
        if key in _SYMBOLS:
            raise _found(key, "identifier")
        _refuse("<nil>", key, names.qualified_name(key))
        if absent or self.peek() in ("", ","):
            return Requirement(key, "DoesNotExist" if absent else "Exists")
        symbol = self.take()
        if symbol not in _OPERATORS:
            raise _found(symbol, "in, notin, =, ==, !=, gt, lt")
        values = self.values() if symbol in ("in", "notin") else (self.value(),)
        for index, value in enumerate(values):
            if symbol in (">", "<") and not _INTEGER.fullmatch(value):
                _refuse(f"values[{index}]", value, ("for 'Gt', 'Lt' operators, the value must be an integer",))
            _refuse(f"values[{index}][{key}]", value, names.label_value(value))
        return Requirement(key, _OPERATORS[symbol], values)

    def value(self) -> str:
        if self.peek() in ("", ","):
            return ""
        token = self.take()
        if token in _SYMBOLS:
            raise _found(token, "identifier")
        return token

    def values(self) -> tuple[str, ...]:
        token = self.take()
        if token != "(":
            raise errors.bad_request(f"found '{token}' expected: '('")
        if self.peek() in _SYMBOLS and self.peek() not in (",", ")"):
            raise _found(self.peek(), "',', ')' or identifier")
        found: dict[str, None] = {}
        word = ""
        while True:
            token = self.take()
            if token in (",", ")"):
                found[word] = None
                if token == ")":
                    return tuple(sorted(found))
                word = ""
            elif token in _SYMBOLS:
                raise _found(token, "',' or ')'" if word else "',', or identifier")
            elif word:
                raise _found(token, "',' or ')'")
            else:
                word = token


_INTEGER = re.compile(r"[-+]?[0-9]{1,19}")


def _found(token: str, expected: str) -> ApiError:
    return errors.bad_request(f"found '{token}', expected: {expected}")


def _refuse(path: str, value: str, why: Sequence[str]) -> None:
    if why:
        raise errors.bad_request(f"{path}: Invalid value: {json.dumps(value, ensure_ascii=False)}: {'; '.join(why)}")


def parse_labels(text: str) -> Requirements:
    """Requirements of a `labelSelector` parameter. Raises ApiError 400.

    >>> parse_labels("app=geo,tier notin (db)")[1].op
    'NotIn'
    """
    return _Parser(text).parse()


def of_label_selector(selector: Mapping[str, Any] | None) -> Requirements:
    """Requirements of a `metav1.LabelSelector` (`matchLabels`, `matchExpressions`)."""
    if not selector:
        return ()
    found = [Requirement(key, "In", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        found.append(Requirement(expression["key"], expression["operator"], tuple(expression.get("values") or ())))
    return tuple(found)


def matches(requirements: Sequence[Requirement], labels: Mapping[str, str]) -> bool:
    """Whether the labels satisfy every requirement."""
    return all(requirement.matches(labels) for requirement in requirements)


def label_text(requirements: Sequence[Requirement]) -> str:
    """The selector as text, as in `status.selector` of a Scale.

    >>> label_text(parse_labels("b in (y,x),a=1,!c"))
    'a=1,b in (x,y),!c'
    """
    return ",".join(_requirement_text(r) for r in sorted(requirements))


def _requirement_text(r: Requirement) -> str:
    if r.op == "Exists":
        return r.key
    if r.op == "DoesNotExist":
        return f"!{r.key}"
    if r.op in ("Gt", "Lt"):
        return f"{r.key}{'>' if r.op == 'Gt' else '<'}{r.values[0]}"
    if r.op == "In" and len(r.values) == 1:
        return f"{r.key}={r.values[0]}"
    if r.op == "NotIn" and len(r.values) == 1:
        return f"{r.key}!={r.values[0]}"
    return f"{r.key} {'in' if r.op == 'In' else 'notin'} ({','.join(sorted(r.values))})"
