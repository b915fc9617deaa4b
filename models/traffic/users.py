"""Users of a Service: how many requests they send, of which kinds, and what they met."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from simcluster.engine import MILLISECOND
from simcluster.models.traffic.causes import USER_WORDS
from simcluster.models.traffic.distribution import Component, mixture_quantiles
from simcluster.models.traffic.operations import ANY_PATH, DEFAULT_TIMEOUT_NS

if TYPE_CHECKING:
    from simcluster.models.traffic.statistics import History


class UserStats(NamedTuple):
    """What users met in a stretch of time. Latencies are those of requests that succeeded.

    Attributes:
        errors: failed requests by kind: `refused`, `timeout`, `no such host`, `reset`, `5xx`, `protocol`.
    """

    sent: int
    ok: int
    failed: int
    errors: dict[str, int]
    latency_ms_p50: float
    latency_ms_p95: float
    latency_ms_p99: float

    @property
    def success_ratio(self) -> float:
        """Share of requests that succeeded; 1.0 if none were sent."""
        return self.ok / self.sent if self.sent else 1.0


class UserLoad:
    """Users who send requests to one Service.

    Attributes:
        rps: requests a second they send while answers come at once; may be changed at any time.
        concurrency: if set, so many users who each wait for an answer before they go on, so that
            a slow service is asked less often (a closed loop); None is an open loop.
        mix: weights of operations; empty means what the application's description says.
        from_node: node through which they enter; "" spreads them over all.
        timeout_ns: when they give up.
    """

    def __init__(
        self,
        history: History,
        name: str,
        namespace: str,
        service: str,
        *,
        port: int | None = None,
        rps: float = 1.0,
        mix: Mapping[str, float] | None = None,
        from_node: str | None = None,
        concurrency: int | None = None,
        timeout_ns: int = DEFAULT_TIMEOUT_NS,
    ) -> None:
        self._history = history
        self.name = name
        self.namespace = namespace
        self.service = service
        self.port = port
        self.rps = rps
        self.mix = tuple((mix or {}).items())
        self.from_node = from_node or ""
        self.concurrency = concurrency
        self.timeout_ns = timeout_ns

    def shares(self, described: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
        """Operations and their shares, which add to 1."""
        mix = self.mix or described or ((ANY_PATH, 1.0),)
        total = sum(int(weight * 1_000_000) for _, weight in mix)
        return tuple((name, int(weight * 1_000_000) / total) for name, weight in mix)

    def rate(self, latency_ns: float) -> float:
        """Requests a second when an answer (or giving up) takes `latency_ns` on average."""
        if self.rps <= 0.0 or self.concurrency is None:
            return max(0.0, self.rps)
        return 1.0 / (1.0 / self.rps + latency_ns * 1e-9 / self.concurrency)

    def window(self, from_ns: int, to_ns: int) -> UserStats:
        """What happened to requests sent in the ticks that end in (from_ns, to_ns]."""
        sent = 0
        errors: dict[str, int] = {}
        parts: list[Component] = []
        for edge in self._history.between(from_ns, to_ns):
            key = edge.key
            if key.container or key.pod != self.name or key.namespace != self.namespace:
                continue
            sent += edge.sent
            for kind, count in edge.errors.items():
                word = USER_WORDS.get(kind, kind)
                errors[word] = errors.get(word, 0) + count
            parts.append(Component(edge.ok, edge.latency))
        failed = sum(errors.values())
        p50, p95, p99 = (q / MILLISECOND for q in mixture_quantiles(_merged(parts), (0.5, 0.95, 0.99)))
        return UserStats(sent, sent - failed, failed, errors, p50, p95, p99)


def _merged(parts: list[Component]) -> list[Component]:
    counts: dict[tuple[float, float], Component] = {}
    for part in parts:
        before = counts.get(part.latency)
        counts[part.latency] = part if before is None else before._replace(requests=before.requests + part.requests)
    return list(counts.values())
