"""Admission of what is written to a subresource and is no object of the resource itself.

Evictions, bindings and token requests are created; exec, attach and port-forward connect.
Source: k8s.io/apiserver/pkg/endpoints/handlers/{create,rest}.go.
"""

from __future__ import annotations

from simcluster.api.handlers.writing import attributes_of
from simcluster.api.objects import Json
from simcluster.api.registry.attributes import CONNECT, CREATE, Part
from simcluster.api.request import Request
from simcluster.api.resources import Resource
from simcluster.api.routing import Route
from simcluster.api.serving import Serving


def admit_part(api: Serving, request: Request, route: Route, kind: Resource, body: Json) -> Json:
    """What admission makes of an object that is created at a subresource. Raises ApiError."""
    dry_run = "All" in ((body.get("deleteOptions") or {}).get("dryRun") or ())
    return _admit(api, request, route, kind, body, CREATE, dry_run=dry_run)


def admit_connection(api: Serving, request: Request, route: Route, kind: str, options: Json) -> Json:
    """What admission makes of the options of a connection. Raises ApiError."""
    resource = Resource("", "v1", kind, "", "", True)
    body = {"kind": kind, "apiVersion": "v1", **options}
    return _admit(api, request, route, resource, body, CONNECT, dry_run=False)


def _admit(
    api: Serving, request: Request, route: Route, kind: Resource, body: Json, operation: str, *, dry_run: bool
) -> Json:
    attributes = attributes_of(api, request, route, operation)
    attributes.dry_run = attributes.dry_run or dry_run
    attributes.part = Part(kind.group, kind.version, kind.kind, route.subresource, dict(body), None)
    api.registry.admission.admit_part(attributes)
    changed: Json = attributes.part.new
    return changed
