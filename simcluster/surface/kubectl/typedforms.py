"""Objects as Go's types print them: a field without `omitempty`, or with a struct in it, is there even when empty.

That is what `kubectl set --local` prints of a manifest. Source: k8s.io/api types.go; the published
definitions require just the fields without `omitempty`, and the table adds structs and the like.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.objects import Json
from simcluster.api.schema import Field, TypeSchema, decode, type_of
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.selection import Target

_ALWAYS = {
    "apps.v1.DaemonSetSpec": ("updateStrategy",),
    "apps.v1.DeploymentSpec": ("strategy",),
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


def typed(target: Target) -> Target:
    """The target as the client's own types hold it. Raises KubectlError if it knows no such kind."""
    resource = target.resource
    schema = type_of(resource.group, resource.version, resource.kind)
    if schema is None:
        why = f'no kind "{resource.kind}" is registered for version "{resource.api_version}" in scheme '
        raise plain(f'unable to decode "{target.source}": {why}"pkg/scheme/scheme.go:28"')
    decoded = decode(resource, target.obj)
    if decoded.error is not None:
        raise plain(f'unable to decode "{target.source}": {decoded.error}')
    return target._replace(obj=_filled(decoded.object, schema))


def _filled(obj: Json, schema: TypeSchema) -> Json:
    result = dict(obj)
    always = _ALWAYS.get(schema.name, ())
    for name, field in schema.fields.items():
        if name in result:
            result[name] = _inner(result[name], field)
        elif field.required or name in always or (name in _PARTS and "metadata" in schema.fields):
            is_struct = field.type is not None and field.ref != "meta.v1.LabelSelector"
            result[name] = _filled({}, field.type) if is_struct and field.type else _ZEROS.get(field.kind)
    return result


def _inner(value: Any, field: Field) -> Any:
    if field.type is not None and isinstance(value, dict):
        return _filled(value, field.type)
    if field.kind == "list" and field.item is not None and isinstance(value, list):
        return [_inner(item, field.item) for item in value]
    return value
