"""Component schemas of OpenAPI v3, made from the facts about built-in types.

Source of the form: the documents kube-apiserver 1.32 serves: a reference stands in `allOf`
beside its description; a type of one value is a component of its own.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from simcluster.api.encoding.ordering import field_order
from simcluster.api.objects import Json
from simcluster.api.schema.descriptions import description_of
from simcluster.api.schema.types import Field, load

_PREFIXES = {
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.",
    "apiregistration": "io.k8s.kube-aggregator.pkg.apis.",
    "meta": "io.k8s.apimachinery.pkg.apis.",
}
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
#: Types without fields, and what stands in their place.
_SINGLE: dict[str, Json] = {
    "apiextensions.v1.CustomResourceSubresourceStatus": {"type": "object"},
    "apiextensions.v1.JSON": {},
    "apiextensions.v1.JSONSchemaPropsOrArray": {},
    "apiextensions.v1.JSONSchemaPropsOrBool": {},
    "apiextensions.v1.JSONSchemaPropsOrStringArray": {},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object"},
    "meta.v1.Duration": {"type": "string"},
    "meta.v1.FieldsV1": {"type": "object"},
    "meta.v1.MicroTime": {"type": "string", "format": "date-time"},
    "meta.v1.Patch": {"type": "object"},
    "meta.v1.Time": {"type": "string", "format": "date-time"},
    _INT_OR_STRING: {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    _QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
}
_SCALARS: dict[str, Json] = {
    "string": {"type": "string"},
    "number": {"type": "number", "format": "double"},
    "boolean": {"type": "boolean"},
    "bytes": {"type": "string", "format": "byte"},
    "any": {"type": "object"},
}
#: Types of one value by the kind of field that holds it, where the facts name no other.
_OF_KIND = {
    "int-or-string": _INT_OR_STRING,
    "microtime": "meta.v1.MicroTime",
    "quantity": _QUANTITY,
    "time": "meta.v1.Time",
}


def component_name(name: str) -> str:
    """The full name of a type in a document.

    >>> component_name("core.v1.Pod")
    'io.k8s.api.core.v1.Pod'
    """
    if name.startswith("io.k8s."):
        return name
    return _PREFIXES.get(name.partition(".")[0], "io.k8s.api.") + name


@functools.cache
def component(name: str) -> Json:
    """The schema of a type. Do not change it."""
    said = description_of(name)
    schema: Json = {"description": said.text} if said.text else {}
    if name in _SINGLE or name not in load().types:
        return {**schema, **_SINGLE.get(name, {"type": "object"})}
    entry = load().types[name]
    schema["type"] = "object"
    if entry.required:
        schema["required"] = [field for field in field_order(name) if field in entry.required]
    schema["properties"] = {field.name: _property(name, field) for field in entry.fields.values()}
    if entry.kinds:
        kinds = [{"group": group, "kind": kind, "version": version} for group, version, kind in entry.kinds]
        schema["x-kubernetes-group-version-kind"] = kinds
    if entry.map_type:
        schema["x-kubernetes-map-type"] = entry.map_type
    if name in _UNIONS:
        schema["x-kubernetes-unions"] = [_UNIONS[name]]
    return schema


_ZEROS: Json = {"boolean": False, "integer": 0, "number": 0, "string": ""}
#: Fields of kinds that are never pointers.
_STRUCTS = ("metadata", "spec", "status")
#: Fields whose default does not follow from that, as a 1.32 server prints them.
_DEFAULTS = Path(__file__).with_name("defaults.json")
_PROFILE: Json = {"discriminator": "type", "fields-to-discriminateBy": {"localhostProfile": "LocalhostProfile"}}
_UNIONS: dict[str, Json] = {
    "core.v1.AppArmorProfile": _PROFILE,
    "core.v1.SeccompProfile": _PROFILE,
    "flowcontrol.v1.LimitResponse": {"discriminator": "type", "fields-to-discriminateBy": {"queuing": "Queuing"}},
    "flowcontrol.v1.PriorityLevelConfigurationSpec": {
        "discriminator": "type",
        "fields-to-discriminateBy": {"exempt": "Exempt", "limited": "Limited"},
    },
    "flowcontrol.v1.Subject": {
        "discriminator": "kind",
        "fields-to-discriminateBy": {"group": "Group", "serviceAccount": "ServiceAccount", "user": "User"},
    },
}


@functools.cache
def references_of(name: str) -> tuple[str, ...]:
    """Short names of the types that a type's fields refer to."""
    if name not in load().types:
        return ()
    said = description_of(name)
    found = dict.fromkeys(said.references.values())
    for field in load().types[name].fields.values():
        while field.item is not None:
            field = field.item
        reference = field.ref or _OF_KIND.get(field.kind, "")
        if reference:
            found[reference] = None
    return tuple(found)


