"""How long single requests take, drawn from the laws that the traffic states of all of them."""

from __future__ import annotations

import math

from simcluster.engine import arithmetic
from simcluster.models.traffic.cluster.distribution import Late, Latency, quantile
from simcluster.models.traffic.cluster.nodes import Edge, Node, Target
from simcluster.models.traffic.cluster.operations import CallSpec
from simcluster.models.traffic.cluster.server import Server
from simcluster.models.traffic.exemplars.parts import Journey


def chosen(edge: Edge, uniform: float) -> Target | None:
    """Where one attempt of a call goes; None if it is not made."""
    for target in edge.targets:
        uniform -= target.weight
        if uniform <= 0.0:
            return target
    return edge.targets[-1] if edge.targets else None


def calls_of(edge: Edge, made: float, journey: Journey) -> int:
    """How many calls of an edge one request makes; `made` of the requests make them at all."""
    if made < 1.0 and journey.uniform() >= made:
        return 0
    whole = int(edge.call.count)
    return whole + (1 if edge.call.count > whole and journey.uniform() < edge.call.count - whole else 0)


def way_ns(target: Target, journey: Journey) -> int:
    """What the links and full tables add to a request that arrives."""
    way, found = target.way, 0.0
    if way.mean_ns > 0.0:
        late = Late(way.late, way.late_ns, way.late_square)
        found += quantile(Latency(way.mean_ns, way.variance, late), journey.uniform())
    if target.toll is not None and target.toll.mean_ns > 0.0:
        found += quantile(Latency(target.toll.mean_ns, target.toll.variance), journey.uniform())
    return math.floor(found)


def inside_ns(server: Server, node: Node, journey: Journey) -> int:
    """How long a request is in a server until its own work is done."""
    operation = node.operation
    mean = server.service_ns(operation)
    busy = (mean - operation.latency_ns) * operation.cpu_cv  # as `Server.service_variance`
    idle = operation.latency_ns * operation.latency_cv
    found = quantile(Latency(mean, busy * busy + idle * idle), journey.uniform()) if mean > 0.0 else 0.0
    if server.wait.mean_ns > 0.0:
        found += _wait(server, mean, journey.uniform())
    return math.floor(found)


def _wait(server: Server, service_ns: float, uniform: float) -> float:
    """How long one request waits.

    By the closed form who waits does so for an exponential time (`queueing`). A queue beyond it is as long as it is for
    all who come: so many requests, each of whom is served for a time of its own.
    """
    wait, alone = server.wait, server.wait_alone
    variance = wait.variance
    beyond = wait.mean_ns - alone.mean_ns
    if beyond > 0.0:
        variance = alone.variance + beyond * service_ns
    squared = variance / (wait.mean_ns * wait.mean_ns)
    if squared < 1.0:
        return quantile(Latency(wait.mean_ns, variance), uniform)
    chance = 2.0 / (squared + 1.0)
    return 0.0 if uniform >= chance else -wait.mean_ns / chance * arithmetic.log(1.0 - uniform / chance)


def pause_ns(call: CallSpec, number: int, journey: Journey) -> int:
    """The back-off after an attempt."""
    retries = call.policy.retries if call.policy is not None else None
    backoff = retries.backoff if retries is not None else None
    if backoff is None:
        return 0
    delay = float(backoff.base)
    for _ in range(number - 1):
        delay *= backoff.factor
    if backoff.max is not None:
        delay = min(delay, float(backoff.max))
    if backoff.jitter == "none":
        return math.floor(delay)
    share = journey.uniform()
    return math.floor(delay * (0.5 + 0.5 * share if backoff.jitter == "equal" else share))
