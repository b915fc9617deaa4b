"""The status of a ReplicaSet, as a pure function of its pods.

Source: kubernetes pkg/controller/replicaset/replica_set_utils.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.objects import Json
from simcluster.control.pods.status import is_available
from simcluster.control.replicaset.facts import Known
from simcluster.engine import format_rfc3339

REPLICA_FAILURE = "ReplicaFailure"


def calculate_status(replica_set: Mapping[str, Any], known: Known, failure: str, now_ns: int) -> Json:
    """The new `status`; fields that are zero are absent, as on the wire.

    Args:
        known: the active pods that the ReplicaSet owns.
        failure: message of the error that stopped this sync, or an empty text.
    """
    spec = replica_set["spec"]
    seconds = spec.get("minReadySeconds", 0)
    count = len(known.by_key)
    status: Json = {"replicas": count}
    ready = known.ready
    pods = [facts.pod for facts in known.by_key.values()] if seconds else ()
    counts = {
        "fullyLabeledReplicas": known.labelled,
        "readyReplicas": ready,
        "availableReplicas": sum([is_available(pod, seconds, now_ns) for pod in pods]) if seconds else ready,
        "observedGeneration": replica_set["metadata"].get("generation", 1),
    }
    status.update({field: number for field, number in counts.items() if number})
    old = replica_set.get("status") or {}
    conditions = _conditions(old.get("conditions") or [], count < spec.get("replicas", 1), failure, now_ns)
    if conditions:
        status["conditions"] = conditions
    return status


def _conditions(old: Sequence[Json], too_few: bool, failure: str, now_ns: int) -> list[Json]:
    kept = [entry for entry in old if entry.get("type") != REPLICA_FAILURE]
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
