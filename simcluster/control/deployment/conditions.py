"""Conditions and status of a Deployment, as pure functions.

Source: kubernetes pkg/controller/deployment/{sync,progress}.go and util/deployment_util.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.objects import ApiObject, Json, condition
from simcluster.control.deployment.arithmetic import max_unavailable, replicas_of, status_count
from simcluster.engine import SECOND, format_rfc3339, parse_rfc3339

AVAILABLE = "Available"
PROGRESSING = "Progressing"
REPLICA_FAILURE = "ReplicaFailure"

MINIMUM_REPLICAS_AVAILABLE = "MinimumReplicasAvailable"
MINIMUM_REPLICAS_UNAVAILABLE = "MinimumReplicasUnavailable"
REPLICA_SET_CREATE_ERROR = "ReplicaSetCreateError"
NEW_REPLICA_SET_CREATED = "NewReplicaSetCreated"
FOUND_NEW_REPLICA_SET = "FoundNewReplicaSet"
REPLICA_SET_UPDATED = "ReplicaSetUpdated"
NEW_REPLICA_SET_AVAILABLE = "NewReplicaSetAvailable"
PROGRESS_DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"
DEPLOYMENT_PAUSED = "DeploymentPaused"
DEPLOYMENT_RESUMED = "DeploymentResumed"

#: A deadline of math.MaxInt32 seconds means that there is none.
NO_DEADLINE = 2**31 - 1


def new_condition(kind: str, status: str, reason: str, message: str, now_ns: int) -> Json:
    """A condition that was updated and has changed now."""
    now = format_rfc3339(now_ns)
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def with_condition(conditions: Sequence[Json], new: Json) -> list[Json]:
    """The list with `new` set: unchanged if status and reason are, else moved to the end."""
    current = next((entry for entry in conditions if entry.get("type") == new["type"]), None)
    if current is not None and (current["status"], current.get("reason")) == (new["status"], new["reason"]):
        return list(conditions)
    if current is not None and current["status"] == new["status"]:
        new = {**new, "lastTransitionTime": current.get("lastTransitionTime")}
    return [*without_condition(conditions, new["type"]), new]


def without_condition(conditions: Sequence[Json], kind: str) -> list[Json]:
    """The list without conditions of the type."""
    return [entry for entry in conditions if entry.get("type") != kind]


def has_deadline(deployment: Mapping[str, Any]) -> bool:
    """Whether progress is watched at all."""
    seconds = deployment["spec"].get("progressDeadlineSeconds")
    return seconds is not None and seconds != NO_DEADLINE


def calculate_status(
    deployment: Mapping[str, Any], all_sets: Sequence[ApiObject], new_set: ApiObject | None, now_ns: int
) -> Json:
    """The new `status` but for Progressing; zero counters are absent, as on the wire."""
    available = sum(status_count(entry, "availableReplicas") for entry in all_sets)
    total = sum(replicas_of(entry) for entry in all_sets)
    counts = {
        "observedGeneration": deployment["metadata"].get("generation", 1),
        "replicas": sum(status_count(entry, "replicas") for entry in all_sets),
        "updatedReplicas": status_count(new_set, "replicas"),
        "readyReplicas": sum(status_count(entry, "readyReplicas") for entry in all_sets),
        "availableReplicas": available,
        "unavailableReplicas": max(0, total - available),
    }
    status: Json = {field: count for field, count in counts.items() if count}
    old = deployment.get("status") or {}
    if available >= replicas_of(deployment) - max_unavailable(deployment):
        verdict = ("True", MINIMUM_REPLICAS_AVAILABLE, "Deployment has minimum availability.")
    else:
        verdict = ("False", MINIMUM_REPLICAS_UNAVAILABLE, "Deployment does not have minimum availability.")
    status["conditions"] = with_condition(old.get("conditions") or [], new_condition(AVAILABLE, *verdict, now_ns))
    if old.get("collisionCount") is not None:
        status["collisionCount"] = old["collisionCount"]
    return status


def is_complete(deployment: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    """Whether all replicas are updated and available and no old pod is left."""
    wanted = replicas_of(deployment)
    return bool(
        status.get("updatedReplicas", 0) == wanted
        and status.get("replicas", 0) == wanted
        and status.get("availableReplicas", 0) == wanted
        and status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 1)
    )


def is_progressing(deployment: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    """Whether the new status is nearer to the goal than the stored one."""

    def old_pods(entry: Mapping[str, Any]) -> int:
        return int(entry.get("replicas", 0)) - int(entry.get("updatedReplicas", 0))

    before = deployment.get("status") or {}
    return bool(
        status.get("updatedReplicas", 0) > before.get("updatedReplicas", 0)
        or old_pods(status) < old_pods(before)
        or status.get("readyReplicas", 0) > before.get("readyReplicas", 0)
        or status.get("availableReplicas", 0) > before.get("availableReplicas", 0)
    )


def has_timed_out(deployment: Mapping[str, Any], status: Mapping[str, Any], now_ns: int) -> bool:
    """Whether nothing has progressed for `progressDeadlineSeconds`."""
    entry = condition({"status": status}, PROGRESSING)
    if entry is None or entry.get("reason") == NEW_REPLICA_SET_AVAILABLE:
        return False
    if entry.get("reason") == PROGRESS_DEADLINE_EXCEEDED:
        return True
    deadline_ns: int = parse_rfc3339(entry["lastUpdateTime"]) + deployment["spec"]["progressDeadlineSeconds"] * SECOND
    return deadline_ns < now_ns


def progress_verdict(
    deployment: Mapping[str, Any], status: Mapping[str, Any], new_set: ApiObject | None, now_ns: int
) -> Json | None:
    """The Progressing condition that the status calls for, or None to leave it as it is."""
    subject = (
        f'ReplicaSet "{new_set["metadata"]["name"]}"'
        if new_set is not None
        else f'Deployment "{deployment["metadata"]["name"]}"'
    )
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        return new_condition(PROGRESSING, "True", NEW_REPLICA_SET_AVAILABLE, message, now_ns)
    if is_progressing(deployment, status):
        return new_condition(PROGRESSING, "True", REPLICA_SET_UPDATED, f"{subject} is progressing.", now_ns)
    if has_timed_out(deployment, status, now_ns):
        message = f"{subject} has timed out progressing."
        return new_condition(PROGRESSING, "False", PROGRESS_DEADLINE_EXCEEDED, message, now_ns)
    return None


def with_progress(deployment: Mapping[str, Any], status: Json, new_set: ApiObject | None, now_ns: int) -> list[Json]:
    """`status.conditions` after a rollout step (syncRolloutStatus)."""
    conditions: list[Json] = status["conditions"]
    if not has_deadline(deployment):
        return without_condition(conditions, PROGRESSING)
    current = condition(deployment, PROGRESSING)
    done = current is not None and current.get("reason") == NEW_REPLICA_SET_AVAILABLE
    if done and status.get("replicas", 0) == status.get("updatedReplicas", 0):
        return conditions
    verdict = progress_verdict(deployment, status, new_set, now_ns)
    if verdict is None:
        return conditions
    if verdict["reason"] == REPLICA_SET_UPDATED and current is not None:
        # Progress restarts the deadline: the update time moves although nothing else does.
        if current.get("status") == "True":
            verdict["lastTransitionTime"] = current.get("lastTransitionTime")
        conditions = without_condition(conditions, PROGRESSING)
    return with_condition(conditions, verdict)


def replica_failure(all_sets: Sequence[ApiObject], new_set: ApiObject | None) -> Json | None:
    """The ReplicaFailure of the new set, else of any set, in the Deployment's form."""
    for entry in [*([new_set] if new_set is not None else []), *all_sets]:
        found = condition(entry, REPLICA_FAILURE)
        if found is not None:
            return {
                "type": REPLICA_FAILURE,
                "status": found.get("status", ""),
                "lastUpdateTime": found.get("lastTransitionTime"),
                "lastTransitionTime": found.get("lastTransitionTime"),
                "reason": found.get("reason", ""),
                "message": found.get("message", ""),
            }
    return None
