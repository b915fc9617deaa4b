"""A queueing discipline at the way out of a node or a pod: what `tc qdisc` with netem or tbf sets up."""

from __future__ import annotations

from dataclasses import dataclass

from simcluster.engine import Shared


@dataclass(frozen=True)
class Shaping(Shared):
    """netem (delay, jitter, loss) and tbf (rate) at one interface.

    Attributes:
        delay_ns, jitter_ns: added to every packet that leaves.
        loss: share of packets dropped.
        rate_bps: bits a second at most; 0: no bound.
        limit: packets that wait at most (netem: 1000).

    Raises:
        ValueError: magnitudes that tc refuses.
    """

    delay_ns: int = 0
    jitter_ns: int = 0
    loss: float = 0.0
    rate_bps: int = 0
    limit: int = 1000

    def __post_init__(self) -> None:
        """Check the magnitudes."""
        if not 0.0 <= self.loss <= 1.0:
            raise ValueError(f"loss must be between 0 and 1, not {self.loss:g}")
        if min(self.delay_ns, self.jitter_ns, self.rate_bps) < 0 or self.limit < 1:
            raise ValueError("delay, jitter and rate cannot be negative; the limit is at least 1 packet")
