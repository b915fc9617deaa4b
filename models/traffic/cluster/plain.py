"""The flow of a large plan in which nothing fails, as operations on arrays.

`FlowWalk` walks edge by edge; with hundreds of pods that costs milliseconds a tick. While every call
succeeds at its first attempt and nobody writes request logs, a tick is a few array operations for
each level of the graph. Counts are whole and nothing is lost: calls of an edge are split over its
places by one draw for each edge and tick (systematic sampling: every place gets its share, rounded up or down).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import SECOND
from simcluster.engine.streams import poisson_from_uniform, uniform_at, uniforms_at
from simcluster.models.traffic.cluster.operations import OperationSpec
from simcluster.models.traffic.cluster.plan import Edge, Node, Plan
from simcluster.models.traffic.cluster.users import UserLoad

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Plans with fewer servers are walked edge by edge, tick by tick.
LARGE = 120
#: Servers of a large plan for each tick that a period grows by, and the longest period in ticks.
SERVERS_PER_TICK, MOST_TICKS = 100, 10
#: Of a large plan a part of the servers is accounted in each period.
PARTS = 4


def stride_of(plan: Plan) -> int:
    """Ticks of a period."""
    if len(plan.servers) <= LARGE:
        return 1
    return min(MOST_TICKS, -(-len(plan.servers) // SERVERS_PER_TICK))


class _Level(NamedTuple):
    """Edges of callers on one level, and the places they lead to."""

    edges: Index
    callers: Index
    whole: Index
    rest: Array
    place_edge: Index  # position in `edges`
    place_node: Index
    low: Array
    high: Array


class PlainFlow:
    """Arrays of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        reached = reached_nodes(plan)
        self._levels = _levels(plan, reached)
        roots = [edge for edges in plan.roots for edge in edges]
        self._roots = _level(roots, [0] * len(roots))
        self._keys = plan.keys
        self.server_of = np.array([node.server for node in plan.nodes], dtype=np.int64)
        self.cpu = np.array([float(node.operation.cpu_ns) for node in plan.nodes])
        self.operations = _operations(plan)
        self.fits = self._check(reached)

    def _check(self, reached: dict[int, None]) -> bool:
        plan = self._plan
        edges = [edge for roots in plan.roots for edge in roots]
        for index in reached:
            node = plan.nodes[index]
            edges += [edge for step in node.steps for edge in step]
            if node.operation.failure or (plan.servers[node.server].logger is not None and _writes(node.operation)):
                return False
        return all(e.ok == 1.0 and not any(t.fail or t.node < 0 for t in e.targets) for e in edges)

    def run(self, users: list[UserLoad], tick: int, span_ns: int) -> tuple[Index, Index]:
        """Calls on every edge, and requests that arrived at every node."""
        plan = self._plan
        sent = np.zeros(len(plan.edges), dtype=np.int64)
        arrived = np.zeros(len(plan.nodes), dtype=np.int64)
        for load, edges in zip(users, plan.roots, strict=True):
            if load.rps > 0.0:
                load.active = True
                self._arrive(load, edges, sent, tick, span_ns)
        split = uniforms_at(self._keys, 2 * tick + 1)
        part = uniforms_at(self._keys, 2 * tick)
        self._spread(self._roots, sent[self._roots.edges], arrived, split)
        for level in self._levels:
            calls = arrived[level.callers]
            made = calls * level.whole + np.floor(calls * level.rest + part[level.edges]).astype(np.int64)
            sent[level.edges] = made
            self._spread(level, made, arrived, split)
        return sent, arrived

    def _arrive(self, load: UserLoad, edges: list[Edge], sent: Index, tick: int, span_ns: int) -> None:
        mean_ns = 0.0
        if load.concurrency is not None:
            for edge in edges:
                mean_ns += edge.call.count * edge.latency.mean
        expected = load.rate(mean_ns) * span_ns / SECOND
        for edge in edges:
            sent[edge.index] = poisson_from_uniform(expected * edge.call.count, uniform_at(edge.key, -tick))

    def _spread(self, level: _Level, made: Index, arrived: Index, split: Array) -> None:
        if not len(level.place_edge):
            return
        calls = made[level.place_edge]
        u = split[level.edges[level.place_edge]]
        here = np.floor(level.high * calls + u) - np.floor(level.low * calls + u)
        arrived += np.bincount(level.place_node, here, len(arrived)).astype(np.int64)


class Ledger:
    """Requests that were served but not yet accounted, by node; and since when, by server."""

    def __init__(self, plan: Plan) -> None:
        self.counts = np.zeros(len(plan.nodes), dtype=np.int64)
        self.ticks = np.zeros(len(plan.servers), dtype=np.int64)

    def add(self, arrived: Index, ticks: int) -> None:
        """Requests of a period."""
        self.counts += arrived
        self.ticks += ticks


def _operations(plan: Plan) -> list[list[tuple[int, Node, float, float]]]:
    """Of every server: its operations' nodes with their numbers, and mean and mean square of their costs."""
    return [
        [
            (number, plan.nodes[number], float(operation.cpu_ns), _mean_square(operation))
            for number, operation in enumerate(server.spec.operations, start=plan.first_node[index])
        ]
        for index, server in enumerate(plan.servers)
    ]


def _mean_square(operation: OperationSpec) -> float:
    cost = float(operation.cpu_ns)
    return cost * cost * (1.0 + operation.cpu_cv * operation.cpu_cv)


def _writes(operation: OperationSpec) -> bool:
    return bool(operation.log) or any(call.done for step in operation.steps for call in step)


def reached_nodes(plan: Plan) -> dict[int, None]:
    """Nodes that users' requests come to."""
    stack = [target.node for roots in plan.roots for edge in roots for target in edge.targets if target.node >= 0]
    found: dict[int, None] = dict.fromkeys(stack)
    while stack:
        for step in plan.nodes[stack.pop()].steps:
            for edge in step:
                for target in edge.targets:
                    if target.node >= 0 and target.node not in found:
                        found[target.node] = None
                        stack.append(target.node)
    return found


def _levels(plan: Plan, reached: dict[int, None]) -> list[_Level]:
    depth = [0] * len(plan.nodes)
    by_level: dict[int, tuple[list[Edge], list[int]]] = {}
    for index in plan.order:
        for step in plan.nodes[index].steps if index in reached else ():
            for edge in step:
                edges, callers = by_level.setdefault(depth[index], ([], []))
                edges.append(edge)
                callers.append(index)
                for target in edge.targets:
                    if target.node >= 0:
                        depth[target.node] = max(depth[target.node], depth[index] + 1)
    return [_level(*by_level[level]) for level in sorted(by_level)]


def _level(edges: list[Edge], callers: list[int]) -> _Level:
    place_edge, place_node, low, high = [], [], [], []
    for position, edge in enumerate(edges):
        before = 0.0
        for number, target in enumerate(edge.targets):
            after = 1.0 if number == len(edge.targets) - 1 else before + target.weight
            place_edge.append(position)
            place_node.append(target.node)
            low.append(before)
            high.append(after)
            before = after
    counts = [edge.call.count if edge.targets else 0.0 for edge in edges]
    return _Level(
        np.array([edge.index for edge in edges], dtype=np.int64),
        np.array(callers, dtype=np.int64),
        np.array([int(c) for c in counts], dtype=np.int64),
        np.array([c - int(c) for c in counts]),
        np.array(place_edge, dtype=np.int64),
        np.array(place_node, dtype=np.int64),
        np.array(low),
        np.array(high),
    )
