"""Eviction: a deletion that respects disruption budgets.

Source: pkg/registry/core/pod/storage/eviction.go.
"""

from __future__ import annotations

from simcluster.api import errors
from simcluster.api.errors import ApiError
from simcluster.api.handlers import vetting
from simcluster.api.handlers.reading import need
from simcluster.api.handlers.writing import attributes_of
from simcluster.api.objects import ApiObject, Json, is_pod_ready, is_terminating, labels_of
from simcluster.api.registry import deletion
from simcluster.api.registry.attributes import DELETE
from simcluster.api.request import Request, Response
from simcluster.api.resources import Resource
from simcluster.api.routing import Route
from simcluster.api.selectors import matches, of_label_selector
from simcluster.api.serving import Serving
from simcluster.api.subresources.admitting import admit_part

_EVICTION = Resource("policy", "v1", "Eviction", "evictions", "eviction", True)
_BUDGETS = "poddisruptionbudgets.policy"


def serve(api: Serving, request: Request, route: Route) -> Response:
    """POST of an Eviction. Raises ApiError 404, 429."""
    vetted = vetting.received(request, _EVICTION)
    api.warn(vetted.warnings)
    body = vetted.object
    name = (body.get("metadata") or {}).get("name") or route.name
    if name != route.name:
        raise errors.bad_request("name in URL does not match name in Eviction object")
    pod = need(api, route)
    body = admit_part(api, request, route, _EVICTION, body)
    options = dict(body.get("deleteOptions") or {})
    dry_run = "All" in (options.get("dryRun") or request.params("dryRun"))
    if not _ignores_budgets(pod):
        _consult_budgets(api, pod, dry_run=dry_run)
    if not dry_run:
        pod = api.store.put("pods", _marked(pod, api.registry.now_text()))
    attributes = attributes_of(api, request, route._replace(subresource=""), DELETE)
    attributes.old, attributes.options, attributes.dry_run = pod, options, dry_run
    deletion.delete(api.registry, attributes)
    return Response(201, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})


def _marked(pod: ApiObject, now: str) -> Json:
    """The pod with the condition that tells why it goes."""
    status: Json = dict(pod.get("status") or {})
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    others = [c for c in status.get("conditions") or () if c["type"] != "DisruptionTarget"]
    status["conditions"] = [*others, condition]
    return {**pod, "metadata": dict(pod["metadata"]), "status": status}


def _ignores_budgets(pod: ApiObject) -> bool:
    """A pod that serves nobody is evicted whatever budgets say."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or is_terminating(pod)


def _consult_budgets(api: Serving, pod: ApiObject, *, dry_run: bool) -> None:
    namespace = pod["metadata"]["namespace"]
    budgets = [b for b in api.store.objects(_BUDGETS, namespace) if _selects(b, pod)]
    if not budgets:
        return
    if len(budgets) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise ApiError(500, "", message)
    budget = budgets[0]
    status: Json = budget.get("status") or {}
    if not is_pod_ready(pod) and _allows_unhealthy(budget, status):
        return
    allowed = status.get("disruptionsAllowed", 0)
    if allowed <= 0:
        raise _too_many(budget, status)
    if dry_run:
        return
    disrupted = {**(status.get("disruptedPods") or {}), pod["metadata"]["name"]: api.registry.now_text()}
    changed = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}
    api.store.put(_BUDGETS, {**budget, "metadata": dict(budget["metadata"]), "status": changed})


def _selects(budget: ApiObject, pod: ApiObject) -> bool:
    selector = budget["spec"].get("selector")
    return selector is not None and matches(of_label_selector(selector), labels_of(pod))


def _allows_unhealthy(budget: ApiObject, status: Json) -> bool:
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    desired, healthy = int(status.get("desiredHealthy", 0)), int(status.get("currentHealthy", 0))
    return 0 < desired <= healthy


def _too_many(budget: ApiObject, status: Json) -> ApiError:
    name = budget["metadata"]["name"]
    later: Json = {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 1):
        text = f"The disruption budget {name} is still being processed by the server."
        later = {"retryAfterSeconds": 10}
    else:
        text = (
            f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods "
            f"and has {status.get('currentHealthy', 0)} currently"
        )
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return ApiError(
        429, "TooManyRequests", message, {"causes": [{"reason": "DisruptionBudget", "message": text}], **later}
    )
