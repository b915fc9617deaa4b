"""Conditions of a Job, and whether it is over.

Source: kubernetes pkg/controller/job/{job_controller,utils}.go and staging/src/k8s.io/api/batch/v1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.api.objects import Json, condition
from simcluster.control.jobstatus import COMPLETE, FAILED
from simcluster.engine import format_rfc3339

SUSPENDED = "Suspended"
FAILURE_TARGET = "FailureTarget"
SUCCESS_CRITERIA_MET = "SuccessCriteriaMet"

#: After an interim condition its final one follows once all pods have ended.
_FINAL = {FAILURE_TARGET: FAILED, SUCCESS_CRITERIA_MET: COMPLETE}


class Verdict(NamedTuple):
    """How a Job ends: an interim condition type (FailureTarget, SuccessCriteriaMet) and why."""

    kind: str
    reason: str
    message: str

    @property
    def is_failure(self) -> bool:
        """Whether the Job fails."""
        return self.kind == FAILURE_TARGET

    @property
    def final_kind(self) -> str:
        """Failed or Complete."""
        return _FINAL[self.kind]


COMPLETIONS_REACHED = Verdict(SUCCESS_CRITERIA_MET, "CompletionsReached", "Reached expected number of succeeded pods")
BACKOFF_LIMIT_EXCEEDED = Verdict(FAILURE_TARGET, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
DEADLINE_EXCEEDED = Verdict(FAILURE_TARGET, "DeadlineExceeded", "Job was active longer than specified deadline")
MAX_FAILED_INDEXES_EXCEEDED = Verdict(
    FAILURE_TARGET, "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
)
FAILED_INDEXES = Verdict(FAILURE_TARGET, "FailedIndexes", "Job has failed indexes")


def standing_verdict(job: Mapping[str, Any]) -> Verdict | None:
    """The verdict of an earlier sync whose final condition is still due."""
    for kind in (SUCCESS_CRITERIA_MET, FAILURE_TARGET):
        entry = condition(job, kind)
        if entry is not None and entry.get("status") == "True":
            return Verdict(kind, entry.get("reason", ""), entry.get("message", ""))
    return None


def new_condition(kind: str, status: str, reason: str, message: str, now_ns: int) -> Json:
    """A condition that was probed and has changed now."""
    now = format_rfc3339(now_ns)
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def ensure(conditions: Sequence[Json], new: Json) -> list[Json]:
    """The list with `new` set; equal if it says so already, or if `new` denies what nobody said."""
    for index, entry in enumerate(conditions):
        if entry.get("type") == new["type"]:
            same = all(entry.get(field) == new[field] for field in ("status", "reason", "message"))
            return list(conditions) if same else [*conditions[:index], new, *conditions[index + 1 :]]
    return list(conditions) if new["status"] == "False" else [*conditions, new]
