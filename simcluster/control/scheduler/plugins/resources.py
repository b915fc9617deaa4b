"""NodePorts, NodeResourcesFit and NodeResourcesBalancedAllocation: room on the node.

Source: kubernetes pkg/scheduler/framework/plugins/{nodeports,noderesources}.
"""

from __future__ import annotations

import numpy as np

from simcluster.control.scheduler.framework import MAX_SCORE, Cycle, Plugin, Rejection, Skip
from simcluster.control.scheduler.nodeinfo import NodeInfo, PodInfo
from simcluster.control.scheduler.requests import CPU, MEMORY, PODS, ports_clash
from simcluster.control.scheduler.table import Integers, Mask, NodeTable, Rows


class NodePorts(Plugin):
    """Two pods cannot take the same host port of a node."""

    name = "NodePorts"
    woken_by = ("node", "pod_delete")
    REASON = "node(s) didn't have free ports for the requested pod ports"

    def prepare(self, cycle: Cycle) -> Rejection | None:
        """Only pods with host ports matter."""
        if not cycle.info.ports:
            raise Skip
        return None

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Refuse nodes on which a port is taken."""
        for wanted in cycle.info.ports:
            for taken in node.ports:
                if ports_clash(wanted, taken):
                    return Rejection((self.REASON,))
        return None


class NodeResourcesFit(Plugin):
    """The sum of requests must not exceed what the node can allocate. Scores LeastAllocated."""

    name = "NodeResourcesFit"
    woken_by = ("node", "pod_delete")

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Refuse nodes without room, naming every resource that is short."""
        allocatable, requested = node.allocatable, node.requested
        reasons: list[str] = []
        if len(node.pods) + 1 > allocatable.get(PODS, 0):
            reasons.append("Too many pods")
        for name, value in cycle.info.requests.items():
            if value > allocatable.get(name, 0) - requested.get(name, 0):
                reasons.append(f"Insufficient {name}")
        return Rejection(tuple(reasons)) if reasons else None

    def mask(self, cycle: Cycle, table: NodeTable) -> Mask | None:
        """The same for all nodes."""
        return table.with_room(cycle.info.requests)

    def scores_of(self, cycle: Cycle, table: NodeTable, rows: Rows) -> Integers | None:
        """Emptier nodes are better (LeastAllocated over cpu and memory)."""
        total = np.zeros(len(rows), dtype=np.int64)
        weights = np.zeros(len(rows), dtype=np.int64)
        columns = ((CPU, table.assumed_cpu), (MEMORY, table.assumed_memory))
        for (resource, assumed), asked in zip(columns, cycle.info.assumed, strict=True):
            room = table.room(resource)[rows]
            free = np.maximum(room - assumed[rows] - asked, 0)
            total += free * MAX_SCORE // np.maximum(room, 1)
            weights += room > 0
        scores: Integers = total // np.maximum(weights, 1)
        return scores


class NodeResourcesBalancedAllocation(Plugin):
    """Prefers nodes whose CPU and memory fill up evenly."""

    name = "NodeResourcesBalancedAllocation"

    def scores_of(self, cycle: Cycle, table: NodeTable, rows: Rows) -> Integers | None:
        """100 x (1 - standard deviation of the fractions requested): of two, half their difference."""
        requests = cycle.info.requests
        if not requests:
            return None
        fractions = []
        usable = np.ones(len(rows), dtype=np.bool_)
        for resource in (CPU, MEMORY):
            room = table.room(resource)[rows]
            usable &= room > 0
            requested = table.used(resource)[rows] + requests.get(resource, 0)
            fractions.append(np.minimum(requested / np.maximum(room, 1), 1.0))
        spread = np.where(usable, np.abs(fractions[0] - fractions[1]) / 2, 0.0)
        return ((1.0 - spread) * MAX_SCORE).astype(np.int64)


def has_room(info: PodInfo, node: NodeInfo) -> bool:
    """Whether NodeResourcesFit lets the pod onto the node."""
    allocatable, requested = node.allocatable, node.requested
    if len(node.pods) >= allocatable.get(PODS, 0):
        return False
    return all(value <= allocatable.get(name, 0) - requested.get(name, 0) for name, value in info.requests.items())


def least_allocated(info: PodInfo, node: NodeInfo) -> int:
    """The score of NodeResourcesFit for one node; equal to its row in `scores_of`."""
    total = weights = 0
    columns = ((node.allocatable.get(CPU, 0), node.assumed_cpu), (node.allocatable.get(MEMORY, 0), node.assumed_memory))
    for (room, assumed), asked in zip(columns, info.assumed, strict=True):
        if room > 0:
            total += max(room - assumed - asked, 0) * MAX_SCORE // room
            weights += 1
    return total // max(weights, 1)


def balanced(info: PodInfo, node: NodeInfo) -> int:
    """The score of NodeResourcesBalancedAllocation for one node; equal to its row in `scores_of`."""
    requests = info.requests
    if not requests:
        return 0
    fractions = []
    for resource in (CPU, MEMORY):
        room = node.allocatable.get(resource, 0)
        if room <= 0:
            return MAX_SCORE
        requested = node.requested.get(resource, 0) + requests.get(resource, 0)
        fractions.append(min(float(requested) / float(room), 1.0))
    return int((1.0 - abs(fractions[0] - fractions[1]) / 2) * MAX_SCORE)
