"""`namespaces/NAME/finalize`: the namespace controller takes its finalizer off."""

from __future__ import annotations

from simcluster.api import errors
from simcluster.api.handlers import patching, vetting
from simcluster.api.handlers.reading import need
from simcluster.api.objects import Json
from simcluster.api.request import Request, Response
from simcluster.api.routing import Route
from simcluster.api.serving import Serving


def serve(api: Serving, request: Request, route: Route) -> Response:
    """PUT of a namespace with the finalizers that remain. Raises ApiError 400, 404, 409."""
    if request.method != "PUT":
        raise errors.method_not_supported(route.resource.name, request.method.lower())
    body = vetting.received(request, route.resource).object
    patching.check_identity(route.resource, route.name, "", body)
    old = need(api, route)
    version = (body.get("metadata") or {}).get("resourceVersion")
    if version and version != old["metadata"]["resourceVersion"]:
        raise errors.stale(route.resource.name, route.name)
    finalizers = list((body.get("spec") or {}).get("finalizers") or ())
    spec: Json = {"finalizers": finalizers} if finalizers else {}
    if not finalizers and "deletionTimestamp" in old["metadata"] and not old["metadata"].get("finalizers"):
        return Response(200, api.store.remove("namespaces", "", route.name))
    if spec == old.get("spec"):
        return Response(200, old)
    return Response(200, api.store.put("namespaces", {**old, "metadata": dict(old["metadata"]), "spec": spec}))
