"""Users of a Service: how many requests they send, of which kinds, and what they met."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from simcluster.engine import MILLISECOND
from simcluster.models.traffic.cluster.causes import USER_WORDS
from simcluster.models.traffic.cluster.distribution import Component, mixture_quantiles
from simcluster.models.traffic.cluster.operations import ANY_PATH, DEFAULT_TIMEOUT_NS, CallSpec
from simcluster.models.traffic.graph.policy import Policy

if TYPE_CHECKING:
    from simcluster.models.traffic.cluster.nodes import Edge
    from simcluster.models.traffic.cluster.statistics import History


#: Requests of a session over one kept-alive connection: ten.
SESSION_OPENS = 0.1


@dataclass(frozen=True)
class UserStats:
    """What users met in a stretch of time.

    Attributes:
        errors: failed requests by kind: `refused`, `timeout`, `no such host`, `reset`, `5xx`, `protocol`.
        latencies: of requests that succeeded; quantiles are worked out when they are asked for.
        attempts: with what users tried again.
        in_flight: requests sent and not ended at the end, `in_flight_before` at the begin.
    """

    sent: int
    ok: int
    failed: int
    errors: dict[str, int]
    latencies: tuple[Component, ...] = field(default=(), repr=False)
    attempts: int = 0
    in_flight: int = 0
    in_flight_before: int = 0

    @property
    def ended(self) -> int:
        """Requests whose outcome became known; whatever is a share of requests is a share of these."""
        return self.ok + self.failed

    @property
    def succeeded(self) -> int:
        """Requests that were answered well."""
        return self.ok

    @property
    def mean_ms(self) -> float:
        """Mean latency of requests that succeeded, milliseconds; 0.0 if none did."""
        count = sum(part.requests for part in self.latencies)  # integers
        total = math.fsum(part.requests * part.latency.mean for part in self.latencies)
        return total / count / MILLISECOND if count else 0.0

    def quantile_ms(self, q: float) -> float:
        """The latency that a share `q` of the successful requests stays below, milliseconds.

        Raises:
            ValueError: `q` does not lie between 0 and 1.
        """
        if not 0.0 < q < 1.0:
            raise ValueError(f"a quantile is asked for by a share between 0 and 1, not {q}")
        return self.latency_ms(q)

    @property
    def success_ratio(self) -> float:
        """Share of the requests that ended which succeeded; 1.0 if none did."""
        return self.ok / self.ended if self.ended else 1.0

    @property
    def latency_ms_p50(self) -> float:
        """Median latency of requests that succeeded, milliseconds."""
        return self.latency_ms(0.5)

    @property
    def latency_ms_p95(self) -> float:
        """95th percentile of the latency of requests that succeeded, milliseconds."""
        return self.latency_ms(0.95)

    @property
    def latency_ms_p99(self) -> float:
        """99th percentile of the latency of requests that succeeded, milliseconds."""
        return self.latency_ms(0.99)

    @property
    def latency_ms_p999(self) -> float:
        """99.9th percentile of the latency of requests that succeeded, milliseconds."""
        return self.latency_ms(0.999)

    def latency_ms(self, share: float) -> float:
        """The latency that a share of the successful requests stays below, milliseconds."""
        return mixture_quantiles(self.latencies, (share,))[0] / MILLISECOND


class Habits(TypedDict, total=False):
    """How users ask; what is not said is as the comment says."""

    rps: float  # requests a second while answers come at once; 1
    mix: Mapping[str, float] | None  # weights of operations; as the application's description says
    from_node: str | None  # node through which they enter; all alike
    concurrency: int | None  # number of users who wait for their answers; they do not wait
    timeout_ns: int  # when they give an attempt up; `DEFAULT_TIMEOUT_NS`
    retries: int  # further attempts after a failed one; none
    policy: Policy | None  # how they call, in the words of bare graphs; its time-out and retries count instead
    clients: int  # programs among which they are spread, each with its own budget and breaker; 1
    connects: float  # share of requests that open a new connection (1: no keep-alive); `SESSION_OPENS`
    tls: bool  # whether they come over TLS, and look at the certificate; no


class UserLoad:
    """Users who send requests to one Service.

    Attributes:
        rps: requests a second they send while answers come at once; may be changed at any time.
        concurrency: if set, so many users who each wait for an answer before they go on, so that
            a slow service is asked less often (a closed loop); None is an open loop.
        mix: weights of operations; empty means what the application's description says.
        from_node: node through which they enter; "" spreads them over all.
        timeout_ns: when they give up.
        retries: how often they try again; `policy`: the rest of how they call, in the words of bare graphs.
        clients: among so many programs they are spread, each with its own budget, breaker and throttle.
        connects: share of requests that open a new connection: one in so many of a session.
        tls: whether they come over TLS and refuse a wrong certificate.
        described: operations and weights as the application says that answered them last: they ask for the same on.
        active: whether they ever sent anything.
    """

    def __init__(
        self, history: History, name: str, namespace: str, service: str, port: int | None, habits: Habits
    ) -> None:
        self._history = history
        self.name = name
        self.namespace = namespace
        self.service = service
        self.port = port
        self.rps = habits.get("rps", 1.0)
        self.mix = tuple((habits.get("mix") or {}).items())
        self.described: tuple[tuple[str, float], ...] = ()
        self.from_node = habits.get("from_node") or ""
        self.concurrency = habits.get("concurrency")
        self.timeout_ns = habits.get("timeout_ns", DEFAULT_TIMEOUT_NS)
        self.retries = habits.get("retries", 0)
        self.policy = habits.get("policy")
        self.clients = habits.get("clients", 1)
        self.connects = habits.get("connects", SESSION_OPENS)
        self.tls = habits.get("tls", False)
        self.active = self.rps > 0.0

    def call_for(self, operation: str, share: float) -> CallSpec:
        """How they call an operation."""
        policy, retries, timeout_ns = self.policy, self.retries, self.timeout_ns
        if policy is not None:
            timeout_ns = policy.timeout or policy.deadline or timeout_ns
            retries = policy.attempts - 1 if policy.retries is not None else retries
        return CallSpec(
            "",
            operation,
            count=share,
            timeout_ns=timeout_ns,
            retries=retries,
            client="http",
            policy=policy,
            connects=self.connects,
        )

    def shares(self, described: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
        """Operations and their shares, which add to 1."""
        mix = self.mix or described or ((ANY_PATH, 1.0),)
        total = sum(int(weight * 1_000_000) for _, weight in mix)  # integers
        return tuple((name, int(weight * 1_000_000) / total) for name, weight in mix)

    def answer_ns(self, edges: Sequence[Edge]) -> float:
        """How long users wait for an answer or a failure, on average; nobody asks unless they wait for it."""
        if self.concurrency is None:
            return 0.0
        lost = (math.fsum(f.probability * f.after_ns for f in edge.causes) for edge in edges)
        return math.fsum(e.call.count * (e.ok * e.latency.mean + gone) for e, gone in zip(edges, lost, strict=True))

    def rate(self, latency_ns: float) -> float:
        """Requests a second when an answer (or giving up) takes `latency_ns` on average."""
        if self.rps <= 0.0 or self.concurrency is None:
            return max(0.0, self.rps)
        return 1.0 / (1.0 / self.rps + latency_ns * 1e-9 / self.concurrency)

    def window(self, from_ns: int, to_ns: int) -> UserStats:
        """What happened in the ticks that end in (from_ns, to_ns]: requests that were sent in them, and that ended."""
        sent = ok = failed = attempts = 0
        errors: dict[str, int] = {}
        parts: list[Component] = []
        open_ = 0
        for record in self._history.of_users(self.namespace, self.name, from_ns, to_ns):
            sent, attempts, ok = sent + record.requests, attempts + record.attempts, ok + record.ok
            open_ = record.open
            for kind, count in record.failed:
                word = USER_WORDS.get(kind, kind)
                errors[word] = errors.get(word, 0) + count
                failed += count
            parts += record.latencies
        return UserStats(sent, ok, failed, errors, tuple(parts), attempts, open_, open_ + ok + failed - sent)
