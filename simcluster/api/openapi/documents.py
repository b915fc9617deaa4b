"""OpenAPI v3: an index of documents, and for each group and version its paths and schemas.

Schemas are complete; built-in ones are made from the facts of `schema` once for each
process, those of custom resources from their definitions.

Source: k8s.io/kube-openapi and k8s.io/apiserver/pkg/endpoints/openapi.
"""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from simcluster.api.objects import Json
from simcluster.api.openapi.paths import described, paths_of
from simcluster.api.openapi.roots import ROOTS, root
from simcluster.api.openapi.schemas import component, component_name, references_of
from simcluster.api.resources import Resource, ResourceTable
from simcluster.api.schema import type_of
from simcluster.api.store import Store

_CRDS = "customresourcedefinitions.apiextensions.k8s.io"
#: Types that every document refers to.
_COMMON = ("meta.v1.APIResourceList", "meta.v1.DeleteOptions", "meta.v1.Patch", "meta.v1.Status", "meta.v1.WatchEvent")
#: What subresources take and give, where it is not the object itself.
_OF_SUBRESOURCES = {
    "eviction": "policy.v1.Eviction",
    "scale": "autoscaling.v1.Scale",
    "token": "authentication.v1.TokenRequest",
}
#: Stamps that a kube-apiserver 1.32.13 gives the documents of its built-in groups. To clients they
#: are keys of a cache; documents of other groups get a hash of their content.
_STAMPS = Path(__file__).with_name("stamps.json")


@functools.cache
def _stamps() -> dict[str, str]:
    found: dict[str, str] = json.loads(_STAMPS.read_text(encoding="utf-8"))
    return found


def path_of(group: str, version: str) -> str:
    """The path of the document of a group and version."""
    return f"apis/{group}/{version}" if group else f"api/{version}"


def index(table: ResourceTable, store: Store, *, metrics: bool) -> Json:
    """The answer to `/openapi/v3`."""
    paths = list(ROOTS)
    for group, version in table.versions:
        if group != "metrics.k8s.io" or metrics:
            paths += [f"apis/{group}", path_of(group, version)] if group else [path_of(group, version)]
    found: Json = {}
    for path in sorted(dict.fromkeys(paths)):
        found[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={stamp(table, store, path, metrics=metrics)}"}
    return {"paths": found}


def stamp(table: ResourceTable, store: Store, path: str, *, metrics: bool) -> str:
    """The hash by which clients ask for a document."""
    key = "apis+metrics.k8s.io" if path == "apis" and metrics else path
    groups = {group: None for group, _ in table.versions}
    known = _stamps().get(key)
    if known is not None and not (path == "apis" and any(f"apis/{g}" not in _stamps() for g in groups if g)):
        return known
    content = json.dumps(document(table, store, path) or list(groups), sort_keys=True)
    return hashlib.sha512(content.encode()).hexdigest().upper()


def document(table: ResourceTable, store: Store, path: str) -> Json | None:
    """The answer to `/openapi/v3/PATH`, None if there is no such document. Do not change it."""
    for group, version in table.versions:
        if path == path_of(group, version):
            resources = tuple(r for r in table.all if (r.group, r.version) == (group, version))
            schemas = {r: _custom(store, r) for r in resources if type_of(r.group, r.version, r.kind) is None}
            if not any(schemas.values()):
                return _built_in(resources)
            return _document(resources, {r: schema for r, schema in schemas.items() if schema is not None})
        if path == f"apis/{group}" or path in ROOTS:
            paths, components = root(path)
            return {**_information(), "paths": paths, "components": _components(components)}
    return None


@functools.lru_cache(maxsize=64)
def _built_in(resources: tuple[Resource, ...]) -> Json:
    return _document(resources, {})


def _document(resources: tuple[Resource, ...], custom: dict[Resource, Json]) -> Json:
    first = resources[0]
    paths: Json = {f"{first.prefix}/": {"get": described(first, "get available resources", "APIResources")}}
    wanted = list(_COMMON)
    schemas: Json = {}
    for resource in resources:
        paths.update(paths_of(resource))
        if resource in custom:
            schemas.update(_custom_components(resource, custom[resource]))
            wanted += ["meta.v1.ObjectMeta", "meta.v1.ListMeta"]
            continue
        for kind in (resource.kind, f"{resource.kind}List"):
            found = type_of(resource.group, resource.version, kind)
            if found is not None:
                wanted.append(found.name)
        wanted += [_OF_SUBRESOURCES[name] for name in resource.subresources if name in _OF_SUBRESOURCES]
    while wanted:
        name = wanted.pop()
        full = component_name(name)
        if full not in schemas:
            schemas[full] = component(name)
            wanted += references_of(name)
    return {**_information(), "paths": dict(sorted(paths.items())), "components": _components(schemas)}


def _components(schemas: Json) -> Json:
    token = {"type": "apiKey", "description": "Bearer Token authentication", "name": "authorization", "in": "header"}
    return {"schemas": dict(sorted(schemas.items())), "securitySchemes": {"BearerToken": token}}


def _information() -> Json:
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "1.32"}, "paths": {}}


# Custom resources.


def _custom(store: Store, resource: Resource) -> Json | None:
    """The schema of a custom resource's version, as its definition has it."""
    definition = store.get(_CRDS, "", f"{resource.plural}.{resource.group}")
    for version in definition["spec"].get("versions") or () if definition is not None else ():
        if version["name"] == resource.version:
            return (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}
    return None


def _custom_components(resource: Resource, schema: Json) -> Json:
    name = ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])
    kind = [{"group": resource.group, "version": resource.version, "kind": resource.kind}]
    known = component("core.v1.ConfigMap")["properties"]
    metadata: Json = dict(known["metadata"])
    properties: Json = {"apiVersion": known["apiVersion"], "kind": known["kind"], "metadata": metadata}
    written: dict[str, Any] = schema.get("properties") or {}
    properties.update({key: value for key, value in written.items() if key not in properties})
    one = {**schema, "properties": dict(sorted(properties.items())), "x-kubernetes-group-version-kind": kind}
    items: Json = {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}}
    items["description"] = f"List of {resource.plural}. More info: {_CONVENTIONS}"
    list_metadata = {"allOf": [{"$ref": f"#/components/schemas/{component_name('meta.v1.ListMeta')}"}]}
    listed = {
        "description": f"{resource.kind}List is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": known["apiVersion"],
            "items": items,
            "kind": known["kind"],
            "metadata": list_metadata,
        },
        "x-kubernetes-group-version-kind": [{**kind[0], "kind": f"{resource.kind}List"}],
    }
    return {name: one, f"{name}List": listed}


_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
