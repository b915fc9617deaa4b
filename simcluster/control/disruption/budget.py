"""The arithmetic of PodDisruptionBudgets, as pure functions.

Source: kubernetes pkg/controller/disruption/disruption.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simcluster.api.objects import Json, condition, is_pod_ready, is_terminating, name_of, transition_time
from simcluster.control.intorpercent import scaled_value
from simcluster.engine import MINUTE, format_rfc3339, parse_rfc3339

#: DeletionTimeout: an eviction that has not become a deletion by then is forgotten.
DELETION_TIMEOUT_NS = 2 * MINUTE
DISRUPTION_ALLOWED = "DisruptionAllowed"


def needs_scale(budget: Mapping[str, Any]) -> bool:
    """Whether the budget is relative to how many pods their controllers want."""
    spec = budget["spec"]
    return spec.get("maxUnavailable") is not None or isinstance(spec.get("minAvailable"), str)


def desired_healthy(budget: Mapping[str, Any], expected: int) -> int:
    """How many pods must stay healthy, of so many expected ones; percentages round up."""
    spec = budget["spec"]
    if spec.get("maxUnavailable") is not None:
        return max(0, expected - scaled_value(spec["maxUnavailable"], expected, round_up=True))
    return scaled_value(spec.get("minAvailable", 1), expected, round_up=True)


def is_pending_eviction(pod: Mapping[str, Any], disrupted: Mapping[str, str], now_ns: int) -> bool:
    """Whether an eviction was granted lately whose deletion is still to be seen."""
    since = disrupted.get(name_of(pod))
    return since is not None and parse_rfc3339(since) + DELETION_TIMEOUT_NS > now_ns


def count_healthy(pods: Iterable[Mapping[str, Any]], disrupted: Mapping[str, str], now_ns: int) -> int:
    """Ready pods that are neither being deleted nor about to be."""
    return sum(
        is_pod_ready(pod) and not is_terminating(pod) and not is_pending_eviction(pod, disrupted, now_ns)
        for pod in pods
    )


def still_disrupted(
    pods: Iterable[Mapping[str, Any]], disrupted: Mapping[str, str], now_ns: int
) -> tuple[dict[str, str], list[str]]:
    """`status.disruptedPods` now, and the names of pods whose deletion never came."""
    kept: dict[str, str] = {}
    overdue = []
    for pod in pods:
        name = name_of(pod)
        if is_terminating(pod) or name not in disrupted:
            continue
        if is_pending_eviction(pod, disrupted, now_ns):
            kept[name] = disrupted[name]
        else:
            overdue.append(name)
    return kept, overdue


def status_of(
    budget: Mapping[str, Any], expected: int, desired: int, healthy: int, disrupted: Mapping[str, str], now_ns: int
) -> Json:
    """The new `status`."""
    allowed = max(0, healthy - desired) if expected > 0 else 0
    status: Json = {"observedGeneration": budget["metadata"].get("generation", 1)}
    if disrupted:
        status["disruptedPods"] = dict(disrupted)
    status["disruptionsAllowed"] = allowed
    status["currentHealthy"] = healthy
    status["desiredHealthy"] = desired
    status["expectedPods"] = expected
    verdict = ("True", "SufficientPods", "") if allowed > 0 else ("False", "InsufficientPods", "")
    status["conditions"] = _conditions(budget, *verdict, now_ns)
    return status


def failed_status(budget: Mapping[str, Any], message: str, now_ns: int) -> Json:
    """The status after a failed sync: nothing may be evicted (failSafe)."""
    status: Json = {**(budget.get("status") or {}), "disruptionsAllowed": 0}
    status["conditions"] = _conditions(budget, "False", "SyncFailed", message, now_ns)
    return status


def _conditions(budget: Mapping[str, Any], status: str, reason: str, message: str, now_ns: int) -> list[Json]:
    before = condition(budget, DISRUPTION_ALLOWED)
    since = transition_time(before, status, format_rfc3339(now_ns))
    new: Json = {
        "type": DISRUPTION_ALLOWED,
        "status": status,
        "observedGeneration": budget["metadata"].get("generation", 1),
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    others = [e for e in (budget.get("status") or {}).get("conditions") or () if e.get("type") != DISRUPTION_ALLOWED]
    return [*others, new]
