"""Connections that stay with a replica: where attempts go is decided by which connection of a pool is free.

Which replica the next free connection leads to depends on the order in which answers came back, which counts do not
know. So up to `_FOLLOWED` callers of each such edge are followed connection by connection, with the number of attempts
that the counts say and durations drawn from the queues of now; their attempts of a tick go where those went. Cost goes
with the attempts of the callers that are followed.

Approximations: an attempt takes what its calls take when each is made once; the callers that are not followed are like
those that are. What waits and answers are expected is by means over the last attempts of each caller (`_MEMORY`).
"""

from __future__ import annotations

import math
from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcluster.engine.streams import Streams, uniform_at
from simcluster.models.traffic.aggregate.durations import VALUES
from simcluster.models.traffic.aggregate.layout import Edge, Layout
from simcluster.models.traffic.aggregate.splits import sticky
from simcluster.models.traffic.graph.policy import Pool

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.state import RunState

Array = NDArray[np.float64]

#: Callers of one edge that are followed.
_FOLLOWED = 128
#: A rate that differs by less is the same: what is foretold of a wait is a mean.
_TURN = 0.05
#: Mean shares are over so many attempts of each caller, about.
_MEMORY = 4.0


class _Caller:
    """The pool of one caller.

    Attributes:
        closed: connections that are not open; `idle`: where the open free ones lead to (pods).
        busy: heap of (instant of the end in ticks, number, pod; -1: it is closed then; ticks of it after the queue).
        late: attempts that wait for a connection, by the edge that they will go over.
    """

    __slots__ = ("busy", "closed", "idle", "late", "turn")

    def __init__(self, size: int) -> None:
        self.closed = size
        self.idle: deque[int] = deque()
        self.busy: list[tuple[float, int, int, float]] = []
        self.late: deque[int] = deque()
        self.turn = -1


