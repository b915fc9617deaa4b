"""What a pod refuses: bounds, shedding by delay, rate limits; and what its heap costs.

Shedding by delay is a bound that moves: no longer a queue than is served in `max_delay` (or, while
the queue was empty within the last `interval`, in that). The request is refused when it comes,
not when its turn comes; that is `max_delay` too early.

Rate limits with small buckets refuse as the law of their tokens says (`tokens`); large ones are followed tick by tick.

Garbage collections are spread over the requests that cause them: each costs its allocation's
share of a collection, during which the whole replica stands still.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.layout import Layout
from simcluster.models.traffic.aggregate.tokens import MOST_TOKENS, BucketLaw
from simcluster.models.traffic.graph.service import Service

Array = NDArray[np.float64]

#: Ticks in which a small bucket is filled at most; requests by which the load on it is known.
_FILLS, _COUNTED = 4.0, 300.0


class Limits:
    """Arrays of all pods; infinite or zero where a pod has no such limit."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        pods = layout.pods
        self.drops = np.zeros(pods, dtype=bool)
        self.delay = np.full(pods, np.inf)
        self.interval = np.zeros(pods)
        self.rate = np.full(pods, np.inf)
        self.burst = np.ones(pods)
        self.heap = np.zeros((7, pods))  # size, base, waiting, running, allocation, pause base, pause per byte
        for pod, service in enumerate(layout.pod_service):
            self._describe(pod, layout.graph.spec.services[layout.graph.service_names[service]])
        self.tokens = self.burst.copy()
        self._buckets()
        self.last_empty = np.zeros(pods)
        self.pause = np.zeros(pods)
        self.has_heap = bool((self.heap[0] > 0.0).any())
        self.has_rate = bool(np.isfinite(self.rate).any())
        self.has_delay = bool(np.isfinite(self.delay).any())
        bounded = np.isfinite(layout.bound) | np.isfinite(layout.in_flight_max)
        self.any = bool((bounded | np.isfinite(self.delay) | np.isfinite(self.rate)).any())
        self.lane_drops = self.drops[layout.lane_pod]

    def _describe(self, pod: int, service: Service) -> None:
        tick = self._layout.tick_ns
        self.drops[pod] = service.queue.overflow == "drop"
        if service.shed is not None and service.shed.max_delay is not None:
            self.delay[pod] = service.shed.max_delay / tick
            self.interval[pod] = (service.shed.interval or 0) / tick
        if service.rate_limit is not None:
            self.rate[pod] = service.rate_limit.rate * tick / 1e9
            self.burst[pod] = service.rate_limit.burst
        heap = service.heap
        if heap is not None:
            self.heap[:, pod] = (
                heap.size, heap.base, heap.waiting, heap.running, heap.allocation,
                heap.pause_base / tick, heap.pause_per_byte / tick,
            )  # fmt: skip

    def _buckets(self) -> None:
        """Buckets that fill within a few ticks: they refuse as their stationary law says."""
        small = np.isfinite(self.rate) & (self.burst <= MOST_TOKENS) & (self.rate * _FILLS >= self.burst)
        sizes = sorted({float(burst) for burst in self.burst[small].tolist()})
        laws = {burst: BucketLaw(burst) for burst in sizes}
        self._laws = [(law, np.nonzero(small & (self.burst == burst))[0]) for burst, law in laws.items()]
        self._usual = np.zeros(len(self.rate))  # requests in a tick lately, over the rate
        self._known = np.zeros(len(self.rate))  # for how many ticks

    def begin(self, tick: int, waiting: Array) -> None:
        """The start of a tick."""
        if self.has_rate:
            self.tokens = np.minimum(self.tokens + self.rate, self.burst + self.rate)
        if self.has_delay:
            self.last_empty = np.where(waiting <= 0.0, float(tick), self.last_empty)
            standing = tick - self.last_empty > self.interval
            self.allowed = np.where(standing | (self.interval <= 0.0), self.delay, self.interval)

    def room(self, pods: slice, bound: Array, rate: Array) -> Array:
        """How many may wait, of the pods of a level."""
        if not self.has_delay:
            return bound
        return np.minimum(bound, self.allowed[pods] * rate)

    def places(self, layout: Layout) -> Array:
        """How many may wait at every pod, where that never changes and its arrivals come by chance; else infinity."""
        fixed = ~layout.infinite & ~np.isfinite(self.delay)
        for pod, service in enumerate(layout.pod_service):
            described = layout.graph.spec.services[layout.graph.service_names[service]]
            adaptive = described.shed is not None and described.shed.adaptive is not None
            fixed[pod] &= not adaptive and (described.balancer == "random" or described.replicas == 1)
        places = np.minimum(layout.bound, layout.in_flight_max - layout.servers)
        return np.where(fixed & (places >= 0.0), places, np.inf)

    def admit(self, pods: slice, arrived: Array) -> Array:
        """Requests that a rate limit turns away."""
        over: Array = np.maximum(arrived - self.tokens[pods], 0.0)
        if self._laws:
            over = np.maximum(over, arrived * self._shares(pods, arrived))
        over = np.where(np.isfinite(self.rate[pods]), over, 0.0)
        spent = np.where(np.isfinite(self.rate[pods]), arrived - over, 0.0)
        self.tokens[pods] = np.minimum(self.tokens[pods] - spent, self.burst[pods])
        return over

    def _shares(self, pods: slice, arrived: Array) -> Array:
        """Shares of the arrivals of now that small buckets refuse."""
        share = np.zeros(len(self.rate))
        rate = np.where(np.isfinite(self.rate[pods]), self.rate[pods], 1.0)
        load = arrived / np.maximum(rate, 1e-12)
        busy = np.maximum(np.maximum(self._usual[pods], load) * rate, 1e-3)
        self._known[pods] += 1.0
        memory = np.minimum(np.maximum(_COUNTED / busy, 1.0), self._known[pods])
        self._usual[pods] += (load - self._usual[pods]) / memory
        for law, here in self._laws:
            share[here] = law.share(self._usual[here])
        result: Array = share[pods]
        return result

    def collection(self, waiting: Array, running: Array) -> Array:
        """Ticks that the replica stands still for each request it serves."""
        size, base, each_waiting, each_running, allocation, pause_base, pause_byte = self.heap
        live = base + each_waiting * waiting + each_running * running
        free = np.maximum(size - live, allocation)
        cost: Array = np.where(
            size > 0.0, allocation / np.maximum(free, 1e-300) * (pause_base + pause_byte * live), 0.0
        )
        return cost

    def between(self, running: Array, waiting: Array) -> Array:
        """Requests from one collection to the next."""
        size, base, each_waiting, each_running, allocation, _, _ = self.heap
        free = size - base - each_waiting * waiting - each_running * running
        jobs: Array = np.maximum(free / np.maximum(allocation, 1e-300), 1.0)
        return jobs
