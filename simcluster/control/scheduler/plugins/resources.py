"""NodePorts, NodeResourcesFit and NodeResourcesBalancedAllocation: room on the node.

Source: kubernetes pkg/scheduler/framework/plugins/{nodeports,noderesources}.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.control.scheduler.cache import NodeInfo
from simcluster.control.scheduler.framework import MAX_SCORE, Cycle, Plugin, Rejection, Skip
from simcluster.control.scheduler.requests import CPU, MEMORY, PODS, ports_clash


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

    def scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> list[int] | None:
        """Emptier nodes are better (LeastAllocated over cpu and memory)."""
        cpu, memory = cycle.info.assumed
        result = []
        for node in nodes:  # written out, because this is done for every node and pod
            total = weights = 0
            room, free = node.cpu, node.cpu - node.assumed_cpu - cpu
            if room:
                weights = 1
                if free > 0:
                    total = free * MAX_SCORE // room
            room, free = node.memory, node.memory - node.assumed_memory - memory
            if room:
                weights += 1
                if free > 0:
                    total += free * MAX_SCORE // room
            result.append(total // weights if weights else 0)
        return result


class NodeResourcesBalancedAllocation(Plugin):
    """Prefers nodes whose CPU and memory fill up evenly."""

    name = "NodeResourcesBalancedAllocation"

    def scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> list[int] | None:
        """100 x (1 - standard deviation of the fractions requested)."""
        requests = cycle.info.requests
        if not requests:
            return None
        cpu, memory = requests.get(CPU, 0), requests.get(MEMORY, 0)
        result = []
        for node in nodes:
            spread = 0.0
            if node.cpu and node.memory:
                requested = node.requested
                of_cpu = (requested.get(CPU, 0) + cpu) / node.cpu
                of_memory = (requested.get(MEMORY, 0) + memory) / node.memory
                spread = abs((1.0 if of_cpu > 1.0 else of_cpu) - (1.0 if of_memory > 1.0 else of_memory)) / 2
            result.append(int((1.0 - spread) * MAX_SCORE))
        return result
