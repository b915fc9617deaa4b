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
from simcluster.models.traffic.cluster.fleet import Fleet
from simcluster.models.traffic.cluster.operations import OperationSpec
from simcluster.models.traffic.cluster.plan import Edge, Plan
from simcluster.models.traffic.cluster.users import UserLoad

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Plans with fewer servers are walked edge by edge, tick by tick.
LARGE = 120
#: Servers of a large plan for each tick that a period grows by, and the longest period in ticks.
SERVERS_PER_TICK, MOST_TICKS = 100, 10
#: Servers of a large plan are accounted after so many periods, their CPU time more often.
PERIODS, CHARGED = 8, 2
#: Of a server that is busy for a period it is looked at once so many requests came.
CROWD = 8.0


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
        self._reached = reached_nodes(plan)
        self._levels = _levels(plan, self._reached)
        roots = [edge for edges in plan.roots for edge in edges]
        self._roots = _level(roots, [0] * len(roots))
        self._keys = plan.keys
        self.server_of = np.array([node.server for node in plan.nodes], dtype=np.int64)
        self.cpu = np.array([float(node.operation.cpu_ns) for node in plan.nodes])
        #: CPU time of so many requests that come at once that a server is looked at, by server
        self.crowd = np.zeros(len(plan.servers))
        np.maximum.at(self.crowd, self.server_of, CROWD * self.cpu)
        self.square = np.array([_mean_square(node.operation) for node in plan.nodes])
        self._first = np.array([*plan.first_node, len(plan.nodes)], dtype=np.int64)
        self.renew()

    def renew(self) -> None:
        """The plan was evaluated anew."""
        self.stay = np.array([node.stay_ns for node in self._plan.nodes])
        self.fits = self._check(self._reached)

    def _check(self, reached: dict[int, None]) -> bool:
        plan = self._plan
        edges = [edge for roots in plan.roots for edge in roots]
        for index in reached:
            node = plan.nodes[index]
            edges += [edge for step in node.steps for edge in step]
            if node.operation.failure or (plan.servers[node.server].logger is not None and _writes(node.operation)):
                return False
        return all(e.ok == 1.0 and not any(t.fail or t.node < 0 for t in e.targets) for e in edges)

    def nodes_of(self, servers: Index) -> Index:
        """Nodes of some servers, in their order."""
        first, count = self._first[servers], self._first[servers + 1] - self._first[servers]
        begin = np.cumsum(count) - count
        found: Index = np.arange(int(count.sum()), dtype=np.int64) + np.repeat(first - begin, count)
        return found

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
    """Requests that were served but not yet accounted, by node; and by server since when, and CPU that was."""

    def __init__(self, plan: Plan) -> None:
        self.counts = np.zeros(len(plan.nodes), dtype=np.int64)
        self.ticks = np.zeros(len(plan.servers), dtype=np.int64)
        self._charged = np.zeros(len(plan.servers), dtype=np.int64)
        self._work = np.zeros(len(plan.servers))  # CPU time not yet accounted

    def add(self, arrived: Index, work: Array, ticks: int) -> None:
        """Requests of a period, and CPU time by server."""
        self.counts += arrived
        self.ticks += ticks
        self._work += work

    def charge(self, fleet: Fleet) -> None:
        """Account CPU time before everything else."""
        self._charged += fleet.charge(self._work)
        self._work[:] = 0.0

    def take(self, servers: Index) -> tuple[Index, Index]:
        """Ticks and CPU time of some servers; they begin again."""
        ticks, charged = self.ticks[servers], self._charged[servers]
        self.ticks[servers] = 0
        self._charged[servers] = 0
        self._work[servers] = 0.0
        return ticks, charged


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
