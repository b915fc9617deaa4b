"""How many pods a Deployment may have too many or too few, and who gets them.

Pure functions over the specs. Source: kubernetes pkg/controller/deployment/util.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.objects import name_of
from simcluster.control.intorpercent import scaled_value

DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"


def replicas_of(obj: Mapping[str, Any]) -> int:
    """`spec.replicas`, 1 when absent."""
    return int(obj["spec"].get("replicas", 1))


def status_count(obj: Mapping[str, Any] | None, field: str) -> int:
    """A counter of `status`, 0 when absent."""
    return int(((obj or {}).get("status") or {}).get(field) or 0)


def is_rolling_update(deployment: Mapping[str, Any]) -> bool:
    """Whether the strategy is RollingUpdate, which is the default."""
    return bool((deployment["spec"].get("strategy") or {}).get("type", "RollingUpdate") == "RollingUpdate")


def fenceposts(deployment: Mapping[str, Any]) -> tuple[int, int]:
    """(surge, unavailable) in pods; surge is rounded up, unavailable down, never both 0.

    Example: 4 replicas, 25 % each: (1, 1). 3 replicas, 25 % each: (1, 0).
    """
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    replicas = replicas_of(deployment)
    surge = scaled_value(rolling.get("maxSurge", "25%"), replicas, round_up=True)
    unavailable = scaled_value(rolling.get("maxUnavailable", "25%"), replicas, round_up=False)
    return (0, 1) if surge == 0 and unavailable == 0 else (surge, unavailable)


def max_surge(deployment: Mapping[str, Any]) -> int:
    """Pods above `spec.replicas` that a rollout may create; 0 for Recreate."""
    return fenceposts(deployment)[0] if is_rolling_update(deployment) else 0


def max_unavailable(deployment: Mapping[str, Any]) -> int:
    """Pods below `spec.replicas` that may be missing; 0 for Recreate or no replicas."""
    if not is_rolling_update(deployment) or replicas_of(deployment) == 0:
        return 0
    return min(fenceposts(deployment)[1], replicas_of(deployment))


def new_set_replicas(deployment: Mapping[str, Any], all_sets: Sequence[Mapping[str, Any]], current: int) -> int:
    """Size of the new ReplicaSet now: as far as the surge allows (NewRSNewReplicas).

    Args:
        all_sets: every ReplicaSet of the Deployment, the new one included.
        current: `spec.replicas` of the new one.

    Example: 10 replicas, surge 3, old set 10, new set 0: the new set may have 3.
    """
    wanted = replicas_of(deployment)
    if not is_rolling_update(deployment):
        return wanted
    room = wanted + max_surge(deployment) - sum(replicas_of(entry) for entry in all_sets)
    return current if room <= 0 else current + min(room, wanted - current)


def proportional_sizes(deployment: Mapping[str, Any], sets: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """New sizes of several active ReplicaSets when the Deployment itself is scaled mid-rollout.

    Each set grows or shrinks in proportion to its size; the first one takes the rounding.

    Args:
        sets: active sets, biggest first; of equals the newer first when growing, the older
            first when shrinking.
    """
    wanted = replicas_of(deployment)
    allowed = wanted + max_surge(deployment) if wanted > 0 else 0
    to_add = allowed - sum(replicas_of(entry) for entry in sets)
    added, sizes = 0, {}
    for entry in sets:
        part = _proportion(entry, deployment, to_add, added) if to_add else 0
        sizes[name_of(entry)] = replicas_of(entry) + part
        added += part
    if sets and to_add:
        first = name_of(sets[0])
        sizes[first] = max(0, sizes[first] + to_add - added)
    return sizes


def _proportion(entry: Mapping[str, Any], deployment: Mapping[str, Any], to_add: int, added: int) -> int:
    if replicas_of(entry) == 0 or to_add == added:
        return 0
    fraction, allowed = _fraction(entry, deployment), to_add - added
    return min(fraction, allowed) if to_add > 0 else max(fraction, allowed)


def _fraction(entry: Mapping[str, Any], deployment: Mapping[str, Any]) -> int:
    size, wanted = replicas_of(entry), replicas_of(deployment)
    if wanted == 0:
        return -size
    before = int((entry["metadata"].get("annotations") or {}).get(MAX_REPLICAS, "0"))
    before = before or status_count(deployment, "replicas")
    if before == 0:
        return 0
    # round(size * now / before), halves away from zero, in integers
    return (2 * size * (wanted + max_surge(deployment)) + before) // (2 * before) - size
