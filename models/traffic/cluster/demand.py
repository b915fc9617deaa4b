"""What users' rates imply for every server: requests, work and workers in use, by the routes and outcomes of now.

Averages of what came lately fluctuate by chance, and a closed form of a queue, which is steep, would count that chance
a second time. So the demand that waits are worked out for is the mean of what the users send, carried through the plan
as its last evaluation says: calls, retries, refusals, shares of places.

Left out: that requests which fail half-way have made fewer calls than their failure's share says.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import arithmetic
from simcluster.models.traffic.cluster.nodes import Edge
from simcluster.models.traffic.cluster.operations import OperationSpec
from simcluster.models.traffic.cluster.plan import Plan
from simcluster.models.traffic.cluster.users import UserLoad


class Expected(NamedTuple):
    """What comes to a server in a second: requests, nanoseconds of CPU, sum of mean squared costs; and the mean number
    of requests inside that do not wait.
    """

    requests: float
    work: float
    square: float
    busy: float


def expected(plan: Plan, users: list[UserLoad]) -> list[Expected]:
    """The demand of every server of a plan."""
    rates = [0.0] * len(plan.nodes)
    for load, edges in zip(users, plan.roots, strict=True):
        if load.rps > 0.0:
            rate = load.rate(load.answer_ns(edges))
            for edge in edges:
                _send(plan, edge, rate * edge.call.count, rates)
    for index in plan.order:
        if rates[index] > 0.0:
            _serve(plan, index, rates)
    found = []
    for row, server in enumerate(plan.servers):
        first = plan.first_node[row]
        requests = work = square = busy = 0.0
        for index in range(first, first + len(server.spec.operations)):
            rate = rates[index]
            if rate > 0.0:
                node = plan.nodes[index]
                requests += rate
                work += rate * node.operation.cpu_ns
                square += rate * mean_square(node.operation)
                busy += rate * 1e-9 * node.held_ns
        found.append(Expected(requests, work, square, busy))
    return found


def mean_square(operation: OperationSpec) -> float:
    """Mean of the squared CPU time of a request."""
    cost = float(operation.cpu_ns)
    return cost * cost * (1.0 + operation.cpu_cv * operation.cpu_cv)


def _serve(plan: Plan, index: int, rates: list[float]) -> None:
    """Calls that the requests of a node make; who fails at a step makes none of the next."""
    alive = rates[index]
    for step in plan.nodes[index].steps:
        through = 1.0
        for edge in step:
            calls = alive * plan.made.get(edge.index, 1.0) * edge.call.count
            if edge.call.required and edge.ok < 1.0:
                count = edge.call.count
                if count > 1.0:
                    whole = arithmetic.power(edge.ok, count) if edge.ok > 0.0 else 0.0
                    calls *= (1.0 - whole) / ((1.0 - edge.ok) * count)
                    through *= whole
                else:
                    through *= 1.0 - count * (1.0 - edge.ok)
            _send(plan, edge, calls, rates)
        alive *= through
        if alive <= 0.0:
            break


def _send(plan: Plan, edge: Edge, calls: float, rates: list[float]) -> None:
    attempts = calls * edge.reached
    for target in edge.targets:
        if target.node >= 0:
            kept = 1.0 if target.toll is None else target.toll.kept
            accepted = 1.0 - plan.servers[plan.nodes[target.node].server].rejected
            rates[target.node] += attempts * target.weight * kept * accepted * (1.0 - target.way.failing)
