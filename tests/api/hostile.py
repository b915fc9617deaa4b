"""Requests that no honest client sends, for tests: broken bodies, wrong types in every field, odd queries.

Everything is a function of numbers that the caller draws, so a failing case can be repeated.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from simcluster.api.encoding.wire import encode
from simcluster.api.objects import Json
from simcluster.api.request import (
    APPLY_PATCH,
    JSON,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Request,
    Response,
    request_of,
)
from simcluster.api.resources import Resource
from simcluster.api.schema import Field, TypeSchema, type_of
from simcluster.api.server import Api
from simcluster.engine import SECOND, Simulation

#: Values that are wrong for most fields.
BAD_VALUES: tuple[Any, ...] = (
    *(None, "", "x", -1, 10**30, 2**31, 1.5, True, [], {}, [None], [{}], [[]], ["x", "x"], {"a": None}, {"": 1}),
    *("\x00", "é" * 300, "1e400", "9" * 30, "2020-13-45T99:99:99Z", {"matchLabels": "x"}),
)
#: Bodies as bytes, most of them no object.
BODIES: tuple[bytes, ...] = (
    *(b"", b"{", b"}", b"null", b"true", b"1", b"[]", b'"x"', b"{}", b"\x00\x01", b"\xff\xfe", b"NaN", b"'", b"\t"),
    *(b"[[[[[", b"[" * 200_000, b'{"a":' * 20_000, b'{"x":"' + b"a" * (3 << 20) + b'"}', b"- " * 20_000),
    *(b'{"metadata":{"name":"x","name":"y"}}', b'{"metadata":NaN}', b'{"metadata":{"name":"\xff"}}', b"a: b: c"),
    *(
        b'{"metadata":{"name":"\\ud800"}}',
        b'{"spec":{"replicas":1e999}}',
        b'{"spec":{"replicas":' + b"9" * 5000 + b"}}",
    ),
    *(b"a: &x [*x]", b"!!python/object:os.system x", b"k8s\x00\n\x0c", b'{"kind":5,"apiVersion":[]}', b"? x\n: y"),
    *(b'{"kind":"Pod","apiVersion":"v9"}', b'{"kind":"Nope","apiVersion":"apps/v1"}', b'{"a":1}{"b":2}', b"[null]"),
    *(b'[{"op":1}]', b'[{"op":"remove","path":"/x/y"}]', b'[{"op":"move","from":"/metadata","path":"/metadata/x"}]'),
    *(b'[{"op":"add","path":"","value":5}]', b'[{"op":"remove","path":"/metadata"}]', b'{"metadata":null}', b"[1]"),
    *(b'{"metadata":{"name":null}}', b'{"$patch":5}', b'{"spec":{"$retainKeys":5}}', b'{"$setElementOrder/x":1}'),
    b'{"metadata":{"$setElementOrder/finalizers":[{}]}}',
    b'{"spec":{"template":{"spec":{"$setElementOrder/containers":[1,{},[]]}}}}',
    *(b'{"gracePeriodSeconds":"x"}', b'{"preconditions":5}', b'{"dryRun":5}', b'{"propagationPolicy":"x"}'),
    *(b'{"propagationPolicy":"Orphan","orphanDependents":true}', b'{"preconditions":{"uid":"nope"}}'),
)
CONTENT_TYPES = (
    *(JSON, "application/yaml", JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH, "", ";", "text/plain"),
    *("application/vnd.kubernetes.protobuf", "application/json; charset=utf-16"),
)
ACCEPTED = (
    *(JSON, "*/*", "", ";;", "text/html", "application/yaml", "application/vnd.kubernetes.protobuf"),
    *("application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as", "application/json;as=Table;g=x;v=v1"),
)
PARAMETERS = (
    *("watch", "limit", "continue", "resourceVersion", "resourceVersionMatch", "timeoutSeconds", "fieldSelector"),
    *("labelSelector", "allowWatchBookmarks", "sendInitialEvents", "dryRun", "fieldManager", "fieldValidation"),
    *("force", "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "pretty", "container", "tailLines"),
    *("sinceSeconds", "sinceTime", "limitBytes", "command", "ports", "hash", "verbose", "exclude"),
)
VALUES = (
    *("", "x", "-1", "0", "1", "true", "9" * 24, "1.5", "\x00", "é", "%", "All", "a=b", "a in (", "!", "a=b,", "="),
    *("a==b==c", "metadata.name=x", "spec.nodeName!=", "a notin ()", "a>x", "-a=b", "a/b/c=d", "x" * 70 + "=y", "\\"),
    *("Exact", "NotOlderThan", "Orphan", "Strict", "bnVsbA", "WzFd", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTF9", "1s"),
)
TAILS = (
    *("", "/", "/x", "/x/", "/x/status", "/x/scale", "/x/log", "/x/exec", "/x/binding", "/x/eviction", "/x/token"),
    *("/x/finalize", "/x/proxy", "/x/proxy/a//b", "/a:b:c:d/proxy/", "/:/proxy/", "/x/nope", "/x/status/y", "//"),
    *("/%00", "/é", "/..", "/" + "a" * 300),
)
ROOTS = (
    *(
        "",
        "/",
        "/api",
        "/api/v1/",
        "/api/v2",
        "/apis",
        "/apis/apps/v9",
        "/apis/nope",
        "/version",
        "/livez/x",
        "/metrics",
    ),
    *("/api/v1/watch", "/api/v1/watch/pods", "/api/v1/watch/watch/pods", "/api/v1/namespaces//pods", "//api//v1//pods"),
    *("/api/v1/namespaces/default/nope/x", "/api/v1/proxy/nodes/x", "/logs", "/openapi/v3/x", "/openid/v1/jwks"),
)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "get", "")

_CONTAINERS: Json = {"containers": [{"name": "a", "image": "b"}]}
_TEMPLATE: Json = {"metadata": {"labels": {"a": "b"}}, "spec": _CONTAINERS}
_WORKLOAD: Json = {"selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE}
_ONCE: Json = {"template": {"spec": {**_CONTAINERS, "restartPolicy": "Never"}}}
_SCHEMA: Json = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}
#: What a valid object of a kind needs beside its name.
_VALID: dict[str, Json] = {
    "CronJob": {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": _ONCE}}},
    "CustomResourceDefinition": {
        "metadata": {"name": "foos.ex.com"},
        "spec": {
            "group": "ex.com",
            "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": _SCHEMA}],
        },
    },
    "DaemonSet": {"spec": _WORKLOAD},
    "Deployment": {"spec": _WORKLOAD},
    "EndpointSlice": {"addressType": "IPv4", "endpoints": []},
    "HorizontalPodAutoscaler": {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "x"}, "maxReplicas": 3}},
    "Ingress": {"spec": {"defaultBackend": {"service": {"name": "x", "port": {"number": 80}}}}},
    "Job": {"spec": _ONCE},
    "NetworkPolicy": {"spec": {"podSelector": {}}},
    "PersistentVolume": {
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    },
    "PersistentVolumeClaim": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    "Pod": {"spec": _CONTAINERS},
    "PodDisruptionBudget": {"spec": {"minAvailable": 1, "selector": {}}},
    "PriorityClass": {"value": 5},
    "ReplicaSet": {"spec": _WORKLOAD},
    "RoleBinding": {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "x"}},
    "RuntimeClass": {"handler": "runc"},
    "Service": {"spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}},
    "StatefulSet": {"spec": {**_WORKLOAD, "serviceName": "x"}},
    "StorageClass": {"provisioner": "x.y/z"},
}

Path = tuple[str | int, ...]


def hostile_server() -> Api:
    """A server with a namespace and one valid object of every kind that needs no more."""
    api = Api(Simulation(1))
    api.handle(request_of("POST", "/api/v1/namespaces", body={"metadata": {"name": "default"}}))
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    api.handle(request_of("POST", accounts, body={"metadata": {"name": "default"}}))
    for resource in list(api.resources.all):
        if resource.kind in _VALID or resource.kind in ("ConfigMap", "Secret", "Node", "Lease", "Role"):
            api.handle(request_of("POST", collection_of(resource), body=valid_object(resource)))
    api.sim.run_for(SECOND)
    return api


def collection_of(resource: Resource) -> str:
    """The path of the collection; of the namespace `default` if the kind lives in namespaces."""
    namespace = "/namespaces/default" if resource.namespaced else ""
    return f"{resource.prefix}{namespace}/{resource.plural}"


def valid_object(resource: Resource) -> Json:
    """An object of the kind, named `x`."""
    obj: Json = copy.deepcopy(_VALID.get(resource.kind, {}))
    obj.setdefault("metadata", {}).setdefault("name", "x")
    return {"apiVersion": resource.api_version, "kind": resource.kind, **obj}


def field_paths(schema: TypeSchema, depth: int) -> Iterator[Path]:
    """The paths of all fields down to a depth; 0 stands for the first entry of a list, `k` for a key of a map."""
    for field in schema.fields.values():
        yield from _paths(field, (field.name,), depth, (schema.name,))


def _paths(field: Field, path: Path, depth: int, within: tuple[str, ...]) -> Iterator[Path]:
    yield path
    inner = field.item if field.item is not None else field
    step: Path = () if field.item is None else (0,) if field.kind == "list" else ("k",)
    if step:
        yield (*path, *step)
    if depth and inner.kind == "object" and inner.type is not None and inner.type.name not in within:
        for name, one in inner.type.fields.items():
            yield from _paths(one, (*path, *step, name), depth - 1, (*within, inner.type.name))


def spoilt(obj: Json, path: Path, value: Any) -> Json:
    """A copy of the object with the value at the path; what is missing on the way is made."""
    result: Any = copy.deepcopy(obj)
    at = result
    for index, key in enumerate(path):
        is_last = index == len(path) - 1
        wanted: Any = value if is_last else [] if path[index + 1] == 0 else {}
        if isinstance(at, list):
            at[:] = at or [wanted]
            if is_last or type(at[0]) is not type(wanted):
                at[0] = wanted
            at = at[0]
        else:
            if is_last or type(at.get(key)) is not type(wanted):
                at[key] = wanted
            at = at[key]
    found: Json = result
    return found


def spoiling_requests(resource: Resource, path: Path, value: Any) -> Iterator[Request]:
    """Every kind of write by which the value may come to the path of an object; nothing is stored."""
    collection, obj = collection_of(resource), valid_object(resource)
    name = obj["metadata"]["name"]
    whole, part = spoilt(obj, path, value), spoilt({}, path, value)
    pointer = "/" + "/".join(str(key) for key in path)
    yield request_of("POST", f"{collection}?dryRun=All", body=whole)
    yield request_of("PUT", f"{collection}/{name}?dryRun=All", body=whole)
    target = f"{collection}/{name}?dryRun=All&fieldManager=f"
    yield request_of("PATCH", target, body=part, content_type=MERGE_PATCH)
    yield request_of("PATCH", target, body=part, content_type=STRATEGIC_MERGE_PATCH)
    yield request_of("PATCH", target, body={**whole, **part}, content_type=APPLY_PATCH)
    operation = {"op": "add", "path": pointer, "value": value}
    yield request_of("PATCH", target, body=[operation], content_type=JSON_PATCH)


def spoilable(api: Api) -> list[tuple[Resource, TypeSchema]]:
    """The kinds that can be created, with their types."""
    found = []
    for resource in api.resources.all:
        schema = type_of(resource.group, resource.version, resource.kind)
        if "create" in resource.verbs and schema is not None:
            found.append((resource, schema))
    return found


#: What a real server, too, answers with a 500: it gives the merge's own error to the client.
_INTERNAL = ("does not contain declared merge key", "cannot merge lists without merge key", "no preferred addresses")


def objection(api: Api, request: Request) -> str:
    """What is wrong with the answer to a request, or an empty text. An exception is let through."""
    response = api.handle(request)
    if response.stream is not None:
        response.stream.poll()
        response.stream.close()
    encode(request, response)
    return _objection(response)


def _objection(response: Response) -> str:
    if response.code < 400 or response.text is not None:
        return ""
    status = response.body
    shape = (status.get("kind"), status.get("status"), status.get("code"))
    if shape != ("Status", "Failure", response.code) or not status.get("message"):
        return f"no Status: {status}"
    is_known = response.code in (503, 504) or any(text in status["message"] for text in _INTERNAL)
    return f"{response.code}: {status['message']}" if response.code >= 500 and not is_known else ""
