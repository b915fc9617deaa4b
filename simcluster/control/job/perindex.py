"""Retries of each index for itself: `backoffLimitPerIndex` of Indexed Jobs.

Source: kubernetes pkg/controller/job/backoff_utils.go and indexed_job_utils.go. The failures
of an index are read off its failed pods; a deleted one takes its count along.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simcluster.control.job.backoff import delay_ns, finished_ns
from simcluster.control.job.counting import has_failed
from simcluster.control.job.failurepolicy import FAIL_INDEX, IGNORE, match
from simcluster.control.job.indexes import INDEX_FAILURES, index_of, is_valid


def has_limit(job: Mapping[str, Any]) -> bool:
    """Whether every index has a back-off limit of its own."""
    return job["spec"].get("backoffLimitPerIndex") is not None


def failures(pod: Mapping[str, Any]) -> int:
    """Failures of the pod's index before it."""
    return int((pod["metadata"].get("annotations") or {}).get(INDEX_FAILURES, "0"))


def latest_failures(job: Mapping[str, Any], pods: Iterable[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """By index, the failed pod with the highest count."""
    found: dict[int, Mapping[str, Any]] = {}
    for pod in pods:
        index = index_of(pod)
        if not has_failed(pod, job) or not is_valid(index, job):
            continue
        if index not in found or failures(pod) > failures(found[index]):
            found[index] = pod
    return found


def failed_indexes(job: Mapping[str, Any], latest: Mapping[int, Mapping[str, Any]]) -> list[int]:
    """Indexes that have failed for good among those with a failed pod."""
    limit = int(job["spec"]["backoffLimitPerIndex"])
    return sorted(index for index, pod in latest.items() if is_final(job, pod, limit))


def is_final(job: Mapping[str, Any], pod: Mapping[str, Any], limit: int) -> bool:
    """Whether this failed pod was the last of its index."""
    found = match(job, pod)
    action = found.action if found is not None else ""
    return action == FAIL_INDEX or (action != IGNORE and failures(pod) >= limit)


def next_count(job: Mapping[str, Any], before: Mapping[str, Any] | None) -> int:
    """The failure count that the next pod of an index carries."""
    if before is None:
        return 0
    found = match(job, before)
    return failures(before) + (0 if found is not None and found.action == IGNORE else 1)


def wait_ns(job: Mapping[str, Any], before: Mapping[str, Any] | None, now_ns: int) -> int:
    """How long the next pod of an index has to wait."""
    if before is None:
        return 0
    return max(0, finished_ns(before, now_ns) + delay_ns(next_count(job, before)) - now_ns)
