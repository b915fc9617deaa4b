"""The flow of a large plan in which nothing fails, as operations on arrays.

`FlowWalk` walks edge by edge; with hundreds of pods that costs milliseconds a tick. While every call
succeeds at its first attempt and nobody writes request logs, a tick is a few array operations for
each level of the graph. Counts are whole and nothing is lost: calls of an edge are split over its
places by one draw for each edge and tick (systematic sampling: every place gets its share, rounded up or down).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import SECOND, FlatList
from simcluster.engine.streams import poisson_from_uniform, uniform_at, uniform_rows
from simcluster.models.traffic.cluster.demand import mean_square
from simcluster.models.traffic.cluster.nodes import Edge
from simcluster.models.traffic.cluster.operations import OperationSpec
from simcluster.models.traffic.cluster.plan import Plan
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.models.traffic.strategies import possible

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
    place_node: Index  # position in `nodes`
    nodes: Index
    low: Array
    high: Array


class PlainFlow:
    """Arrays of one plan."""

    def __init__(self, plan: Plan, strategies: Collection[str]) -> None:
        self._plan = plan
        reached = reached_nodes(plan)
        self._levels = _levels(plan, reached)
        self._edges = _edges_of(plan, reached)
        self._may_fit = "calm_arrays" in possible("cluster", _traits_of(plan, reached, self._edges), strategies)
        roots = [edge for edges in plan.roots for edge in edges]
        self._roots = _level(roots, [0] * len(roots))
        self._keys = plan.keys
        self.server_of = np.array([node.server for node in plan.nodes], dtype=np.int64)
        self.cpu = np.array([float(node.operation.cpu_ns) for node in plan.nodes])
        #: CPU time of so many requests that come at once that a server is looked at, by server
        self.crowd = np.zeros(len(plan.servers))
        np.maximum.at(self.crowd, self.server_of, CROWD * self.cpu)
        self.square = np.array([mean_square(node.operation) for node in plan.nodes])
        self._first = np.array([*plan.first_node, len(plan.nodes)], dtype=np.int64)
        self._ahead: Ahead | None = None
        self.renew()

    def renew(self) -> None:
        """The plan was evaluated anew."""
        self.stay = np.array([node.stay_ns for node in self._plan.nodes])
        edges = [self._plan.edges[index] for index in self._edges] if self._may_fit else []
        self.fits = self._may_fit and all(edge.ok == 1.0 for edge in edges)
        self.fits = self.fits and not any(target.fail for edge in edges for target in edge.targets)

    def nodes_of(self, servers: Index) -> Index:
        """Nodes of some servers, in their order."""
        first, count = self._first[servers], self._first[servers + 1] - self._first[servers]
        begin = np.cumsum(count) - count
        found: Index = np.arange(int(count.sum()), dtype=np.int64) + np.repeat(first - begin, count)
        return found

    def run(self, users: list[UserLoad], tick: int, ticks: int, span_ns: int) -> Period:
        """What users' requests do in the `ticks` ticks that end with `tick`.

        As long as nobody changes his mind the next periods are the same but for their draws, which depend on the
        tick alone: several periods are worked out in one go.
        """
        expected = self._expected(users, span_ns)
        if self._ahead is None or not self._ahead.holds(expected, tick, ticks):
            self._ahead = self._work_out(expected, tick, ticks)
        return self._ahead.period(tick)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ahead": None}  # a copy works it out again, to the same result

    def _expected(self, users: list[UserLoad], span_ns: int) -> list[float]:
        """Calls that are expected on every edge of users who send something."""
        found = []
        for load, edges in zip(users, self._plan.roots, strict=True):
            if load.rps > 0.0:
                load.active = True
                rate = load.rate(load.answer_ns(edges)) * span_ns / SECOND
                found += [rate * edge.call.count for edge in edges]
            else:
                found += [-1.0] * len(edges)
        return found

    def _work_out(self, expected: list[float], tick: int, ticks: int) -> Ahead:
        """Calls on every edge, and requests that arrive at every node, in the next periods: one row each."""
        plan, rows = self._plan, range(tick, tick + ticks * PERIODS, ticks)
        sent = np.zeros((PERIODS, len(plan.edges)), dtype=np.int64)
        arrived = np.zeros((PERIODS, len(plan.nodes)), dtype=np.int64)
        for edge, mean in zip([edge for edges in plan.roots for edge in edges], expected, strict=True):
            if mean >= 0.0:
                sent[:, edge.index] = [poisson_from_uniform(mean, uniform_at(edge.key, -now)) for now in rows]
        split = uniform_rows(self._keys, [2 * now + 1 for now in rows])
        part = uniform_rows(self._keys, [2 * now for now in rows])
        self._spread(self._roots, sent[:, self._roots.edges], arrived, split)
        for level in self._levels:
            calls = arrived[:, level.callers]
            made = calls * level.whole + np.floor(calls * level.rest + part[:, level.edges]).astype(np.int64)
            sent[:, level.edges] = made
            self._spread(level, made, arrived, split)
        servers = len(plan.servers)
        at = (np.arange(PERIODS)[:, None] * servers + self.server_of).ravel()
        work = np.bincount(at, (arrived * self.cpu).ravel(), PERIODS * servers).reshape(PERIODS, servers)
        return Ahead(expected, tick, ticks, sent.astype(np.int32), arrived, work.astype(np.float64))

    def _spread(self, level: _Level, made: Index, arrived: Index, split: Array) -> None:
        if not len(level.place_edge):
            return
        calls = made[:, level.place_edge]
        u = split[:, level.edges[level.place_edge]]
        here = np.floor(level.high * calls + u) - np.floor(level.low * calls + u)
        count, size = len(arrived), len(level.nodes)
        at = (np.arange(count)[:, None] * size + level.place_node).ravel()
        here = np.bincount(at, here.ravel(), count * size).reshape(count, size)
        arrived[:, level.nodes] += here.astype(np.int64)


class Period(NamedTuple):
    """One period: calls on every edge, requests that arrived at every node, CPU time they cost every server."""

    sent: NDArray[np.int32]
    arrived: Index
    work: Array


class Ahead(NamedTuple):
    """The next periods, one row each, if users go on sending what was expected of them.

    Attributes:
        tick: the last one of the first period; each is `ticks` long.
    """

    expected: list[float]
    tick: int
    ticks: int
    sent: NDArray[np.int32]
    arrived: Index
    work: Array

    def holds(self, expected: list[float], tick: int, ticks: int) -> bool:
        """Whether the period that ends with a tick is among them."""
        row, rest = divmod(tick - self.tick, self.ticks)
        return ticks == self.ticks and not rest and 0 <= row < len(self.sent) and expected == self.expected

    def period(self, tick: int) -> Period:
        """The period that ends with a tick."""
        row = (tick - self.tick) // self.ticks
        return Period(self.sent[row], self.arrived[row], self.work[row])


class Ledger:
    """Requests that were served but not yet accounted, by node; and by server since when."""

    def __init__(self, plan: Plan) -> None:
        self.counts = np.zeros(len(plan.nodes), dtype=np.int64)
        self.ticks = np.zeros(len(plan.servers), dtype=np.int64)

    def add(self, arrived: Index, ticks: int) -> None:
        """Requests of a period."""
        self.counts += arrived
        self.ticks += ticks

    def take(self, servers: Index) -> Index:
        """Ticks of some servers; they begin again."""
        ticks = self.ticks[servers]
        self.ticks[servers] = 0
        return ticks


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


def _edges_of(plan: Plan, reached: dict[int, None]) -> list[int]:
    """Edges on which users' requests may come along, by their place in the plan."""
    found = [edge.index for roots in plan.roots for edge in roots]
    return FlatList(found + [edge.index for index in reached for step in plan.nodes[index].steps for edge in step])


