"""The disruption controller.

Keeps the status of PodDisruptionBudgets, which the eviction subresource obeys.
Leaves out the removal of stale DisruptionTarget conditions.
Source: kubernetes pkg/controller/disruption/disruption.go.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.errors import ApiError
from simcluster.api.events import EventRecorder
from simcluster.api.objects import ApiObject, Json, controller_of, labels_of, name_of, namespace_of, thaw, uid_of
from simcluster.api.selectors import label_text, of_label_selector
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller, Informer
from simcluster.control.disruption.budget import (
    DELETION_TIMEOUT_NS,
    count_healthy,
    desired_healthy,
    failed_status,
    needs_scale,
    status_of,
    still_disrupted,
)
from simcluster.control.labelselector import selector_matches
from simcluster.engine import Simulation, parse_rfc3339

BUDGETS = "poddisruptionbudgets.policy"
#: Kinds with a scale of their own; a ReplicaSet of a Deployment has the Deployment's.
_SCALABLE = {
    ("apps", "ReplicaSet"): "replicasets.apps",
    ("apps", "StatefulSet"): "statefulsets.apps",
    ("apps", "Deployment"): "deployments.apps",
    ("", "ReplicationController"): "replicationcontrollers",
}
_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of "
    "the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please "
    'set ".spec.minAvailable" field of the PDB to an integer value.'
)


class BudgetedPods(Informer):
    """Changes of pods in namespaces that have budgets."""

    def __init__(self, sim: Simulation, api: Api, name: str, handler: Callable[[Change], None]) -> None:
        super().__init__(sim, name, "pods", handler)
        self.store = api.store
        self.store.subscribe("pods", self)

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        if self.store.count(BUDGETS) and self.store.objects(BUDGETS, namespace_of(change.object)):
            super().notify(change)


class DisruptionController(Controller):
    """Reconciles PodDisruptionBudgets."""

    name = "disruption-controller"
    workers = 1

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.recorder = EventRecorder(sim, self.client, "controllermanager")
        self.watch(BUDGETS, self.enqueue_object)
        self.pods = BudgetedPods(sim, api, self.name, self._on_pod)

    def _on_pod(self, change: Change) -> None:
        pod, before = change.object, change.previous
        for budget in self.client.cache.objects(BUDGETS, namespace_of(pod)):
            selector = budget["spec"].get("selector")
            was_selected = before is not None and selector_matches(selector, labels_of(before))
            if was_selected or selector_matches(selector, labels_of(pod)):
                self.enqueue(namespace_of(budget), name_of(budget))

    def sync(self, namespace: str, name: str) -> None:
        """Recount one budget."""
        budget = self.client.cache.get(BUDGETS, namespace, name)
        if budget is None:
            return
        try:
            status = self._status(budget)
        except ApiError as error:
            message = f"Failed to calculate the number of expected pods: {error.message}"
            self.recorder.event(budget, "Warning", "CalculateExpectedPodCountFailed", message)
            self._write(budget, failed_status(budget, error.message, self.sim.now))
            raise
        self._write(budget, status)
        pending = [parse_rfc3339(since) for since in (status.get("disruptedPods") or {}).values()]
        if pending:
            self.queue.add_after(f"{namespace}/{name}", min(pending) + DELETION_TIMEOUT_NS - self.sim.now)

    def _write(self, budget: ApiObject, status: Json) -> None:
        if status != (budget.get("status") or {}):
            self.client.update_status(BUDGETS, {**thaw(budget), "status": status})

    def _status(self, budget: ApiObject) -> Json:
        namespace, selector = namespace_of(budget), budget["spec"].get("selector")
        pods = [
            pod for pod in self.client.cache.objects("pods", namespace) if selector_matches(selector, labels_of(pod))
        ]
        if not pods:
            self.recorder.event(budget, "Normal", "NoPods", "No matching pods found")
        expected = self._expected(budget, pods) if needs_scale(budget) else len(pods)
        before = (budget.get("status") or {}).get("disruptedPods") or {}
        disrupted, overdue = still_disrupted(pods, before, self.sim.now)
        for pod in pods:
            if name_of(pod) in overdue:
                message = f"Pod was expected by PDB {namespace}/{name_of(budget)} to be deleted but it wasn't"
                self.recorder.event(pod, "Warning", "NotDeleted", message)
        healthy = count_healthy(pods, disrupted, self.sim.now)
        desired = desired_healthy(budget, expected)
        return status_of(budget, expected, desired, healthy, disrupted, self.sim.now)

    def _expected(self, budget: ApiObject, pods: list[ApiObject]) -> int:
        """The sum of the scales of the pods' controllers. Raises ApiError if one has none."""
        scales: dict[str, int] = {}
        unmanaged = False
        for pod in pods:
            reference = controller_of(pod)
            if reference is None:
                unmanaged = True
                continue
            if reference["uid"] not in scales:
                self._add_scale(scales, namespace_of(pod), reference, name_of(pod))
        if unmanaged:
            text = label_text(of_label_selector(budget["spec"].get("selector") or {}))
            self.recorder.event(budget, "Warning", "UnmanagedPods", _UNMANAGED.format(text))
        return sum(scales.values())

    def _add_scale(self, scales: dict[str, int], namespace: str, reference: Json, pod: str) -> None:
        group = reference["apiVersion"].rpartition("/")[0]
        resource = _SCALABLE.get((group, reference["kind"]))
        if resource is None:
            plural = self._resource(group, reference["kind"])
            raise ApiError(500, "", f"{plural} does not implement the scale subresource")
        owner = self.client.cache.get(resource, namespace, reference["name"])
        if owner is None or uid_of(owner) != reference["uid"]:
            raise ApiError(500, "", f'found no controllers for pod "{pod}"')
        parent = controller_of(owner)
        if resource == "replicasets.apps" and parent is not None and parent["kind"] == "Deployment":
            deployment = self.client.cache.get("deployments.apps", namespace, parent["name"])
            if deployment is not None and uid_of(deployment) == parent["uid"]:
                scales[uid_of(deployment)] = int(deployment["spec"].get("replicas", 1))
                scales[reference["uid"]] = 0
                return
        scales[uid_of(owner)] = int(owner["spec"].get("replicas", 1))

    def _resource(self, group: str, kind: str) -> str:
        for resource in self.api.resources.all:
            if (resource.group, resource.kind) == (group, kind):
                return resource.name
        return f"{kind}.{group}"
