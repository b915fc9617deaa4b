"""Working out again what requests meet, where that can have changed: at some servers, and at whoever calls them.

`evaluation.evaluate` works out the whole plan. When few servers of a large plan have published new waits, only their
nodes and, if those come out otherwise than before, the nodes of their callers have to be looked at, callees first.
"""

from __future__ import annotations

from simcluster.engine import FlatList
from simcluster.models.traffic.cluster.evaluation import evaluate_edge, evaluate_node, laws_of
from simcluster.models.traffic.cluster.nodes import Node
from simcluster.models.traffic.cluster.plan import Plan
from simcluster.models.traffic.cluster.statistics import Latencies


class Reevaluation:
    """What depends on what in one plan, and what every server said when the plan was worked out last."""

    def __init__(self, plan: Plan) -> None:
        callers: list[list[int]] = [[] for _ in plan.nodes]
        for index in plan.order:
            for step in plan.nodes[index].steps:
                for edge in step:
                    for target in edge.targets:
                        if target.node >= 0:
                            callers[target.node].append(index)
        #: nodes that call each node
        self._callers: list[tuple[int, ...]] = FlatList(tuple(dict.fromkeys(each)) for each in callers)
        self._said: list[tuple[int, float]] = FlatList()
        self.note(plan)

    def note(self, plan: Plan) -> None:
        """The whole plan was worked out."""
        self._said[:] = [server.said for server in plan.servers]

    def again(self, plan: Plan) -> Latencies:
        """Work out what can have changed since."""
        plan.own()
        stale = [False] * len(plan.nodes)
        for row, server in enumerate(plan.servers):
            said = server.said
            if said != self._said[row]:
                self._said[row] = said
                first = plan.first_node[row]
                for index in range(first, first + len(server.spec.operations)):
                    stale[index] = True
                    for caller in self._callers[index]:  # who also hear whether they are refused
                        stale[caller] = True
        for index in reversed(plan.order):
            if stale[index]:
                node = plan.nodes[index]
                before = _outcome(node)
                evaluate_node(plan, node)
                if _outcome(node) != before:
                    for caller in self._callers[index]:
                        stale[caller] = True
        for edges in plan.roots:
            for edge in edges:
                evaluate_edge(plan, edge)
        return laws_of(plan)


def _outcome(node: Node) -> tuple[object, ...]:
    return (node.ok, node.latency, node.failures, node.stay_ns)
