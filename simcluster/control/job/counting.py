"""Which pods of a Job are active, ended or still to be counted.

A pod is counted in three steps, so that no crash of the controller counts it twice or
never: its uid goes into `status.uncountedTerminatedPods`, its finalizer is removed, and
its uid turns into a count.
Source: kubernetes pkg/controller/job/{job_controller,tracking_utils}.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simcluster.api.objects import ApiObject, Json, is_pod_ready, is_terminating, uid_of
from simcluster.control.job.failurepolicy import counts
from simcluster.control.job.indexes import index_of, is_indexed, is_valid
from simcluster.control.pods.status import is_active, is_terminal, phase_of

FINALIZER = "batch.kubernetes.io/job-tracking"


def has_finalizer(pod: Mapping[str, Any]) -> bool:
    """Whether the pod waits to be counted."""
    return FINALIZER in (pod["metadata"].get("finalizers") or ())


def replaces_only_failed(job: Mapping[str, Any]) -> bool:
    """Whether a pod is replaced only when it has ended (podReplacementPolicy: Failed)."""
    return bool(job["spec"].get("podReplacementPolicy") == "Failed")


def has_failed(pod: Mapping[str, Any], job: Mapping[str, Any]) -> bool:
    """Whether the pod counts as failed (isPodFailed): ended so, or being deleted."""
    if phase_of(pod) == "Failed":
        return True
    if replaces_only_failed(job):
        return False
    return is_terminating(pod) and phase_of(pod) != "Succeeded"


def has_succeeded(pod: Mapping[str, Any]) -> bool:
    """Whether the pod has ended well."""
    return phase_of(pod) == "Succeeded"


class Tally:
    """The pods of one Job at one instant.

    Attributes:
        pods: all of them.
        active: neither ended nor being deleted.
        new_succeeded, new_failed: ended and in no count yet.
        succeeded, failed: totals with the new ones (`failed` without ignored ones).
    """

    def __init__(self, job: ApiObject, pods: Sequence[ApiObject]) -> None:
        status = job.get("status") or {}
        uncounted = status.get("uncountedTerminatedPods") or {}
        self.job = job
        self.pods = pods
        self.active = [pod for pod in pods if is_active(pod)]
        self.ready = sum(map(is_pod_ready, self.active))
        self.terminating = sum(is_terminating(pod) and not is_terminal(pod) for pod in pods)
        self.uncounted_succeeded = dict.fromkeys(uncounted.get("succeeded") or ())
        self.uncounted_failed = dict.fromkeys(uncounted.get("failed") or ())
        self.new_succeeded = [p for p in self._uncounted(self.uncounted_succeeded) if has_succeeded(p)]
        self.new_failed = [p for p in self._uncounted(self.uncounted_failed) if has_failed(p, job)]
        self.succeeded = int(status.get("succeeded") or 0) + len(self.new_succeeded) + len(self.uncounted_succeeded)
        new_failed = sum(counts(job, pod) for pod in self.new_failed)
        self.failed = int(status.get("failed") or 0) + new_failed + len(self.uncounted_failed)

    def failed_pods(self) -> list[ApiObject]:
        """Every pod that has failed, counted or not."""
        return [pod for pod in self.pods if has_failed(pod, self.job)]

    def _uncounted(self, known: Mapping[str, Any]) -> Iterable[ApiObject]:
        for pod in self.pods:
            if not has_finalizer(pod) or uid_of(pod) in known:
                continue
            if not is_indexed(self.job) or is_valid(index_of(pod), self.job):
                yield pod


def restarts(pods: Iterable[Mapping[str, Any]]) -> int:
    """Restarts of the containers of pods that run or wait (pastBackoffLimitOnFailure)."""
    total = 0
    for pod in pods:
        status = pod.get("status") or {}
        if phase_of(pod) in ("Running", "Pending"):
            for entry in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
                total += int(entry.get("restartCount") or 0)
    return total


def settle(status: Json, uids_with_finalizer: Mapping[str, Any], *, indexed: bool) -> bool:
    """Turn uids whose finalizer is gone into counts; whether there were any. Changes `status`."""
    uncounted: Json = status.get("uncountedTerminatedPods") or {}
    changed = False
    for outcome in ("succeeded", "failed"):
        uids = uncounted.get(outcome) or []
        kept = [uid for uid in uids if uid in uids_with_finalizer]
        if len(kept) == len(uids):
            continue
        changed = True
        if outcome == "failed" or not indexed:
            status[outcome] = int(status.get(outcome) or 0) + len(uids) - len(kept)
        uncounted = {key: value for key, value in uncounted.items() if key != outcome}
        if kept:
            uncounted[outcome] = kept
    status["uncountedTerminatedPods"] = uncounted
    return changed
