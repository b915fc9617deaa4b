"""The ReplicaSet controller.

Keeps `spec.replicas` pods that match the selector: adopts orphans, releases pods whose
labels no longer match, creates in slow-start batches and deletes the least useful first.
Source: kubernetes pkg/controller/replicaset/replica_set.go.
"""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import (
    ApiObject,
    controller_of,
    is_terminating,
    name_of,
    namespace_of,
    uid_of,
)
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.controllerref import PodClaims, PodWatch
from simcluster.control.pods.creation import pod_from_template, slow_start_batches
from simcluster.control.pods.ranking import pods_to_delete
from simcluster.control.pods.status import is_active
from simcluster.control.replicaset.expectations import Expectations
from simcluster.control.replicaset.facts import FactsByPod, Known
from simcluster.control.replicaset.status import calculate_status
from simcluster.engine import SECOND, Simulation
from simcluster.telemetry.logql.units import go_duration

REPLICA_SETS = "replicasets.apps"

#: BurstReplicas: the most pods created or deleted in one sync.
BURST_REPLICAS = 500

SUCCESSFUL_CREATE = "SuccessfulCreate"
FAILED_CREATE = "FailedCreate"
SUCCESSFUL_DELETE = "SuccessfulDelete"
FAILED_DELETE = "FailedDelete"


