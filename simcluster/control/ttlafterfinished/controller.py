"""Deletes finished Jobs when their `ttlSecondsAfterFinished` is over.

Source: kubernetes pkg/controller/ttlafterfinished/ttlafterfinished_controller.go.
"""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, condition, is_terminating, name_of, namespace_of, uid_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.jobstatus import finished_kind
from simcluster.engine import SECOND, Simulation, parse_rfc3339

JOBS = "jobs.batch"


def expires_ns(job: ApiObject) -> int | None:
    """When the Job is to be deleted; None while it runs, or if it is to stay."""
    ttl, kind = job["spec"].get("ttlSecondsAfterFinished"), finished_kind(job)
    entry = condition(job, kind) if kind else None
    ended = None if entry is None else entry.get("lastTransitionTime")
    if ttl is None or ended is None or is_terminating(job):
        return None
    return parse_rfc3339(ended) + int(ttl) * SECOND


class TtlAfterFinishedController(Controller):
    """Work-queue keys: `namespace/name` of a Job, put in when its time is over."""

    name = "ttl-after-finished-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.watch(JOBS, self._on_job)

    def _on_job(self, change: Change) -> None:
        if change.kind != "DELETED":
            self._schedule(change.object)

    def _schedule(self, job: ApiObject) -> None:
        at_ns = expires_ns(job)
        if at_ns is not None:
            self.queue.add_after(f"{namespace_of(job)}/{name_of(job)}", max(0, at_ns - self.sim.now))

    def sync(self, namespace: str, name: str) -> None:
        """Delete the Job if its time is over by now."""
        job = self.client.cache.get(JOBS, namespace, name)
        at_ns = expires_ns(job) if job is not None else None
        if job is None or at_ns is None:
            return
        if at_ns > self.sim.now:
            self._schedule(job)
            return
        try:
            self.client.delete(JOBS, namespace, name, uid=uid_of(job), propagation="Foreground")
        except ApiError as error:
            if error.code != 404:
                raise
