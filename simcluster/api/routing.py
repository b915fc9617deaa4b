"""From a URL path to what it means: resource, namespace, name, subresource.

Not routed: `/api/v1/watch/...` (the deprecated watch prefix) and the proxy subresources.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api.resources import Resource, ResourceTable


class Route(NamedTuple):
    """What a resource path names. Empty texts stand for parts that are absent."""

    resource: Resource
    namespace: str
    name: str
    subresource: str


class Unrouted(NamedTuple):
    """A path that is no resource path; `known_version` tells whether its group and version exist."""

    known_version: bool


def route(table: ResourceTable, path: str) -> Route | Unrouted:
    """Split a path such as `/apis/apps/v1/namespaces/shop/deployments/geo/scale`."""
    parts = path.strip("/").split("/")
    if parts[0] == "api":
        group, skip = "", 2
    elif parts[0] == "apis" and len(parts) > 2:
        group, skip = parts[1], 3
    else:
        return Unrouted(False)
    if len(parts) <= skip:
        return Unrouted(False)
    version = parts[skip - 1]
    rest = parts[skip:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        resource = table.by_plural.get((group, version, rest[2]))
        if resource is not None and resource.namespaced:
            namespace, rest = rest[1], rest[2:]
    resource = table.by_plural.get((group, version, rest[0]))
    if resource is None or len(rest) > 3:
        return Unrouted((group, version) in table.versions)
    name = rest[1] if len(rest) > 1 else ""
    return Route(resource, namespace, name, rest[2] if len(rest) > 2 else "")
