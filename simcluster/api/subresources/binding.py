"""Binding a pod to a node: what the scheduler writes.

Source: pkg/registry/core/pod/storage (BindingREST, assignPod, setPodHostAndAnnotations).
"""

from __future__ import annotations

from simcluster.api import errors
from simcluster.api.authorization.question import Question
from simcluster.api.errors import Cause
from simcluster.api.handlers import vetting
from simcluster.api.handlers.reading import need
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import Request, Response, User
from simcluster.api.resources import Resource
from simcluster.api.routing import Route
from simcluster.api.serving import Serving
from simcluster.api.shortways.eligibility import commit, is_eligible
from simcluster.api.subresources.admitting import admit_part

_BINDING = Resource("", "v1", "Binding", "bindings", "binding", True)


def serve(api: Serving, request: Request, route: Route) -> Response:
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


def bind(api: Serving, user: User, pod: ApiObject, node: str) -> bool:
    """Bind a pod as the user's request without options would, if nothing speaks against it; False if the request
    must be made.

    Args:
        pod: as it is stored.
    """
    metadata, spec = pod["metadata"], pod["spec"]
    space, name = metadata["namespace"], metadata["name"]
    question = Question("create", "", "pods", "binding", space, name, "v1")
    if api.store.get("pods", space, name) is not pod or not node or spec.get("nodeName") or spec.get("schedulingGates"):
        return False
    if not is_eligible(api, user, question, pod):
        return False
    commit(api, question, _bound(api, pod, node, {}))
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


def _bound(api: Serving, pod: ApiObject, node: str, annotations: dict[str, str]) -> Json:
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
