"""OpenAPI v2: one document with the definitions and paths of all groups.

Operations are those of version 3; parameters that many operations share stand once at the top,
under the names a 1.32 server gives them. Left out: the aggregated group of metrics-server.
Source of the form: k8s.io/kube-openapi and a 1.32 server's document.
"""

from __future__ import annotations

import functools

from simcluster.api.objects import Json
from simcluster.api.openapi.documents import document, path_of
from simcluster.api.openapi.paths import parameter_facts
from simcluster.api.openapi.roots import ROOTS
from simcluster.api.openapi.schemas import version_2
from simcluster.api.resources import ResourceTable
from simcluster.api.store import Store

_MEDIA = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]
#: Media types in the order of version 2.
_ORDER = (
    "text/plain",
    *_MEDIA,
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "*/*",
)
_PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_TOKEN = {"description": "Bearer Token authentication", "type": "apiKey", "name": "authorization", "in": "header"}
_CONSUMED_AT_ROOTS: dict[str, list[str]] = {"WellKnown": [], "openid": [], "version": ["application/json"]}
_BODIES = {"Patch": "body-78PwaGsr", "DeleteOptions": "body-2Y1dVQaQ"}


def swagger(table: ResourceTable, store: Store) -> Json:
    """The answer to `/openapi/v2`."""
    definitions: Json = {}
    paths: Json = {}
    documents = list(ROOTS)
    for group, version in table.versions:
        if group != "metrics.k8s.io":
            documents += [path_of(group, version), f"apis/{group}"] if group else [path_of(group, version)]
    for name in dict.fromkeys(documents):
        found = document(table, store, name)
        assert found is not None, name
        definitions.update((found.get("components") or {}).get("schemas") or {})
        paths.update({path: _path(entry) for path, entry in found["paths"].items()})
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "1.32"},
        "paths": dict(sorted(paths.items())),
        "definitions": {name: version_2(definitions[name]) for name in sorted(definitions)},
        "parameters": parameter_facts()["shared"],
        "securityDefinitions": {"BearerToken": _TOKEN},
        "security": [{"BearerToken": []}],
    }


def _path(entry: Json) -> Json:
    found: Json = {method: _operation(operation) for method, operation in entry.items() if method != "parameters"}
    if "parameters" in entry:
        found["parameters"] = [_parameter(parameter) for parameter in entry["parameters"]]
    return found


def _operation(operation: Json) -> Json:
    found: Json = {"description": operation["description"]}
    consumed = _consumed(operation)
    if consumed:
        found["consumes"] = consumed
    media = (operation["responses"]["200"].get("content") or {}) if "200" in operation["responses"] else {}
    found["produces"] = [name for name in _ORDER if name in media] or list(media)
    found.update({"schemes": ["https"], "tags": operation["tags"], "operationId": operation["operationId"]})
    parameters = [*_body(operation), *(_parameter(parameter) for parameter in operation.get("parameters", ()))]
    if parameters:
        found["parameters"] = parameters
    found["responses"] = {code: _response(answer) for code, answer in operation["responses"].items()}
    for key in ("x-kubernetes-action", "x-kubernetes-group-version-kind"):
        if key in operation:
            found[key] = operation[key]
    return found


def _consumed(operation: Json) -> list[str]:
    action = operation.get("x-kubernetes-action")
    if action is None:
        return _CONSUMED_AT_ROOTS.get(operation["tags"][0], _MEDIA)
    if action == "patch":
        return [name for name in _PATCHES if name in operation["requestBody"]["content"]]
    return ["*/*"]


def _body(operation: Json) -> list[Json]:
    body = operation.get("requestBody")
    if body is None:
        return []
    schema = next(iter(body["content"].values()))["schema"]
    shared = _BODIES.get(schema["$ref"].rpartition(".")[2])
    if shared is not None:
        return [{"$ref": f"#/parameters/{shared}"}]
    return [{"name": "body", "in": "body", "required": True, "schema": version_2(schema)}]


def _response(answer: Json) -> Json:
    content = answer.get("content")
    if not content:
        return answer
    schema = next(iter(content.values()))["schema"]
    return {"description": answer["description"], "schema": version_2(schema)}


@functools.cache
def _shared_names() -> dict[tuple[str, str], str]:
    shared: Json = parameter_facts()["shared"]
    return {(value["name"], value["description"]): key for key, value in shared.items() if "description" in value}


def _parameter(parameter: Json) -> Json:
    """A reference to the shared one, or itself."""
    key = _shared_names().get((parameter["name"], parameter["description"]))
    if key is not None:
        return {"$ref": f"#/parameters/{key}"}
    found = {"uniqueItems": True, "type": parameter["schema"]["type"], "description": parameter["description"]}
    found.update({"name": parameter["name"], "in": parameter["in"]})
    return {**found, "required": True} if parameter.get("required") else found
