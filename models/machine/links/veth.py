"""A pod's interface (eth0 of its network namespace): what passes through it, and what its counters say.

Rates hold between two reports and are integrated in whole numbers: who reads it, and when, changes nothing. Left out:
errors and drops, which the interfaces of nodes count.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import SECOND, Flat


class Passing(NamedTuple):
    """Bytes and packets in both directions: a second, or since the pod began."""

    rx_bytes: float = 0
    rx_packets: float = 0
    tx_bytes: float = 0
    tx_packets: float = 0


#: What passes when nobody asks for anything: ARP, keep-alives, name lookups of libraries; a magnitude.
IDLE = Passing(60.0, 0.5, 60.0, 0.5)
_NANO = (0, 0, 0, 0)


class Veth(Flat):
    """One pod's interface."""

    __slots__ = ("_flow", "_since_ns", "_totals")

    def __init__(self, now_ns: int) -> None:
        self._totals = _NANO  # nano-counts until `_since_ns`
        self._flow = _NANO  # nano-counts a second
        self._since_ns = now_ns
        self.report(now_ns, Passing())

    def copy(self) -> Veth:
        """Another one with the same past."""
        other = Veth.__new__(Veth)
        other._totals, other._flow, other._since_ns = self._totals, self._flow, self._since_ns
        return other

    def report(self, now_ns: int, rates: Passing) -> None:
        """So much passes a second from now on, besides what always does."""
        self._totals, self._since_ns = self._until(now_ns), now_ns
        a, b, c, d = (int((rate + idle) * SECOND + 0.5) for rate, idle in zip(rates, IDLE, strict=True))
        self._flow = (a, b, c, d)

    def counted(self, now_ns: int) -> tuple[int, int, int, int]:
        """What has passed: see `Passing`."""
        span, (a, b, c, d), (e, f, g, h) = now_ns - self._since_ns, self._totals, self._flow
        return (
            (a + e * span // SECOND) // SECOND,
            (b + f * span // SECOND) // SECOND,
            (c + g * span // SECOND) // SECOND,
            (d + h * span // SECOND) // SECOND,
        )

    def _until(self, now_ns: int) -> tuple[int, int, int, int]:
        span, (a, b, c, d), (e, f, g, h) = now_ns - self._since_ns, self._totals, self._flow
        return (
            a + e * span // SECOND, b + f * span // SECOND, c + g * span // SECOND, d + h * span // SECOND
        )  # fmt: skip
