"""The load balancer: it checks the web servers' health, spreads requests over them by weight, holds connections.

A connection stays open for some seconds after its request. A report is made while its connection says nothing, and a
connection that says nothing for too long is reset. A part of the clients come over TLS. With sticky sessions a client's
requests go where its first one went, and most of them are one customer's. Magnitudes are chosen.

Left out: the bytes, handshakes, retries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from simcluster.apps.srezero.tuned import Share, TunedProgram, refusing
from simcluster.engine import SECOND
from simcluster.models.machine.container import Container, Sandbox
from simcluster.models.machine.network import Backend
from simcluster.models.machine.process import Call
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.distribution import Latency, probability_above
from simcluster.models.traffic.cluster.operations import ServiceSpec

WEB, POOL = "WEB_BACKENDS", "web backends"
#: How long a connection stays open after its request.
KEPT_S = 3.2
#: For how long the connection of a report says nothing: mean, and coefficient of variation.
SILENT_NS, SILENT_CV = 25 * SECOND, 0.35
#: Share of the clients that come over TLS; of the sessions that are one customer's.
OVER_TLS, STUCK = 0.44, 92
#: A health check is given up after so long.
PROMPT_NS = 5 * SECOND
#: How often it checks.
CHECK_LOOKS = 2


class BalancerProgram(TunedProgram):
    """The main process of the load balancer.

    Attributes:
        backends: that passed their last health check, the primary one first; `known`: all.
    """

    SETTINGS: ClassVar[Mapping[str, int | bool | str]] = {
        "HEALTH_CHECK_PATH": "/healthz",
        "MAX_CONNECTIONS": 2000,
        "STICKY_SESSIONS": False,
        "WEB_WEIGHT_PRIMARY": 50,
        "IDLE_TIMEOUT_MS": 90000,
        "TLS_CERT_VALID": True,
    }
    METRICS: ClassVar[Mapping[str, str]] = {
        "request_rate": "Requests a second.",
        "backend_5xx_rate": "Share of the requests that fail.",
        "healthy_backends": "Back ends that pass their health checks.",
        "connection_utilization_pct": "Of the connections that it may hold.",
        "p95_latency_ms": "The 95th percentile of the latency of requests that succeed.",
        "backend_skew_pct": "Share of the requests that go to the busiest back end, beyond its part.",
        "edge_reset_rate": "Share of the reports whose connection is reset.",
        "tls_handshake_error_rate": "Share of the connections whose handshake fails.",
    }
    backends: tuple[Backend, ...] = ()
    known: tuple[Backend, ...] = ()
    _pool = ""
    _looks = 0

    def start(self) -> None:
        """A pool of its own to spread over."""
        self._pool = self.traffic.network.new_pool()
        self.environment = {**self.environment, POOL: f"{self._pool}:80"}
        super().start()

    def stop(self) -> None:
        """The process is gone, and its pool with it."""
        super().stop()
        if self._pool:
            self.traffic.network.set_pool(self._pool, None)

    def move(self) -> None:
        """Check the back ends."""
        self._looks += 1
        if self._looks % CHECK_LOOKS == 0:
            self._check()

    def state(self) -> tuple[float, ...]:
        """What it refuses."""
        return (self.turned_away,)

    @property
    def connections(self) -> float:
        """That clients would like to hold."""
        return self.rate * KEPT_S + self.busy

    @property
    def turned_away(self) -> float:
        """Share of the clients for whom there is no connection."""
        wanted, most = self.connections, self.number("MAX_CONNECTIONS")
        return 1.0 - most / wanted if wanted > most else 0.0

    @property
    def silent(self) -> float:
        """Share of the reports that say nothing for too long."""
        spread = SILENT_CV * SILENT_NS
        return probability_above(Latency(float(SILENT_NS), spread * spread), self.number("IDLE_TIMEOUT_MS") * 1e6)

    @property
    def untrusted(self) -> float:
        """Share of the clients that refuse its certificate."""
        return 0.0 if self.switch("TLS_CERT_VALID") else OVER_TLS

    @property
    def weights(self) -> tuple[int, ...]:
        """Parts of the healthy back ends: the primary one's first, the others alike."""
        if len(self.backends) < 2:
            return (1,) * len(self.backends)
        first = STUCK if self.switch("STICKY_SESSIONS") else min(100, self.number("WEB_WEIGHT_PRIMARY"))
        if self.backends[0] != self.known[0]:
            first = 50
        others = len(self.backends) - 1
        return (first * others, *((100 - first,) * others))

    def tuned(self, spec: ServiceSpec) -> ServiceSpec:
        """Whom it refuses, and where it sends the others."""
        operations = tuple(
            replace(op, steps=tuple(tuple(replace(c, env=POOL) if c.env == WEB else c for c in s) for s in op.steps))
            for op in spec.operations
        )
        spec = replace(spec, operations=operations)
        head = "{time_s} ERROR "
        shares = [
            Share(self.untrusted, "certificate has expired", 525, f"{head}tls handshake failed reason=cert_expired"),
            Share(self.turned_away, "connection limit reached", 503, f"{head}refused reason=max_connections"),
        ]
        spec = refusing(spec, "", shares)
        line = f"{head}edge reset path=/reports reason=idle_timeout limit_ms={self.number('IDLE_TIMEOUT_MS')}"
        return refusing(
            spec, "report", [Share(self.silent, "connection reset", 504, line)] if self.silent > 0.001 else []
        )

    def metrics(self) -> dict[str, float]:
        """What it knows of itself."""
        weights = self.weights
        total = sum(weights)  # integers
        largest = max(weights) / total if total else 0.0
        fair = 1.0 / len(weights) if weights else 0.0
        return {
            "request_rate": self.rate,
            "backend_5xx_rate": self.error_rate,
            "healthy_backends": float(len(self.backends)),
            "connection_utilization_pct": 100.0 * min(1.0, self.connections / max(1, self.number("MAX_CONNECTIONS"))),
            "p95_latency_ms": self.p95_ms,
            "backend_skew_pct": 100.0 * (largest - fair) / (1.0 - fair) if fair < 1.0 else 0.0,
            "edge_reset_rate": self.silent,
            "tls_handshake_error_rate": self.untrusted,
        }

    def _ready(self) -> None:
        self._check()
        super()._ready()

    def _check(self) -> None:
        """Ask every back end for the path; those that answer 200 get requests."""
        network, sandbox = self.traffic.network, self.container.sandbox
        host, port = parse_address(self.environment.get(WEB, ""))
        address = network.resolve_for(sandbox, host).address if host else ""
        route = network.route(sandbox.node, address, port, sandbox.address) if address else None
        self.known = tuple(sorted(route.backends)) if route is not None and route.outcome == "ok" else ()
        healthy = tuple(one for one in self.known if self._is_healthy(one))
        for gone in (one for one in self.backends if one not in healthy):
            path = self.word("HEALTH_CHECK_PATH")
            self.say("WARN", f"health check failed backend={gone[0]}:{gone[1]} path={path}")
        self.backends = healthy
        weights = self.weights
        divisor = math.gcd(*weights) or 1 if weights else 1
        pool = tuple(b for b, weight in zip(healthy, weights, strict=True) for _ in range(weight // divisor))
        network.set_pool(self._pool, pool)

    def _is_healthy(self, backend: Backend) -> bool:
        network = self.traffic.network
        if network.connect(backend, self.container.sandbox.address) != "ok":
            return False
        owner = network.sandboxes.get(backend[0])
        there = owner.container_on(backend[1]) if isinstance(owner, Sandbox) else None
        if not isinstance(there, Container) or there.halted:
            return False
        answer = there.program.answer(Call("http", backend[1], self.word("HEALTH_CHECK_PATH")))
        return answer.outcome == "ok" and answer.status == 200 and answer.delay_ns <= PROMPT_NS