class _Followed:
    """The callers of one service of connections that are followed.

    Args:
        edges: from it to the callee, one for each kind of request and operation.
        callers: how many there are.
    """

    def __init__(self, layout: Layout, edges: list[Edge], pool: Pool, callers: int, key: int) -> None:
        self.edges, self.pool = edges, pool
        count = min(callers, _FOLLOWED)
        self.callers = [_Caller(pool.size) for _ in range(count)]
        self.part = count / callers
        self.memory = _MEMORY * count
        self.all = count == callers
        graph = layout.graph
        self.lanes = [np.nonzero(layout.lane_edge == edge.index)[0] for edge in edges]
        self.pods: list[int] = layout.lane_pod[self.lanes[0]].tolist()
        self.balancer = graph.spec.services[graph.nodes[edges[0].child].service_name].balancer
        self.timeouts = [float(layout.timeout[e.index]) if layout.timed[e.index] else math.inf for e in edges]
        #: who asks for connections at once: calls of one step side by side, and the edge that they then go over
        self.groups = [(arms, place) for place, edge in enumerate(edges) for arms in _together(layout, edge)]
        self.owed = [0.0] * len(self.groups)
        self.shares = layout.share[self.lanes[0]].copy()
        self._key, self._drawn, self._number = key, 0, 0
        self.starts = [0.0] * len(self.pods)
        #: at which rates the queues moved by which the ends of busy connections were foretold
        self.rates = [0.0] * len(self.pods)

    def draw(self) -> float:
        """A uniform."""
        self._drawn += 1
        return uniform_at(self._key, self._drawn)

    def step(self, run: RunState, tick: int, attempts: Array) -> None:
        """Let the attempts of a tick begin, and spread the edges' as they went."""
        begun: list[tuple[float, int, int, int]] = []
        for number, (arms, place) in enumerate(self.groups):
            self.owed[number] += float(attempts[arms[0]]) * self.part
            count = int(self.owed[number])
            self.owed[number] -= count
            for _ in range(count):
                begun.append((tick + self.draw(), int(self.draw() * len(self.callers)), len(arms), place))
        self._foretell(run, tick)
        self.starts = [0.0] * len(self.pods)
        up = run.queues.up * run.queues.ready
        for at, number, width, place in sorted(begun):
            caller = self.callers[number]
            self._answered(run, caller, at, up)
            caller.late.extend([place] * width)
            for _ in range(width):
                self._begin(run, caller, at, up)
        for caller in self.callers:
            self._answered(run, caller, tick + 1.0, up)
        total = math.fsum(self.starts)
        if total > 0.0:
            there = np.array(self.starts)
            self.shares = (self.shares * self.memory + there) / (self.memory + total)
            self.spread(run, there / total if self.all else self.shares)

    def _foretell(self, run: RunState, tick: int) -> None:
        """What is left of a wait is work ahead: it passes at the rate of now, not at that of when it began."""
        rates = [max(float(run.queues.rate[pod]), 1e-12) for pod in self.pods]
        turned = {
            pod: before / now
            for pod, before, now in zip(self.pods, self.rates, rates, strict=True)
            if before > 0.0 and abs(now - before) > _TURN * before
        }
        self.rates = [
            now if pod in turned or before == 0.0 else before
            for pod, before, now in zip(self.pods, self.rates, rates, strict=True)
        ]
        for caller in self.callers if turned else ():
            caller.busy = [
                (tick + max(end - own - tick, 0.0) * turned[pod] + min(own, end - tick), number, pod, own)
                if pod in turned and end > tick
                else (end, number, pod, own)
                for end, number, pod, own in caller.busy
            ]
            heapify(caller.busy)

    def spread(self, run: RunState, shares: Array) -> None:
        """The attempts of these callers go to the pods that serve in these shares."""
        weights = shares * (run.queues.up[self.pods] * run.queues.ready[self.pods] > 0.0)
        whole = float(np.cumsum(weights)[-1])
        if whole > 0.0:
            for lanes in self.lanes:
                run.queues.share[lanes] = weights / whole

    def _answered(self, run: RunState, caller: _Caller, until: float, up: Array) -> None:
        """Give back the connections whose attempts have ended before an instant; who waits takes them."""
        while caller.busy and caller.busy[0][0] <= until:
            at, _, pod, _ = heappop(caller.busy)
            if pod < 0:
                caller.closed += 1
            else:
                caller.idle.append(pod)
            if caller.late:
                self._begin(run, caller, at, up)

    def _begin(self, run: RunState, caller: _Caller, at: float, up: Array) -> None:
        """The next attempt takes a connection, if one is free."""
        pod = self._idle(caller, up)
        if pod < 0:
            if not caller.closed:
                while len(caller.late) > self.pool.size:  # the rest waits in the queue of the pool
                    caller.late.pop()
                return
            pod = self._opened(run, caller, up)
            if pod < 0:
                caller.late.popleft()
                return
            caller.closed -= 1
        place = caller.late.popleft()
        self.starts[self.pods.index(pod)] += 1.0
        wait, own = self._lasts(run, self.edges[place], pod)
        took, timeout = wait + own, self.timeouts[place]
        self._number += 1
        if took >= timeout and self.pool.hold == "attempt":
            heappush(caller.busy, (at + timeout, self._number, -1, timeout))
        else:
            heappush(caller.busy, (at + took, self._number, pod, own))

    def _idle(self, caller: _Caller, up: Array) -> int:
        """Where the next open free connection leads to; -1: there is none."""
        idle = caller.idle
        while idle:
            if self.pool.reuse == "lru":
                pod = idle.popleft()
            else:
                if self.pool.reuse == "random":
                    at = int(self.draw() * len(idle))
                    idle[at], idle[-1] = idle[-1], idle[at]
                pod = idle.pop()
            if up[pod] > 0.0:
                return pod
            caller.closed += 1
        return -1

    def _opened(self, run: RunState, caller: _Caller, up: Array) -> int:
        """Where a new connection leads to; -1: nowhere."""
        serving = [pod for pod in self.pods if up[pod] > 0.0]
        if not serving:
            return -1
        if self.balancer == "round_robin":
            caller.turn = int(self.draw() * len(serving)) if caller.turn < 0 else caller.turn + 1
            return serving[caller.turn % len(serving)]
        if self.balancer == "least_requests":
            inside = run.queues.number[serving]
            best = np.nonzero(inside <= inside.min() + 0.5)[0]
            return serving[int(best[int(self.draw() * len(best))])]
        first = serving[int(self.draw() * len(serving))]
        if self.balancer == "two_choices":
            second = serving[int(self.draw() * len(serving))]
            return second if run.queues.number[second] < run.queues.number[first] else first
        return first

    def _lasts(self, run: RunState, edge: Edge, pod: int) -> tuple[float, float]:
        """How long an attempt at a pod waits there from now on, and takes beside, in ticks."""
        wait, served = self._visit(run, edge.child, pod)
        return wait, max(2.0 * float(run.layout.network[edge.index]) + served, 1e-9)

    def _visit(self, run: RunState, node: int, pod: int) -> tuple[float, float]:
        """A visit of a node at a pod: its wait, and its own time with its calls."""
        layout, queues = run.layout, run.queues
        wait = float(queues.waiting[pod]) / max(float(queues.rate[pod]), 1e-12)
        values = layout.graph.values[node]
        at = self.draw() * VALUES - 0.5
        low = int(min(max(at, 0.0), VALUES - 2.0))
        own = float(values[low]) + min(max(at - low, 0.0), 1.0) * float(values[low + 1] - values[low])
        own /= layout.tick_ns
        natural, work = float(layout.node_own[node]), float(layout.node_work[node])
        if natural > 0.0:
            speed = max(float(queues.factor[pod] * queues.up[pod]), 1e-9)
            own *= 1.0 + work / natural * (float(queues.stretch[pod]) / speed - 1.0)
        return wait, own + self._calls(run, node)

    def _calls(self, run: RunState, node: int) -> float:
        """The calls of a visit: arms of a step side by side, steps one after the other."""
        layout = run.layout
        units: dict[int, dict[int, float]] = {}
        for edge in layout.children.get(node, ()):
            site = edge.site
            if site is None or edge.asynchronous or self.draw() >= site.reach:
                continue
            arms = units.setdefault(site.unit, {})
            each = 2.0 * float(layout.network[edge.index])
            took = math.fsum(
                each + math.fsum(self._visit(run, edge.child, self._pod(run, edge))) for _ in range(edge.times)
            )
            most = float(layout.timeout[edge.index]) if layout.timed[edge.index] else math.inf
            arms[site.arm] = arms.get(site.arm, 0.0) + min(took, most)
        return math.fsum(max(arms.values()) for arms in units.values())

    def _pod(self, run: RunState, edge: Edge) -> int:
        """The pod that a call of somebody else reaches."""
        layout = run.layout
        service = layout.graph.nodes[edge.child].service
        return layout.first_pod[service] + int(self.draw() * layout.replicas[service])


