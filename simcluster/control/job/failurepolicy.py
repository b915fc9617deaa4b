"""What a Job's podFailurePolicy says about a failed pod.

Source: kubernetes pkg/controller/job/pod_failure_policy.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.api.objects import name_of, namespace_of

IGNORE, COUNT, FAIL_JOB, FAIL_INDEX = "Ignore", "Count", "FailJob", "FailIndex"


class Match(NamedTuple):
    """The first rule that a failed pod meets: its action, and a message for FailJob."""

    action: str
    message: str


def match(job: Mapping[str, Any], pod: Mapping[str, Any]) -> Match | None:
    """The rule that decides about a failed pod, or None."""
    rules = (job["spec"].get("podFailurePolicy") or {}).get("rules") or ()
    for index, rule in enumerate(rules):
        why = _why(rule, pod)
        if why:
            return Match(rule["action"], f"{why} matching {rule['action']} rule at index {index}")
    return None


def counts(job: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    """Whether a failed pod counts towards `backoffLimit`."""
    found = match(job, pod)
    return found is None or found.action != IGNORE


def fail_message(job: Mapping[str, Any], failed: Sequence[Mapping[str, Any]]) -> str:
    """Why the policy ends the Job, an empty text if it does not."""
    for pod in failed:
        found = match(job, pod)
        if found is not None and found.action == FAIL_JOB:
            return found.message
    return ""


def _why(rule: Mapping[str, Any], pod: Mapping[str, Any]) -> str:
    where = f"{namespace_of(pod)}/{name_of(pod)}"
    if rule.get("onExitCodes"):
        found = _container(rule["onExitCodes"], pod)
        if found is not None:
            code = found["state"]["terminated"]["exitCode"]
            return f"Container {found['name']} for pod {where} failed with exit code {code}"
    for pattern in rule.get("onPodConditions") or ():
        for entry in (pod.get("status") or {}).get("conditions") or ():
            if entry.get("type") == pattern["type"] and entry.get("status") == pattern.get("status", "True"):
                return f"Pod {where} has condition {entry['type']}"
    return ""


def _container(requirement: Mapping[str, Any], pod: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The first failed container whose exit code the requirement describes."""
    status = pod.get("status") or {}
    wanted = requirement.get("containerName")
    values = requirement.get("values") or ()
    for entry in [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]:
        terminated = (entry.get("state") or {}).get("terminated")
        if terminated is None or (wanted is not None and entry["name"] != wanted):
            continue
        code = terminated.get("exitCode", 0)
        if code and (code in values) == (requirement["operator"] == "In"):
            found: Mapping[str, Any] = entry
            return found
    return None
