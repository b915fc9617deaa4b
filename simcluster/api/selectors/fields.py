"""Field selectors: parsing, and the fields by which objects of each kind can be selected.

Sources: k8s.io/apimachinery/pkg/fields; the fields of each kind are those of the conversion functions
registered in k8s.io/kubernetes/pkg/apis.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from simcluster.api import errors


class FieldTerm(NamedTuple):
    """One term of a field selector."""

    path: str
    equal: bool
    value: str


#: Terms stand between commas that no backslash precedes.
_PART = re.compile(r"(?:^|(?<=,))(?:[^\\,]|\\.|\\$)*(?=,|$)", re.S)
_FIELD_TERM = re.compile(r"(.*?)(!=|==|=)(.*)", re.S)
_LETTER = re.compile(r"(\\.|\\$)|([^\\])", re.S)

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
    for part in sorted(_PART.findall(text)):
        match = _FIELD_TERM.fullmatch(part)
        if not part:
            continue
        if match is None:
            raise errors.bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        terms.append(FieldTerm(match[1], match[2] != "!=", _unescaped(match[3])))
    for path, _, _ in terms:
        if selectable is not None and path not in (*_EVERYWHERE, *selectable):
            raise errors.bad_request(f"field label not supported: {path}")
        if selectable is None and path not in _EVERYWHERE and path not in _FIELDS.get(resource, ()):
            raise errors.bad_request(_unknown_field(resource, kind, path))
    return tuple(terms)


def _unescaped(value: str) -> str:
    """A value without the backslashes before backslashes, commas and equals signs. Raises ApiError 400."""
    found = ""
    for escaped, letter in _LETTER.findall(value):
        if escaped not in ("", "\\\\", "\\,", "\\="):
            raise errors.bad_request(f"invalid field selector: invalid escape sequence: {escaped}")
        if letter in (",", "="):
            raise errors.bad_request(f"invalid field selector: unescaped character in value: {ord(letter)}")
        found += letter or escaped[1]
    return found


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
