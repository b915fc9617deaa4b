"""What a caller remembers between its calls: tokens, breaker, throttle, connections, whose turn it is."""

from __future__ import annotations

from collections import deque
from typing import Any

from simcluster.models.traffic.exact.draws import Uniforms
from simcluster.models.traffic.graph.policy import Breaker, Budget, Policy, Pool, Throttle

#: A sliding window is counted in so many parts.
PARTS = 40


class Sliding:
    """Two counts over the last `window_ns`, forgotten a fortieth of the window at a time; 0 forgets nothing."""

    __slots__ = ("part_ns", "parts", "total", "whole")

    def __init__(self, window_ns: int) -> None:
        self.part_ns = max(1, window_ns // PARTS) if window_ns else 0
        self.parts: deque[list[int]] = deque()  # [part, first, second]
        self.whole = 0
        self.total = 0

    def add(self, now: int, first: int, second: int) -> None:
        """Count."""
        self.whole += first
        self.total += second
        if not self.part_ns:
            return
        part = now // self.part_ns
        if not self.parts or self.parts[-1][0] != part:
            self.parts.append([part, 0, 0])
        self.parts[-1][1] += first
        self.parts[-1][2] += second
        self.forget(now)

    def forget(self, now: int) -> None:
        """Drop what is older than the window."""
        if not self.part_ns:
            return
        oldest = now // self.part_ns - PARTS
        while self.parts and self.parts[0][0] <= oldest:
            _, first, second = self.parts.popleft()
            self.whole -= first
            self.total -= second

    def clear(self) -> None:
        """Begin again."""
        self.parts.clear()
        self.whole = self.total = 0


class Bucket:
    """The tokens of a retry budget."""

    __slots__ = ("budget", "tokens")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.tokens = budget.tokens

    def earn(self, tokens: float) -> None:
        """Put tokens in, up to what the bucket holds."""
        self.tokens = min(self.budget.tokens, self.tokens + tokens)

    def pay(self, kind: str) -> bool:
        """Take the cost of a retry after that failure; False if there is too little."""
        late = self.budget.timeout_cost
        cost = late if kind == "timeout" and late is not None else self.budget.cost
        if self.tokens < cost:
            return False
        self.tokens -= cost
        return True


class CircuitBreaker:
    """Closed, open or half open."""

    __slots__ = ("counts", "opened_ns", "probing", "spec", "successes")

    def __init__(self, spec: Breaker) -> None:
        self.spec = spec
        self.counts = Sliding(spec.window)  # failures, attempts
        self.opened_ns = -1  # closed
        self.probing = 0
        self.successes = 0

    def allows(self, now: int) -> bool:
        """Whether it lets one attempt through now; half open, it counts it as a probe."""
        if not self.spec.window:
            return not self._is_bad()
        if self.opened_ns < 0:
            return True
        if now - self.opened_ns < self.spec.open_for or self.probing >= self.spec.probes:
            return False
        self.probing += 1
        return True

    def called(self, now: int) -> None:
        """Count a call, where failures are a share of calls."""
        if self.spec.per == "call":
            self.counts.add(now, 0, 1)

    def heard(self, now: int, ok: bool) -> None:
        """Count the outcome of an attempt."""
        if self.spec.window and self.opened_ns >= 0:
            self._heard_of_probe(now, ok)
            return
        self.counts.add(now, 0 if ok else 1, 1 if self.spec.per == "attempt" else 0)
        if self.spec.window and self._is_bad():
            self.opened_ns, self.probing, self.successes = now, 0, 0

    def _heard_of_probe(self, now: int, ok: bool) -> None:
        if not self.probing:
            return  # an attempt from before it opened
        if not ok:
            self.opened_ns, self.probing, self.successes = now, 0, 0
            return
        self.successes += 1
        if self.successes >= self.spec.probes:
            self.opened_ns = -1
            self.counts.clear()

    def _is_bad(self) -> bool:
        counts = self.counts
        return counts.total >= self.spec.minimum and counts.whole > self.spec.failure_ratio * counts.total


class AdaptiveThrottle:
    """Counts requests and accepts; says with which probability to refuse."""

    __slots__ = ("counts", "spec")

    def __init__(self, spec: Throttle) -> None:
        self.spec = spec
        self.counts = Sliding(spec.window)  # accepts, requests

    def refusal(self, now: int) -> float:
        """Probability to refuse an attempt now."""
        self.counts.forget(now)
        return max(0.0, (self.counts.total - self.spec.k * self.counts.whole) / (self.counts.total + 1))


class Connections:
    """Free connections, and who waits for one.

    Attributes:
        free: how many, open or not; `idle`: where those that are open and stay with a replica lead to, the one that was
            given back last at the end.
    """

    __slots__ = ("free", "handing", "idle", "queue", "reuse", "turns", "waiting")

    def __init__(self, pool: Pool) -> None:
        self.free = pool.size
        self.reuse = pool.reuse
        self.idle: deque[Any] = deque()  # replicas (`replica.Replica`)
        self.turns: dict[str, int] = {}
        self.handing = False
        self.queue: deque[Any] = deque()  # attempts (`calling.Attempt`)
        self.waiting = 0

    def take(self, service: Any, chance: Uniforms) -> Any:
        """The replica of a service (`station.Station`) where the next free connection leads to; None if none serves."""
        idle = self.idle
        while idle:
            if self.reuse == "lru":
                replica = idle.popleft()
            else:
                if self.reuse == "random":
                    at = int(chance.draw() * len(idle))
                    idle[at], idle[-1] = idle[-1], idle[at]
                replica = idle.pop()
            if replica.serving:
                return replica  # else the connection broke with the replica it led to
        return service.choose(self)


class Caller:
    """One caller on one edge.

    Args:
        shared: the connections of named pools, which its other edges use too.
    """

    __slots__ = ("breaker", "bucket", "connections", "throttle", "turns")

    def __init__(self, policy: Policy, shared: dict[str, Connections] | None = None) -> None:
        budget = policy.retries.budget if policy.retries is not None else None
        self.bucket = Bucket(budget) if budget is not None else None
        self.breaker = CircuitBreaker(policy.breaker) if policy.breaker is not None else None
        self.throttle = AdaptiveThrottle(policy.throttle) if policy.throttle is not None else None
        self.connections = Connections(policy.pool) if policy.pool is not None else None
        if self.connections is not None and policy.pool is not None and policy.pool.name and shared is not None:
            self.connections = shared.setdefault(policy.pool.name, self.connections)
        self.turns: dict[str, int] = {}
