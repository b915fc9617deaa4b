"""Objects as the client's own Go types hold them."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.api.schema import decode, type_of
from simcluster.api.schema.zeros import filled
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.selection import Target


def typed(target: Target) -> Target:
    """The target with all that `kubectl set --local` prints of it. Raises KubectlError if nobody knows its kind."""
    resource = target.resource
    schema = type_of(resource.group, resource.version, resource.kind)
    if schema is None:
        why = f'no kind "{resource.kind}" is registered for version "{resource.api_version}" in scheme '
        raise plain(f'unable to decode "{target.source}": {why}"pkg/scheme/scheme.go:28"')
    decoded = decode(resource, target.obj)
    if decoded.error is not None:
        raise plain(f'unable to decode "{target.source}": {decoded.error}')
    return target._replace(obj=filled(decoded.object, schema))


def walkable(obj: Json) -> Json:
    """An object of a built-in kind in which everything that its type requires is there; others as they are."""
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    schema = type_of(group, version, str(obj.get("kind", "")))
    return filled(obj, schema, walkable=True) if schema is not None else obj
