"""The status of a DaemonSet, as a pure function of nodes and pods.

Source: kubernetes pkg/controller/daemon/daemon_controller.go (updateDaemonSetStatus).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.objects import ApiObject, Json, is_pod_ready
from simcluster.control.daemonset.placement import is_updated
from simcluster.control.pods.status import is_available


def calculate_status(
    daemon_set: Mapping[str, Any],
    all_nodes: Sequence[str],
    suitable: Mapping[str, Any],
    nodes: Mapping[str, Sequence[ApiObject]],
    digest: str,
    now_ns: int,
) -> Json:
    """The new `status`.

    Args:
        suitable: names of the nodes where pods should run.
        nodes: pods by node, oldest first.
    """
    seconds = daemon_set["spec"].get("minReadySeconds", 0)
    current = ready = available = updated = 0
    for node in suitable:
        pods = nodes.get(node)
        if not pods:
            continue
        current += 1
        ready += is_pod_ready(pods[0])
        available += is_available(pods[0], seconds, now_ns)
        updated += is_updated(pods[0], daemon_set, digest)
    status: Json = {
        "currentNumberScheduled": current,
        "numberMisscheduled": sum(bool(nodes.get(node)) for node in all_nodes if node not in suitable),
        "desiredNumberScheduled": len(suitable),
        "numberReady": ready,
        "observedGeneration": daemon_set["metadata"].get("generation", 1),
    }
    optional = {
        "updatedNumberScheduled": updated,
        "numberAvailable": available,
        "numberUnavailable": len(suitable) - available,
    }
    status.update({field: value for field, value in optional.items() if value})
    collisions = (daemon_set.get("status") or {}).get("collisionCount")
    if collisions is not None:
        status["collisionCount"] = collisions
    return status
