"""One tick of requests through the plan: integer counts, callers before callees.

Costs depend on the number of edges, never on the number of requests. Every draw is a pure
function of the edge and the tick, so nothing is stored and reading changes nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from simcluster.engine import SECOND
from simcluster.engine.streams import binomial_from_uniform, poisson_from_uniform, uniform_at
from simcluster.models.traffic.cluster.causes import KIND_INDEX
from simcluster.models.traffic.cluster.evaluation import time_before
from simcluster.models.traffic.cluster.nodes import Edge, Failure, Node
from simcluster.models.traffic.cluster.plan import Plan
from simcluster.models.traffic.cluster.server import Failed, Followed, Served
from simcluster.models.traffic.cluster.users import UserLoad

#: Draws of one edge in one tick come from a block of so many counters.
DRAWS = 64


class Flow(NamedTuple):
    """What one tick did.

    Attributes:
        sent: calls on each edge.
        failures: edge, kind, count of calls that failed for good or were repeated, and how long after the call that
            is known (nanoseconds).
        arrived: requests accepted by each node; `refused` those that found the queue full, by server.
        served, failed: per server index, what its log tells.
        requests: of loads that try again, by index: requests, and those that failed for good.
        followed: in place of `served` and `failed`, where queues were followed.
    """

    sent: list[int]
    failures: list[tuple[int, int, int, float]]
    arrived: list[int]
    refused: dict[int, int]
    served: dict[int, list[Served]]
    failed: dict[int, list[Failed]]
    requests: dict[int, tuple[int, int]]
    followed: dict[int, list[Followed]]


class FlowWalk:
    """The walk of one tick."""

    def __init__(self, plan: Plan, tick: int) -> None:
        self._plan = plan
        self._counter = tick * DRAWS
        self._draws = 0
        self._step = 0  # of the node that makes calls now
        self._flow = Flow([0] * len(plan.edges), [], [0] * len(plan.nodes), {}, {}, {}, {}, {})

    def run(self, users: list[UserLoad], tick_ns: int) -> Flow:
        """Let the users' requests of one tick run through the plan."""
        plan = self._plan
        for index, (load, edges) in enumerate(zip(users, plan.roots, strict=True)):
            if load.rps > 0.0:
                load.active = True
                self._arrive(index, load, edges, tick_ns)
        arrived = self._flow.arrived
        for index, count in plan.pending.items():
            arrived[index] += count
        plan.pending = {}
        for index in plan.order:
            count = arrived[index]
            if count:
                self._serve(plan.nodes[index], count)
        return self._flow

    def _arrive(self, index: int, load: UserLoad, edges: list[Edge], tick_ns: int) -> None:
        shares = [edge.call.count for edge in edges]
        per_tick = load.rate(load.answer_ns(edges)) * tick_ns / SECOND
        for edge, share in zip(edges, shares, strict=True):
            self._draws = 0
            count = poisson_from_uniform(per_tick * share, self._uniform(edge))
            bad = self._call(edge, count, None) if count else 0
            if edge.call.retries:
                requests, lost = self._flow.requests.get(index, (0, 0))
                self._flow.requests[index] = (requests + count, lost + bad)

    def _serve(self, node: Node, count: int) -> None:
        alive = count
        plan = self._plan
        made = plan.made
        logger = plan.servers[node.server].logger
        for self._step, step in enumerate(node.steps):
            lost = 0
            for edge in step:
                self._draws = 0
                plain = edge.call.count == 1.0 and edge.index not in made  # one call a request, the usual case
                calls = alive if plain else self._calls(edge, alive)
                if not calls:
                    continue
                bad = self._call(edge, calls, node if logger is not None else None)
                if edge.call.done and logger is not None and calls > bad:
                    done = Served(edge.call.done, node.operation.status, calls - bad, edge.latency)
                    self._flow.served.setdefault(node.server, []).append(done)
                if bad and edge.call.required:
                    lost += bad
            if lost:
                alive = max(0, alive - lost)
                if not alive:
                    break
        if logger is not None and alive and node.operation.log:
            served = Served(node.operation.log, node.operation.status, alive, node.latency)
            self._flow.served.setdefault(node.server, []).append(served)

    def _calls(self, edge: Edge, requests: int) -> int:
        """Calls that `requests` requests make on the edge, stopping at a first failure."""
        if edge.index in self._plan.made:
            requests = self._split(edge, requests, self._plan.made[edge.index])
        count = edge.call.count
        whole = int(count)
        if edge.call.required and edge.ok < 1.0 and count > 1.0:
            through = 1.0
            for _ in range(whole):
                through *= edge.ok
            # sum of a geometric series: calls until the first failure
            return math.floor(requests * (1.0 - through) / (1.0 - edge.ok) + 0.5)
        calls = requests * whole
        if count != whole:
            calls += binomial_from_uniform(requests, count - whole, self._uniform(edge))
        return calls

    def _call(self, edge: Edge, calls: int, caller: Node | None) -> int:
        """Send calls; the number that failed for good."""
        flow = self._flow
        if edge.ok == 1.0 and len(edge.targets) == 1 and not edge.targets[0].later:
            flow.sent[edge.index] += calls
            node = edge.targets[0].node
            if node >= 0:
                flow.arrived[node] += calls
            return 0
        bad = calls
        for left in range(edge.call.retries, -1, -1):
            bad = self._attempt(edge, bad, None if left else caller)
            if not bad:
                break
        return bad

    def _attempt(self, edge: Edge, calls: int, caller: Node | None) -> int:
        """One attempt of each call; the number that failed."""
        flow = self._flow
        flow.sent[edge.index] += calls if edge.targets else 0
        left, weight, bad = calls, 1.0, 0
        for target in edge.targets:
            here = left if target is edge.targets[-1] else self._split(edge, left, target.weight / weight)
            left -= here
            weight -= target.weight
            if not here:
                continue
            failed = self._split(edge, here, target.fail)
            bad += failed
            refused = self._tell(edge, target.failures, failed, caller)
            if target.node >= 0:
                missing = 0 if target.toll is None else math.floor(here * (1.0 - target.toll.kept) + 0.5)
                into = max(0, here - refused - missing)
                if target.later:
                    self._plan.pending[target.node] = self._plan.pending.get(target.node, 0) + into
                else:
                    flow.arrived[target.node] += into
                if refused:
                    server = self._plan.nodes[target.node].server
                    flow.refused[server] = flow.refused.get(server, 0) + refused
        return bad

    def _tell(self, edge: Edge, failures: list[Failure], failed: int, caller: Node | None) -> int:
        """Record failures by cause; how many of them never reached the server."""
        flow, left, refused = self._flow, failed, 0
        total = math.fsum(f.probability for f in failures)
        for position, failure in enumerate(failures):
            if not left:
                break
            last = position == len(failures) - 1
            here = left if last else self._split(edge, left, failure.probability / total)
            left -= here
            total -= failure.probability
            if not here:
                continue
            kind = failure.cause.kind_at_caller
            flow.failures.append((edge.index, KIND_INDEX[kind], here, failure.after_ns))
            if kind == "reset":
                refused += here
            if caller is not None and edge.call.log:
                after_ns = failure.after_ns * (1 + edge.call.retries)
                before = time_before(self._plan, caller, self._step)
                record = Failed(caller.operation, edge.call, failure.cause, here, before, after_ns)
                flow.failed.setdefault(caller.server, []).append(record)
        return refused

    def _split(self, edge: Edge, n: int, p: float) -> int:
        if p <= 0.0 or n <= 0:
            return 0
        return n if p >= 1.0 else binomial_from_uniform(n, p, self._uniform(edge))

    def _uniform(self, edge: Edge) -> float:
        self._draws += 1
        return uniform_at(edge.key, self._counter + self._draws % DRAWS)