class ReplicaSetController(Controller):
    """Reconciles ReplicaSets."""

    name = "replicaset-controller"
    #: What it reconciles; the ReplicationController controller is the same body on another kind.
    resource = REPLICA_SETS
    kind = "ReplicaSet"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.expectations = Expectations(sim)
        self._facts = FactsByPod(sim, api.store)
        self.watch(self.resource, self._on_replica_set)
        self.pods = PodWatch(sim, api, self.name, self.resource, self.kind, self._on_pod)
        self.claims = PodClaims(self.client, self.pods)

    # Watches.

    def _on_replica_set(self, change: Change) -> None:
        if change.kind == "DELETED":
            self.expectations.forget(_key(change.object))
            self._facts.forget_owner(change.object)
        self.enqueue_object(change)

    def _on_pod(self, change: Change) -> None:
        pod, old = change.object, change.previous
        owner = self.claims.owner_of(pod)
        if change.kind == "ADDED" and not is_terminating(pod):
            if owner is not None:
                self.expectations.creation_observed(_key(owner))
        elif owner is not None and (change.kind == "DELETED" or is_terminating(pod)):
            self.expectations.deletion_observed(_key(owner), uid_of(pod))
        if owner is not None:
            self._enqueue(owner)
            self._enqueue_when_available(owner, change)
        elif controller_of(pod) is None and change.kind != "DELETED":
            for replica_set in self.claims.owners_matching(pod):
                self._enqueue(replica_set)
        if old is not None and controller_of(old) != controller_of(pod):
            former = self.claims.owner_of(old)
            if former is not None:
                self._enqueue(former)

    def _enqueue(self, obj: ApiObject) -> None:
        self.enqueue(namespace_of(obj), name_of(obj))

    def _enqueue_when_available(self, owner: ApiObject, change: Change) -> None:
        seconds = owner["spec"].get("minReadySeconds", 0)
        if seconds and change.kind == "MODIFIED":
            # One second more, because condition times are cut to whole seconds.
            self.queue.add_after(_key(owner), (seconds + 1) * SECOND)

    # Reconciling.

    def _process(self, key: str) -> int:
        cost_ns = super()._process(key)
        if self.log.says():
            own = f'logger="{self.name}" kind="{self.kind}" key="{key}" duration="{go_duration(cost_ns)}"'
            self.log.text("I", "replica_set.go:679", f'"Finished syncing" {own}')
        return cost_ns

    def sync(self, namespace: str, name: str) -> None:
        """Bring one ReplicaSet's pods and status to what its spec says."""
        key = f"{namespace}/{name}"
        replica_set = self.client.cache.get(self.resource, namespace, name)
        if replica_set is None:
            self.expectations.forget(key)
            return
        needs_sync = self.expectations.satisfied(key)
        pods = self._claim(replica_set)
        failure: ApiError | None = None
        if needs_sync and not is_terminating(replica_set):
            failure = self._manage(key, replica_set, pods)
        self._update_status(replica_set, pods, failure)
        if failure is not None:
            raise failure

    def _claim(self, replica_set: ApiObject) -> Known:
        """The active pods that belong to the ReplicaSet, after adopting and releasing."""
        known = self._facts.of(replica_set)
        orphans: list[ApiObject] = []
        if not is_terminating(replica_set):
            orphans = [pod for pod in self.claims.adoptable(replica_set) if is_active(pod)]
        if not known.others and not orphans:
            return known
        claimed = []
        for facts in known.in_order():
            if facts.mine and facts.selected:
                claimed.append(facts.pod)
            elif facts.mine and not is_terminating(replica_set):
                self.claims.release(replica_set, facts.pod)
        return Known(replica_set, [*claimed, *[self.claims.adopt(replica_set, pod) for pod in orphans]])

    def _manage(self, key: str, replica_set: ApiObject, known: Known) -> ApiError | None:
        missing = replica_set["spec"].get("replicas", 1) - len(known.by_key)
        if missing > 0:
            return self._create(key, replica_set, min(missing, BURST_REPLICAS))
        if missing < 0:
            pods = [facts.pod for facts in known.in_order()]
            return self._delete(key, replica_set, pods, min(-missing, BURST_REPLICAS))
        return None

    def _create(self, key: str, replica_set: ApiObject, count: int) -> ApiError | None:
        self.expectations.expect_creations(key, count)
        created, failure = 0, None
        for size in slow_start_batches(count):
            for _ in range(size):
                try:
                    pod = self.client.create_copy(replica_set, pod_from_template)
                except ApiError as error:
                    if _is_namespace_terminating(error):
                        self.expectations.creation_observed(key)
                        created += 1
                        continue
                    failure = failure or error
                    self.recorder.event(replica_set, "Warning", FAILED_CREATE, f"Error creating: {error.message}")
                else:
                    created += 1
                    self.recorder.event(replica_set, "Normal", SUCCESSFUL_CREATE, f"Created pod: {name_of(pod)}")
            if failure is not None:
                break
        for _ in range(count - created):
            self.expectations.creation_observed(key)
        return failure

    def _delete(self, key: str, replica_set: ApiObject, pods: list[ApiObject], count: int) -> ApiError | None:
        doomed = pods_to_delete(pods, self._related(replica_set, pods), count, self.sim.now)
        self.expectations.expect_deletions(key, [uid_of(pod) for pod in doomed])
        failure = None
        for pod in doomed:
            try:
                self.client.delete("pods", namespace_of(pod), name_of(pod), uid=uid_of(pod))
            except ApiError as error:
                self.expectations.deletion_observed(key, uid_of(pod))
                if error.code == 404:
                    continue
                failure = failure or error
                self.recorder.event(replica_set, "Warning", FAILED_DELETE, f"Error deleting: {error.message}")
            else:
                self.recorder.event(replica_set, "Normal", SUCCESSFUL_DELETE, f"Deleted pod: {name_of(pod)}")
        return failure

    def _related(self, replica_set: ApiObject, own: list[ApiObject]) -> list[ApiObject]:
        """Active pods of all ReplicaSets with the same controller (getIndirectlyRelatedPods)."""
        reference = controller_of(replica_set)
        if reference is None:
            return own
        cache = self.client.cache
        found: list[ApiObject] = []
        for resource, namespace, name in cache.owned_by(reference["uid"]):
            sibling = cache.get(resource, namespace, name)
            if resource != self.resource or sibling is None:
                continue
            found.extend(pod for pod in cache.pods_of(uid_of(sibling)) if is_active(pod))
        return found

    def _update_status(self, replica_set: ApiObject, known: Known, failure: ApiError | None) -> None:
        message = failure.message if failure else ""
        status = calculate_status(replica_set, known, message, self.sim.now)
        if status != (replica_set.get("status") or {}):
            self.client.update_status(self.resource, {**replica_set, "status": status})
        ready, available = status.get("readyReplicas", 0), status.get("availableReplicas", 0)
        seconds = replica_set["spec"].get("minReadySeconds", 0)
        if seconds and ready == replica_set["spec"].get("replicas", 1) != available:
            self.queue.add_after(_key(replica_set), seconds * SECOND)


def _key(obj: ApiObject) -> str:
    return f"{namespace_of(obj)}/{name_of(obj)}"


def _is_namespace_terminating(error: ApiError) -> bool:
    causes = (error.details or {}).get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
