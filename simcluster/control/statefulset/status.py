"""The status of a StatefulSet, as a pure function of its pods.

Source: kubernetes pkg/controller/statefulset/stateful_set_control.go (updateStatus,
completeRollingUpdate, inconsistentStatus).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simcluster.api.objects import Json, is_pod_ready, is_terminating
from simcluster.control.pods.status import is_available, phase_of
from simcluster.control.statefulset.identity import is_on_delete, replicas_of, revision_of


def is_running_and_ready(pod: Mapping[str, Any]) -> bool:
    """Whether the phase is Running and the pod Ready."""
    return phase_of(pod) == "Running" and is_pod_ready(pod)


def is_running_and_available(pod: Mapping[str, Any], min_ready_seconds: int, now_ns: int) -> bool:
    """Whether the pod runs and has been Ready for `minReadySeconds`."""
    return phase_of(pod) == "Running" and is_available(pod, min_ready_seconds, now_ns)


def count(
    pods: Iterable[Mapping[str, Any]], current: str, update: str, min_ready_seconds: int, now_ns: int
) -> dict[str, int]:
    """The counters of the status over existing pods.

    Args:
        current, update: names of the two revisions.
    """
    counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas"), 0)
    for pod in pods:
        counts["replicas"] += 1
        if is_running_and_ready(pod):
            counts["readyReplicas"] += 1
            counts["availableReplicas"] += is_running_and_available(pod, min_ready_seconds, now_ns)
        if not is_terminating(pod):
            counts["currentReplicas"] += revision_of(pod) == current
            counts["updatedReplicas"] += revision_of(pod) == update
    return counts


def status_of(
    stateful_set: Mapping[str, Any], counts: Mapping[str, int], current: str, update: str, collisions: int
) -> Json:
    """The new `status`; counters that are zero are absent, as on the wire."""
    counts = dict(counts)
    wanted = replicas_of(stateful_set)
    done = all(counts[field] == wanted for field in ("updatedReplicas", "readyReplicas", "replicas"))
    if done and not is_on_delete(stateful_set):
        counts["currentReplicas"] = counts["updatedReplicas"]
        current = update
    status: Json = {
        "observedGeneration": stateful_set["metadata"].get("generation", 1),
        "replicas": counts["replicas"],
    }
    for field in ("readyReplicas", "currentReplicas", "updatedReplicas"):
        if counts[field] > 0:
            status[field] = counts[field]
    status["currentRevision"] = current
    status["updateRevision"] = update
    status["collisionCount"] = collisions
    status["availableReplicas"] = counts["availableReplicas"]
    return status
