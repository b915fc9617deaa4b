"""The Job controller.

Runs pods until enough have succeeded or too much has failed. Leaves out `managedBy`
controllers themselves: their Jobs are left alone.
Source: kubernetes pkg/controller/job.
"""

from __future__ import annotations

from simcluster.api.objects import ApiObject, Json, name_of, namespace_of, uid_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.controllerref import PodClaims, PodWatch, controlling_reference
from simcluster.control.job.backoff import BackoffRecord
from simcluster.control.job.counting import FINALIZER, Tally, has_finalizer
from simcluster.control.job.jobsync import JOBS, JobSync, release
from simcluster.control.jobstatus import finished_kind
from simcluster.engine import SECOND, Simulation

#: SyncJobBatchPeriod: changes of pods within this time lead to one sync.
BATCH_NS = 1 * SECOND
MANAGER = "kubernetes.io/job-controller"
_ORPHAN = "pods/"


class JobController(Controller):
    """Reconciles Jobs. Work-queue keys: `namespace/name`, `namespace/pods/name` of an orphan."""

    name = "job-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        #: Failures by key, kept in memory as the real controller does.
        self.backoffs: dict[str, BackoffRecord] = {}
        self.watch(JOBS, self._on_job)
        self.pods = PodWatch(sim, api, self.name, JOBS, "Job", self._on_pod)
        self.claims = PodClaims(self.client, self.pods, self._adopted)

    def _adopted(self, pod: ApiObject) -> Json:
        return {"finalizers": [*(pod["metadata"].get("finalizers") or ()), FINALIZER]}

    # Watches.

    def _on_job(self, change: Change) -> None:
        job, before = change.object, change.previous
        if change.kind == "DELETED":
            for pod in self.claims.owned(job):
                self._enqueue_orphan(pod)
            self.enqueue_object(change)
        elif before is not None and before["metadata"].get("generation") == job["metadata"].get("generation"):
            self.queue.add_after(_key(job), BATCH_NS)
        else:
            self.enqueue_object(change)

    def _on_pod(self, change: Change) -> None:
        pod, before = change.object, change.previous
        if before is not None and controlling_reference(before) != controlling_reference(pod):
            former = self.claims.owner_of(before)
            if former is not None:
                self.queue.add_after(_key(former), BATCH_NS)
        owner = self.claims.owner_of(pod)
        if owner is not None:
            self.queue.add_after(_key(owner), BATCH_NS)
        elif change.kind == "DELETED":
            return
        elif controlling_reference(pod) is not None:
            self._enqueue_orphan(pod)
        else:
            for job in self.claims.owners_matching(pod):
                self.queue.add_after(_key(job), BATCH_NS)

    def _enqueue_orphan(self, pod: ApiObject) -> None:
        if has_finalizer(pod):
            self.enqueue(namespace_of(pod), f"{_ORPHAN}{name_of(pod)}")

    # Reconciling.

    def sync(self, namespace: str, name: str) -> None:
        """Bring one Job forward, or free one pod whose Job is gone."""
        if name.startswith(_ORPHAN):
            self._free_orphan(namespace, name.removeprefix(_ORPHAN))
            return
        key = f"{namespace}/{name}"
        job = self.client.cache.get(JOBS, namespace, name)
        if job is None or finished_kind(job):
            self.backoffs.pop(key, None)
            return
        if job["spec"].get("managedBy", MANAGER) != MANAGER:
            return
        tally = Tally(job, self.claims.claim(job))
        record = self.backoffs.get(key, BackoffRecord())
        sync = JobSync(self.client, self.recorder, job, tally, record, self.sim.now)
        sync.run()
        if sync.record.failures:
            self.backoffs[key] = sync.record
        else:
            self.backoffs.pop(key, None)
        if sync.again_ns is not None:
            self.queue.add_after(key, sync.again_ns)
        if sync.failure is not None:
            raise sync.failure

    def _free_orphan(self, namespace: str, name: str) -> None:
        pod = self.client.cache.get("pods", namespace, name)
        if pod is None or not has_finalizer(pod):
            return
        reference = controlling_reference(pod)
        if reference is not None:
            owner = self.client.cache.get(JOBS, namespace, reference["name"])
            if owner is not None and uid_of(owner) == reference["uid"] and not finished_kind(owner):
                return
        release(self.client, pod)


def _key(job: ApiObject) -> str:
    return f"{namespace_of(job)}/{name_of(job)}"
