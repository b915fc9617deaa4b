"""OpenAPI v2: one document with the definitions and paths of all groups.

Operations are those of version 3 with their parameters, media types and answers; parameters
that many operations share stand once at the top, under the names a 1.32 server gives them.
Left out: the deprecated `/watch/` paths, the parameters of logs, exec
and proxies, the aggregated group of metrics-server.
Source of the form: k8s.io/kube-openapi and a 1.32 server's document.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from simcluster.api.objects import Json
from simcluster.api.openapi import document, path_of
from simcluster.api.openapi_schemas import component_name, version_2
from simcluster.api.registry.strategy import returns_object
from simcluster.api.resources import ResourceTable
from simcluster.api.schema import type_of
from simcluster.api.store import Store

_PARAMETERS = Path(__file__).with_name("openapi-parameters.json")
_MEDIA = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]
_STREAMS = [*_MEDIA, "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"]
_PATCHES = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
]
_LIST = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch",
)  # fmt: skip
_DELETE = ("dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents",
           "propagationPolicy")  # fmt: skip
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_SELECT = tuple(name for name in _LIST if name not in ("allowWatchBookmarks", "watch"))
#: Parameters in the query, by action.
_QUERY: dict[str, tuple[str, ...]] = {
    "delete": _DELETE,
    "deletecollection": tuple(sorted((*_DELETE, *_SELECT))),
    "list": _LIST,
    "patch": (*_WRITE, "force"),
    "post": _WRITE,
    "put": _WRITE,
}
_CODES = {"delete": ("200", "202"), "patch": ("200", "201"), "post": ("200", "201", "202"), "put": ("200", "201")}
_SAID = {"200": "OK", "201": "Created", "202": "Accepted"}
_TOKEN = {"description": "Bearer Token authentication", "type": "apiKey", "name": "authorization", "in": "header"}
#: What subresources take and give, where it is not the object itself.
_PARTS = {
    "binding": "core.v1.Binding",
    "eviction": "policy.v1.Eviction",
    "scale": "autoscaling.v1.Scale",
    "token": "authentication.v1.TokenRequest",
}


@functools.cache
def _facts() -> Json:
    found: Json = json.loads(_PARAMETERS.read_text(encoding="utf-8"))
    return found


@functools.cache
def _reference(name: str, action: str) -> Json:
    """A parameter: a reference to the shared one, or itself."""
    if name in _facts()["inline"]:
        inline: Json = _facts()["inline"][name]
        return inline
    keys = [key for key, value in _facts()["shared"].items() if value["name"] == name]
    if name == "fieldManager":  # that of apply is required, which its description says
        keys = [key for key in keys if key.startswith("fieldManager-7") is (action == "patch")]
    if name == "body":
        keys = ["body-78PwaGsr" if action == "patch" else "body-2Y1dVQaQ"]
    return {"$ref": f"#/parameters/{keys[0]}"}


def swagger(table: ResourceTable, store: Store) -> Json:
    """The answer to `/openapi/v2`."""
    definitions: Json = {}
    paths: Json = {}
    for group, version in table.versions:
        if group == "metrics.k8s.io":
            continue
        found = document(table, store, path_of(group, version))
        assert found is not None, (group, version)
        definitions.update((found.get("components") or {}).get("schemas") or {})
        paths.update({path: _path(table, path, entry) for path, entry in found["paths"].items()})
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "1.32"},
        "paths": dict(sorted(paths.items())),
        "definitions": {name: version_2(definitions[name]) for name in sorted(definitions)},
        "parameters": _facts()["shared"],
        "securityDefinitions": {"BearerToken": _TOKEN},
        "security": [{"BearerToken": []}],
    }


def _path(table: ResourceTable, path: str, entry: Json) -> Json:
    operations = {method: _operation(table, path, operation) for method, operation in entry.items()}
    if path.endswith("/"):
        return operations
    kind = next(iter(entry.values()))["x-kubernetes-group-version-kind"]["kind"]
    shared: list[Json] = [_reference("pretty", "")]
    if "{namespace}" in path:
        shared.insert(0, _reference("namespace", ""))
    if "{name}" in path:
        text = f"name of the {kind}"
        name = {"uniqueItems": True, "type": "string", "description": text, "name": "name", "in": "path"}
        shared.insert(0, {**name, "required": True})
    if len(operations) == 1:  # what all operations have stands at the path
        (operation,) = operations.values()
        own = operation.pop("parameters", [])
        body = [parameter for parameter in own if parameter.get("in") == "body"]
        if body:
            operation["parameters"] = body
        shared = sorted((*shared, *(p for p in own if p not in body)), key=_name)
    return {**operations, "parameters": shared}


def _name(parameter: Json) -> str:
    if "$ref" in parameter:
        return str(_facts()["shared"][parameter["$ref"].removeprefix("#/parameters/")]["name"])
    return str(parameter["name"])


def _operation(table: ResourceTable, path: str, operation: Json) -> Json:
    action = operation.get("x-kubernetes-action", "")
    found: Json = {"description": operation["description"], "consumes": _consumed(path, action)}
    found["produces"] = _STREAMS if action == "list" else _MEDIA
    found.update({"schemes": ["https"], "tags": operation["tags"], "operationId": operation["operationId"]})
    target = _target(table, path, operation, action)
    parameters = _body(action, target)
    parameters += [_reference(name, action) for name in _QUERY.get(action, ())]
    if parameters:
        found["parameters"] = parameters
    shown = {"$ref": f"#/definitions/{target}"}
    answers: Json = {code: {"description": _SAID[code], "schema": shown} for code in _CODES.get(action, ("200",))}
    found["responses"] = {**answers, "401": {"description": "Unauthorized"}}
    for key in ("x-kubernetes-action", "x-kubernetes-group-version-kind"):
        if key in operation:
            found[key] = operation[key]
    return found


def _consumed(path: str, action: str) -> list[str]:
    if path.endswith("/"):
        return _MEDIA
    return _PATCHES if action == "patch" else ["*/*"]


def _body(action: str, target: str) -> list[Any]:
    if action in ("delete", "deletecollection", "patch"):
        return [_reference("body", action)]
    if action not in ("post", "put"):
        return []
    schema = {"$ref": f"#/definitions/{target}"}
    return [{"name": "body", "in": "body", "required": True, "schema": schema}]


def _target(table: ResourceTable, path: str, operation: Json, action: str) -> str:
    """The definition of what an operation answers with."""
    if path.endswith("/"):
        return component_name("meta.v1.APIResourceList")
    last = path.rpartition("/")[2]
    if last in _PARTS and "{name}" in path:
        return component_name(_PARTS[last])
    kind = operation["x-kubernetes-group-version-kind"]
    resource = table.by_kind[kind["group"], kind["version"], kind["kind"]]
    if action == "deletecollection" or (action == "delete" and not returns_object(resource.storage)):
        return component_name("meta.v1.Status")
    name = kind["kind"] + ("List" if action == "list" else "")
    known = type_of(kind["group"], kind["version"], name)
    if known is not None:
        return component_name(known.name)
    return ".".join([*reversed(kind["group"].split(".")), kind["version"], name])
