"""Whether a Job is over, as other controllers ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import condition_status

COMPLETE = "Complete"
FAILED = "Failed"


def is_true(job: Mapping[str, Any], kind: str) -> bool:
    """Whether the condition of that type is True."""
    return condition_status(job, kind) == "True"


def finished_kind(job: Mapping[str, Any]) -> str:
    """Complete or Failed, an empty text while the Job goes on (FinishedCondition)."""
    for kind in (COMPLETE, FAILED):
        if is_true(job, kind):
            return kind
    return ""
