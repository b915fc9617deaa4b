"""How fast nodes of a zone may be evicted, by the health of the zone.

Source: kubernetes pkg/controller/nodelifecycle (ComputeZoneState, setLimiterInZone).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.objects import labels_of
from simcluster.engine import SECOND

REGION_LABEL = "topology.kubernetes.io/region"
ZONE_LABEL = "topology.kubernetes.io/zone"

NORMAL = "Normal"
FULL_DISRUPTION = "FullDisruption"
PARTIAL_DISRUPTION = "PartialDisruption"

#: --node-eviction-rate 0.1/s and --secondary-node-eviction-rate 0.01/s, as intervals.
EVICTION_INTERVAL_NS = 10 * SECOND
SECONDARY_INTERVAL_NS = 100 * SECOND
#: --large-cluster-size-threshold: smaller zones that are partially down are left alone.
LARGE_ZONE = 50
#: --unhealthy-zone-threshold, in percent.
UNHEALTHY_PERCENT = 55


def zone_of(node: Mapping[str, Any]) -> str:
    """Key of the node's failure zone; nodes without labels form one zone."""
    labels = labels_of(node)
    return f"{labels.get(REGION_LABEL, '')}:{labels.get(ZONE_LABEL, '')}"


def zone_state(ready: Sequence[bool]) -> str:
    """State of a zone from the readiness of its nodes.

    >>> zone_state([True, False]), zone_state([False]), zone_state([True, False, False, False])
    ('Normal', 'FullDisruption', 'PartialDisruption')
    """
    down = ready.count(False)
    if down and down == len(ready):
        return FULL_DISRUPTION
    if down > 2 and 100 * down >= UNHEALTHY_PERCENT * len(ready):
        return PARTIAL_DISRUPTION
    return NORMAL


def eviction_interval_ns(state: str, size: int, all_down: bool) -> int | None:
    """Least time between two nodes of a zone whose eviction begins; None for never.

    When every zone is down, the fault is taken to be the control plane's own network.
    """
    if all_down:
        return None
    if state == PARTIAL_DISRUPTION:
        return SECONDARY_INTERVAL_NS if size > LARGE_ZONE else None
    return EVICTION_INTERVAL_NS
