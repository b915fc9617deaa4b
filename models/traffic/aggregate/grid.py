"""The length of a tick: short enough for the shortest timeout, long enough to be fast."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.layout import Edge, Graph
from simcluster.models.traffic.aggregate.tokens import MOST_TOKENS
from simcluster.models.traffic.graph.service import Service

#: Ticks of the shortest timeout in graphs up to so many pods (in prototypes 1 to 10 tell collapse
#: from recovery equally well within 5 % of the cells, more of them draw the series better).
_PER_TIMEOUT = ((24, 10), (100, 5), (300, 2))
_LEAST = 1
#: Limits of a tick without timeouts, and its share of the longest mean service time.
#: A token bucket is filled in so many ticks.
#: Users who wait for an answer lose up to a tick a round: a tick is a small part of their thinking.
_OF_THINKING = 50
_OF_BURST = 4.0
#: A queue of so few places is full now and then; ticks until who was refused comes again, or it is served once.
_FEW, _OF_RETURN = 100, 3.0
#: A tick's part of the time in which a replica answers on all its connections: not derived, chosen by tries on the
#: example `link_imbalance`.
_OF_TURN = 0.02
_SHORTEST_NS, _LONGEST_NS, _OF_SERVICE = 100_000, 1_000_000_000, 1


def tick_of(graph: Graph) -> int:
    """Nanoseconds of a tick, a divisor of the shortest timeout and, if possible, of the window."""
    spec = graph.spec
    pods = sum(service.replicas for service in spec.services.values())  # integers
    thoughts = [int(load.closed.think.mean_ns) for load in spec.load.values() if load.closed is not None]
    slowest = max(min(thoughts) // _OF_THINKING, _SHORTEST_NS) if thoughts else _LONGEST_NS
    limits = [v for e in graph.edges for v in (e.policy.timeout, e.policy.deadline) if v]
    limits += [2 * 5 * e.policy.hedge.after for e in graph.edges if e.policy.hedge is not None] if pods <= 24 else []
    limits += [number for service in spec.services.values() for number in _changes_of(service)]
    limits += [number for e in graph.edges for number in _returns_of(graph, e)]
    limits += [min(b.on, b.off) for load in spec.load.values() if load.open and (b := load.open.burst)]
    window = min(spec.run.window, slowest) if thoughts else spec.run.window
    parts = next((p for most, p in _PER_TIMEOUT if pods <= most), _LEAST)
    limits += [parts * number for e in graph.edges for number in _turns_of(graph, e)]
    if limits:
        shortest = min(limits)
        for number in range(parts, 2 * parts + 1):
            if shortest % number == 0 and window % (shortest // number) == 0:
                return min(shortest // number, window)
        return max(1, min(shortest // parts, window))
    longest = max((int(node.work_ns + node.wait_ns) for node in graph.nodes), default=0)
    laws = [edge.policy.network or spec.network for edge in graph.edges]
    longest += 2 * max((int(law.mean_ns) for law in laws if law is not None), default=0)
    longest = longest or _LONGEST_NS  # where nothing takes time there is nothing to follow
    wanted = min(max(longest // _OF_SERVICE, _SHORTEST_NS), _LONGEST_NS, slowest, max(1, spec.run.window // 10))
    return max(1, window // -(-window // wanted))


def _returns_of(graph: Graph, edge: Edge) -> list[int]:
    """Ten times how long a tick may be so that who is refused meets the queue as it is when he comes again."""
    retries, service = edge.policy.retries, graph.spec.services[graph.nodes[edge.child].service_name]
    backoff = retries.backoff if retries is not None else None
    places = [service.queue.bound, service.shed.max_queue if service.shed is not None else None]
    few = min((bound for bound in places if bound is not None), default=_FEW + 1)
    if backoff is None or retries is None or "rejected" not in retries.on or few > _FEW:
        return []
    mean = graph.nodes[edge.child].work_ns * (few + 1) / (service.workers or 1)
    typical = float(backoff.base) * {"none": 1.0, "decorrelated": 2.0}.get(backoff.jitter, 0.5)
    if typical > mean * (few + 1):  # by then the queue has forgotten
        return []
    return [max(10 * _SHORTEST_NS, int(10.0 * min(typical, mean) / _OF_RETURN))]


def _turns_of(graph: Graph, edge: Edge) -> list[int]:
    """How long a tick may be where connections stay with a replica: the answers of a tick decide about the next one.

    A part of the time in which a replica answers on all connections that lead to it, if each of them asks at once.
    """
    pool, callers = edge.policy.pool, graph.spec.services.get(edge.caller_name)
    if pool is None or pool.reuse is None or callers is None:
        return []
    node = graph.nodes[edge.child]
    service = graph.spec.services[node.service_name]
    connections = max(1.0, callers.replicas * (callers.workers or 1) / service.replicas)
    workers = service.workers or connections
    if workers >= connections:  # nobody waits there, however many go there
        return []
    return [max(_SHORTEST_NS, int(node.work_ns * connections / workers * _OF_TURN))]


def _changes_of(service: Service) -> list[int]:
    """Ten times how long a tick may be so that it shows how a service sheds and limits."""
    found = []
    shed, limit = service.shed, service.rate_limit
    if shed is not None and shed.max_delay is not None:
        found.append(max(10 * _SHORTEST_NS, 5 * shed.max_delay))
    if limit is not None and limit.burst > MOST_TOKENS:
        found.append(max(10 * _SHORTEST_NS, int(10e9 * MOST_TOKENS / (_OF_BURST * limit.rate))))
    return found


def turned(ring: NDArray[np.float64], ticks: int) -> NDArray[np.float64]:
    """A ring of slots, one for each tick, so many ticks later with what it held as old as before."""
    by = ticks % len(ring)
    return np.concatenate((ring[-by:], ring[:-by])) if by else ring.copy()
