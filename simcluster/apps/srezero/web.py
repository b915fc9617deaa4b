"""The web server: workers that wait for what they ask, products from the cache or else from the database.

What it misses in the cache it asks the database for; how much that is, follows from what the cache holds and from how
many of its look-ups are answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from simcluster.apps.srezero.cache import CacheProgram
from simcluster.apps.srezero.tuned import Share, TunedProgram, changed, refusing
from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.apps.reaching import reach
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.operations import CallSpec, ServiceSpec
from simcluster.models.traffic.cluster.statistics import EdgeStats

CACHE, DATABASE, QUEUE = "CACHE_HOST", "DATABASE_ADDR", "QUEUE_ADDR"
#: Its pods (manifests.yaml), among which the limit of the rate is divided: each limits for itself.
PODS = 2
#: A heap that is fuller is collected all the time; how long a request then waits, divided by what is free of it.
NEARLY_FULL, COLLECTION_S = 0.75, 0.02
#: Requests that wait for a worker at most.
QUEUE_BOUND = 140
#: What its look-ups are judged by.
JUDGED_NS = 4 * SECOND
#: Over how long it tells of its calls.
WINDOW_NS = 10 * SECOND


class WebProgram(TunedProgram):
    """The main process of the web server.

    Attributes:
        missed: share of the products that it asks the database for.
    """

    SETTINGS: ClassVar[Mapping[str, int | bool | str]] = {
        "TIMEOUT_MS": 3000,
        "MAX_WORKERS": 16,
        "RATE_LIMIT_RPS": 500,
        "USE_CACHE": True,
        "QUEUE_PUBLISH_TIMEOUT_MS": 3000,
    }
    METRICS: ClassVar[Mapping[str, str]] = {
        "request_rate": "Requests a second.",
        "error_rate": "Share of the requests that fail.",
        "p95_latency_ms": "The 95th percentile of the latency of requests that succeed.",
        "upstream_timeout_rate": "Share of the calls that run into their time-out.",
        "cache_bypass_rate": "Share of the products that are read from the database.",
        "worker_utilization_pct": "How many of the workers have a request.",
        "queued_requests": "Requests that wait for a worker.",
        "rate_limited_rate": "Share of the requests beyond the limit of the rate.",
        "memory_used_pct": "Of the memory that it may use.",
    }
    missed = 1.0

    def move(self) -> None:
        """Look what the cache answers, and how many of the workers have something to do."""
        self.crowd(self.number("MAX_WORKERS"), QUEUE_BOUND)
        self.missed = self._missed()

    def state(self) -> tuple[float, ...]:
        """What it misses, and what is too much."""
        return (self.missed, self.limited, self.refused, self.wait_s, self.collecting_s)

    def tuned(self, spec: ServiceSpec) -> ServiceSpec:
        """Workers, time-outs, the limit of the rate, and whom it asks for products."""
        timeouts = {DATABASE: self.number("TIMEOUT_MS"), QUEUE: self.number("QUEUE_PUBLISH_TIMEOUT_MS")}
        for operation in spec.operations:
            steps = tuple(
                tuple(_timed(call, timeouts) for call in step if call.env != CACHE or self.switch("USE_CACHE"))
                for step in operation.steps
            )
            spec = changed(spec, operation.name, steps=tuple(step for step in steps if step))
        found = next(op for op in spec.operations if op.name == "browse")
        thinned = tuple(
            tuple(replace(call, count=max(0.001, self.missed)) if call.env == DATABASE else call for call in step)
            for step in found.steps
        )
        line = f"{{time_s}} WARN rate limited limit_rps={self.number('RATE_LIMIT_RPS')} status=429"
        spec = refusing(changed(spec, "browse", steps=thinned), "", [Share(self.limited, "rate limited", 429, line)])
        if self.collecting_s:
            slow = int(self.collecting_s * SECOND)
            spec = replace(spec, operations=tuple(replace(o, latency_ns=o.latency_ns + slow) for o in spec.operations))
        pool = f"{{time_s}} ERROR worker pool exhausted workers={self.number('MAX_WORKERS')} queued={QUEUE_BOUND}"
        return self.crowded(spec, "no free worker", 503, pool)

    @property
    def memory_share(self) -> float:
        """How much of the memory that it may use is in use, with what lies in the pod's shared memory."""
        limit, kernel, spec = self.container.spec.memory_limit, self.container.kernel, self.container.spec
        shared = 0 if kernel is None else kernel.shm.used(spec.pod_uid)
        return min(1.0, (self.container.memory_bytes + shared) / limit) if limit else 0.0

    @property
    def collecting_s(self) -> float:
        """How long a request waits for the collector of a heap that is nearly full."""
        used = self.memory_share
        return COLLECTION_S / max(0.01, 1.0 - used) if used > NEARLY_FULL else 0.0

    @property
    def limited(self) -> float:
        """Share of the requests beyond this pod's part of the limit."""
        limit = self.number("RATE_LIMIT_RPS") / PODS
        return 1.0 - limit / self.rate if self.rate > limit else 0.0

    def metrics(self) -> dict[str, float]:
        """What it knows of itself."""
        sent = late = 0
        for edge in self._own_calls(WINDOW_NS):
            sent += edge.sent
            late += edge.errors.get("deadline", 0) + edge.errors.get("timeout", 0)
        workers = float(self.number("MAX_WORKERS"))
        busy = min(workers, self.busy)
        return {
            "request_rate": self.rate,
            "error_rate": self.error_rate,
            "p95_latency_ms": self.p95_ms,
            "upstream_timeout_rate": late / sent if sent else 0.0,
            "cache_bypass_rate": self.missed if self.missed > 0.9 else 0.0,
            "worker_utilization_pct": 100.0 * busy / workers,
            "rate_limited_rate": self.limited,
            "queued_requests": self.rate * (1.0 - self.refused) * self.wait_s,
            "memory_used_pct": 100.0 * self.memory_share,
        }

    def _own_calls(self, span_ns: int) -> Iterator[EdgeStats]:
        now, spec = self.container.sim.now, self.container.spec
        for edge in self.traffic.history.between(now - span_ns, now):
            if edge.key.pod == spec.pod_name and edge.key.namespace == spec.namespace:
                yield edge

    def _missed(self) -> float:
        if not self.switch("USE_CACHE"):
            return 1.0
        host, port = parse_address(self.environment.get(CACHE, ""))
        found = reach(self.traffic.network, self.container, host, port or 80).container
        cache = None if found is None else found.program
        if not isinstance(cache, CacheProgram):
            return 1.0
        asked = answered = 0
        for edge in self._own_calls(JUDGED_NS):
            if edge.key.host == host:
                asked += edge.ok + sum(edge.errors.values())  # integers
                answered += edge.ok
        return 1.0 - cache.hits * answered / asked if asked else 1.0


def _timed(call: CallSpec, timeouts: dict[str, int]) -> CallSpec:
    given = timeouts.get(call.env)
    return call if given is None else replace(call, timeout_ns=max(1, given) * MILLISECOND)
