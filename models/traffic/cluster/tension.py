"""When is it calm enough for closed forms?

A queue of rate mu with lambda arrivals holds somebody up for T with probability about
exp(-(mu - lambda) T). Where failures are tried again such an event feeds itself, so that it matters
long before it is frequent; along a chain of calls waits add up, which costs a factor of two.
What is left out: how long the chain is.
"""

from __future__ import annotations

from simcluster.engine import FlatList
from simcluster.models.traffic.cluster.nodes import Edge
from simcluster.models.traffic.cluster.plain import reached_nodes
from simcluster.models.traffic.cluster.plan import Plan

#: Below this exponent an edge that retries is followed in fine ticks (30 for chains, where waits add up).
CALM_EXPONENT = 16.0


def fragile_edges(plan: Plan) -> list[int]:
    """Places in the plan of edges that try again and lead to servers whose queues one must watch."""
    found = []
    edges = [edge for index in reached_nodes(plan) for step in plan.nodes[index].steps for edge in step]
    edges += [edge for roots in plan.roots for edge in roots]
    for edge in edges:
        if edge.call.retries and any(target.node >= 0 for target in edge.targets):
            found.append(edge.index)
    return FlatList(found)


def margin_of(plan: Plan, edge: Edge, tick_ns: int) -> float:
    """The smallest exponent of the places where the edge leads, with the time its callee needs taken away."""
    smallest = 1e9
    for target in edge.targets:
        if target.node < 0:
            continue
        node = plan.nodes[target.node]
        server = plan.servers[node.server]
        wait = server.wait.mean_ns
        left = edge.call.timeout_ns - max(0.0, node.latency.mean - wait)
        if left > 0.0:
            smallest = min(smallest, server.margin(tick_ns, left))
    return smallest
