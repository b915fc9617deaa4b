"""POST, PUT, PATCH and DELETE of objects and collections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simcluster.api import conversion, errors
from simcluster.api.encoding import codec
from simcluster.api.encoding.codec import media_type
from simcluster.api.errors import Cause
from simcluster.api.handlers import applying, patching, vetting
from simcluster.api.handlers.listing import list_objects, selection_of
from simcluster.api.handlers.reading import need, stored, view_of
from simcluster.api.handlers.writeoptions import dry_run_causes
from simcluster.api.objects import ApiObject, Json
from simcluster.api.registry import deletion
from simcluster.api.registry.attributes import CREATE, DELETE, UPDATE, Attributes
from simcluster.api.registry.strategy import may_create_on_update, returns_object
from simcluster.api.request import APPLY_PATCH, JSON, Request, Response
from simcluster.api.routing import Route
from simcluster.api.serving import Serving

#: Subresources (and none) whose writes are defaulted as a whole object.
_DEFAULTED = ("", "ephemeralcontainers")
_POLICIES = ("Background", "Foreground", "Orphan")


def attributes_of(api: Serving, request: Request, route: Route, operation: str) -> Attributes:
    """The write a request asks for, without objects."""
    query = request.query
    manager = (request.param("fieldManager") if query else "") or request.user_agent.partition("/")[0] or "unknown"
    return Attributes(
        operation,
        stored_resource(api, route),
        route.namespace,
        route.name,
        route.subresource,
        user=request.user,
        manager=manager,
        dry_run=bool(query) and "All" in request.params("dryRun"),
        requested=route.resource,
    )


def stored_resource(api: Serving, route: Route) -> Any:
    """The resource in the version in which the server works on its objects."""
    resource = route.resource
    if resource.custom is not None:
        return resource  # converted when it is stored
    return api.resources.by_name[resource.storage] if resource.is_converted else resource


def create(api: Serving, request: Request, route: Route) -> Response:
    """POST to a collection."""
    attributes = attributes_of(api, request, route, CREATE)
    body = codec.read_object(request, route.resource)
    return _create(api, request, route, attributes, body)


def _create(api: Serving, request: Request, route: Route, attributes: Attributes, body: codec.Body) -> Response:
    _check_namespace(route, body.value)
    validation = request.param("fieldValidation")
    vetted = vetting.vet(route.resource, body.value, validation, repeated=body.repeated)
    api.warn(vetted.warnings)
    obj = _identified(route, vetted.object)
    attributes.obj = conversion.to_storage(route.resource, obj)
    vetting.default(attributes.resource, attributes.obj)
    made = api.registry.create(attributes)
    return _shown(api, request, route, made, 201)


def _identified(route: Route, obj: Json) -> Json:
    obj["apiVersion"], obj["kind"] = route.resource.api_version, route.resource.kind
    if not isinstance(obj.get("metadata"), dict):
        obj["metadata"] = {}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": obj["metadata"], **obj}


def _check_namespace(route: Route, body: Mapping[str, Any]) -> None:
    metadata = body.get("metadata")
    written = metadata.get("namespace") if isinstance(metadata, Mapping) else None
    if not written or written == route.namespace:
        return
    raise errors.bad_request("the namespace of the provided object does not match the namespace sent on the request")


def _shown(api: Serving, request: Request, route: Route, obj: Json, code: int) -> Response:
    if request.accept == JSON and not route.resource.is_converted:
        return Response(code, obj)
    return Response(code, view_of(api, request, route).single(obj, now_ns=api.sim.now))


def update(api: Serving, request: Request, route: Route) -> Response:
    """PUT of an object or its status."""
    body = codec.read_object(request, route.resource)
    patching.check_identity(route.resource, route.name, route.namespace, body.value)
    attributes = attributes_of(api, request, route, UPDATE)
    attributes.old = stored(api, route)
    if attributes.old is None:
        if not may_create_on_update(route.resource.storage) or route.subresource:
            raise errors.not_found(route.resource.name, route.name)
        attributes.operation = CREATE
        return _create(api, request, route, attributes, body)
    validation = request.param("fieldValidation")
    kept = _untouched(attributes.old, body.value, route)
    value = {key: part for key, part in body.value.items() if key not in kept} if kept else body.value
    owners = _untouched_owners(attributes.old, value)
    if owners:
        value = {**value, "metadata": {k: v for k, v in value["metadata"].items() if k != "managedFields"}}
    vetted = vetting.vet(route.resource, value, validation, repeated=body.repeated)
    api.warn(vetted.warnings)
    obj = _identified(route, vetted.object)
    if "name" not in obj["metadata"]:
        obj["metadata"]["name"] = route.name
    if owners:
        obj["metadata"] = _in_order(body.value["metadata"], {**obj["metadata"], "managedFields": owners})
    attributes.obj = conversion.to_storage(route.resource, obj)
    if route.subresource in _DEFAULTED:
        vetting.default(attributes.resource, attributes.obj)
    attributes.obj.update(kept)
    made = api.registry.update(attributes)
    return _shown(api, request, route, made, 200)


def _untouched_owners(old: ApiObject, body: Mapping[str, Any]) -> list[Json]:
    """The `managedFields` of a body if they are the stored object's own, which need no decoding; else none."""
    owners: list[Json] = old["metadata"].get("managedFields") or []
    metadata = body.get("metadata")
    return owners if type(metadata) is dict and metadata.get("managedFields") is owners else []


def _in_order(names: Iterable[str], parts: Json) -> Json:
    """The parts in the order of the names, the others behind them."""
    return {**{name: parts[name] for name in names if name in parts}, **parts}


