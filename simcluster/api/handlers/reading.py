"""GET of objects, collections and watches."""

from __future__ import annotations

from simcluster.api import conversion, errors
from simcluster.api.encoding.representation import OBJECT, View, negotiate
from simcluster.api.handlers.listing import list_objects, selection_of
from simcluster.api.handlers.listoptions import check_version, watch_options
from simcluster.api.objects import ApiObject
from simcluster.api.request import JSON, Request, Response
from simcluster.api.routing import Route
from simcluster.api.selectors import FieldTerm
from simcluster.api.serving import Serving
from simcluster.api.watch import Watch, WatchOptions
from simcluster.engine import SECOND


def need(api: Serving, route: Route) -> ApiObject:
    """The stored object a route names, in its version. Raises ApiError 404, 500."""
    found = stored(api, route)
    if found is None:
        raise errors.not_found(route.resource.name, route.name)
    return found


def stored(api: Serving, route: Route) -> ApiObject | None:
    """The stored object a route names, in its version; None if there is none. Raises ApiError 500."""
    found = api.store.get(route.resource.storage, route.namespace, route.name)
    if found is None or route.resource.custom is None:
        return found
    return conversion.decoded(route.resource, found, api.registry.admission.cluster)


def get(api: Serving, request: Request, route: Route) -> Response:
    """One object."""
    if request.query:
        check_version(request.param("resourceVersion"), api.store.version)
    found = need(api, route)
    if request.accept == JSON and not conversion.is_converted(route.resource):
        return Response(200, found)
    return Response(200, view_of(api, request, route).single(found, now_ns=api.sim.now))


def view_of(api: Serving, request: Request, route: Route) -> View:
    """How the client wants to see objects. Raises ApiError 406."""
    form = negotiate(request.accept)
    cluster = api.registry.admission.cluster if route.resource.custom is not None else None
    if form == OBJECT:
        return View(route.resource, cluster=cluster)
    return View(route.resource, form, request.param("includeObject") or "Metadata", cluster)


def collection(api: Serving, request: Request, route: Route) -> Response:
    """A list, or a watch."""
    if request.query and (request.flag("watch") or request.param("watch") in ("1", "t")):
        return watch(api, request, route)
    view = view_of(api, request, route)
    page = list_objects(api.store, route.resource, selection_of(request, route.resource, route.namespace), request)
    return Response(200, view.collection(page.objects, page.metadata, now_ns=api.sim.now))


def watch(api: Serving, request: Request, route: Route) -> Response:
    """An open watch."""
    resource = route.resource
    selection = selection_of(request, resource, route.namespace)
    if route.name:  # the deprecated path of one object
        only = FieldTerm("metadata.name", True, route.name)
        selection = selection._replace(fields=(only, *selection.fields))
    asked = watch_options(request)
    bookmarks = request.flag("allowWatchBookmarks")
    if asked.initial is None and bookmarks and not asked.version:
        asked = asked._replace(initial=True)  # SetListOptionsDefaults of apimachinery
    from_now = asked.initial is False and not asked.version
    version = api.store.version if from_now else None if asked.initial or not asked.version else asked.version
    timeout_ns = asked.timeout_s * SECOND if asked.timeout_s else None
    options = WatchOptions(version, bookmarks, bool(asked.initial) and bookmarks, timeout_ns)
    stream = Watch(api.store, resource.storage, selection, options, view_of(api, request, route))
    return Response(200, stream=stream)
