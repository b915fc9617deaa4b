"""Label and field selectors: parsing, and deciding whether an object is selected.

Sources: k8s.io/apimachinery/pkg/labels and pkg/fields; the fields of each kind are those
of the conversion functions registered in k8s.io/kubernetes/pkg/apis.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.api import errors
from simcluster.api.objects import Json, labels_of


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


class FieldTerm(NamedTuple):
    """One term of a field selector."""

    path: str
    equal: bool
    value: str


_FIELD_TERM = re.compile(r"((?:[^\\=!,]|\\.|!(?!=))*)(==|!=|=)((?:[^\\,]|\\.)*)")

_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_FIELDS: dict[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    "events": (
        *(f"involvedObject.{name}" for name in _INVOLVED),
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "secrets": ("type",),
    "namespaces": ("status.phase",),
    "nodes": ("spec.unschedulable",),
    "services": ("spec.clusterIP", "spec.type"),
    "replicationcontrollers": ("status.replicas",),
    "jobs.batch": ("status.successful",),
    "certificatesigningrequests.certificates.k8s.io": ("spec.signerName",),
}
_EVERYWHERE = ("metadata.name", "metadata.namespace")


def parse_fields(
    resource: str, kind: str, text: str, selectable: tuple[str, ...] | None = None
) -> tuple[FieldTerm, ...]:
    """Terms of a `fieldSelector` parameter for a resource. Raises ApiError 400.

    Args:
        selectable: the fields of a custom resource that its definition lets be selected; None for built-in ones.
    """
    terms: list[FieldTerm] = []
    for part in _split_terms(text):
        match = _FIELD_TERM.fullmatch(part)
        if match is None:
            raise errors.bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        path = match[1]
        if selectable is not None and path not in (*_EVERYWHERE, *selectable):
            raise errors.bad_request(f"field label not supported: {path}")
        if selectable is None and path not in _EVERYWHERE and path not in _FIELDS.get(resource, ()):
            raise errors.bad_request(_unknown_field(resource, kind, path))
        terms.append(FieldTerm(path, match[2] != "!=", re.sub(r"\\(.)", r"\1", match[3])))
    return tuple(terms)


def _split_terms(text: str) -> list[str]:
    return [part for part in re.split(r"(?<!\\),", text) if part]


def _unknown_field(resource: str, kind: str, path: str) -> str:
    if resource == "jobs.batch":
        return f'field label "{path}" not supported for {kind}'
    if resource in _FIELDS:
        return f"field label not supported: {path}"
    return f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def field_value(obj: Mapping[str, Any], path: str) -> str:
    """The text a field selector compares with."""
    if path == "source":
        return str((obj.get("source") or {}).get("component") or obj.get("reportingComponent") or "")
    if path == "status.successful":
        return str((obj.get("status") or {}).get("succeeded", 0))
    if path == "status.podIPs":
        return ",".join(entry["ip"] for entry in (obj.get("status") or {}).get("podIPs") or ())
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is None:
        return "false" if path in ("spec.unschedulable", "spec.hostNetwork") else ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class Selection(NamedTuple):
    """What a list or watch asks for: a namespace (or all), labels, fields."""

    namespace: str = ""
    labels: Requirements = ()
    fields: tuple[FieldTerm, ...] = ()

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether the object is selected."""
        if self.namespace and obj["metadata"].get("namespace") != self.namespace:
            return False
        if self.labels:
            labels = labels_of(obj)
            for requirement in self.labels:
                if not requirement.matches(labels):
                    return False
        return all((field_value(obj, path) == value) is equal for path, equal, value in self.fields)

    @property
    def is_filtered(self) -> bool:
        """Whether labels or fields narrow the selection."""
        return bool(self.labels or self.fields)

    def name(self) -> str:
        """The one name the field selector asks for, or an empty text."""
        for term in self.fields:
            if term.path == "metadata.name" and term.equal:
                return term.value
        return ""


EVERYTHING = Selection()


def select(objects: Sequence[Json], selection: Selection) -> list[Json]:
    """The selected objects, in the order given."""
    return [obj for obj in objects if selection.matches(obj)]
