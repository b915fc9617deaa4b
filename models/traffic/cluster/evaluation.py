"""How a request fares now: success, ways to fail and latency of every node, callees first.

A pure function of the plan and of what the servers have published. Means and variances of
latencies add along sequential calls; of parallel calls the slowest counts. What is left
out: correlation between calls of one request, and requests that overlap a change.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from simcluster.engine import MILLISECOND, arithmetic
from simcluster.models.traffic.cluster.causes import (
    DEADLINE,
    DENIED,
    DNS_TIMEOUT,
    PROTOCOL,
    RESET,
    STATUS,
    TIMEOUT,
    UNCONNECTED,
    Cause,
)
from simcluster.models.traffic.cluster.distribution import NEVER, Late, Latency, mixed, probability_above
from simcluster.models.traffic.cluster.nodes import Edge, Failure, Node, Target
from simcluster.models.traffic.cluster.operations import CallSpec
from simcluster.models.traffic.cluster.plan import Plan
from simcluster.models.traffic.cluster.statistics import Latencies
from simcluster.models.traffic.cluster.tolls import Toll

#: Ways to fail that are told apart per edge; further ones count as the most frequent.
MAX_CAUSES = 6
#: What is less likely than this is not a way to fail.
NEGLIGIBLE = 1e-9
#: A share of late answers that counts as none.
RARE = 1e-7
#: A refused connection or a failed lookup is known after a round trip.
QUICK_FAILURE_NS = 0.5 * MILLISECOND
#: StackExchange.Redis keeps commands in a backlog (5 s) while it has no connection.
#: The MongoDB drivers look for a server as long as the call may take.
_PATIENT = ("stackexchange-redis", "mgo")


NOTHING = Latency(0.0, 0.0)


def evaluate(plan: Plan) -> Latencies:
    """Work out every node and edge; the latency of each edge for the record."""
    plan.own()
    for index in reversed(plan.order):
        evaluate_node(plan, plan.nodes[index])
    for edges in plan.roots:
        for edge in edges:
            evaluate_edge(plan, edge)
    return laws_of(plan)


def laws_of(plan: Plan) -> Latencies:
    """The latency of each edge as it was worked out, what servers see of it, and how long errors take to come."""
    answered = {edge.index: _answered_ns(edge) for edge in plan.edges if edge.causes}
    return Latencies.of(
        [edge.latency for edge in plan.edges],
        [*_served(plan)],
        {index: took_ns for index, took_ns in answered.items() if took_ns},
    )


def _served(plan: Plan) -> Iterator[tuple[int, Latency]]:
    for edge in plan.edges:
        if any(target.way.mean_ns or target.way.late or target.toll is not None for target in edge.targets):
            parts = [(target.weight * (1.0 - target.fail), plan.nodes[target.node].latency)
                     for target in edge.targets if target.node >= 0]  # fmt: skip
            if any(share > 0.0 for share, _ in parts):
                yield edge.index, mixed(parts)


def _answered_ns(edge: Edge) -> float:
    """After how long an attempt is answered by an error, on average; 0 if none is."""
    ways = [way for way in edge.causes if way.cause.kind_at_caller == STATUS]
    total = math.fsum(way.probability for way in ways)
    if total <= 0.0:
        return 0.0
    return math.fsum(way.probability * way.after_ns for way in ways) / (total * (1.0 + edge.call.retries))


def evaluate_node(plan: Plan, node: Node) -> None:
    """Work out how requests fare at a node, whose callees were worked out before."""
    server = plan.servers[node.server]
    mean = server.wait.mean_ns + server.service_ns(node.operation)
    variance = server.wait.variance + server.service_variance(node.operation)
    late, alive = NEVER, 1.0 - node.operation.failure
    failures: list[Failure] = (
        [Failure(node.operation.failure, Cause(STATUS, text=node.operation.answer), mean)] if alive < 1.0 else []
    )
    for step in node.steps:
        slowest, survives = NOTHING, 1.0
        for edge in step:
            evaluate_edge(plan, edge)
            if edge.call.asynchronous:
                continue
            made = plan.made.get(edge.index, 1.0)
            duration = _duration(edge, made)
            if duration.mean > slowest.mean:
                slowest = duration
            if edge.call.required and edge.ok < 1.0:
                through = _all_succeed(edge, made)
                lost = alive * survives * (1.0 - through)
                failures.extend(_shares(edge, lost, mean))
                survives *= through
        alive *= survives
        mean, variance, late = mean + slowest.mean, variance + slowest.variance, late.together(slowest.late)
        if alive < NEGLIGIBLE:
            break
    node.ok = alive
    node.latency = Latency(mean, variance, late)
    node.failures = _limited(failures)
    stay = alive * mean + math.fsum(f.probability * f.after_ns for f in node.failures)
    node.stay_ns = min(stay, float(node.patience_ns))
    node.held_ns = max(0.0, node.stay_ns - server.wait.mean_ns)


def time_before(plan: Plan, node: Node, step: int) -> Latency:
    """How long a request of a node takes until it makes the calls of a step."""
    server = plan.servers[node.server]
    mean = server.wait.mean_ns + server.service_ns(node.operation)
    variance, late = server.wait.variance + server.service_variance(node.operation), NEVER
    for earlier in node.steps[:step]:
        took = [_duration(edge, plan.made.get(edge.index, 1.0)) for edge in earlier if not edge.call.asynchronous]
        slowest = max(took, default=NOTHING)
        mean, variance, late = mean + slowest.mean, variance + slowest.variance, late.together(slowest.late)
    return Latency(mean, variance, late)


def _all_succeed(edge: Edge, made: float) -> float:
    """Probability that all the calls one request makes on the edge succeed; a share of requests makes them."""
    count = edge.call.count
    if count <= 1.0:
        return 1.0 - made * count * (1.0 - edge.ok)
    return 1.0 - made * (1.0 - arithmetic.power(edge.ok, count))


def _duration(edge: Edge, made: float) -> Latency:
    """The time a surviving request spends on the edge's calls."""
    if made < 1.0:
        mean, variance, late = _duration(edge, 1.0)
        return Latency(made * mean, made * (variance + mean * mean) - made * made * mean * mean, late.thinned(made))
    count, (mean, variance, late) = edge.call.count, edge.latency
    if not edge.call.required and edge.causes:
        mean = edge.ok * mean + math.fsum(f.probability * f.after_ns for f in edge.causes)
        variance += mean * mean * (1.0 - edge.ok)
    if count < 1.0:
        variance = count * (variance + mean * mean) - count * count * mean * mean
        return Latency(count * mean, variance, late.thinned(count))
    return Latency(count * mean, count * variance, late.thinned(count))


