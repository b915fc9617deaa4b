"""A concurrency limit that adapts, at one replica: the windows of answers from which it is set (`graph.adaptive`)."""

from __future__ import annotations

from simcluster.models.traffic.graph.adaptive import Adaptive, Limiter


class AdaptiveLimit:
    """What the present window has counted, and the limit that the last one left."""

    __slots__ = ("count", "ends_ns", "limiter", "peak", "spec", "total")

    def __init__(self, spec: Adaptive) -> None:
        self.spec = spec
        self.limiter = Limiter(spec)
        self.ends_ns = spec.every
        self.count = self.total = self.peak = 0

    def limit_at(self, now: int, inside: int) -> float:
        """The limit now, with so many inside."""
        self._close(now)
        self.peak = max(self.peak, inside)
        return self.limiter.limit

    def answered(self, now: int, arrived_ns: int, inside: int) -> None:
        """A request has been answered; with it so many were inside."""
        self._close(now)
        self.count += 1
        self.total += now - arrived_ns
        self.peak = max(self.peak, inside)

    def _close(self, now: int) -> None:
        """Set the limit for each window that has ended."""
        if now < self.ends_ns:
            return
        if self.count:
            self.limiter.update(self.total / self.count, float(self.count), float(self.peak))
        self.count = self.total = self.peak = 0
        self.ends_ns += (now - self.ends_ns) // self.spec.every * self.spec.every + self.spec.every
