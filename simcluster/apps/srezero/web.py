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
#: Pods among which the limit of the rate is divided: each limits for itself.
PODS = 2
#: What its look-ups are judged by.
JUDGED_NS = 4 * SECOND


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
        """Look what the cache answers."""
        self.missed = self._missed()

    def state(self) -> tuple[float, ...]:
        """What it misses, and what is too much."""
        return (self.missed, self.limited, float(self.limit(self.number("MAX_WORKERS"))))

    def tuned(self, spec: ServiceSpec) -> ServiceSpec:
        """Workers, time-outs, the limit of the rate, and whom it asks for products."""
        spec = replace(spec, workers=self.limit(self.number("MAX_WORKERS")))
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
        return refusing(changed(spec, "browse", steps=thinned), "", [Share(self.limited, "rate limited", 429, line)])

    @property
    def limited(self) -> float:
        """Share of the requests beyond this pod's part of the limit."""
        limit = self.number("RATE_LIMIT_RPS") / PODS
        return 1.0 - limit / self.rate if self.rate > limit else 0.0

    def metrics(self) -> dict[str, float]:
        """What it knows of itself."""
        sent = late = 0
        for edge in self._own_calls(10 * SECOND):
            sent += edge.sent
            late += edge.errors.get("deadline", 0) + edge.errors.get("timeout", 0)
        server, workers = self.server, float(self.number("MAX_WORKERS"))
        busy = 0.0 if server is None else min(workers, self.rate * self.mean_s)
        limit = self.container.spec.memory_limit
        return {
            "request_rate": self.rate,
            "error_rate": self.error_rate,
            "p95_latency_ms": self.p95_ms,
            "upstream_timeout_rate": late / sent if sent else 0.0,
            "cache_bypass_rate": self.missed if self.missed > 0.9 else 0.0,
            "worker_utilization_pct": 100.0 * busy / workers,
            "rate_limited_rate": self.limited,
            "queued_requests": 0.0 if server is None else self.rate * server.wait.mean_ns / SECOND,
            "memory_used_pct": 100.0 * self.container.memory_bytes / limit if limit else 0.0,
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
