"""Server-side apply: an object as its managers want it, field by field.

The applied configuration is merged by the schema's list keys; fields its manager applied
before and names no more are removed, unless somebody else owns them; a field that another
manager owns and that would change is a conflict, unless `force` is given.

Source: sigs.k8s.io/structured-merge-diff/v4/merge, k8s.io/apiserver handlers/patch.go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from simcluster.api import errors, managedfields
from simcluster.api.customresources.types import type_of_resource
from simcluster.api.encoding import codec
from simcluster.api.errors import ApiError, Cause
from simcluster.api.handlers import patching, reading, vetting
from simcluster.api.managedfields import Manager
from simcluster.api.objects import Json
from simcluster.api.patch.structure import PLAIN, Shape, shape_of
from simcluster.api.registry.attributes import CREATE, Attributes
from simcluster.api.request import Request, Response
from simcluster.api.routing import Route
from simcluster.api.schema import TypeSchema, decode
from simcluster.api.serving import Serving

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_FIXED_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation")


def apply(api: Serving, request: Request, route: Route, attributes: Attributes) -> Response:
    """Serve an apply patch. Raises ApiError 400, 409, 415, 422."""
    if not request.param("fieldManager"):
        cause = Cause("FieldValueRequired", "Required value: is required for apply patch", "fieldManager")
        raise errors.invalid("PatchOptions", "meta.k8s.io", "", [cause])
    wanted = codec.read_any(request)
    if not isinstance(wanted, Mapping):
        raise errors.bad_request("error decoding YAML: the applied configuration is no object")
    patching.check_identity(route.resource, route.name, route.namespace, wanted)
    vetted = vetting.vet(route.resource, wanted, request.param("fieldValidation") or "Strict")
    configuration = vetted.object
    _check_configuration(route, configuration)
    configuration["metadata"].setdefault("name", route.name)
    attributes.manager_operation = "Apply"
    attributes.old = reading.stored(api, route)
    force = request.flag("force")
    obj, entries = _merged(api, route, attributes, configuration, force=force)
    _remember(obj, configuration, attributes.manager)
    obj = decode(route.resource, obj).object  # private, so that it may be defaulted
    obj["apiVersion"], obj["kind"] = route.resource.api_version, route.resource.kind
    if attributes.old is None:
        attributes.operation, attributes.name = CREATE, ""
        attributes.obj = obj
        vetting.default(attributes.resource, obj)
        attributes.entries = entries
        stored = api.registry.create(attributes)
        return Response(
            201, reading.view_of(api, request, route).single(stored, now_ns=api.sim.now), warnings=vetted.warnings
        )
    obj["metadata"] = {**obj["metadata"], "managedFields": entries}
    attributes.obj = obj
    vetting.default(attributes.resource, obj)
    stored = api.registry.update(attributes)
    return Response(
        200, reading.view_of(api, request, route).single(stored, now_ns=api.sim.now), warnings=vetted.warnings
    )


def _remember(obj: Json, configuration: Json, manager: str) -> None:
    """Keep the annotation of client-side apply up to date, for `kubectl` alone (lastappliedupdater.go)."""
    annotations = obj["metadata"].get("annotations") or {}
    if manager != "kubectl" or _LAST_APPLIED not in annotations:
        return
    metadata = dict(configuration["metadata"])
    own = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != _LAST_APPLIED}
    metadata.pop("annotations", None)
    if own:
        metadata["annotations"] = own
    applied = {**configuration, "metadata": metadata}
    text = json.dumps(applied, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"
    obj["metadata"] = {**obj["metadata"], "annotations": {**annotations, _LAST_APPLIED: text}}


def _check_configuration(route: Route, configuration: Json) -> None:
    if not isinstance(configuration.get("metadata"), dict):
        configuration["metadata"] = {}
    version, kind = configuration.get("apiVersion") or "", configuration.get("kind") or route.resource.kind
    if version != route.resource.api_version or kind != route.resource.kind:
        raise errors.bad_request(
            f"Incorrect version specified in apply patch. Specified patch version: {version}, "
            f"expected: {route.resource.api_version}"
        )
    if configuration["metadata"].get("managedFields"):
        raise errors.bad_request("metadata.managedFields must be nil")


def _merged(
    api: Serving, route: Route, attributes: Attributes, configuration: Json, *, force: bool
) -> tuple[Json, list[Json]]:
    """The object after the apply, and its managed fields."""
    resource = route.resource
    schema = type_of_resource(resource)
    manager = Manager(attributes.manager, "Apply", resource.api_version, route.subresource)
    own = managedfields.everything(configuration, schema)
    live = attributes.old
    now = api.registry.now_text()
    if live is None:
        return dict(configuration), [managedfields.entry(manager, own, now)] if own else []
    entries: list[Json] = list(live["metadata"].get("managedFields") or ())
    merged = _overlay(live, configuration, schema)
    previous = next((e.get("fieldsV1") or {} for e in entries if managedfields.manager_of(e) == manager), {})
    others = [e for e in entries if managedfields.manager_of(e) != manager]
    dropped = managedfields.difference(previous, managedfields.named(own))
    for other in others:
        dropped = managedfields.difference(dropped, managedfields.named(other.get("fieldsV1") or {}))
    if dropped:
        merged = _without(merged, dropped, schema)
    comparison = managedfields.compare(live, merged, schema)
    if not force:
        _refuse_conflicts(others, comparison, own, _yielded(live, manager, schema))
    kept = []
    for other in others:
        fields = other.get("fieldsV1") or {}
        rest = managedfields.difference(managedfields.difference(fields, comparison.removed), comparison.changed)
        if rest:
            kept.append(other if rest == fields else {**other, "fieldsV1": rest})
    same = previous == own and not comparison.changed and not comparison.removed
    time = next((e["time"] for e in entries if managedfields.manager_of(e) == manager), now) if same else now
    if own:
        kept.append(managedfields.entry(manager, own, time))
    return merged, managedfields.ordered(kept)


def _unowned(fields: Json, owners: list[Json]) -> Json:
    """The fields without containers in which somebody still owns something."""
    result: Json = {}
    for element, node in fields.items():
        if element == ".":
            continue
        below = [owner[element] for owner in owners if element in owner]
        kept = _unowned(node, below) if below else node
        if kept or not below:
            result[element] = kept
    return result


def _yielded(live: Mapping[str, Any], manager: Manager, schema: TypeSchema | None) -> Json:
    """What `kubectl` applied on its own side and is still so: it may take these fields (lastappliedmanager.go)."""
    text = (live["metadata"].get("annotations") or {}).get(_LAST_APPLIED)
    if manager.name != "kubectl" or not text:
        return {}
    try:
        last = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(last, dict) or last.get("apiVersion") != manager.api_version:
        return {}
    comparison = managedfields.compare(last, live, schema)
    mine = managedfields.difference(managedfields.everything(last, schema), comparison.changed)
    return managedfields.difference(mine, comparison.removed)


def _refuse_conflicts(others: list[Json], comparison: managedfields.Comparison, own: Json, yielded: Json) -> None:
    """409 if a field would change under somebody else's hands, unless it is among the `yielded`."""
    causes: list[Cause] = []
    changed = managedfields.difference(managedfields.intersection(comparison.changed, own), yielded)
    for other in others:
        contested = managedfields.intersection(other.get("fieldsV1") or {}, changed)
        for path in managedfields.leaves(contested):
            message = f"conflict with {_shown_manager(other)}"
            causes.append(Cause("FieldManagerConflict", message, managedfields.path_text(path)))
    if not causes:
        return
    details = {"causes": [cause._asdict() for cause in causes]}
    raise ApiError(409, "Conflict", _conflict_text(causes), details)


