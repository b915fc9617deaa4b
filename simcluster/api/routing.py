"""From a URL path to what it means: resource, namespace, name, subresource.

The deprecated prefix `watch`, as in `/api/v1/watch/namespaces/shop/pods`, is a mark on the route.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api.resources import Resource, ResourceTable

#: The subresource behind which the path goes on.
PROXY = "proxy"


class Route(NamedTuple):
    """What a resource path names. Empty texts stand for parts that are absent.

    Attributes:
        rest: what follows the subresource `proxy`, with its leading slash.
        watches: the path has the prefix `watch`.
    """

    resource: Resource
    namespace: str
    name: str
    subresource: str
    rest: str = ""
    watches: bool = False


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
    if rest[0] == "watch" and len(rest) > 1:
        return _watched(table, group, version, rest[1:])
    return _split(table, group, version, rest, path)


def _split(table: ResourceTable, group: str, version: str, rest: list[str], path: str) -> Route | Unrouted:
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        resource = table.by_plural.get((group, version, rest[2]))
        if resource is not None and resource.namespaced:
            namespace, rest = rest[1], rest[2:]
    resource = table.by_plural.get((group, version, rest[0]))
    if resource is None:
        return Unrouted((group, version) in table.versions)
    if len(rest) > 2 and rest[2] == PROXY:
        return Route(resource, namespace, rest[1], PROXY, path.split("/" + PROXY, 1)[1])
    if len(rest) > 3:
        return Unrouted(True)
    name = rest[1] if len(rest) > 1 else ""
    return Route(resource, namespace, name, rest[2] if len(rest) > 2 else "")


def _watched(table: ResourceTable, group: str, version: str, rest: list[str]) -> Route | Unrouted:
    """A path behind the prefix `watch`: a collection or one object, no subresource."""
    found = _split(table, group, version, rest, "/".join(rest))
    if isinstance(found, Unrouted) or found.subresource or "watch" not in found.resource.verbs:
        return Unrouted((group, version) in table.versions)
    return found._replace(watches=True)
