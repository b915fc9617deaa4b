"""Which pods a ReplicaSet gives up first when it is scaled down.

Source: kubernetes pkg/controller/controller_utils.go (ActivePodsWithRanks).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.objects import ApiObject, is_pod_ready, uid_of
from simcluster.control.pods.status import phase_of, ready_since_ns, restarts_of
from simcluster.engine import parse_rfc3339

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

_PHASE_ORDER = {"Pending": 0, "Unknown": 1, "Running": 2}


def logarithmic_age(since_ns: int, now_ns: int) -> int:
    """Bucket of an age: floor(log2(nanoseconds)), -1 for none.

    Ages in one bucket count as equal, so that the oldest pods are not always kept.

    >>> [logarithmic_age(0, age) for age in (0, 1, 1023, 1024)]
    [-1, 0, 9, 10]
    """
    return max(0, now_ns - since_ns).bit_length() - 1


def deletion_cost(pod: Mapping[str, Any]) -> int:
    """The pod's `pod-deletion-cost` annotation; 0 when absent or no integer."""
    text = (pod["metadata"].get("annotations") or {}).get(DELETION_COST, "0")
    try:
        return int(text)
    except ValueError:
        return 0


def pods_to_delete(pods: Sequence[ApiObject], related: Sequence[ApiObject], count: int, now_ns: int) -> list[ApiObject]:
    """The `count` pods that a scale-down deletes, first one first.

    Args:
        pods: active pods of the ReplicaSet.
        related: active pods of all ReplicaSets of the same owner; of nodes that carry more
            of them, pods are deleted first.
    """
    per_node: dict[str, int] = {}
    for pod in related:
        node = pod["spec"].get("nodeName", "")
        per_node[node] = per_node.get(node, 0) + 1
    return sorted(pods, key=lambda pod: _rank(pod, per_node, now_ns))[:count]


def _rank(pod: ApiObject, per_node: Mapping[str, int], now_ns: int) -> tuple[Any, ...]:
    node = pod["spec"].get("nodeName", "")
    ready_since = ready_since_ns(pod)
    created = parse_rfc3339(pod["metadata"]["creationTimestamp"])
    return (
        bool(node),  # unassigned < assigned
        _PHASE_ORDER.get(phase_of(pod), 1),  # pending < unknown < running
        is_pod_ready(pod),  # not ready < ready
        deletion_cost(pod),
        -per_node.get(node, 0),  # doubled up < alone on its node
        0 if ready_since is None else logarithmic_age(ready_since, now_ns),  # ready for less time
        -restarts_of(pod),
        logarithmic_age(created, now_ns),  # younger < older
        uid_of(pod),
    )
