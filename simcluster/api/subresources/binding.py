"""Binding a pod to a node: what the scheduler writes.

Source: pkg/registry/core/pod/storage (BindingREST, assignPod, setPodHostAndAnnotations).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.api import errors
from simcluster.api.authorization.node import node_of
from simcluster.api.authorization.question import MASTERS, Question
from simcluster.api.errors import Cause
from simcluster.api.handlers import vetting
from simcluster.api.handlers.reading import need
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import Request, Response, User
from simcluster.api.resources import Resource
from simcluster.api.routing import Route
from simcluster.api.shortways.renewal import is_observed
from simcluster.api.subresources.admitting import admit_part

if TYPE_CHECKING:
    from simcluster.api.server import Api

#: Verb, group, version, resource, subresource, scope and code, as such a request is counted.
_COUNTED = ("POST", "", "v1", "pods", "binding", "resource", 201)
_BINDING = Resource("", "v1", "Binding", "bindings", "binding", True)


def serve(api: Api, request: Request, route: Route) -> Response:
    """POST of a Binding, to the pod's subresource or to `bindings`. Raises ApiError."""
    vetted = vetting.received(request, _BINDING)
    api.warn(vetted.warnings)
    body = vetted.object
    metadata = body.get("metadata") or {}
    if route.resource.name == "bindings":
        route = Route(api.resources.by_name["pods"], route.namespace, metadata.get("name", ""), "binding")
    elif metadata.get("name") != route.name:
        raise errors.bad_request("name in URL does not match name in Binding object")
    body = admit_part(api, request, route, _BINDING, body)
    metadata, target = body.get("metadata") or {}, body.get("target") or {}
    _validate(route.name, target)
    pod = need(api, route)
    _check(route, pod, metadata)
    if "All" not in request.params("dryRun"):
        api.store.put("pods", _bound(api, pod, target["name"], metadata.get("annotations") or {}))
    return Response(201, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})


def bind(api: Api, user: User, pod: ApiObject, node: str) -> bool:
    """Bind a pod as the user's request without options would, if nothing speaks against it; False if the request
    must be made.

    Args:
        pod: as it is stored.
    """
    store, metadata, spec = api.store, pod["metadata"], pod["spec"]
    space, name = metadata["namespace"], metadata["name"]
    home = store.get("namespaces", "", space)
    if store.get("pods", space, name) is not pod or not node or not api.available or is_observed(store):
        return False
    if home is None or (home.get("status") or {}).get("phase") == "Terminating" or node_of(user):
        return False
    if "deletionTimestamp" in metadata or spec.get("nodeName") or spec.get("schedulingGates"):
        return False
    authorizer, question = api.authorizer, Question("create", "", "pods", "binding", space, name, "v1")
    if authorizer is not None and MASTERS not in user.groups and not authorizer.decide(user, question).allowed:
        return False
    store.put("pods", _bound(api, pod, node, {}))
    counts = api.served.counts
    counts[_COUNTED] = counts.get(_COUNTED, 0) + 1
    return True


def _validate(name: str, target: Json) -> None:
    causes = []
    if target.get("kind") not in (None, "", "Node"):
        why = f'Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"'
        causes.append(Cause("FieldValueNotSupported", why, "target.kind"))
    if not target.get("name"):
        causes.append(Cause("FieldValueRequired", "Required value", "target.name"))
    if causes:
        raise errors.invalid("Binding", "", name, causes)


def _check(route: Route, pod: ApiObject, metadata: Json) -> None:
    name = route.name
    uid = metadata.get("uid")
    if uid and uid != pod["metadata"]["uid"]:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {pod['metadata']['uid']}"
        raise errors.conflict("pods/binding", name, why)
    if "deletionTimestamp" in pod["metadata"]:
        raise errors.conflict("pods/binding", name, f"pod {name} is being deleted, cannot be assigned to a host")
    if pod["spec"].get("nodeName"):
        why = f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
        raise errors.conflict("pods/binding", name, why)
    if pod["spec"].get("schedulingGates"):
        raise errors.conflict("pods/binding", name, f"pod {name} has non-empty .spec.schedulingGates")


def _bound(api: Api, pod: ApiObject, node: str, annotations: dict[str, str]) -> Json:
    status = dict(pod.get("status") or {})
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": api.registry.now_text(),
    }
    others = [c for c in status.get("conditions") or () if c["type"] != "PodScheduled"]
    status["conditions"] = [*others, scheduled]
    metadata = dict(pod["metadata"])
    if annotations:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
    return {**pod, "metadata": metadata, "spec": {**pod["spec"], "nodeName": node}, "status": status}