def _property(owner: str, field: Field) -> Json:
    said = description_of(owner)
    schema: Json = {}
    text = said.fields.get(field.name)
    if text:
        schema["description"] = text
    schema.update(
        _schema(
            field, said.references.get(field.name, ""), said.enums.get(field.name), is_item=False, described=bool(text)
        )
    )
    for key, value in (
        ("x-kubernetes-list-map-keys", list(field.list_map_keys)),
        ("x-kubernetes-list-type", field.list_type),
        ("x-kubernetes-map-type", field.map_type),
        ("x-kubernetes-patch-merge-key", field.merge_key),
        ("x-kubernetes-patch-strategy", field.patch_strategy),
    ):
        if value:
            schema[key] = value
    default = _default(owner, field, schema)
    if default is None:
        return schema
    head: Json = {key: schema[key] for key in ("description", "type", "format") if key in schema}
    return {**head, "default": default, **schema}


def _default(owner: str, field: Field, schema: Json) -> Any:
    """What the server prints as the default: of fields that are no pointers, Go's zero value."""
    name = f"{owner}.{field.name}"
    if name in _exceptions():
        return _exceptions()[name]
    if "allOf" in schema or "$ref" in schema:
        return {} if field.required or field.name in _STRUCTS else None
    return _ZEROS.get(schema.get("type", "")) if field.required else None


@functools.cache
def _exceptions() -> Json:
    found: Json = json.loads(_DEFAULTS.read_text(encoding="utf-8"))
    return found


def _schema(field: Field, named: str, enum: list[Any] | None, *, is_item: bool, described: bool) -> Json:
    if field.item is not None:
        inner = _schema(field.item, named, enum, is_item=True, described=False)
        return (
            {"type": "array", "items": inner}
            if field.kind == "list"
            else {
                "type": "object",
                "additionalProperties": inner,
            }
        )
    reference = field.ref or named or _OF_KIND.get(field.kind, "")
    if reference:
        pointer = {"$ref": f"#/components/schemas/{component_name(reference)}"}
        if is_item:
            return {"default": {}, "allOf": [pointer]} if field.ref else pointer
        return {"allOf": [pointer]} if described else pointer
    if field.kind == "integer":
        number: Json = {"type": "integer", "format": field.go_type}
        return {**number, "default": 0} if is_item else number
    schema = dict(_SCALARS[field.kind])
    if is_item and field.kind == "string":
        schema["default"] = ""
    return {**schema, "enum": enum} if enum else schema


def version_2(schema: Any) -> Any:
    """A schema of version 3 in the form of version 2: no `oneOf`, references beside descriptions."""
    if isinstance(schema, list):
        return [version_2(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found: Json = {}
    for key, value in schema.items():
        if key == "allOf" and len(value) == 1:
            found.update(version_2(value[0]))
        elif key == "oneOf" and isinstance(value, list):
            found["type"] = "string"
        elif key == "$ref" and isinstance(value, str):
            found[key] = value.replace("#/components/schemas/", "#/definitions/")
        elif key == "default" and (value == {} or not isinstance(value, dict)):
            continue  # version 2 tells no defaults; a property of that name is a schema
        else:
            found[key] = version_2(value)
    return found
