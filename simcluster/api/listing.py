"""List: selection, pages that show one instant, versions.

A page after the first shows the collection as it was when the first was made: the store's
history is undone back to that version. Source: k8s.io/apiserver/pkg/storage/{continue.go,etcd3}.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import NamedTuple

from simcluster.api import errors
from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import Request
from simcluster.api.resources import Resource
from simcluster.api.selectors import Selection, parse_fields, parse_labels
from simcluster.api.store import Store

_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list "
    "without the continue parameter."
)


class Page(NamedTuple):
    """Objects and the metadata of the list."""

    objects: list[ApiObject]
    metadata: Json


def selection_of(request: Request, resource: Resource, namespace: str) -> Selection:
    """What the query of a list, watch or deletecollection selects. Raises ApiError 400."""
    labels, fields = request.param("labelSelector"), request.param("fieldSelector")
    if not labels and not fields:
        return Selection(namespace)
    selectable = resource.custom.selectable if resource.custom is not None else None
    return Selection(
        namespace,
        parse_labels(labels) if labels else (),
        parse_fields(resource.storage, resource.kind, fields, selectable) if fields else (),
    )


def list_objects(store: Store, resource: Resource, selection: Selection, request: Request) -> Page:
    """One page of a collection. Raises ApiError 400 or 410."""
    version, start = store.version, ""
    token = request.param("continue")
    if token:
        version, start = _read_token(token)
        objects = _objects_at(store, resource.storage, selection.namespace, version)
    else:
        objects = _candidates(store, resource.storage, selection)
    if selection.is_filtered:
        objects = [obj for obj in objects if selection.matches(obj)]
    if start:
        objects = [obj for obj in objects if _key(obj, selection.namespace) >= start]
    metadata: Json = {"resourceVersion": str(version)}
    limit = _limit(request)
    if 0 < limit < len(objects):
        last = _key(objects[limit - 1], selection.namespace)
        metadata["continue"] = _token(version, last + "\0")
        if not selection.is_filtered:
            metadata["remainingItemCount"] = len(objects) - limit
        objects = objects[:limit]
    return Page(objects, metadata)


def _limit(request: Request) -> int:
    text = request.param("limit")
    if not text:
        return 0
    try:
        return int(text)
    except ValueError:
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def _candidates(store: Store, resource: str, selection: Selection) -> list[ApiObject]:
    """A small superset of the selected objects, sorted: indexes serve the usual selectors."""
    for path, equal, value in selection.fields:
        if equal and path == "metadata.name" and selection.namespace:
            found = store.get(resource, selection.namespace, value)
            return [found] if found is not None else []
        if equal and path == "spec.nodeName" and resource == "pods" and value:
            return store.pods_on(value)
    return store.objects(resource, selection.namespace)


def _key(obj: ApiObject, namespace: str) -> str:
    metadata = obj["metadata"]
    name: str = metadata["name"]
    return f"/{name}" if namespace or "namespace" not in metadata else f"/{metadata['namespace']}/{name}"


def _token(version: int, start: str) -> str:
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, str]:
    try:
        fields = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return int(fields["rv"]), str(fields["start"])
    except (ValueError, KeyError, TypeError, binascii.Error):
        raise errors.bad_request("continue key is not valid: invalid continue token") from None


def _objects_at(store: Store, resource: str, namespace: str, version: int) -> list[ApiObject]:
    """The collection as it was at a version."""
    if version == store.version:
        return store.objects(resource, namespace)
    changes = store.changes_since(version)
    if changes is None or version > store.version:
        raise ApiError(410, "Expired", _EXPIRED)
    objects = {(o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in store.objects(resource)}
    for change in reversed(list(changes)):
        if change.resource != resource:
            continue
        metadata = change.object["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        if change.previous is None:
            del objects[key]
        else:
            objects[key] = change.previous
    return [objects[key] for key in sorted(objects) if not namespace or key[0] == namespace]
