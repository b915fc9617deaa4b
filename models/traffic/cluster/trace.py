"""Exemplar traces: a request walks through the traffic's present state.

Where it goes follows from routes, how long it waits from the queues of now, what it costs from
the laws of the operations; it times out and tries again as its callers' policies say. The draws are
a function of the load, the instant and the number of the trace: looking changes nothing.

What is left out: that queues move on while the request is on its way; breakers, budgets and hedges.
"""

from __future__ import annotations

from simcluster.engine.streams import mix, uniform_at
from simcluster.models.traffic.cluster.causes import DEADLINE, RESET, STATUS
from simcluster.models.traffic.cluster.distribution import Latency, quantile
from simcluster.models.traffic.cluster.nodes import Edge, Node, Target
from simcluster.models.traffic.cluster.plan import Plan
from simcluster.telemetry.traces import Span

#: A refused connection is known after a round trip.
REFUSED_NS = 500_000
#: A trace of more spans is cut off.
MOST_SPANS = 2000


def trace(plan: Plan, load: int, key: int) -> list[Span]:
    """One request of a user load.

    Args:
        plan: the wiring of now; `load` the index of the users in it.
        key: of the draws.
    """
    walk = _Walk(plan, key)
    edges = plan.roots[load]
    u = walk.uniform()
    for edge in edges:
        u -= edge.call.count
        if u <= 0.0 or edge is edges[-1]:
            walk.call(edge, 0, -1)
            break
    return walk.spans


class _Walk:
    def __init__(self, plan: Plan, key: int) -> None:
        self._plan = plan
        self._key = key
        self._draws = 0
        self.spans: list[Span] = []

    def uniform(self) -> float:
        """The next draw."""
        self._draws += 1
        return uniform_at(mix(self._key, 1), self._draws)

    def call(self, edge: Edge, start: int, parent: int) -> tuple[int, bool]:
        """A call with its retries: how long it took, and whether it succeeded."""
        at = start
        for attempt in range(1, edge.call.retries + 2):
            took, ok = self._attempt(edge, at, parent, attempt)
            at += took
            if ok or len(self.spans) >= MOST_SPANS:
                return at - start, ok
        return at - start, False

    def _attempt(self, edge: Edge, start: int, parent: int, attempt: int) -> tuple[int, bool]:
        index = len(self.spans)
        target = self._choose(edge)
        self.spans.append(Span(parent, edge.host, edge.call.operation, "", attempt, start, 0))
        if target is None:
            return 0, True
        took, error, pod, wait, own = self._arrive(edge, target, start, index)
        limit = edge.call.timeout_ns
        if took > limit:
            took, error = limit, DEADLINE
        self.spans[index] = Span(
            parent, edge.host, edge.call.operation, pod, attempt, start, took, error, min(wait, limit), own
        )
        return took, not error

    def _choose(self, edge: Edge) -> Target | None:
        u = self.uniform()
        for target in edge.targets:
            u -= target.weight
            if u <= 0.0:
                return target
        return edge.targets[-1] if edge.targets else None

    def _arrive(self, edge: Edge, target: Target, start: int, index: int) -> tuple[int, str, str, int, int]:
        """Duration, error, pod, wait and own time of an attempt that reaches a place."""
        if target.kind:
            silent = "timeout" in target.kind
            return (edge.call.timeout_ns + 1 if silent else REFUSED_NS), target.kind, "", 0, 0
        if target.node < 0:
            return target.round_trip_ns + target.answer_ns, "", "", 0, 0
        node = self._plan.nodes[target.node]
        server = self._plan.servers[node.server]
        pod = server.identity[1]
        if server.rejected and self.uniform() < server.rejected:
            return target.round_trip_ns, RESET, pod, 0, 0
        wait = int(quantile(Latency(server.wait.mean_ns, server.wait.variance), self.uniform()))
        own_law = Latency(server.service_ns(node.operation), server.service_variance(node.operation))
        own = int(quantile(own_law, self.uniform()))
        began = start + target.round_trip_ns // 2 + wait + own
        below, ok = self._below(node, began, index)
        if self.uniform() < node.operation.failure:
            ok = False
        return target.round_trip_ns + wait + own + below, "" if ok else STATUS, pod, wait, own

    def _below(self, node: Node, start: int, index: int) -> tuple[int, bool]:
        """The calls of a visit: steps follow each other, calls of a step run side by side."""
        at = start
        for step in node.steps:
            longest, failed = 0, False
            for edge in step:
                took, ok = self._calls(edge, at, index)
                if edge.call.asynchronous:
                    continue
                longest = max(longest, took)
                failed = failed or (edge.call.required and not ok)
            at += longest
            if failed:
                return at - start, False
        return at - start, True

    def _calls(self, edge: Edge, start: int, index: int) -> tuple[int, bool]:
        if edge.index in self._plan.made and self.uniform() >= self._plan.made[edge.index]:
            return 0, True  # found in the cache
        whole = int(edge.call.count)
        count = whole + (1 if self.uniform() < edge.call.count - whole else 0)
        at = start
        for _ in range(count):
            took, ok = self.call(edge, at, index)
            at += took
            if not ok:
                return at - start, False
        return at - start, True
