"""The types behind custom resources, for what tracks and merges fields.

A structural schema says by `x-kubernetes-list-type` and `x-kubernetes-map-type` how
server-side apply merges its lists and maps; this makes of it a type like those of built-in
kinds. Strategic merge patches stay refused.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simcluster.api.resources import Resource
from simcluster.api.schema import Field, TypeSchema, type_of

if TYPE_CHECKING:
    from simcluster.api.customresources.version import CustomVersion

_SCALARS = {"string": "s", "integer": "l", "number": "d", "boolean": "b"}
_EXTRAS = (
    ("x-kubernetes-list-type", "list"),
    ("x-kubernetes-list-map-keys", "keys"),
    ("x-kubernetes-map-type", "map"),
)


def type_of_resource(resource: Resource) -> TypeSchema | None:
    """The type of the resource's objects; None if nothing is known of it."""
    if resource.custom is not None:
        return _custom(resource.custom)
    return type_of(resource.group, resource.version, resource.kind)


@functools.lru_cache(maxsize=256)
def _custom(version: CustomVersion) -> TypeSchema:
    made = _type(version.definition, version.schema)
    metadata = type_of("", "v1", "ConfigMap")
    assert metadata is not None
    made.fields["metadata"] = metadata.fields["metadata"]
    return made


def _type(name: str, schema: Mapping[str, Any]) -> TypeSchema:
    made = TypeSchema(name, {"fields": {}})
    for key, inner in (schema.get("properties") or {}).items():
        made.fields[key] = _field(f"{name}.{key}", key, inner)
    return made


def _field(owner: str, name: str, schema: Mapping[str, Any]) -> Field:
    extras = {short: schema[key] for key, short in _EXTRAS if key in schema}
    is_list = schema.get("type") == "array"
    inner = schema.get("items") or {} if is_list else schema
    code = f"@{owner}" if inner.get("properties") else _SCALARS.get(inner.get("type", ""), "*")
    field = Field(name, f"[{code}" if is_list else code, extras, False, "")
    if inner.get("properties"):
        innermost = field.item if field.item is not None else field
        innermost.type = _type(owner, inner)
    return field
