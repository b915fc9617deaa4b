"""The Deployment controller.

Owns ReplicaSets, one per revision of the pod template, and moves replicas from the old
ones to the new one (RollingUpdate, Recreate), or in proportion when it is scaled meanwhile.
Leaves out the server-side rollback annotation of extensions/v1beta1: `kubectl rollout undo`
patches the template.
Source: kubernetes pkg/controller/deployment/{deployment_controller,sync,rolling,recreate}.go.
"""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import (
    ApiObject,
    condition,
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
from simcluster.control.deployment import conditions as cond
from simcluster.control.deployment.arithmetic import (
    DESIRED_REPLICAS,
    is_rolling_update,
    new_set_replicas,
    proportional_sizes,
    replicas_of,
    status_count,
)
from simcluster.control.deployment.revisions import (
    REVISION,
    active,
    annotations_for,
    annotations_of,
    by_age,
    find_new_set,
    new_replica_set,
    revision_of,
    sets_to_clean_up,
    size_annotations,
)
from simcluster.control.deployment.rolling import cleaned_sizes, most_to_remove, shrunk_sizes
from simcluster.control.labelselector import selector_matches
from simcluster.control.pods.status import is_terminal
from simcluster.engine import SECOND, Simulation, parse_rfc3339

DEPLOYMENTS = "deployments.apps"
REPLICA_SETS = "replicasets.apps"

SCALING_REPLICA_SET = "ScalingReplicaSet"
SELECTING_ALL = "SelectingAll"


class DeploymentController(Controller):
    """Reconciles Deployments."""

    name = "deployment-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        #: ReplicaSets without controller by namespace: an index of the cache, to find what to adopt.
        self._orphans: dict[str, dict[str, None]] = {}
        self.watch(DEPLOYMENTS, self.enqueue_object)
        self.watch(REPLICA_SETS, self._on_replica_set)
        self.watch("pods", self._on_pod)

    # Watches.

    def _on_replica_set(self, change: Change) -> None:
        for entry in (change.object, change.previous):
            if entry is None:
                continue
            reference = controller_of(entry)
            if reference is not None and reference["kind"] == "Deployment":
                self.enqueue(namespace_of(entry), reference["name"])
        namespace = namespace_of(change.object)
        orphans = self._orphans.setdefault(namespace, {})
        orphans.pop(name_of(change.object), None)
        if controller_of(change.object) is None and change.kind != "DELETED":
            orphans[name_of(change.object)] = None
            for deployment in self.client.cache.objects(DEPLOYMENTS, namespace):
                if selector_matches(deployment["spec"].get("selector"), labels_of(change.object)):
                    self.enqueue(namespace_of(deployment), name_of(deployment))
        if not orphans:
            del self._orphans[namespace]

    def _on_pod(self, change: Change) -> None:
        """A Recreate Deployment waits for the last old pod to be gone."""
        if change.kind != "DELETED":
            return
        cache, namespace = self.client.cache, namespace_of(change.object)
        reference = controller_of(change.object)
        if reference is None or reference["kind"] != "ReplicaSet":
            return
        owner = cache.get(REPLICA_SETS, namespace, reference["name"])
        reference = controller_of(owner) if owner is not None else None
        if reference is None or reference["kind"] != "Deployment":
            return
        deployment = cache.get(DEPLOYMENTS, namespace, reference["name"])
        if deployment is not None and not is_rolling_update(deployment):
            self.enqueue(namespace, reference["name"])

    # Reconciling.

    def sync(self, namespace: str, name: str) -> None:
        """Bring one Deployment's ReplicaSets and status to what its spec says."""
        deployment = self.client.cache.get(DEPLOYMENTS, namespace, name)
        if deployment is None:
            return
        if not _selects_something(deployment):
            self.recorder.event(
                deployment,
                "Warning",
                SELECTING_ALL,
                "This deployment is selecting all pods. A non-empty selector is required.",
            )
            return
        sets = self._claim(deployment)
        if is_terminating(deployment):
            self._update_status(deployment, sets, progress=False)
            return
        deployment = self._note_pause(deployment)
        if deployment["spec"].get("paused") or self._was_scaled(deployment, sets):
            self._scale_only(deployment, sets)
        elif is_rolling_update(deployment):
            self._roll(deployment, sets)
        else:
            self._recreate(deployment, sets)

    def _claim(self, deployment: ApiObject) -> list[ApiObject]:
        """ReplicaSets of the Deployment, after adopting and releasing."""
        selector = deployment["spec"]["selector"]
        claimed = []
        for entry in self._candidates(deployment):
            reference = controller_of(entry)
            matches = selector_matches(selector, labels_of(entry))
            if reference is not None and reference["uid"] != uid_of(deployment):
                continue
            if reference is None:
                if not matches or is_terminating(deployment) or is_terminating(entry):
                    continue
                entry = self._set_owner(entry, [*_references(entry), owner_reference(deployment)])
            elif not matches:
                if not is_terminating(deployment):
                    self._set_owner(entry, [r for r in _references(entry) if r["uid"] != uid_of(deployment)])
                continue
            claimed.append(entry)
        return claimed

    def _candidates(self, deployment: ApiObject) -> list[ApiObject]:
        """Own and ownerless ReplicaSets, by name."""
        cache, namespace = self.client.cache, namespace_of(deployment)
        names = dict.fromkeys(self._orphans.get(namespace, ()))
        for resource, _, name in cache.owned_by(uid_of(deployment)):
            if resource == REPLICA_SETS:
                names[name] = None
        found = [cache.get(REPLICA_SETS, namespace, name) for name in sorted(names)]
        return [entry for entry in found if entry is not None]

    def _set_owner(self, entry: ApiObject, references: list[dict[str, object]]) -> ApiObject:
        patch = {"metadata": {"uid": uid_of(entry), "ownerReferences": references or None}}
        return self.client.patch(REPLICA_SETS, namespace_of(entry), name_of(entry), patch, kind="merge")

    def _note_pause(self, deployment: ApiObject) -> ApiObject:
        """Keep the Progressing condition in step with `spec.paused` (checkPausedConditions)."""
        if not cond.has_deadline(deployment):
            return deployment
        current = condition(deployment, cond.PROGRESSING)
        reason = current.get("reason") if current is not None else None
        paused = bool(deployment["spec"].get("paused"))
        if reason == cond.PROGRESS_DEADLINE_EXCEEDED or paused == (reason == cond.DEPLOYMENT_PAUSED):
            return deployment
        why = (
            (cond.DEPLOYMENT_PAUSED, "Deployment is paused")
            if paused
            else (cond.DEPLOYMENT_RESUMED, "Deployment is resumed")
        )
        return self._set_condition(deployment, "Unknown", *why)

    def _set_condition(self, deployment: ApiObject, status: str, reason: str, message: str) -> ApiObject:
        new = cond.new_condition(cond.PROGRESSING, status, reason, message, self.sim.now)
        before = deployment.get("status") or {}
        after = {**before, "conditions": cond.with_condition(before.get("conditions") or [], new)}
        if after == before:
            return deployment
        return self.client.update_status(DEPLOYMENTS, {**deployment, "status": after})

    def _was_scaled(self, deployment: ApiObject, sets: list[ApiObject]) -> bool:
        wanted = str(replicas_of(deployment))
        return any(annotations_of(entry).get(DESIRED_REPLICAS, wanted) != wanted for entry in active(sets))

    # Revisions.

    def _revisions(
        self, deployment: ApiObject, sets: list[ApiObject], *, create: bool
    ) -> tuple[ApiObject, ApiObject | None, list[ApiObject]]:
        """(deployment as it is now, new set or None, old sets), with revision numbers in order."""
        found = find_new_set(deployment, sets)
        old = [entry for entry in sets if found is None or uid_of(entry) != uid_of(found)]
        revision = max((revision_of(entry) for entry in old), default=0) + 1
        if found is not None:
            return (*self._keep_new_set(deployment, found, revision), old)
        if not create:
            return deployment, None, old
        return (*self._create_new_set(deployment, old, revision), old)

    def _keep_new_set(self, deployment: ApiObject, found: ApiObject, revision: int) -> tuple[ApiObject, ApiObject]:
        annotations = annotations_for(deployment, found, revision)
        seconds = deployment["spec"].get("minReadySeconds", 0)
        if annotations != annotations_of(found) or seconds != found["spec"].get("minReadySeconds", 0):
            changed = thaw(found)
            changed["metadata"]["annotations"] = annotations
            changed["spec"]["minReadySeconds"] = seconds
            return deployment, self.client.update(REPLICA_SETS, changed)
        deployment = self._set_revision(deployment, annotations[REVISION])
        if cond.has_deadline(deployment) and condition(deployment, cond.PROGRESSING) is None:
            message = f'Found new replica set "{name_of(found)}"'
            deployment = self._set_condition(deployment, "True", cond.FOUND_NEW_REPLICA_SET, message)
        return deployment, found

    def _create_new_set(
        self, deployment: ApiObject, old: list[ApiObject], revision: int
    ) -> tuple[ApiObject, ApiObject]:
        body = new_replica_set(deployment, revision)
        body["spec"]["replicas"] = count = new_set_replicas(deployment, [*old, body], 0)
        try:
            created = self.client.create(REPLICA_SETS, namespace_of(deployment), body)
        except ApiError as error:
            self._explain_failed_creation(deployment, body["metadata"]["name"], error)
            raise
        if count > 0:
            self._scaled_event(deployment, "up", created, 0, count)
        deployment = self._set_revision(deployment, str(revision))
        if cond.has_deadline(deployment):
            message = f'Created new replica set "{name_of(created)}"'
            deployment = self._set_condition(deployment, "True", cond.NEW_REPLICA_SET_CREATED, message)
        return deployment, created

    def _explain_failed_creation(self, deployment: ApiObject, name: str, error: ApiError) -> None:
        if error.reason == "AlreadyExists":
            # A set of another template has this name: hash again with another salt.
            changed = thaw(deployment)
            status = changed.setdefault("status", {})
            status["collisionCount"] = status.get("collisionCount", 0) + 1
            self.client.update_status(DEPLOYMENTS, changed)
            return
        causes = (error.details or {}).get("causes") or ()
        if any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
            return
        message = f'Failed to create new replica set "{name}": {error.message}'
        if cond.has_deadline(deployment):
            self._set_condition(deployment, "False", cond.REPLICA_SET_CREATE_ERROR, message)
        self.recorder.event(deployment, "Warning", cond.REPLICA_SET_CREATE_ERROR, message)

    def _set_revision(self, deployment: ApiObject, revision: str) -> ApiObject:
        if annotations_of(deployment).get(REVISION) == revision:
            return deployment
        metadata = {**deployment["metadata"], "annotations": {**annotations_of(deployment), REVISION: revision}}
        return self.client.update_status(DEPLOYMENTS, {**deployment, "metadata": metadata})

    # Rolling update.

    def _roll(self, deployment: ApiObject, sets: list[ApiObject]) -> None:
        deployment, new, old = self._revisions(deployment, sets, create=True)
        assert new is not None
        everything = [*old, new]
        if not self._grow_new(deployment, new, everything) and not self._shrink_old(deployment, new, old):
            self._clean_up_if_complete(deployment, old)
        self._update_status(deployment, everything, new_set=new)

    def _grow_new(self, deployment: ApiObject, new: ApiObject, everything: list[ApiObject]) -> bool:
        size, wanted = replicas_of(new), replicas_of(deployment)
        if size == wanted:
            return False
        target = wanted if size > wanted else new_set_replicas(deployment, everything, size)
        return self._resize(deployment, new, target)

    def _shrink_old(self, deployment: ApiObject, new: ApiObject, old: list[ApiObject]) -> bool:
        if not active(old):
            return False
        everything = [*old, new]
        most = most_to_remove(deployment, everything, new)
        if most <= 0:
            return False
        cleaned, certain = cleaned_sizes(old, most)
        available = sum(status_count(entry, "availableReplicas") for entry in everything)
        shrunk = shrunk_sizes(deployment, old, available, cleaned) if certain else {}
        scaled = False
        for sizes in (cleaned, shrunk):
            for entry in by_age(old):
                if name_of(entry) in sizes:
                    current = self.client.cache.get(REPLICA_SETS, namespace_of(entry), name_of(entry))
                    assert current is not None
                    scaled |= self._resize(deployment, current, sizes[name_of(entry)])
        return scaled and certain

    # Recreate.

    def _recreate(self, deployment: ApiObject, sets: list[ApiObject]) -> None:
        deployment, new, old = self._revisions(deployment, sets, create=False)
        everything = [*old, *([new] if new is not None else [])]
        scaled = [self._resize(deployment, entry, 0) for entry in active(old)]
        if not any(scaled) and not self._old_pods_run(old):
            if new is None:
                deployment, new, old = self._revisions(deployment, sets, create=True)
                assert new is not None
                everything = [*old, new]
            self._resize(deployment, new, replicas_of(deployment))
            self._clean_up_if_complete(deployment, old)
        self._update_status(deployment, everything, new_set=new)

    def _old_pods_run(self, old: list[ApiObject]) -> bool:
        cache = self.client.cache
        for entry in old:
            for resource, namespace, name in cache.owned_by(uid_of(entry)):
                pod = cache.get(resource, namespace, name) if resource == "pods" else None
                if pod is not None and not is_terminal(pod):
                    return True
        return False

    # Scaling without a rollout.

    def _scale_only(self, deployment: ApiObject, sets: list[ApiObject]) -> None:
        deployment, new, old = self._revisions(deployment, sets, create=False)
        everything = [*old, *([new] if new is not None else [])]
        self._scale(deployment, new, old)
        if deployment["spec"].get("paused"):
            self._clean_up(deployment, old)
        self._update_status(deployment, everything, new_set=new, progress=False)

    def _scale(self, deployment: ApiObject, new: ApiObject | None, old: list[ApiObject]) -> None:
        only = _active_or_latest(new, old)
        if only is not None:
            if replicas_of(only) != replicas_of(deployment):
                self._resize(deployment, only, replicas_of(deployment))
            return
        if new is not None and _is_saturated(deployment, new):
            for entry in active(old):
                self._resize(deployment, entry, 0)
            return
        if not is_rolling_update(deployment):
            return
        live = active([*old, *([new] if new is not None else [])])
        growing = sum(replicas_of(entry) for entry in live) <= replicas_of(deployment)
        ordered = by_age(live)
        if growing:
            ordered.reverse()
        ordered.sort(key=_size_descending)
        sizes = proportional_sizes(deployment, ordered)
        for entry in ordered:
            self._resize(deployment, entry, sizes[name_of(entry)])

    def _resize(self, deployment: ApiObject, entry: ApiObject, size: int) -> bool:
        """Give a ReplicaSet a size; whether it had another one (scaleReplicaSet)."""
        before, annotations = replicas_of(entry), {**annotations_of(entry), **size_annotations(deployment)}
        if before == size and annotations == annotations_of(entry):
            return False
        changed = thaw(entry)
        changed["spec"]["replicas"] = size
        changed["metadata"]["annotations"] = annotations
        updated = self.client.update(REPLICA_SETS, changed)
        if before == size:
            return False
        self._scaled_event(deployment, "up" if size > before else "down", updated, before, size)
        return True

    def _scaled_event(self, deployment: ApiObject, way: str, entry: ApiObject, before: int, after: int) -> None:
        message = f"Scaled {way} replica set {name_of(entry)} from {before} to {after}"
        self.recorder.event(deployment, "Normal", SCALING_REPLICA_SET, message)

    # Status and history.

    def _update_status(
        self,
        deployment: ApiObject,
        sets: list[ApiObject],
        *,
        new_set: ApiObject | None = None,
        progress: bool = True,
    ) -> None:
        if new_set is None and not progress:
            new_set = find_new_set(deployment, sets)
        fresh = [self.client.cache.get(REPLICA_SETS, namespace_of(entry), name_of(entry)) or entry for entry in sets]
        status = cond.calculate_status(deployment, fresh, new_set, self.sim.now)
        if progress:
            status["conditions"] = cond.with_progress(deployment, status, new_set, self.sim.now)
            failure = cond.replica_failure(fresh, new_set)
            entries = status["conditions"]
            status["conditions"] = (
                cond.with_condition(entries, failure)
                if failure is not None
                else cond.without_condition(entries, cond.REPLICA_FAILURE)
            )
        if status == (deployment.get("status") or {}):
            if progress:
                self._come_back_at_deadline(deployment, status)
            return
        self.client.update_status(DEPLOYMENTS, {**deployment, "status": status})

    def _come_back_at_deadline(self, deployment: ApiObject, status: dict[str, object]) -> None:
        """A rollout without progress produces no events: look again when its time is over."""
        current = condition(deployment, cond.PROGRESSING)
        if current is None or not cond.has_deadline(deployment) or cond.is_complete(deployment, status):
            return
        if current.get("reason") == cond.PROGRESS_DEADLINE_EXCEEDED:
            return
        deadline_ns = deployment["spec"]["progressDeadlineSeconds"] * SECOND
        left_ns = parse_rfc3339(current["lastUpdateTime"]) + deadline_ns - self.sim.now
        key = f"{namespace_of(deployment)}/{name_of(deployment)}"
        # One second more, because condition times are cut to whole seconds.
        self.queue.add_after(key, max(0, left_ns) + SECOND)

    def _clean_up_if_complete(self, deployment: ApiObject, old: list[ApiObject]) -> None:
        if cond.is_complete(deployment, deployment.get("status") or {}):
            self._clean_up(deployment, old)

    def _clean_up(self, deployment: ApiObject, old: list[ApiObject]) -> None:
        for entry in sets_to_clean_up(deployment, old):
            try:
                self.client.delete(REPLICA_SETS, namespace_of(entry), name_of(entry), uid=uid_of(entry))
            except ApiError as error:
                if error.code != 404:
                    raise


def _references(entry: ApiObject) -> list[dict[str, object]]:
    return [thaw(reference) for reference in entry["metadata"].get("ownerReferences") or ()]


def _selects_something(deployment: ApiObject) -> bool:
    selector = deployment["spec"].get("selector") or {}
    return bool(selector.get("matchLabels") or selector.get("matchExpressions"))


def _size_descending(entry: ApiObject) -> int:
    return -replicas_of(entry)


def _active_or_latest(new: ApiObject | None, old: list[ApiObject]) -> ApiObject | None:
    """The set to scale when at most one has replicas (FindActiveOrLatest)."""
    live = active([*old, *([new] if new is not None else [])])
    if len(live) == 1:
        return live[0]
    if live:
        return None
    return new if new is not None else (by_age(old)[-1] if old else None)


def _is_saturated(deployment: ApiObject, new: ApiObject) -> bool:
    wanted = replicas_of(deployment)
    return (
        annotations_of(new).get(DESIRED_REPLICAS) == str(wanted)
        and replicas_of(new) == wanted
        and status_count(new, "availableReplicas") == wanted
    )
