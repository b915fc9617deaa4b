"""The ReplicaSet controller.

Keeps `spec.replicas` pods that match the selector: adopts orphans, releases pods whose
labels no longer match, creates in slow-start batches and deletes the least useful first.
Source: kubernetes pkg/controller/replicaset/replica_set.go.
"""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import (
    ApiObject,
    Json,
    controller_of,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    thaw,
    uid_of,
)
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.replicaset.expectations import Expectations
from simcluster.control.replicaset.facts import FactsByPod
from simcluster.control.replicaset.pods import is_active
from simcluster.control.replicaset.ranking import pods_to_delete
from simcluster.control.replicaset.selector import selector_matches
from simcluster.control.replicaset.status import calculate_status
from simcluster.engine import SECOND, Simulation

REPLICA_SETS = "replicasets.apps"

#: BurstReplicas: the most pods created or deleted in one sync.
BURST_REPLICAS = 500

SUCCESSFUL_CREATE = "SuccessfulCreate"
FAILED_CREATE = "FailedCreate"
SUCCESSFUL_DELETE = "SuccessfulDelete"
FAILED_DELETE = "FailedDelete"


def slow_start_batches(count: int) -> list[int]:
    """Sizes of the batches in which `count` pods are created: 1, 2, 4, ...

    A quota that refuses all costs one request this way, not `count`.

    >>> slow_start_batches(10)
    [1, 2, 4, 3]
    """
    sizes: list[int] = []
    size = 1
    while count > 0:
        sizes.append(min(size, count))
        count -= sizes[-1]
        size *= 2
    return sizes