def _traits_of(plan: Plan, reached: dict[int, None], edges: list[int]) -> list[str]:
    """What decides by which strategies a plan may be evaluated (`traffic.strategies`)."""
    has = {
        "small": len(plan.servers) <= LARGE,
        "walked": plan.walked,
        "particular": _is_particular(plan, reached, edges),
    }
    return [name for name, given in has.items() if given]


def _is_particular(plan: Plan, reached: dict[int, None], edges: list[int]) -> bool:
    """Whether requests must be walked for what operations are like, or because something that is no server answers."""
    for index in reached:
        node = plan.nodes[index]
        if node.operation.failure or (plan.servers[node.server].logger is not None and _writes(node.operation)):
            return True
    return any(target.node < 0 for index in edges for target in plan.edges[index].targets)


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
    nodes = np.unique(np.array(place_node, dtype=np.int64))
    return _Level(
        np.array([edge.index for edge in edges], dtype=np.int64),
        np.array(callers, dtype=np.int64),
        np.array([int(c) for c in counts], dtype=np.int64),
        np.array([c - int(c) for c in counts]),
        np.array(place_edge, dtype=np.int64),
        np.searchsorted(nodes, np.array(place_node, dtype=np.int64)),
        nodes,
        np.array(low),
        np.array(high),
    )
