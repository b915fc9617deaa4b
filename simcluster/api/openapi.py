"""OpenAPI v3: an index of documents, and for each group and version its paths and schemas.

Schemas are complete; built-in ones are made from the facts of `schema` once for each
process, those of custom resources from their definitions. Paths have every operation with
its kind and identifier; parameters and bodies are given for `patch` only, where kubectl
looks for `fieldValidation`. Defaults of built-in fields are left out.

Source: k8s.io/kube-openapi and k8s.io/apiserver/pkg/endpoints/openapi.
"""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from simcluster.api.objects import Json
from simcluster.api.openapi_schemas import component, component_name, references_of
from simcluster.api.resources import Resource, ResourceTable
from simcluster.api.schema import type_of
from simcluster.api.store import Store

_CRDS = "customresourcedefinitions.apiextensions.k8s.io"
_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation", "force")
#: Types that every document refers to.
_COMMON = ("meta.v1.APIResourceList", "meta.v1.DeleteOptions", "meta.v1.Patch", "meta.v1.Status", "meta.v1.WatchEvent")
#: What subresources take and give, where it is not the object itself.
_OF_SUBRESOURCES = {
    "eviction": "policy.v1.Eviction",
    "scale": "autoscaling.v1.Scale",
    "token": "authentication.v1.TokenRequest",
}
_PATCH_TYPES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
#: Stamps that a kube-apiserver 1.32.13 gives the documents of its built-in groups. To clients they
#: are keys of a cache; documents of other groups get a hash of their content.
_STAMPS = Path(__file__).with_name("openapi-stamps.json")
_ROOT_PATHS = (".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version")


@functools.cache
def _stamps() -> dict[str, str]:
    found: dict[str, str] = json.loads(_STAMPS.read_text(encoding="utf-8"))
    return found


def path_of(group: str, version: str) -> str:
    """The path of the document of a group and version."""
    return f"apis/{group}/{version}" if group else f"api/{version}"


def index(table: ResourceTable, store: Store, *, metrics: bool) -> Json:
    """The answer to `/openapi/v3`."""
    paths = list(_ROOT_PATHS)
    for group, version in table.versions:
        if group != "metrics.k8s.io" or metrics:
            paths += [f"apis/{group}", path_of(group, version)] if group else [path_of(group, version)]
    found: Json = {}
    for path in sorted(dict.fromkeys(paths)):
        found[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={_stamp(table, store, path, metrics=metrics)}"}
    return {"paths": found}


def _stamp(table: ResourceTable, store: Store, path: str, *, metrics: bool) -> str:
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
        if path == f"apis/{group}" or path in _ROOT_PATHS:
            return _information(path)
    return None


@functools.lru_cache(maxsize=64)
def _built_in(resources: tuple[Resource, ...]) -> Json:
    return _document(resources, {})


def _document(resources: tuple[Resource, ...], custom: dict[Resource, Json]) -> Json:
    first = resources[0]
    paths: Json = {f"{first.prefix}/": {"get": _described(first, "get available resources", "APIResources")}}
    wanted = list(_COMMON)
    schemas: Json = {}
    for resource in resources:
        paths.update(_paths(resource))
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
    return {**_information(""), "paths": dict(sorted(paths.items())), "components": _components(schemas)}


def _components(schemas: Json) -> Json:
    token = {"type": "apiKey", "description": "Bearer Token authentication", "name": "authorization", "in": "header"}
    return {"schemas": dict(sorted(schemas.items())), "securitySchemes": {"BearerToken": token}}


def _information(path: str) -> Json:
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "1.32"}, "paths": {}}


# Paths.


def _paths(resource: Resource) -> Json:
    """The paths of a resource, each with its operations."""
    found: Json = {}
    collection = f"{resource.prefix}/{resource.plural}"
    if resource.namespaced:
        if "list" in resource.verbs:
            found[collection] = {
                "get": _operation(resource, "list", "list or watch objects of kind {kind}", "AllNamespaces")
            }
        collection = f"{resource.prefix}/namespaces/{{namespace}}/{resource.plural}"
    for path, verbs in ((collection, _COLLECTION), (f"{collection}/{{name}}", _OBJECT)):
        operations = {
            method: _operation(resource, action, text) for verb, method, action, text in verbs if verb in resource.verbs
        }
        if operations:
            found[path] = operations
    for subresource in resource.subresources:
        methods = _SUBRESOURCES.get(subresource, ("get", "put", "patch"))
        part = subresource.capitalize()
        found[f"{collection}/{{name}}/{subresource}"] = {
            method: _operation(resource, method, f"{_WORDS[method]} {subresource} of the specified {{kind}}", part)
            for method in methods
        }
    return found