def _shown_manager(entry: Json) -> str:
    text = f'"{entry["manager"]}"'
    if entry.get("subresource"):
        text += f' with subresource "{entry["subresource"]}"'
    if entry["operation"] == "Update":
        text += f" using {entry['apiVersion']}"
    return text


def _conflict_text(causes: list[Cause]) -> str:
    if len(causes) == 1:
        return f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    by_manager: dict[str, list[str]] = {}
    for cause in causes:
        by_manager.setdefault(cause.message.replace("conflict with", "conflicts with", 1), []).append(cause.field)
    parts = []
    for manager in sorted(by_manager):
        parts.append(f"{manager}:\n" + "\n".join(f"- {field}" for field in by_manager[manager]))
    return f"Apply failed with {len(causes)} conflicts: " + "\n".join(parts)


# Merging by keys.


def _overlay(live: Mapping[str, Any], wanted: Mapping[str, Any], schema: TypeSchema | None) -> Json:
    """The live object with the wanted fields on top."""
    result = dict(live)
    for key, value in wanted.items():
        if key == "metadata":
            metadata = {k: v for k, v in value.items() if k not in _FIXED_METADATA}
            result[key] = _put(live.get(key), metadata, shape_of(schema, key))
            for name in ("uid", "resourceVersion"):
                if name in value:
                    result[key] = {**result[key], name: value[name]}
        else:
            result[key] = _put(live.get(key), value, shape_of(schema, key))
    return result