def _shares(edge: Edge, lost: float, before_ns: float) -> list[Failure]:
    """The ways of an edge, scaled to `lost` in total, after what went before."""
    total = math.fsum(f.probability for f in edge.causes)
    return [Failure(lost * f.probability / total, f.cause, before_ns + f.after_ns) for f in edge.causes]


def evaluate_edge(plan: Plan, edge: Edge) -> None:
    """Work out how calls of an edge fare, whose callees were worked out before."""
    ok, mean, variance = 0.0, 0.0, 0.0
    failures: list[Failure] = []
    lates = [0.0, 0.0, 0.0]
    for target in edge.targets:
        latency = _evaluate_target(plan, edge, target)
        share = target.weight * (1.0 - target.fail)
        ok += share
        mean += share * latency.mean
        variance += share * (latency.variance + latency.mean * latency.mean)
        if latency.late.share:
            chance, after, square = latency.late
            for place, part in enumerate((chance, chance * after, chance * square)):
                lates[place] += share * part
        for failure in target.failures:
            failures.append(failure._replace(probability=failure.probability * target.weight))
    if not edge.targets:  # the call would close a circle
        ok = 1.0
    elif len(edge.targets) == 1 and not failures:
        edge.ok, edge.reached, edge.causes = 1.0, 1.0, []
        edge.latency = latency
        return
    if ok > NEGLIGIBLE:
        mean, variance = mean / ok, variance / ok
        late = Late(lates[0] / ok, lates[1] / lates[0], lates[2] / lates[0]) if lates[0] > 0.0 else NEVER
        edge.latency = Latency(mean, max(0.0, variance - mean * mean), late)
    else:
        ok, edge.latency = 0.0, Latency(0.0, 0.0)
    edge.causes = _limited(failures)
    edge.ok, edge.reached = min(1.0, ok), 1.0
    if not edge.causes:
        edge.ok = 1.0
    if edge.call.retries and edge.ok < 1.0:
        _retry(edge)


