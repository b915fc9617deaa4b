"""The `scale` subresource of Deployments, ReplicaSets, StatefulSets, ReplicationControllers, custom resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api import errors
from simcluster.api.encoding import codec
from simcluster.api.errors import Cause
from simcluster.api.handlers import patching, reading, vetting
from simcluster.api.handlers.reading import need
from simcluster.api.handlers.writing import attributes_of
from simcluster.api.objects import ApiObject, Json
from simcluster.api.registry.attributes import UPDATE, Part
from simcluster.api.request import Request, Response
from simcluster.api.resources import Resource
from simcluster.api.routing import Route
from simcluster.api.selectors import label_text, of_label_selector
from simcluster.api.serving import Serving

SCALE = Resource("autoscaling", "v1", "Scale", "scales", "scale", True)


def scale_of(obj: ApiObject) -> Json:
    """The Scale of a workload."""
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    shown = {
        key: metadata[key]
        for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if key in metadata
    }
    selector = spec.get("selector") or {}
    if obj["kind"] == "ReplicationController":
        selector = {"matchLabels": selector}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": shown,
        "spec": {"replicas": spec["replicas"]} if spec.get("replicas") else {},
        "status": {"replicas": status.get("replicas", 0), "selector": label_text(of_label_selector(selector))},
    }


def custom_scale_of(obj: ApiObject, paths: Mapping[str, Any]) -> Json:
    """The Scale of a custom resource, whose definition says where its parts are."""
    metadata = obj["metadata"]
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    replicas = _at(obj, paths["specReplicasPath"])
    status: Json = {"replicas": _at(obj, paths["statusReplicasPath"]) or 0}
    selector = _at(obj, paths["labelSelectorPath"]) if paths.get("labelSelectorPath") else None
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in names if key in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _at(obj: Any, path: str) -> Any:
    for name in path.removeprefix(".").split("."):
        obj = obj.get(name) if isinstance(obj, Mapping) else None
    return obj


def _with(obj: Mapping[str, Any], names: list[str], value: Any) -> Json:
    """A copy of the object with another value at a path."""
    inner = obj.get(names[0])
    if len(names) > 1:
        value = _with(inner if isinstance(inner, Mapping) else {}, names[1:], value)
    return {**obj, names[0]: value}


def _shown(route: Route, obj: ApiObject) -> Json:
    custom = route.resource.custom
    return scale_of(obj) if custom is None or custom.scale is None else custom_scale_of(obj, custom.scale)


def serve(api: Serving, request: Request, route: Route) -> Response:
    """GET, PUT and PATCH. Raises ApiError."""
    obj = need(api, route)
    current = _shown(route, obj)
    if request.method == "GET":
        return Response(200, current)
    if request.method == "PUT":
        wanted: Any = vetting.received(request, SCALE).object
        patching.check_identity(SCALE, route.name, route.namespace, wanted)
    elif request.method == "PATCH":
        body = codec.read_any(request)
        wanted = patching.patched(SCALE, current, body, request.content_type)
        validation = request.param("fieldValidation")
        wanted, warnings = patching.decode_patched(SCALE, wanted, body, request.content_type, validation)
        api.warn(warnings)
        patching.check_identity(SCALE, route.name, route.namespace, wanted)
    else:
        raise errors.method_not_supported(route.resource.name, request.method.lower())
    return Response(200, _scaled(api, request, route, obj, wanted))


def _scaled(api: Serving, request: Request, route: Route, obj: ApiObject, wanted: Mapping[str, Any]) -> Json:
    replicas = (wanted.get("spec") or {}).get("replicas") or 0
    if replicas < 0:
        why = f"Invalid value: {replicas}: must be greater than or equal to 0"
        raise errors.invalid("Scale", "autoscaling", route.name, [Cause("FieldValueInvalid", why, "spec.replicas")])
    attributes = attributes_of(api, request, route._replace(subresource=""), UPDATE)
    attributes.old = obj
    metadata = dict(obj["metadata"])
    for name in ("resourceVersion", "uid"):
        if (wanted.get("metadata") or {}).get(name):
            metadata[name] = wanted["metadata"][name]
    current = _shown(route, obj)
    attributes.part = Part("autoscaling", "v1", "Scale", "scale", {**current, "spec": {"replicas": replicas}}, current)
    custom = route.resource.custom
    path = custom.scale["specReplicasPath"] if custom is not None and custom.scale is not None else ".spec.replicas"
    attributes.obj = _with({**obj, "metadata": metadata}, path.removeprefix(".").split("."), replicas)
    made = api.registry.update(attributes)
    return _shown(route, reading.stored(api, route) or ApiObject(made))
