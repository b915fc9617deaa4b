"""Which resources the server has, and which one a word such as `deploy` or `pods.v1` means.

Read from the discovery documents as kubectl does and kept for the following commands; a
word that is not known makes it look again once. Left out: the on-disk cache with its age,
and the documents of servers before 1.26, which name every version on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from simcluster.api.request import Request, Response
from simcluster.api.resources import BUILT_IN, Resource
from simcluster.surface.kubectl.errors import KubectlError, plain

_ACCEPT = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)
Sender = Callable[[Request], Response]


class Discovery:
    """The server's resources, in the server's order (core group first, preferred version first)."""

    def __init__(self) -> None:
        self._resources: list[Resource] = []

    def all(self, send: Sender, *, fresh: bool = False) -> list[Resource]:
        """Every resource that can be asked for by name."""
        if fresh or not self._resources:
            self._resources = _read(send)
        return self._resources or list(BUILT_IN.all)

    def find(self, send: Sender, word: str) -> Resource:
        """The resource that `po`, `Pod`, `deployments.apps` or `deployments.v1.apps` names.

        Raises:
            KubectlError: the server doesn't have a resource type ...
        """
        for fresh in (False, True):
            found = _match(self.all(send, fresh=fresh), word)
            if found is not None:
                return found
        raise plain(f'the server doesn\'t have a resource type "{word.lower() if "." not in word else word}"')

    def of_kind(self, send: Sender, api_version: str, kind: str) -> Resource | None:
        """The resource of a manifest, or None."""
        for fresh in (False, True):
            for resource in self.all(send, fresh=fresh):
                if resource.kind == kind and resource.api_version == api_version:
                    return resource
        return None

    def category(self, send: Sender, word: str) -> list[Resource]:
        """Resources of a category such as `all`, of the preferred versions."""
        found: dict[str, Resource] = {}
        for resource in self.all(send):
            if word in resource.categories:
                found.setdefault(resource.name, resource)
        return list(found.values())


def _match(resources: Iterable[Resource], word: str) -> Resource | None:
    lowered = word.lower()
    name, _, rest = lowered.partition(".")
    found = [r for r in resources if _named(r, name)]
    if rest:
        version, _, group = rest.partition(".")
        for resource in found:
            if resource.version == version and resource.group == group:
                return resource
        matching = [r for r in found if r.group == rest] or [r for r in found if r.group.startswith(rest)]
        return matching[0] if matching else None
    # A plural or singular wins over somebody else's short name.
    for resource in found:
        if name in (resource.plural, resource.singular, resource.kind.lower()):
            return resource
    return found[0] if found else None


def _named(resource: Resource, name: str) -> bool:
    return name in (resource.plural, resource.singular, resource.kind.lower()) or name in resource.short_names


def _read(send: Sender) -> list[Resource]:
    documents = [send(Request("GET", path, accept=_ACCEPT)) for path in ("/api", "/apis")]
    if not all(document.ok and isinstance(document.body, dict) for document in documents):
        return []
    return [resource for document in documents for resource in _aggregated(document.body)]


def _aggregated(body: dict[str, Any]) -> Iterable[Resource]:
    for group in body.get("items", ()):
        for version in group.get("versions", ()):
            for entry in version.get("resources", ()):
                yield Resource(
                    (group.get("metadata") or {}).get("name", ""),
                    version["version"],
                    entry["responseKind"]["kind"],
                    entry["resource"],
                    entry.get("singularResource", ""),
                    entry.get("scope") == "Namespaced",
                    tuple(entry.get("shortNames") or ()),
                    tuple(entry.get("categories") or ()),
                    tuple(sub["subresource"] for sub in entry.get("subresources") or ()),
                    tuple(entry.get("verbs") or ()),
                )


def no_kind(name: str, namespace: str, source: str, kind: str, api_version: str) -> KubectlError:
    """The error of a manifest whose kind the server does not have."""
    return plain(
        f'resource mapping not found for name: "{name}" namespace: "{namespace}" from "{source}": '
        f'no matches for kind "{kind}" in version "{api_version}"\nensure CRDs are installed first'
    )
