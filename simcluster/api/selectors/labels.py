"""Label selectors: parsing, and deciding whether labels are selected.

Source: k8s.io/apimachinery/pkg/labels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.api import errors


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

_TOKEN = re.compile(r"\s*(?:(==|!=|=|!|>|<|,|\(|\))|([^\s=!<>,()]+))")


def _tokens(text: str) -> list[str]:
    found, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            break
        found.append(match[1] or match[2])
        position = match.end()
    return found


class _Parser:
    """Recursive descent over the tokens of a label selector."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.position = 0

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.position += 1
        return token

    def refuse(self, found: str, expected: str) -> errors.ApiError:
        return errors.bad_request(f"unable to parse requirement: found '{found}', expected: {expected}")

    def parse(self) -> Requirements:
        found: list[Requirement] = []
        if not self.tokens:
            return ()
        while True:
            found.append(self.requirement())
            token = self.take()
            if not token:
                return tuple(sorted(found))
            if token != ",":
                raise self.refuse(token, "',' or 'end of string'")
            if not self.peek():
                raise self.refuse("", "identifier after ','")

    def requirement(self) -> Requirement:
        if self.peek() == "!":
            self.take()
            return Requirement(self.key(), "DoesNotExist")
        key = self.key()
        token = self.peek()
        if token in ("", ","):
            return Requirement(key, "Exists")
        self.take()
        if token in ("=", "=="):
            return Requirement(key, "In", (self.value(),))
        if token == "!=":
            return Requirement(key, "NotIn", (self.value(),))
        if token in ("in", "notin"):
            return Requirement(key, "In" if token == "in" else "NotIn", self.values())
        if token in (">", "<"):
            return Requirement(key, "Gt" if token == ">" else "Lt", (self.value(),))
        raise self.refuse(token, "in, notin, =, ==, !=, gt, lt")

    def key(self) -> str:
        token = self.take()
        if not token or token in ("=", "==", "!=", ">", "<", ",", "(", ")", "!"):
            raise self.refuse(token, "identifier")
        return token

    def value(self) -> str:
        if self.peek() in ("", ","):
            return ""
        token = self.take()
        if token in ("=", "==", "!=", ">", "<", "(", ")", "!"):
            raise self.refuse(token, "identifier")
        return token

    def values(self) -> tuple[str, ...]:
        token = self.take()
        if token != "(":
            raise self.refuse(token, "'('")
        values: list[str] = []
        while True:
            token = self.take()
            if token == ")":
                return tuple(sorted(values or [""]))
            if not token:
                raise self.refuse("", "',', or ')'")
            if token != ",":
                values.append(token)


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
