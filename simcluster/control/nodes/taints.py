"""Taints and tolerations, as the scheduler, the taint manager and the node controller read them.

Source: k8s.io/api/core/v1 (toleration.go) and component-helpers scheduling/corev1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
MEMORY_PRESSURE = "node.kubernetes.io/memory-pressure"
DISK_PRESSURE = "node.kubernetes.io/disk-pressure"
PID_PRESSURE = "node.kubernetes.io/pid-pressure"
NETWORK_UNAVAILABLE = "node.kubernetes.io/network-unavailable"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"

Taint = Mapping[str, Any]


def tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    """Whether one toleration covers one taint.

    >>> tolerates({"operator": "Exists"}, {"key": "a", "effect": "NoSchedule"})
    True
    >>> tolerates({"key": "a", "value": "x"}, {"key": "a", "value": "y", "effect": "NoSchedule"})
    False
    """
    effect, key = toleration.get("effect"), toleration.get("key")
    if effect and effect != taint["effect"]:
        return False
    if key and key != taint["key"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(key) and toleration.get("value", "") == taint.get("value", "")


def find_untolerated(
    taints: Iterable[Taint], tolerations: Sequence[Mapping[str, Any]], effects: Sequence[str]
) -> Taint | None:
    """The first taint with one of the effects that nothing tolerates, or None."""
    for taint in taints:
        if taint["effect"] in effects and not any(tolerates(entry, taint) for entry in tolerations):
            return taint
    return None


def taints_of(node: Mapping[str, Any]) -> Sequence[Taint]:
    """`spec.taints`. Do not change it."""
    return (node.get("spec") or {}).get("taints") or ()
