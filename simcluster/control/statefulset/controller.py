"""The StatefulSet controller.

Keeps pods with stable names, each with claims of its own, in order or in parallel, and
moves them from one ControllerRevision to the next. Leaves out `maxUnavailable` (alpha).
Source: kubernetes pkg/controller/statefulset.
"""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, is_pod_ready, is_terminating, name_of, namespace_of, thaw
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.controllerref import PodClaims, PodWatch, controlling_reference
from simcluster.control.history import HASH, RevisionHistory, data_hash, revision_data, template_of
from simcluster.control.history.revisions import revision_object
from simcluster.control.pods.creation import pod_template
from simcluster.control.statefulset.identity import parent_and_ordinal, replicas_of, revision_of
from simcluster.control.statefulset.podcontrol import StatefulPodControl
from simcluster.control.statefulset.status import count, status_of
from simcluster.control.statefulset.walk import Revision, Walk
from simcluster.engine import SECOND, Simulation

STATEFUL_SETS = "statefulsets.apps"


class StatefulSetController(Controller):
    """Reconciles StatefulSets."""

    name = "statefulset-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.control = StatefulPodControl(self.client, self.recorder)
        self.history = RevisionHistory(self.client)
        self.watch(STATEFUL_SETS, self.enqueue_object)
        self.pods = PodWatch(sim, api, self.name, STATEFUL_SETS, "StatefulSet", self._on_pod)
        self.claims = PodClaims(self.client, self.pods)

    def _on_pod(self, change: Change) -> None:
        pod, before = change.object, change.previous
        if before is not None and controlling_reference(before) != controlling_reference(pod):
            self._enqueue_owner(before)
        owner = self._enqueue_owner(pod)
        if owner is None:
            if controlling_reference(pod) is None and change.kind != "DELETED" and not is_terminating(pod):
                for stateful_set in self.claims.owners_matching(pod):
                    self._enqueue(stateful_set)
            return
        seconds = owner["spec"].get("minReadySeconds", 0)
        if seconds and change.kind == "MODIFIED" and is_pod_ready(pod):
            # One second more, because condition times are cut to whole seconds.
            self.queue.add_after(f"{namespace_of(owner)}/{name_of(owner)}", (seconds + 1) * SECOND)

    def _enqueue_owner(self, pod: ApiObject) -> ApiObject | None:
        owner = self.claims.owner_of(pod)
        if owner is not None:
            self._enqueue(owner)
        return owner

    def _enqueue(self, stateful_set: ApiObject) -> None:
        self.enqueue(namespace_of(stateful_set), name_of(stateful_set))

    def sync(self, namespace: str, name: str) -> None:
        """Make one step with one StatefulSet."""
        stateful_set = self.client.cache.get(STATEFUL_SETS, namespace, name)
        if stateful_set is None:
            return
        revisions = self.history.of(stateful_set)
        pods = [pod for pod in self.claims.claim(stateful_set) if parent_and_ordinal(name_of(pod))[0] == name]
        current, update, collisions = self._revisions(stateful_set, revisions)
        failure = self._step(stateful_set, pods, current, update, collisions)
        live = dict.fromkeys([name_of(current), name_of(update), *map(revision_of, pods)])
        self.history.truncate(revisions, live, stateful_set["spec"].get("revisionHistoryLimit", 10))
        if failure is not None:
            raise failure

    def _step(
        self, stateful_set: ApiObject, pods: list[ApiObject], current: ApiObject, update: ApiObject, collisions: int
    ) -> ApiError | None:
        seconds = stateful_set["spec"].get("minReadySeconds", 0)
        counts = count(pods, name_of(current), name_of(update), seconds, self.sim.now)
        failure = None
        if not is_terminating(stateful_set):
            from_, to = (Revision(name_of(entry), template_of(entry)) for entry in (current, update))
            walk = Walk(self.control, stateful_set, pods, from_, to, self.sim.now)
            failure = walk.run()
            counts["currentReplicas"] -= walk.deleted_for_update
        status = status_of(stateful_set, counts, name_of(current), name_of(update), collisions)
        if status != (stateful_set.get("status") or {}):
            self.client.update_status(STATEFUL_SETS, {**thaw(stateful_set), "status": status})
        if seconds and status["availableReplicas"] != replicas_of(stateful_set):
            self.queue.add_after(f"{namespace_of(stateful_set)}/{name_of(stateful_set)}", seconds * SECOND)
        return failure

    def _revisions(self, stateful_set: ApiObject, revisions: list[ApiObject]) -> tuple[ApiObject, ApiObject, int]:
        """The current and the update revision (made if it is new), and the collision count."""
        status = stateful_set.get("status") or {}
        collisions = int(status.get("collisionCount") or 0)
        data = revision_data(pod_template(stateful_set))
        number = revisions[-1]["revision"] + 1 if revisions else 1
        equal = [entry for entry in revisions if entry.get("data") == data]
        update: ApiObject | None = None
        if equal:
            update = equal[-1] if equal[-1] is revisions[-1] else self.history.renumber(equal[-1], number)
        while update is None:
            digest = data_hash(data, collisions)
            labels = {**(pod_template(stateful_set)["metadata"].get("labels") or {}), HASH: digest}
            update = self.history.create(stateful_set, revision_object(stateful_set, labels, data, number, digest))
            collisions += update is None
        known = {name_of(entry): entry for entry in revisions}
        current = known.get(status.get("currentRevision") or "", update)
        return (update if name_of(current) == name_of(update) else current), update, collisions
