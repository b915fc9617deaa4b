"""OpenAPI v3: the paths of a resource, each with its operations, parameters, bodies and answers.

What all operations of a path take stands once, at the path. Source: k8s.io/apiserver/pkg/endpoints
(installer.go, openapi), compared with the documents of a 1.32 server; descriptions of parameters
are that server's.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, NamedTuple

from simcluster.api.handlers.discovery import part_of
from simcluster.api.objects import Json
from simcluster.api.openapi.schemas import component_name
from simcluster.api.registry.strategy import returns_object
from simcluster.api.resources import Resource
from simcluster.api.routing import PROXY
from simcluster.api.schema import type_of

_PARAMETERS = Path(__file__).with_name("parameters.json")
_MEDIA = ("application/json", "application/vnd.kubernetes.protobuf", "application/yaml")
_STREAMED = (
    "application/json",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/yaml",
)
_PATCH_TYPES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
_LIST = (
    *("allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion"),
    *("resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch"),
)
_DELETE = (
    *("dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential"),
    *("orphanDependents", "propagationPolicy"),
)
_DELETE_COLLECTION = (*_DELETE, *(name for name in _LIST if name not in ("allowWatchBookmarks", "watch")))
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_CONNECTS = {
    "attach": ("get", "post"),
    "exec": ("get", "post"),
    "portforward": ("get", "post"),
    PROXY: ("get", "put", "post", "delete", "options", "head", "patch"),
}
_OF_CONNECTIONS = {
    "attach": ("container", "stderr", "stdin", "stdout", "tty"),
    "exec": ("command", "container", "stderr", "stdin", "stdout", "tty"),
    "portforward": ("ports",),
}
_OF_LOGS = (
    *("container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "previous", "sinceSeconds", "stream"),
    *("tailLines", "timestamps"),
)
#: Where a parameter's name does not say which of several it is: its name in version 2.
_KEYS = {
    "attach.container": "container-_Q-EJ3nR",
    "attach.stderr": "stderr-26jJhFUR",
    "attach.stdin": "stdin-sEFnN3IS",
    "attach.stdout": "stdout-005YMKE6",
    "attach.tty": "tty-g7MlET_l",
    "exec.container": "container-i5dOmRiM",
    "exec.stderr": "stderr-W_1TNlWc",
    "exec.stdin": "stdin-PSzNhyUC",
    "exec.stdout": "stdout--EZLRwV1",
    "exec.tty": "tty-s0flW37O",
    "log.container": "container-1GeXxFDC",
    "fieldManager": "fieldManager-Qy4HdaTW",
    "patch.fieldManager": "fieldManager-7c6nTn1T",
    "path": "path-z6Ciiujn",
    "proxy.nodes": "path-rFDtV0x9",
    "proxy.pods": "path-oPbzgLUj",
    "proxy.services": "path-QCf0eosM",
}
#: Methods by the verbs of discovery.
_METHODS = {"get": "get", "update": "put", "create": "post", "delete": "delete", "patch": "patch"}
_ORDER = ("get", "put", "post", "delete", "options", "head", "patch")
#: First word of an operation's identifier.
_VERBS = {
    "delete": "delete",
    "deletecollection": "delete",
    "get": "read",
    "list": "list",
    "patch": "patch",
    "post": "create",
    "put": "replace",
    "watch": "watch",
    "watchlist": "watch",
}
_CODES = {
    "delete": ("200", "202"),
    "deletecollection": ("200",),
    "get": ("200",),
    "list": ("200",),
    "patch": ("200", "201"),
    "post": ("200", "201", "202"),
    "put": ("200", "201"),
    "watch": ("200",),
    "watchlist": ("200",),
}
_REASONS = {"200": "OK", "201": "Created", "202": "Accepted"}
#: Verb, method, action, text.
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
_PART_TEXTS = {
    "get": "read {part} of the specified {kind}",
    "patch": "partially update {part} of the specified {kind}",
    "post": "create {part} of {article} {kind}",
    "put": "replace {part} of the specified {kind}",
}
_DEPRECATED = "deprecated: use the 'watch' parameter with a list operation instead"


class _Place(NamedTuple):
    """One path: its text, and the names in it that are parameters."""

    path: str
    names: tuple[str, ...]
    scope: str = ""  # Namespaced, or empty


def paths_of(resource: Resource) -> Json:
    """The paths of a resource. Do not change them."""
    found: Json = {}
    for place, operations in [*_plain(resource), *_parts(resource), *_watches(resource)]:
        entry = _entry(resource, place, operations)
        if entry:
            found[place.path] = entry
    return found


_Operations = list[tuple[str, Json, tuple[str, ...]]]  # method, operation, its query parameters


def _entry(resource: Resource, place: _Place, operations: _Operations) -> Json:
    """Operations in order, with the parameters that are common to all of them hoisted."""
    if not operations:
        return {}
    common = [name for name in operations[0][2] if all(name in other[2] for other in operations)]
    entry: Json = {}
    for method, operation, names in sorted(operations, key=lambda one: _ORDER.index(one[0])):
        own = [_parameter(resource, name) for name in sorted(names, key=_shown) if name not in common]
        if own:
            head = {key: operation[key] for key in ("tags", "description", "operationId")}
            rest = {key: value for key, value in operation.items() if key not in head}
            operation = {**head, "parameters": own, **rest}
        entry[method] = operation
    subject = operations[0][1]["x-kubernetes-group-version-kind"]["kind"]
    shared = [_parameter(resource, name) for name in common]
    shared += [_path_parameter(name, subject) for name in place.names]
    if shared:
        entry["parameters"] = sorted(shared, key=lambda one: (one["name"], one["in"]))
    return entry


def _shown(name: str) -> str:
    return name.rpartition(".")[2]


def _plain(resource: Resource) -> list[tuple[_Place, _Operations]]:
    """The collection, across namespaces too, and the object."""
    places: list[tuple[_Place, Any, str]] = []
    base, names = _base(resource)
    scope = "Namespaced" if resource.namespaced else ""
    if resource.namespaced and "list" in resource.verbs:
        everywhere = f"{resource.prefix}/{resource.plural}"
        places.append((_Place(everywhere, ()), _COLLECTION[:1], "ForAllNamespaces"))
    places.append((_Place(base, names, scope), _COLLECTION, ""))
    places.append((_Place(f"{base}/{{name}}", (*names, "name"), scope), _OBJECT, ""))
    found = []
    for place, verbs, end in places:
        operations = [
            (method, _operation(resource, place, action, _sentence(resource, text), end), (*_query(action), "pretty"))
            for verb, method, action, text in verbs
            if verb in resource.verbs
        ]
        found.append((place, operations))
    return found


def _base(resource: Resource) -> tuple[str, tuple[str, ...]]:
    if resource.namespaced:
        return f"{resource.prefix}/namespaces/{{namespace}}/{resource.plural}", ("namespace",)
    return f"{resource.prefix}/{resource.plural}", ()


def _parts(resource: Resource) -> list[tuple[_Place, _Operations]]:
    """The subresources."""
    base, names = _base(resource)
    scope = "Namespaced" if resource.namespaced else ""
    found = []
    for part in resource.subresources:
        place = _Place(f"{base}/{{name}}/{part}", (*names, "name"), scope)
        if part in _CONNECTS:
            found.append((place, _connections(resource, place, part, "")))
            if part == PROXY:
                deeper = _Place(place.path + "/{path}", (*place.names, "path"), scope)
                found.append((deeper, _connections(resource, deeper, part, "WithPath")))
            continue
        target, verbs = part_of(resource, part)
        operations = []
        for method in (_METHODS[verb] for verb in verbs):
            text = _PART_TEXTS[method].format(part=part, kind=resource.kind, article=_article(resource))
            operation = _operation(resource, place, method, text, part.capitalize(), target)
            more = tuple(f"log.{name}" for name in _OF_LOGS) if part == "log" else ()
            if part == "log":
                operation["responses"] = _text_responses((*_MEDIA, "text/plain"))
            operations.append((method, operation, (*_query(method), "pretty", *more)))
        found.append((place, operations))
    return found


def _connections(resource: Resource, place: _Place, part: str, end: str) -> _Operations:
    kind = f"{resource.kind}{_CONNECTED[part]}Options"
    names = tuple(f"{part}.{name}" for name in _OF_CONNECTIONS.get(part, (resource.plural,)))
    found: _Operations = []
    for method in _CONNECTS[part]:
        operation = {
            "tags": [tag_of(resource)],
            "description": f"connect {method.upper()} requests to {part} of {resource.kind}",
            "operationId": f"connect{group_title(resource)}{method.capitalize()}{place.scope}{resource.kind}"
            f"{part.capitalize()}{end}",
            "responses": _text_responses(("*/*",)),
            "x-kubernetes-action": "connect",
            "x-kubernetes-group-version-kind": {"group": resource.group, "version": resource.version, "kind": kind},
        }
        found.append((method, operation, names))
    return found


_CONNECTED = {"attach": "Attach", "exec": "Exec", "portforward": "PortForward", PROXY: "Proxy"}


def _watches(resource: Resource) -> list[tuple[_Place, _Operations]]:
    """The deprecated paths of watches; custom resources have none."""
    if "watch" not in resource.verbs or resource.custom is not None:
        return []
    base, names = _base(resource)
    tail = base.removeprefix(resource.prefix)
    scope = "Namespaced" if resource.namespaced else ""
    many = f"watch individual changes to a list of {resource.kind}. {_DEPRECATED}."
    one = (
        f"watch changes to an object of kind {resource.kind}. {_DEPRECATED}, filtered to a single item with "
        "the 'fieldSelector' parameter."
    )
    places = [(_Place(f"{resource.prefix}/watch{tail}", names, scope), "watchlist", many, "List")]
    if resource.namespaced:
        everywhere = _Place(f"{resource.prefix}/watch/{resource.plural}", ())
        places.append((everywhere, "watchlist", many, "ListForAllNamespaces"))
    single = _Place(f"{resource.prefix}/watch{tail}/{{name}}", (*names, "name"), scope)
    places.append((single, "watch", one, ""))
    return [
        (place, [("get", _operation(resource, place, action, text, end), (*_LIST, "pretty"))])
        for place, action, text, end in places
    ]


def _operation(
    resource: Resource,
    place: _Place,
    action: str,
    text: str,
    end: str,
    target: tuple[str, str, str] | None = None,
) -> Json:
    group, version, kind = target or (resource.group, resource.version, resource.kind)
    collection = "Collection" if action == "deletecollection" else ""
    name = f"{_VERBS[action]}{group_title(resource)}{collection}{place.scope}{resource.kind}{end}"
    operation: Json = {"tags": [tag_of(resource)], "description": text, "operationId": name}
    body = _body(resource, action, (group, version, kind))
    if body is not None:
        operation["requestBody"] = body
    operation["responses"] = _responses(resource, action, (group, version, kind))
    operation["x-kubernetes-action"] = action
    operation["x-kubernetes-group-version-kind"] = {"group": group, "version": version, "kind": kind}
    return operation


def _query(action: str) -> tuple[str, ...]:
    return {
        "delete": _DELETE,
        "deletecollection": _DELETE_COLLECTION,
        "list": _LIST,
        "patch": ("dryRun", "patch.fieldManager", "fieldValidation", "force"),
        "post": _WRITE,
        "put": _WRITE,
    }.get(action, ())


def _body(resource: Resource, action: str, kind: tuple[str, str, str]) -> Json | None:
    if action == "patch":
        types = _PATCH_TYPES if resource.custom is None else _PATCH_TYPES[:3]
        return {"content": {media: {"schema": _reference("meta.v1.Patch")} for media in types}, "required": True}
    if action in ("delete", "deletecollection"):
        return {"content": {"*/*": {"schema": _reference("meta.v1.DeleteOptions")}}}
    if action in ("post", "put"):
        return {"content": {"*/*": {"schema": _kind(resource, kind)}}, "required": True}
    return None


def _responses(resource: Resource, action: str, kind: tuple[str, str, str]) -> Json:
    media: tuple[str, ...] = _STREAMED if action in ("list", "watch", "watchlist") else _MEDIA
    if resource.custom is not None:
        media = tuple(one for one in media if one in ("application/json", "application/yaml"))
    if action == "list":
        schema = _kind(resource, (*kind[:2], kind[2] + "List"))
    elif action in ("watch", "watchlist"):
        schema = _reference("meta.v1.WatchEvent")
    elif action == "deletecollection" or (action == "delete" and not _returns(resource)):
        schema = _reference("meta.v1.Status")
    else:
        schema = _kind(resource, kind)
    content = {one: {"schema": schema} for one in media}
    found: Json = {code: {"description": _REASONS[code], "content": content} for code in _CODES[action]}
    return {**found, "401": {"description": "Unauthorized"}}


def _returns(resource: Resource) -> bool:
    return resource.custom is None and returns_object(resource.storage)


def _text_responses(media: tuple[str, ...]) -> Json:
    content = {one: {"schema": {"type": "string"}} for one in media}
    return {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}}


def _kind(resource: Resource, kind: tuple[str, str, str]) -> Json:
    found = type_of(*kind)
    if found is not None:
        return _reference(found.name)
    name = ".".join([*reversed(resource.group.split(".")), resource.version, kind[2]])
    return {"$ref": f"#/components/schemas/{name}"}


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{component_name(name)}"}


@functools.cache
def parameter_facts() -> Json:
    """What the server says of parameters: those that have a name of their own in version 2, and others."""
    found: Json = json.loads(_PARAMETERS.read_text(encoding="utf-8"))
    return found


@functools.cache
def _facts_of(name: str) -> Json:
    """The facts about `dryRun`, or about `exec.container` where the name alone is not enough."""
    facts = parameter_facts()
    if name in facts["inline"]:
        inline: Json = facts["inline"][name]
        return inline
    shared: Json = facts["shared"]
    key = _KEYS.get(name) or next(key for key, value in shared.items() if value["name"] == _shown(name))
    found: Json = shared[key]
    return found


def _parameter(resource: Resource, name: str) -> Json:
    facts = _facts_of(name)
    return {"name": facts["name"], "in": "query", "description": facts["description"], "schema": _schema(facts["type"])}


def _path_parameter(name: str, kind: str) -> Json:
    description = f"name of the {kind}" if name == "name" else _facts_of(name)["description"]
    return {"name": name, "in": "path", "description": description, "required": True, "schema": _schema("string")}


def _schema(kind: str) -> Json:
    return {"type": kind, "uniqueItems": True}


def described(resource: Resource, text: str, identifier: str) -> Json:
    """The operation that lists the resources of the group and version."""
    content = {media: {"schema": _reference("meta.v1.APIResourceList")} for media in _MEDIA}
    return {
        "tags": [tag_of(resource)],
        "description": text,
        "operationId": f"get{group_title(resource)}{identifier}",
        "responses": {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}},
    }


def _article(resource: Resource) -> str:
    if resource.kind.endswith("points"):
        return ""
    return "an" if resource.kind[0] in "AEIOU" else "a"


def _sentence(resource: Resource, text: str) -> str:
    sentence = text.format(kind=resource.kind, article=_article(resource))
    if "watch" not in resource.verbs:
        sentence = sentence.replace("list or watch", "list")
    return sentence.replace("  ", " ")


def tag_of(resource: Resource) -> str:
    """`core_v1`, `rbacAuthorization_v1`."""
    title = group_title(resource).removesuffix(resource.version.capitalize())
    return f"{title[:1].lower()}{title[1:]}_{resource.version}"


def group_title(resource: Resource) -> str:
    """`CoreV1`, `AppsV1`, `RbacAuthorizationV1`."""
    words = (resource.group or "core").removesuffix(".k8s.io").split(".")
    return "".join(word[:1].upper() + word[1:] for word in words) + resource.version.capitalize()