def _together(layout: Layout, edge: Edge) -> list[list[int]]:
    """The edges that lead to where an edge begins, those of arms of one step together."""
    found: dict[tuple[int, int], list[int]] = {}
    for above in layout.graph.edges:
        if above.child == edge.caller:
            unit = (above.caller, above.site.unit) if above.site is not None else (-1, above.index)
            found.setdefault(unit, []).append(above.index)
    return list(found.values())


class Connections:
    """All pools whose connections stay with a replica."""

    def __init__(self, layout: Layout, seed: int) -> None:
        streams, services = Streams(seed), layout.graph.spec.services
        self.pools: list[_Followed] = []
        by_pool: dict[tuple[str, int], list[Edge]] = {}
        for edge in layout.graph.edges:
            if sticky(edge):
                by_pool.setdefault((edge.caller_name, layout.graph.nodes[edge.child].service), []).append(edge)
        for (name, _), edges in by_pool.items():
            pool, service = edges[0].policy.pool, services[name]
            assert pool is not None
            callers = max(1, service.replicas * (service.workers or 1) // pool.size)
            self.pools.append(_Followed(layout, edges, pool, callers, streams.key("traffic", "connections", name)))

    def __bool__(self) -> bool:
        return bool(self.pools)

    def step(self, run: RunState, tick: int, level: int, calls: Array) -> None:
        """Where the attempts of a tick go that reach a level, with so many on every edge that leads to it."""
        for pool in self.pools:
            if pool.edges[0].level == level:
                pool.step(run, tick, calls)

    def rest(self, run: RunState) -> None:
        """After a tick: what others take for the shares of these edges are means."""
        layout, queues = run.layout, run.queues
        for pool in self.pools:
            pool.spread(run, pool.shares)
            service = layout.graph.nodes[pool.edges[0].child].service
            first, count = layout.first_pod[service], layout.replicas[service]
            here = np.nonzero((layout.lane_pod >= first) & (layout.lane_pod < first + count))[0]
            come = queues.share[here] * np.maximum(run.flow[layout.lane_edge[here]], 1e-12)
            each = np.bincount(layout.lane_pod[here] - first, come, count)
            total = float(np.cumsum(each)[-1])
            if total > 0.0:
                queues.chosen[first : first + count] = each / total * count
