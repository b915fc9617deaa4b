"""A small OpenAPI v3: what `kubectl apply` looks for before it sends anything.

For each resource only the `patch` operation with its parameters; no schemas.
"""

from __future__ import annotations

import hashlib

from simcluster.api.objects import Json
from simcluster.api.resources import Resource, ResourceTable

_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation", "force")


def index(table: ResourceTable) -> Json:
    """The answer to `/openapi/v3`."""
    paths: Json = {}
    for group, version in table.versions:
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        names = ",".join(r.plural for r in table.all if (r.group, r.version) == (group, version))
        stamp = hashlib.sha512(f"{path}:{names}".encode()).hexdigest().upper()
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={stamp}"}
    return {"paths": paths}


def document(table: ResourceTable, path: str) -> Json | None:
    """The answer to `/openapi/v3/apis/GROUP/VERSION`, None if there is no such version."""
    for group, version in table.versions:
        if path == (f"apis/{group}/{version}" if group else f"api/{version}"):
            resources = [r for r in table.all if (r.group, r.version) == (group, version) and "patch" in r.verbs]
            return {
                "openapi": "3.0.0",
                "info": {"title": "Kubernetes", "version": "v1.32.13"},
                "paths": {_path(resource): {"patch": _operation(resource)} for resource in resources},
                "components": {"schemas": {}},
            }
    return None


def _path(resource: Resource) -> str:
    space = "/namespaces/{namespace}" if resource.namespaced else ""
    return f"{resource.prefix}{space}/{resource.plural}/{{name}}"


def _operation(resource: Resource) -> Json:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    return {
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": kind,
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "boolean" if name == "force" else "string"}}
            for name in _PARAMETERS
        ],
    }
