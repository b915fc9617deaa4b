"""The order of keys on the wire: fields as Go's structs have them, keys of maps sorted.

Inside of the process objects keep the order in which they came to be; only answers that go
out as bytes are put in order. The facts lie in `schema/field-order-1.32.txt`, one type a
line; of types that are not in it, fields stand in the order of their names.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources
from typing import Any

from simcluster.api.schema import TypeSchema, type_of
from simcluster.api.schema.types import Field, load

_FIRST = ("kind", "apiVersion")
#: Kinds that the server itself writes, in order.
_WRITTEN = ("APIGroup", "APIGroupDiscoveryList", "APIGroupList", "APIResourceList", "APIVersions", "Status")


@functools.cache
def _facts() -> dict[str, tuple[str, ...]]:
    text = resources.files("simcluster.api.schema").joinpath("field-order-1.32.txt").read_text(encoding="utf-8")
    lines = (line.split() for line in text.splitlines())
    return {words[0]: tuple(words[1:]) for words in lines}


@functools.cache
def field_order(name: str) -> tuple[str, ...]:
    """The fields of a type, in order."""
    fields = load().types[name].fields
    known = _facts().get(name)
    if known is None:
        known = tuple(sorted(name for name in fields if name not in _FIRST or "apiVersion" not in fields))
    first = _FIRST if all(name in fields and name not in known for name in _FIRST) else ()
    return (*first, *(name for name in known if name in fields))


def ordered(body: Any) -> Any:
    """A copy of an answer with its keys in order; shares what has none."""
    if not isinstance(body, Mapping):
        return body
    kind, api_version = body.get("kind"), body.get("apiVersion")
    if kind in _WRITTEN:
        return body
    if not isinstance(kind, str) or not isinstance(api_version, str):
        return _event(body) if "type" in body and "object" in body else body
    group, _, version = api_version.rpartition("/")
    schema = type_of(group, version, kind)
    if schema is not None and "items" not in schema.fields:
        return _typed(body, schema)
    if group == "meta.k8s.io" or (version == "v1" and not group):
        return _of_apimachinery(body)
    if kind.endswith("List") and isinstance(body.get("items"), list):
        return _list(body, type_of(group, version, kind.removesuffix("List")))
    return _sorted(body) if "metadata" in body and _is_custom(group) else body


def _is_custom(group: str) -> bool:
    """Whether nothing built in knows the group: its objects are maps to the server."""
    return not any(known == group for known, _, _ in load().by_kind) and group != "metrics.k8s.io"


def _event(body: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": body["type"], "object": ordered(body["object"])}


def _of_apimachinery(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Tables, partial metadata, lists of the core group."""
    if body.get("rows"):
        rows = [{**row, "object": ordered(row["object"])} if "object" in row else row for row in body["rows"]]
        return {**body, "rows": rows}
    if isinstance(body.get("items"), list):
        kind = str(body["kind"]).removesuffix("List")
        return _list(body, type_of("", "v1", kind) if body["apiVersion"] == "v1" else None)
    if body.get("kind") == "PartialObjectMetadata":
        return {**body, "metadata": _typed(body["metadata"], load().types["meta.v1.ObjectMeta"])}
    return body


def _list(body: Mapping[str, Any], schema: TypeSchema | None) -> dict[str, Any]:
    items = [ordered(item) if schema is None or "kind" in item else _typed(item, schema) for item in body["items"]]
    head = {"kind": body["kind"], "apiVersion": body["apiVersion"], "metadata": body.get("metadata") or {}}
    return {**head, "items": items}


def _typed(value: Any, schema: TypeSchema) -> Any:
    if not isinstance(value, Mapping):
        return value
    fields = schema.fields
    found = {name: _field(value[name], fields[name]) for name in field_order(schema.name) if name in value}
    if len(found) < len(value):  # what the type does not know stays where it was: at the end
        found.update((name, item) for name, item in value.items() if name not in found)
    return found


def _field(value: Any, field: Field) -> Any:
    if field.kind == "object" and field.type is not None:
        return _typed(value, field.type)
    if field.kind == "list" and field.item is not None and isinstance(value, list):
        item = field.item
        return [_field(one, item) for one in value] if item.kind in ("object", "list", "map") else value
    if field.kind == "map" and field.item is not None and isinstance(value, Mapping):
        return {key: _field(value[key], field.item) for key in sorted(value)}
    return value


def _sorted(value: Any) -> Any:
    """An unstructured value: Go prints maps sorted."""
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
