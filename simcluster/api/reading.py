"""GET of objects, collections and watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.api import conversion, errors
from simcluster.api.errors import Cause
from simcluster.api.listing import list_objects, selection_of
from simcluster.api.objects import ApiObject
from simcluster.api.representation import OBJECT, View, negotiate
from simcluster.api.request import JSON, Request, Response
from simcluster.api.routing import Route
from simcluster.api.watch import Watch, WatchOptions

if TYPE_CHECKING:
    from simcluster.api.server import Api


def need(api: Api, route: Route) -> ApiObject:
    """The stored object a route names. Raises ApiError 404."""
    found = api.store.get(route.resource.storage, route.namespace, route.name)
    if found is None:
        raise errors.not_found(route.resource.name, route.name)
    return found


def get(api: Api, request: Request, route: Route) -> Response:
    """One object."""
    found = need(api, route)
    if request.accept == JSON and not conversion.is_converted(route.resource):
        return Response(200, found)
    return Response(200, view_of(request, route).single(found, now_ns=api.sim.now))


def view_of(request: Request, route: Route) -> View:
    """How the client wants to see objects. Raises ApiError 406."""
    form = negotiate(request.accept)
    if form == OBJECT:
        return View(route.resource)
    return View(route.resource, form, request.param("includeObject") or "Metadata")


def collection(api: Api, request: Request, route: Route) -> Response:
    """A list, or a watch."""
    if request.query and (request.flag("watch") or request.param("watch") in ("1", "t")):
        return watch(api, request, route)
    view = view_of(request, route)
    page = list_objects(api.store, route.resource, selection_of(request, route.resource, route.namespace), request)
    return Response(200, view.collection(page.objects, page.metadata, now_ns=api.sim.now))


def watch(api: Api, request: Request, route: Route) -> Response:
    """An open watch."""
    resource = route.resource
    selection = selection_of(request, resource, route.namespace)
    text = request.param("resourceVersion")
    if text and not text.isdecimal():
        cause = Cause(
            "FieldValueInvalid", f'Invalid value: "{text}": strconv.ParseUint: invalid syntax', "resourceVersion"
        )
        raise errors.invalid("ListOptions", "meta.k8s.io", "", [cause])
    initial = request.flag("sendInitialEvents")
    version = None if text in ("", "0") or initial else int(text)
    options = WatchOptions(version, request.flag("allowWatchBookmarks"), initial)
    stream = Watch(api.store, resource.storage, selection, options, view_of(request, route))
    return Response(200, stream=stream)