#: Verb, HTTP method, action, description.
_COLLECTION = (
    ("list", "get", "list", "list or watch objects of kind {kind}"),
    ("create", "post", "post", "create {article} {kind}"),
    ("deletecollection", "delete", "deletecollection", "delete collection of {kind}"),
)
_OBJECT = (
    ("get", "get", "get", "read the specified {kind}"),
    ("update", "put", "put", "replace the specified {kind}"),
    ("delete", "delete", "delete", "delete {article} {kind}"),
    ("patch", "patch", "patch", "partially update the specified {kind}"),
)
_SUBRESOURCES = {
    "attach": ("get", "post"),
    "portforward": ("get", "post"),
    "binding": ("post",),
    "eviction": ("post",),
    "exec": ("get", "post"),
    "finalize": ("put",),
    "log": ("get",),
    "token": ("post",),
}
#: Group, version and kind of what stands at a subresource, where it is not the object itself.
_PART_KINDS = {
    "Binding": ("", "v1", "Binding"),
    "Eviction": ("policy", "v1", "Eviction"),
    "Scale": ("autoscaling", "v1", "Scale"),
    "Token": ("authentication.k8s.io", "v1", "TokenRequest"),
}
_WORDS = {"get": "read", "put": "replace", "patch": "partially update", "post": "create"}
_VERBS = {**_WORDS, "patch": "patch", "delete": "delete", "deletecollection": "delete", "list": "list"}


def _operation(resource: Resource, action: str, text: str, part: str = "") -> Json:
    scope = "Namespaced" if resource.namespaced and part != "AllNamespaces" else ""
    end = "ForAllNamespaces" if part == "AllNamespaces" else part
    collection = "Collection" if action == "deletecollection" else ""
    group = _group_title(resource)
    operation: Json = {
        "tags": [_tag(resource)],
        "description": _sentence(resource, text),
        "operationId": f"{_VERBS[action]}{group}{collection}{scope}{resource.kind}{end}",
    }
    if action == "patch":
        operation["parameters"] = [
            {"name": name, "in": "query", "schema": {"type": "boolean" if name == "force" else "string"}}
            for name in _PARAMETERS
        ]
        reference = {"$ref": f"#/components/schemas/{component_name('meta.v1.Patch')}"}
        operation["requestBody"] = {"content": {media: {"schema": reference} for media in _PATCH_TYPES}}
    operation["x-kubernetes-action"] = action
    group_of, version_of, kind_of = _PART_KINDS.get(part, (resource.group, resource.version, resource.kind))
    kind = {"group": group_of, "version": version_of, "kind": kind_of}
    operation["x-kubernetes-group-version-kind"] = kind
    return operation


def _described(resource: Resource, text: str, identifier: str) -> Json:
    return {"tags": [_tag(resource)], "description": text, "operationId": f"get{_group_title(resource)}{identifier}"}


def _sentence(resource: Resource, text: str) -> str:
    article = "an" if resource.kind[0] in "AEIOU" else "a"
    sentence = text.format(kind=resource.kind, article=article if not resource.kind.endswith("points") else "")
    if "watch" not in resource.verbs:
        sentence = sentence.replace("list or watch", "list")
    return sentence.replace("  ", " ")


def _tag(resource: Resource) -> str:
    """`core_v1`, `rbacAuthorization_v1`."""
    title = _group_title(resource).removesuffix(resource.version.capitalize())
    return f"{title[:1].lower()}{title[1:]}_{resource.version}"


def _group_title(resource: Resource) -> str:
    """`CoreV1`, `AppsV1`, `RbacAuthorizationV1`."""
    words = (resource.group or "core").removesuffix(".k8s.io").split(".")
    return "".join(word[:1].upper() + word[1:] for word in words) + resource.version.capitalize()


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