def _retry(edge: Edge) -> None:
    """Further attempts after failed ones: success, number of attempts and time change."""
    lost, attempts = 1.0 - edge.ok, 1.0
    failing = lost
    for _ in range(edge.call.retries):
        attempts += failing
        failing *= lost
    if edge.ok > 0.0:
        wasted = math.fsum(f.probability * f.after_ns for f in edge.causes) / lost
        mean, variance, late = edge.latency
        again = attempts - 1.0
        edge.latency = Latency(mean + again * wasted, variance + again * wasted * wasted, late)
    scale = failing / lost
    per_call = float(1 + edge.call.retries)
    edge.causes = [Failure(f.probability * scale, f.cause, f.after_ns * per_call) for f in edge.causes]
    edge.ok, edge.reached = 1.0 - failing, attempts


def _evaluate_target(plan: Plan, edge: Edge, target: Target) -> Latency:
    """Sets what fails at the target; returns the latency of what succeeds."""
    call, timeout = edge.call, float(edge.call.timeout_ns)
    if target.kind:
        return _lost(edge, target, target.kind, failure_ns(target, call))
    if target.node < 0:
        target.fail, target.failures = 0.0, []
        return Latency(float(target.round_trip_ns + target.answer_ns), 0.0)
    node = plan.nodes[target.node]
    server = plan.servers[node.server]
    if not server.spec.understands(call.client):
        return _lost(edge, target, PROTOCOL, QUICK_FAILURE_NS)
    way = target.way
    mean, variance, behind = node.latency
    if way.late:
        behind = behind.together(Late(way.late, way.late_ns, way.late_square))
    latency = Latency(mean + target.round_trip_ns + way.mean_ns, variance + way.variance, behind)
    toll, kept = target.toll, 1.0
    if toll is not None:
        kept = toll.kept
        latency = Latency(latency.mean + toll.mean_ns, latency.variance + toll.variance, behind)
    if call.asynchronous:
        return _delivered(edge, target, kept, 1.0 - server.rejected)
    late = late_share(latency, timeout)
    if way.failing:
        late = 1.0 - (1.0 - late) * (1.0 - way.failing)
    if node.ok == 1.0 and late == 0.0 and server.rejected == 0.0 and kept == 1.0:
        target.fail, target.failures = 0.0, []
        return latency
    served = kept * (1.0 - server.rejected)
    failures = _tolled(edge, toll, timeout) if toll is not None else []
    if server.rejected:
        failures.append(Failure(kept * server.rejected, _cause(edge, RESET), QUICK_FAILURE_NS))
    if late:
        failures.append(Failure(served * node.ok * late, _cause(edge, DEADLINE), timeout))
    for failure in node.failures:
        if failure.after_ns > timeout:
            failures.append(Failure(served * failure.probability, _cause(edge, DEADLINE), timeout))
        else:
            cause = failure.cause.behind(call)
            failures.append(Failure(served * failure.probability, cause, failure.after_ns + target.round_trip_ns))
    target.fail = min(1.0, 1.0 - served * node.ok * (1.0 - late))
    target.failures = _limited(failures)
    return Latency(min(latency.mean, timeout), latency.variance, latency.late)


