"""The API server: one entry, `Api.handle(request) -> response`.

A request is served at the present instant and takes no simulated time: impersonation,
authorization, then the handler of its verb. Reading changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simcluster.api import errors, metrics
from simcluster.api.authentication import requests as tokenrequests
from simcluster.api.authorization.impersonation import impersonated
from simcluster.api.authorization.question import MASTERS
from simcluster.api.customresources.definitions import CustomResourceDefinitions
from simcluster.api.errors import ApiError
from simcluster.api.handlers import componentstatus, nonresource, reading, writeoptions, writing
from simcluster.api.request import NO_SNIFF, Request, Response
from simcluster.api.routing import Route, Unrouted, route
from simcluster.api.serving import Serving
from simcluster.api.subresources import binding, containers, eviction, finalize, proxy, reviews, scale
from simcluster.engine import Simulation


class Api(Serving):
    """The API server of one cluster."""

    def __init__(self, sim: Simulation) -> None:
        super().__init__(sim)
        self.definitions = CustomResourceDefinitions(self)

    def handle(self, request: Request) -> Response:
        """Serve one request at the present instant."""
        response = self._answer(request)
        admission = self.registry.admission.cluster
        if admission.spent_ns or admission.warnings:
            warnings = (*response.warnings, *admission.warnings)
            response = replace(response, warnings=warnings, latency_ns=response.latency_ns + admission.spent_ns)
            admission.spent_ns, admission.warnings = 0, []
        return response

    def _answer(self, request: Request) -> Response:
        try:
            authorizer = self.registry.authorizer
            if request.token:
                request = replace(request, user=tokenrequests.authenticated(self, request.token), token="")
            try:
                if request.impersonate is not None:
                    user = impersonated(request.user, request.impersonate, authorizer)
                    request = replace(request, user=user, impersonate=None)
                if authorizer is not None and MASTERS not in request.user.groups:
                    authorizer.admit(request)
            except ApiError as error:
                if self.audit.log is not None and request.method != "GET":
                    found = route(self.resources, request.path)
                    self.audit.note(request, None if isinstance(found, Unrouted) else found, error.code, error.status())
                return Response(error.code, error.status(), headers=NO_SNIFF)
            return self._serve(request)
        except ApiError as error:
            return Response(error.code, error.status())

    def _serve(self, request: Request) -> Response:
        found = request.route or route(self.resources, request.path)
        if isinstance(found, Unrouted):
            return nonresource.serve(self, request, known_version=found.known_version)
        if request.method == "GET":
            return self._serve_resource(request, found)
        try:
            response = self._serve_resource(request, found)
        except ApiError as error:
            self.served.count(request, found, error.code)
            self.audit.note(request, found, error.code, error.status())
            raise
        self.served.count(request, found, response.code)
        self.audit.note(request, found, response.code)
        return response

    def _serve_resource(self, request: Request, found: Route) -> Response:
        resource = found.resource
        if resource.custom is not None and resource.custom.deprecation:
            self.registry.admission.cluster.warnings.append(resource.custom.deprecation)
        if found.subresource:
            return self._serve_subresource(request, found)
        if resource.group == "metrics.k8s.io":
            return metrics.serve(self.store, self.metrics, request, found)
        if found.watches:
            if request.method != "GET":
                raise _not_allowed()
            return reading.watch(self, request, found)
        verb = _verb(request.method, found)
        if verb not in resource.verbs:
            raise _not_allowed()
        writeoptions.check(request, verb)
        if reviews.is_review(resource):
            return reviews.serve(self, request, found)
        if resource.name == "componentstatuses":
            return componentstatus.serve(self, request, found)
        if resource.name == "bindings":
            return binding.serve(self, request, found)
        return _VERBS[verb](self, request, found)

    def _serve_subresource(self, request: Request, found: Route) -> Response:
        name = found.subresource
        if name not in found.resource.subresources:
            raise errors.page_not_found()
        special = _SUBRESOURCES.get(name)
        if special is not None:
            return special(self, request, found)
        # status, approval, ephemeralcontainers: the object itself, of which a part is written
        verb = _verb(request.method, found)
        if verb not in ("get", "update", "patch"):
            raise _not_allowed()
        writeoptions.check(request, verb)
        return _VERBS[verb](self, request, found)


_Handler = Callable[[Api, Request, Route], Response]

_VERBS: dict[str, _Handler] = {
    "create": writing.create,
    "delete": writing.delete,
    "deletecollection": writing.delete_collection,
    "get": reading.get,
    "list": reading.collection,
    "patch": writing.patch,
    "update": writing.update,
}
_SUBRESOURCES: dict[str, _Handler] = {
    "attach": containers.attach,
    "binding": binding.serve,
    "eviction": eviction.serve,
    "exec": containers.execute,
    "finalize": finalize.serve,
    "portforward": containers.forward,
    "proxy": proxy.serve,
    "log": containers.logs,
    "scale": scale.serve,
    "token": tokenrequests.token,
}
_OF_OBJECTS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_COLLECTIONS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}


def _verb(method: str, found: Route) -> str:
    """The verb of a method; a namespaced collection can only be read across namespaces."""
    if found.name:
        return _OF_OBJECTS.get(method, "")
    if found.resource.namespaced and not found.namespace and method != "GET":
        return ""
    return _OF_COLLECTIONS.get(method, "")


def _not_allowed() -> ApiError:
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, {})
