"""The kernel's limit on repeated messages: a burst in an interval, then a count of what was held back."""

from __future__ import annotations

from simcluster.engine import SECOND


class RateLimit:
    """lib/ratelimit.c: at most `burst` messages in `interval_ns`.

    Source: net.core.message_cost 5 s and message_burst 10; the same values rule printk_ratelimit.
    """

    __slots__ = ("_begin_ns", "_missed", "_printed", "burst", "interval_ns", "name")

    def __init__(self, name: str, interval_ns: int = 5 * SECOND, burst: int = 10) -> None:
        self.name = name
        self.interval_ns = interval_ns
        self.burst = burst
        self._begin_ns = -1
        self._printed = 0
        self._missed = 0

    def admit(self, now_ns: int, wanted: int = 1) -> tuple[int, str]:
        """How many of `wanted` messages may be printed now, and the line about those held back before."""
        suppressed = ""
        if self._begin_ns < 0 or now_ns - self._begin_ns >= self.interval_ns:
            if self._missed:
                suppressed = f"{self.name}: {self._missed} callbacks suppressed"
            self._begin_ns, self._printed, self._missed = now_ns, 0, 0
        allowed = min(wanted, self.burst - self._printed)
        self._printed += allowed
        self._missed += wanted - allowed
        return allowed, suppressed