def _delivered(edge: Edge, target: Target, kept: float, accepted: float) -> Latency:
    """A message: what the receiver makes of it nobody hears."""
    lost = (1.0 - kept) * (1.0 - target.way.failing)
    found = [
        Failure(target.way.failing + lost, _cause(edge, TIMEOUT), QUICK_FAILURE_NS),
        Failure(kept * (1.0 - target.way.failing) * (1.0 - accepted), _cause(edge, RESET), QUICK_FAILURE_NS),
    ]
    target.fail = min(1.0, 1.0 - kept * (1.0 - target.way.failing) * accepted)
    target.failures = _limited(found)
    return Latency(target.round_trip_ns / 2.0 + target.way.mean_ns, target.way.variance)


def _tolled(edge: Edge, toll: Toll, timeout: float) -> list[Failure]:
    """What full tables take: nothing comes back, nobody accepts, or the caller cannot even try."""
    tried = 1.0 - toll.refused
    return [
        Failure(toll.refused, replace(_cause(edge, UNCONNECTED), text=toll.errno), QUICK_FAILURE_NS),
        Failure(tried * toll.lost, _cause(edge, TIMEOUT), timeout),
        Failure(tried * (1.0 - toll.lost) * toll.starved, _cause(edge, DEADLINE), timeout),
    ]


def late_share(latency: Latency, timeout: float) -> float:
    """Share of answers that come after the time-out.

    Waits and service times have exponential tails; the log-normal law, which fits their middle, is
    heavier far out. What is rarer than `RARE` does not happen.
    """
    late = probability_above(latency, timeout)
    excess = timeout - latency.mean
    if 0.0 < late < 0.05 and latency.variance > 0.0 and excess > 0.0:
        late = min(late, arithmetic.exp(-excess / math.sqrt(latency.variance)))
    return late if late > RARE else 0.0


def failure_ns(target: Target, call: CallSpec) -> float:
    """How long a caller waits before it knows that its call has failed."""
    if target.kind == STATUS:
        return float(target.answer_ns)
    if target.kind in (TIMEOUT, DNS_TIMEOUT) or (call.client in _PATIENT and target.kind != DENIED):
        return float(call.timeout_ns)
    return QUICK_FAILURE_NS


def failed_after(cause: Cause) -> float:
    """How long it takes until the outermost call has failed for good: every time-out and every attempt on the way."""
    took = 0.0
    for call in reversed(cause.path):
        if call is cause.path[-1]:
            took = float(call.timeout_ns) if cause.kind in (DEADLINE, TIMEOUT, DNS_TIMEOUT) else QUICK_FAILURE_NS
        took = min(took, float(call.timeout_ns)) * (1 + call.retries)
    return took


def _lost(edge: Edge, target: Target, kind: str, after_ns: float) -> Latency:
    target.fail = 1.0
    target.failures = [Failure(1.0, replace(_cause(edge, kind), text=target.text), after_ns)]
    return Latency(0.0, 0.0)


def _cause(edge: Edge, kind: str) -> Cause:
    return Cause(kind, edge.host, edge.port, edge.address, (edge.call,))


def _limited(failures: list[Failure]) -> list[Failure]:
    """Equal causes as one, most likely first, at most `MAX_CAUSES`."""
    merged: dict[Cause, Failure] = {}
    for failure in failures:
        if failure.probability <= NEGLIGIBLE:
            continue
        before = merged.get(failure.cause)
        if before is None:
            merged[failure.cause] = failure
        else:
            total = before.probability + failure.probability
            after = (before.probability * before.after_ns + failure.probability * failure.after_ns) / total
            merged[failure.cause] = Failure(total, failure.cause, after)
    ranked = sorted(merged.values(), key=_probability, reverse=True)
    kept, rest = ranked[:MAX_CAUSES], ranked[MAX_CAUSES:]
    if rest:
        extra = math.fsum(f.probability for f in rest)
        kept[0] = kept[0]._replace(probability=kept[0].probability + extra)
    return kept


def _probability(failure: Failure) -> float:
    return failure.probability
