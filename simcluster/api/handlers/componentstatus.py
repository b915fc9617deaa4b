"""ComponentStatus: the API server's look at etcd, scheduler and controller manager.

A deprecated, read-only kind: nothing is stored; each read asks the components anew.
Source: pkg/registry/core/componentstatus.
"""

from __future__ import annotations

from simcluster.api import errors
from simcluster.api.handlers.listing import selection_of
from simcluster.api.handlers.reading import view_of
from simcluster.api.objects import Json
from simcluster.api.request import Request, Response
from simcluster.api.routing import Route
from simcluster.api.serving import Serving

WARNING = "v1 ComponentStatus is deprecated in v1.19+"
#: Component: where its health is asked for.
_COMPONENTS = {
    "controller-manager": "127.0.0.1:10257",
    "etcd-0": "",
    "scheduler": "127.0.0.1:10259",
}
#: In the order in which kube-apiserver answers a list.
_LISTED = ("etcd-0", "controller-manager", "scheduler")


def serve(api: Serving, request: Request, route: Route) -> Response:
    """GET of one component or of all. Raises ApiError 404."""
    view = view_of(api, request, route)
    if route.name:
        if route.name not in _COMPONENTS:
            raise errors.not_found("componentstatus", route.name)
        return Response(200, view.single(_status(api, route.name), now_ns=api.sim.now), warnings=(WARNING,))
    selection = selection_of(request, route.resource, "")
    found = [obj for obj in (_status(api, name) for name in _LISTED) if selection.matches(obj)]
    return Response(200, view.collection(found, {"resourceVersion": ""}, now_ns=api.sim.now), warnings=(WARNING,))


def _status(api: Serving, name: str) -> Json:
    address = _COMPONENTS[name]
    condition: Json = {"type": "Healthy", "status": "True", "message": "ok"}
    if address and api.components is not None and not api.components.is_running(name):
        error = f'Get "https://{address}/healthz": dial tcp {address}: connect: connection refused'
        condition = {"type": "Healthy", "status": "False", "error": error}
    metadata: Json = {"name": name, "creationTimestamp": None}
    return {"kind": "ComponentStatus", "apiVersion": "v1", "metadata": metadata, "conditions": [condition]}
