"""Facts about pods that several controllers need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import condition, is_pod_ready, is_terminating
from simcluster.engine import SECOND, parse_rfc3339


def phase_of(pod: Mapping[str, Any]) -> str:
    """`status.phase`, Pending if nothing was reported."""
    return str((pod.get("status") or {}).get("phase") or "Pending")


def is_terminal(pod: Mapping[str, Any]) -> bool:
    """Whether the pod's containers have ended for good."""
    return phase_of(pod) in ("Succeeded", "Failed")


def is_active(pod: Mapping[str, Any]) -> bool:
    """Whether the pod counts as a replica (controller.IsPodActive)."""
    return not is_terminal(pod) and not is_terminating(pod)


def ready_since_ns(pod: Mapping[str, Any]) -> int | None:
    """Since when the pod is Ready, or None."""
    entry = condition(pod, "Ready")
    if entry is None or entry.get("status") != "True":
        return None
    since = entry.get("lastTransitionTime")
    return parse_rfc3339(since) if since else 0


def is_available(pod: Mapping[str, Any], min_ready_seconds: int, now_ns: int) -> bool:
    """Whether the pod has been Ready for `minReadySeconds` (podutil.IsPodAvailable)."""
    if not is_pod_ready(pod):
        return False
    if min_ready_seconds == 0:
        return True
    since = ready_since_ns(pod)
    return since is not None and since + min_ready_seconds * SECOND <= now_ns


def restarts_of(pod: Mapping[str, Any]) -> int:
    """The highest restart count of the pod's containers."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return max((status.get("restartCount", 0) for status in statuses), default=0)