def _untouched(old: ApiObject, body: Mapping[str, Any], route: Route) -> Json:
    """Parts of a body that are the stored object's own, which need no decoding.

    A write of the status keeps everything else; a write of the object keeps the status that it cannot change.
    """
    if body.get("apiVersion") != old["apiVersion"]:
        return {}
    if not route.subresource:
        status = body.get("status")
        is_kept = status is not None and status is old.get("status") and "status" in route.resource.subresources
        return {"status": status} if is_kept and route.resource.custom is None and [*body][-1] == "status" else {}
    if route.subresource != "status":
        return {}
    return {key: part for key, part in body.items() if type(part) is dict and key != "status" and old.get(key) is part}


def patch(api: Serving, request: Request, route: Route) -> Response:
    """PATCH of an object or its status, of any type."""
    attributes = attributes_of(api, request, route, UPDATE)
    if media_type(request.content_type) == APPLY_PATCH:
        return applying.apply(api, request, route, attributes)
    body = codec.read_any(request)
    if route.resource.custom is not None:
        codec.refuse_deep(body)
    attributes.old = need(api, route)
    current = conversion.from_storage(route.resource, attributes.old, api.registry.admission.cluster)
    result = patching.patched(route.resource, current, body, request.content_type)
    patching.check_identity(route.resource, route.name, route.namespace, result)
    if result is current:
        return _shown(api, request, route, attributes.old, 200)
    obj, warnings = _decoded_patch(route, attributes.old, result, body, request)
    api.warn(warnings)
    attributes.obj = conversion.to_storage(route.resource, obj)
    if route.subresource in _DEFAULTED:
        vetting.default(attributes.resource, attributes.obj)
    made = api.registry.update(attributes)
    return _shown(api, request, route, made, 200)


def _decoded_patch(
    route: Route, old: ApiObject, result: Json, body: Any, request: Request
) -> tuple[Json, tuple[str, ...]]:
    """Decode what the patch may have changed; the rest is shared with the stored object."""
    validation = request.param("fieldValidation")
    if route.subresource == "status":
        parts: tuple[str, ...] = ("metadata", "status")
        to_decode = {k: result[k] for k in parts if k in result and result[k] is not old.get(k)}
        base: Json = {k: v for k, v in old.items() if k != "status" or "status" in result}
    else:
        to_decode = {k: v for k, v in result.items() if k != "status" or v is not old.get("status")}
        base = {"apiVersion": old["apiVersion"], "kind": old["kind"], "metadata": old["metadata"]}
    managed = old["metadata"].get("managedFields")
    metadata = to_decode.get("metadata")
    shares_managed = isinstance(metadata, dict) and managed is not None and metadata.get("managedFields") is managed
    if shares_managed:
        to_decode["metadata"] = {k: v for k, v in result["metadata"].items() if k != "managedFields"}
    obj, warnings = patching.decode_patched(route.resource, to_decode, body, request.content_type, validation)
    if not isinstance(obj.get("metadata"), dict):
        obj.pop("metadata", None)
    merged = {**base, **obj, "apiVersion": route.resource.api_version, "kind": route.resource.kind}
    if shares_managed and "metadata" in obj:
        merged["metadata"]["managedFields"] = managed
    return merged, warnings


def delete(api: Serving, request: Request, route: Route) -> Response:
    """DELETE of one object."""
    options = codec.read_options(request)
    _check_options(options)
    attributes = attributes_of(api, request, route, DELETE)
    attributes.old = need(api, route)
    attributes.options = options
    attributes.dry_run = "All" in (options.get("dryRun") or ())
    result = deletion.delete(api.registry, attributes)
    if not result.gone or returns_object(route.resource.storage):
        return _shown(api, request, route, result.object, 200)
    details: Json = {"name": route.name}
    if route.resource.group:
        details["group"] = route.resource.group
    details["kind"] = route.resource.plural
    details["uid"] = attributes.old["metadata"]["uid"]
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return Response(200, body)


def _check_options(options: Json) -> None:
    policy = options.get("propagationPolicy")
    causes = []
    if policy is not None and options.get("orphanDependents") is not None:
        why = f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be both set'
        causes.append(Cause("FieldValueInvalid", why, "propagationPolicy"))
    elif policy is not None and policy not in _POLICIES:
        listed = ", ".join(f'"{p}"' for p in ("Background", "Foreground", "Orphan", "nil"))
        why = f'Unsupported value: "{policy}": supported values: {listed}'
        causes.append(Cause("FieldValueNotSupported", why, "propagationPolicy"))
    causes += dry_run_causes(options.get("dryRun") or [])
    if causes:
        raise errors.invalid("DeleteOptions", "meta.k8s.io", "", causes)


def delete_collection(api: Serving, request: Request, route: Route) -> Response:
    """DELETE of a collection: every selected object by itself."""
    options = codec.read_options(request)
    _check_options(options)
    selection = selection_of(request, route.resource, route.namespace)
    page = list_objects(api.store, route.resource, selection, request)
    deleted = []
    for found in page.objects:
        obj = conversion.decoded(route.resource, found, api.registry.admission.cluster)
        metadata = obj["metadata"]
        one = Route(route.resource, metadata.get("namespace", ""), metadata["name"], "")
        attributes = attributes_of(api, request, one, DELETE)
        attributes.old, attributes.options = obj, options
        attributes.dry_run = "All" in (options.get("dryRun") or ())
        deleted.append(deletion.delete(api.registry, attributes).object)
    metadata = {"resourceVersion": str(api.store.version)}
    return Response(200, view_of(api, request, route).collection(deleted, metadata, now_ns=api.sim.now))
