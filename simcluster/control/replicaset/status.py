"""The status of a ReplicaSet, as a pure function of its pods.

Source: kubernetes pkg/controller/replicaset/replica_set_utils.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.objects import ApiObject, Json
from simcluster.control.replicaset.facts import FactsByPod
from simcluster.control.replicaset.pods import is_available
from simcluster.engine import format_rfc3339

REPLICA_FAILURE = "ReplicaFailure"


def calculate_status(
    replica_set: Mapping[str, Any],
    pods: list[ApiObject],
    failure: str,
    now_ns: int,
    facts: FactsByPod | None = None,
) -> Json:
    """The new `status`; fields that are zero are absent, as on the wire.

    Args:
        pods: active pods that the ReplicaSet owns.
        failure: message of the error that stopped this sync, or an empty text.
        facts: what is known of the pods already.
    """
    spec = replica_set["spec"]
    seconds = spec.get("minReadySeconds", 0)
    status: Json = {"replicas": len(pods)}
    known = FactsByPod() if facts is None else facts
    seen = known.of_all(replica_set, pods)
    ready = seen.ready
    counts = {
        "fullyLabeledReplicas": seen.labelled,
        "readyReplicas": ready,
        "availableReplicas": sum([is_available(pod, seconds, now_ns) for pod in pods]) if seconds else ready,
        "observedGeneration": replica_set["metadata"].get("generation", 1),
    }
    status.update({field: count for field, count in counts.items() if count})
    old = replica_set.get("status") or {}
    conditions = _conditions(old.get("conditions") or [], len(pods) < spec.get("replicas", 1), failure, now_ns)
    if conditions:
        status["conditions"] = conditions
    return status


def _conditions(old: Sequence[Json], too_few: bool, failure: str, now_ns: int) -> list[Json]:
    kept = [entry for entry in old if entry["type"] != REPLICA_FAILURE]
    if not failure:
        return kept
    if len(kept) < len(old):
        return list(old)  # the first failure's message stays until a sync succeeds
    return [
        *kept,
        {
            "type": REPLICA_FAILURE,
            "status": "True",
            "lastTransitionTime": format_rfc3339(now_ns),
            "reason": "FailedCreate" if too_few else "FailedDelete",
            "message": failure,
        },
    ]
