"""Objects as Go's structs hold them: what an object lacks has the zero value of its field.

The published definitions require just the fields without `omitempty`, which Go always prints;
a table adds those that hold a struct. Source: k8s.io/api types.go.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.schema.types import Field, TypeSchema

Json = dict[str, Any]

_STRUCTS = {
    "apps.v1.DaemonSetSpec": ("updateStrategy",),
    "apps.v1.DeploymentSpec": ("strategy",),
    "apps.v1.ReplicaSetSpec": ("template",),
    "apps.v1.StatefulSetSpec": ("updateStrategy",),
    "apps.v1.StatefulSetStatus": ("availableReplicas",),
    "core.v1.Container": ("resources",),
    "core.v1.EphemeralContainer": ("resources",),
    "core.v1.PersistentVolumeClaimSpec": ("resources",),
    "core.v1.ServicePort": ("targetPort",),
    "core.v1.ServiceStatus": ("loadBalancer",),
    "meta.v1.ObjectMeta": ("creationTimestamp",),
}
#: Structs of every kind and every template.
_PARTS = ("metadata", "spec", "status")
_ZEROS = {"string": "", "bytes": "", "quantity": "0", "integer": 0, "number": 0, "int-or-string": 0, "boolean": False}
#: Lists and maps that can be walked though there is nothing in them.
_WALKABLE: dict[str, Any] = {"list": [], "map": {}}


def filled(obj: Json, schema: TypeSchema, *, walkable: bool = False) -> Json:
    """A copy of an object of a type with the zero values that Go's encoder would print.

    Args:
        walkable: a list or map that is not there is empty, rather than null as Go prints it.
    """
    result = dict(obj)
    structs = _STRUCTS.get(schema.name, ())
    for name, field in schema.fields.items():
        if result.get(name) is not None:
            result[name] = _inner(result[name], field, walkable)
        elif field.required or name in structs or (name in _PARTS and "metadata" in schema.fields):
            result[name] = _zero(field, walkable)
    return result


def _zero(field: Field, walkable: bool) -> Any:
    if field.type is not None and (walkable or field.ref != "meta.v1.LabelSelector"):  # which is always a pointer
        return filled({}, field.type, walkable=walkable)
    return _ZEROS.get(field.kind, _WALKABLE.get(field.kind) if walkable else None)


def _inner(value: Any, field: Field, walkable: bool) -> Any:
    if field.type is not None and isinstance(value, dict):
        return filled(value, field.type, walkable=walkable)
    if field.item is None or field.item.kind not in ("object", "list", "map"):
        return value
    if isinstance(value, list):
        return [_inner(item, field.item, walkable) for item in value]
    return (
        {key: _inner(item, field.item, walkable) for key, item in value.items()} if isinstance(value, dict) else value
    )
