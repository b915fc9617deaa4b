"""List: selection, pages that show one instant, versions.

A page after the first shows the collection as it was when the first was made: the store's
history is undone back to that version. Source: k8s.io/apiserver/pkg/storage/{continue.go,etcd3}.
"""

from __future__ import annotations

import base64
import json
from typing import NamedTuple

from simcluster.api import errors
from simcluster.api.errors import ApiError
from simcluster.api.handlers.listoptions import EXACT, check_reached, list_options
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import Request
from simcluster.api.resources import Resource
from simcluster.api.selectors import Selection, parse_fields, parse_labels
from simcluster.api.store import Store

_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list "
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
    "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list."
)
_TOO_OLD = "The resourceVersion for the provided list is too old."
#: Stands in a token for "whatever there is now": the list is not consistent any more.
_ANY = -1


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
    """One page of a collection. Raises ApiError 400, 410, 422, 504."""
    options = list_options(request)
    version, start = store.version, ""
    limit = options.limit
    if options.token:
        version, start = _read_token(options.token)
        if version == _ANY:
            version = store.version
        objects = _objects_at(store, resource.storage, selection.namespace, version, start)
    elif options.version and (options.match == EXACT or (limit and not options.match)):
        check_reached(options, store.version)
        version = options.version
        objects = _objects_at(store, resource.storage, selection.namespace, version, "")
    else:
        check_reached(options, store.version)
        objects = _candidates(store, resource.storage, selection)
        if options.version == 0:
            limit = 0  # a watch cache answers, and it does not page
    if selection.is_filtered:
        objects = [obj for obj in objects if selection.matches(obj)]
    if start:
        objects = [obj for obj in objects if _key(obj, selection.namespace) >= start]
    metadata: Json = {"resourceVersion": str(version)}
    if 0 < limit < len(objects):
        last = _key(objects[limit - 1], selection.namespace)
        # The watch cache, which gives first pages, and etcd write the key differently.
        metadata["continue"] = _token(version, (last if options.token else f"/{last}") + "\0")
        if not selection.is_filtered:
            metadata["remainingItemCount"] = len(objects) - limit
        objects = objects[:limit]
    return Page(objects, metadata)


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
    return name if namespace or "namespace" not in metadata else f"{metadata['namespace']}/{name}"


def _token(version: int, start: str) -> str:
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, str]:
    """Version and key from which a list goes on. Raises ApiError 400."""
    try:
        fields = json.loads(base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True))
        version, start = int(fields["rv"]), str(fields["start"])
    except (ValueError, KeyError, TypeError):
        raise _bad_token(f"continue key is not valid: {_objection(token)}") from None
    if fields.get("v") != "meta.k8s.io/v1":
        raise _bad_token(f"continue key is not valid: server does not recognize this encoded version {fields.get('v')}")
    if version == 0:
        raise _bad_token("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    return version, start.removeprefix("/")


def _bad_token(why: str) -> ApiError:
    return errors.bad_request(f"invalid continue token: {why}")


def _objection(token: str) -> str:
    """Go's words for a token that is no base64, or for what is in it."""
    for index, character in enumerate(token):
        if not (character.isascii() and (character.isalnum() or character in "-_")):
            return f"illegal base64 data at input byte {index}"
    if len(token) % 4 == 1:
        return f"illegal base64 data at input byte {len(token) - 1}"
    return "invalid character looking for beginning of value"


def _objects_at(store: Store, resource: str, namespace: str, version: int, start: str) -> list[ApiObject]:
    """The collection as it was at a version. Raises ApiError 410; `start` is where a page began."""
    if version == store.version:
        return store.objects(resource, namespace)
    changes = store.changes_since(version)
    if changes is None or version > store.version:
        if not start:
            raise ApiError(410, "Expired", _TOO_OLD)
        error = ApiError(410, "Expired", _EXPIRED)
        error.list_metadata = {"continue": _token(_ANY, start)}
        raise error
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
