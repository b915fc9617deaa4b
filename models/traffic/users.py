"""Users of a Service: how many requests they send, of which kinds, and what they met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simcluster.engine import MILLISECOND
from simcluster.models.traffic.causes import USER_WORDS
from simcluster.models.traffic.distribution import Component, mixture_quantiles
from simcluster.models.traffic.operations import ANY_PATH, DEFAULT_TIMEOUT_NS

if TYPE_CHECKING:
    from simcluster.models.traffic.statistics import History


@dataclass(frozen=True)
class UserStats:
    """What users met in a stretch of time.

    Attributes:
        errors: failed requests by kind: `refused`, `timeout`, `no such host`, `reset`, `5xx`, `protocol`.
        latencies: of requests that succeeded; quantiles are worked out when they are asked for.
    """

    sent: int
    ok: int
    failed: int
    errors: dict[str, int]
    latencies: tuple[Component, ...] = field(default=(), repr=False)

    @property
    def success_ratio(self) -> float:
        """Share of requests that succeeded; 1.0 if none were sent."""
        return self.ok / self.sent if self.sent else 1.0

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

    def latency_ms(self, share: float) -> float:
        """The latency that a share of the successful requests stays below, milliseconds."""
        return mixture_quantiles(self.latencies, (share,))[0] / MILLISECOND


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
        total = sum(int(weight * 1_000_000) for _, weight in mix)  # integers
        return tuple((name, int(weight * 1_000_000) / total) for name, weight in mix)

    def rate(self, latency_ns: float) -> float:
        """Requests a second when an answer (or giving up) takes `latency_ns` on average."""
        if self.rps <= 0.0 or self.concurrency is None:
            return max(0.0, self.rps)
        return 1.0 / (1.0 / self.rps + latency_ns * 1e-9 / self.concurrency)

    def window(self, from_ns: int, to_ns: int) -> UserStats:
        """What happened to requests sent in the ticks that end in (from_ns, to_ns]."""
        sent, failed = 0, 0
        errors: dict[str, int] = {}
        parts: list[Component] = []
        for edge in self._history.of_users(self.namespace, self.name, from_ns, to_ns):
            sent += edge.sent
            for kind, count in edge.errors.items():
                word = USER_WORDS.get(kind, kind)
                errors[word] = errors.get(word, 0) + count
                failed += count
            parts.append(Component(edge.ok, edge.latency))
        return UserStats(sent, sent - failed, failed, errors, tuple(parts))