def pod_from_template(owner: ApiObject) -> Json:
    """The pod that a ReplicaSet asks the API server to create."""
    template = thaw(owner["spec"]["template"])
    metadata: Json = {"generateName": f"{name_of(owner)}-"}
    for field in ("labels", "annotations", "finalizers"):
        value = (template.get("metadata") or {}).get(field)
        if value:
            metadata[field] = value
    metadata["ownerReferences"] = [owner_reference(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


class ReplicaSetController(Controller):
    """Reconciles ReplicaSets."""

    name = "replicaset-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.expectations = Expectations(sim)
        self._facts = FactsByPod()
        #: Pods without controller by namespace: an index of the cache, to find what to adopt.
        self._orphans: dict[str, dict[str, None]] = {}
        self.watch(REPLICA_SETS, self._on_replica_set)
        self.watch("pods", self._on_pod)

    # Watches.

    def _on_replica_set(self, change: Change) -> None:
        if change.kind == "DELETED":
            self.expectations.forget(_key(change.object))
        self.enqueue_object(change)

    def _on_pod(self, change: Change) -> None:
        pod, old = change.object, change.previous
        owner = self._owner(pod)
        self._index_orphan(change, controller_of(pod) is None)
        if change.kind == "DELETED":
            self._facts.forget(pod)
        if change.kind == "ADDED" and not is_terminating(pod):
            if owner is not None:
                self.expectations.creation_observed(_key(owner))
        elif owner is not None and (change.kind == "DELETED" or is_terminating(pod)):
            self.expectations.deletion_observed(_key(owner), uid_of(pod))
        if owner is not None:
            self._enqueue(owner)
            self._enqueue_when_available(owner, change)
        elif controller_of(pod) is None and change.kind != "DELETED":
            self._enqueue_matching(pod)
        if old is not None and controller_of(old) != controller_of(pod):
            former = self._owner(old)
            if former is not None:
                self._enqueue(former)

    def _index_orphan(self, change: Change, orphan: bool) -> None:
        pods = self._orphans.setdefault(namespace_of(change.object), {})
        if orphan and change.kind != "DELETED":
            pods[name_of(change.object)] = None
        else:
            pods.pop(name_of(change.object), None)

    def _enqueue(self, obj: ApiObject) -> None:
        self.enqueue(namespace_of(obj), name_of(obj))

    def _enqueue_matching(self, pod: ApiObject) -> None:
        for replica_set in self.client.cache.objects(REPLICA_SETS, namespace_of(pod)):
            if selector_matches(replica_set["spec"].get("selector"), labels_of(pod)):
                self._enqueue(replica_set)

    def _enqueue_when_available(self, owner: ApiObject, change: Change) -> None:
        seconds = owner["spec"].get("minReadySeconds", 0)
        if seconds and change.kind == "MODIFIED":
            # One second more, because condition times are cut to whole seconds.
            self.queue.add_after(_key(owner), (seconds + 1) * SECOND)

    def _owner(self, pod: ApiObject) -> ApiObject | None:
        reference = controller_of(pod)
        if reference is None or reference["kind"] != "ReplicaSet":
            return None
        owner = self.client.cache.get(REPLICA_SETS, namespace_of(pod), reference["name"])
        return owner if owner is not None and uid_of(owner) == reference["uid"] else None

    # Reconciling.

    def sync(self, namespace: str, name: str) -> None:
        """Bring one ReplicaSet's pods and status to what its spec says."""
        key = f"{namespace}/{name}"
        replica_set = self.client.cache.get(REPLICA_SETS, namespace, name)
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

    def _claim(self, replica_set: ApiObject) -> list[ApiObject]:
        """The active pods that belong to the ReplicaSet, after adopting and releasing."""
        cache = self.client.cache
        namespace = namespace_of(replica_set)
        selector = replica_set["spec"].get("selector")
        claimed = []
        owned = [
            cache.get("pods", pod_namespace, pod_name)
            for resource, pod_namespace, pod_name in cache.owned_by(uid_of(replica_set))
            if resource == "pods"
        ]
        for facts in self._facts.of_all(replica_set, [pod for pod in owned if pod is not None]):
            if facts.mine and facts.selected:
                claimed.append(facts.pod)
            elif facts.mine and not is_terminating(replica_set):
                self._release(replica_set, facts.pod)
        if is_terminating(replica_set):
            return claimed
        for pod_name in sorted(self._orphans.get(namespace, ())):
            pod = cache.get("pods", namespace, pod_name)
            if pod is None or controller_of(pod) is not None or not is_active(pod):
                continue
            if selector_matches(selector, labels_of(pod)):
                claimed.append(self._adopt(replica_set, pod))
        return claimed

    def _adopt(self, replica_set: ApiObject, pod: ApiObject) -> ApiObject:
        kept = [thaw(entry) for entry in pod["metadata"].get("ownerReferences") or ()]
        references = [*kept, owner_reference(replica_set)]
        patch = {"metadata": {"uid": uid_of(pod), "ownerReferences": references}}
        return self.client.patch("pods", namespace_of(pod), name_of(pod), patch, kind="merge")

    def _release(self, replica_set: ApiObject, pod: ApiObject) -> None:
        kept = [thaw(entry) for entry in pod["metadata"]["ownerReferences"] if entry["uid"] != uid_of(replica_set)]
        patch = {"metadata": {"uid": uid_of(pod), "ownerReferences": kept or None}}
        try:
            self.client.patch("pods", namespace_of(pod), name_of(pod), patch, kind="merge")
        except ApiError as error:
            if error.code != 404:
                raise

    def _manage(self, key: str, replica_set: ApiObject, pods: list[ApiObject]) -> ApiError | None:
        missing = replica_set["spec"].get("replicas", 1) - len(pods)
        if missing > 0:
            return self._create(key, replica_set, min(missing, BURST_REPLICAS))
        if missing < 0:
            return self._delete(key, replica_set, pods, min(-missing, BURST_REPLICAS))
        return None

    def _create(self, key: str, replica_set: ApiObject, count: int) -> ApiError | None:
        self.expectations.expect_creations(key, count)
        created, failure = 0, None
        for size in slow_start_batches(count):
            for _ in range(size):
                try:
                    pod = self.client.create("pods", namespace_of(replica_set), pod_from_template(replica_set))
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
        found = []
        for resource, namespace, name in cache.owned_by(reference["uid"]):
            sibling = cache.get(resource, namespace, name)
            if resource != REPLICA_SETS or sibling is None:
                continue
            for kind, pod_namespace, pod_name in cache.owned_by(uid_of(sibling)):
                pod = cache.get(kind, pod_namespace, pod_name) if kind == "pods" else None
                if pod is not None and is_active(pod):
                    found.append(pod)
        return found

    def _update_status(self, replica_set: ApiObject, pods: list[ApiObject], failure: ApiError | None) -> None:
        message = failure.message if failure else ""
        status = calculate_status(replica_set, pods, message, self.sim.now, self._facts)
        if status != (replica_set.get("status") or {}):
            updated = thaw(replica_set)
            updated["status"] = status
            self.client.update_status(REPLICA_SETS, updated)
        ready, available = status.get("readyReplicas", 0), status.get("availableReplicas", 0)
        seconds = replica_set["spec"].get("minReadySeconds", 0)
        if seconds and ready == replica_set["spec"].get("replicas", 1) != available:
            self.queue.add_after(_key(replica_set), seconds * SECOND)


def _key(obj: ApiObject) -> str:
    return f"{namespace_of(obj)}/{name_of(obj)}"


def _is_namespace_terminating(error: ApiError) -> bool:
    causes = (error.details or {}).get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