def _put(live: Any, wanted: Any, shape: Shape) -> Any:
    if shape.atomic:
        return wanted
    if isinstance(wanted, dict):
        result = dict(live) if isinstance(live, dict) else {}
        for key, value in wanted.items():
            result[key] = _put(result.get(key), value, shape_of(shape.schema, key))
        return result
    if isinstance(wanted, list) and isinstance(live, list):
        if shape.keys:
            return _put_items(live, wanted, shape)
        if shape.is_set:
            return list(dict.fromkeys([*live, *wanted]))
    return wanted


def _put_items(live: list[Any], wanted: list[Any], shape: Shape) -> list[Any]:
    """Items in the order of the configuration; those it does not name keep their places."""
    item_shape = Shape(shape.schema)
    present = {managedfields.item_key(item, shape): item for item in live}
    named = {managedfields.item_key(item, shape): item for item in wanted}
    result: list[Any] = []
    queue = list(wanted)
    for item in live:
        key = managedfields.item_key(item, shape)
        if key not in named:
            result.append(item)
            continue
        while queue:
            head = queue.pop(0)
            head_key = managedfields.item_key(head, shape)
            result.append(_put(present.get(head_key), head, item_shape))
            if head_key == key or head_key in present:
                break
    result.extend(_put(present.get(managedfields.item_key(item, shape)), item, item_shape) for item in queue)
    return result


def _without(obj: Json, fields: Json, schema: TypeSchema | None) -> Json:
    """The object without a set of fields."""
    pruned = _prune(obj, fields, Shape(schema))
    assert isinstance(pruned, dict)
    return pruned


def _prune(value: Any, fields: Json, shape: Shape) -> Any:
    if isinstance(value, dict):
        result = dict(value)
        for element, node in fields.items():
            key = element.removeprefix("f:")
            if not element.startswith("f:") or key not in result:
                continue
            inner = shape_of(shape.schema, key)
            children = {k: v for k, v in node.items() if k != "."}
            if children and not inner.atomic:
                result[key] = _prune(result[key], children, inner)
                if managedfields.is_member(node) and not result[key]:
                    del result[key]
            else:
                del result[key]
        return result
    if isinstance(value, list):
        return [item for item in (_kept_item(item, fields, shape) for item in value) if item is not None]
    return value


def _kept_item(item: Any, fields: Json, shape: Shape) -> Any:
    if not isinstance(item, dict) or not shape.keys:
        return None if f'v:"{item}"' in fields else item
    node = fields.get(managedfields.item_key(item, shape))
    if node is None:
        return item
    if managedfields.is_member(node):
        return None
    return _prune(item, node, Shape(shape.schema) if shape.schema is not None else PLAIN)
