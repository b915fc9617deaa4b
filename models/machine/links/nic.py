"""A network interface: what it can do now, and what its counters say.

Counters grow with what owners report (bytes a second), integrated when somebody looks or
reports: an idle interface costs nothing. Left out: queues, offloads, bonding.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from simcluster.engine import SECOND, Simulation

#: What a node of a data centre has.
NOMINAL_BPS = 10_000_000_000
#: Mean size of a frame in counters.
FRAME_BYTES = 900
#: What a node says and hears when nobody uses it (kubelet, watches, ARP): bytes a second.
IDLE_RECEIVED_BPS, IDLE_SENT_BPS = 9_000, 14_000


class Nic:
    """One interface.

    Attributes:
        carrier: whether there is a link at all.
        speed_mbps: what it negotiated.
        loss, big_loss: share of packets, and besides of full packets, that get lost at it.
        delay_ns, jitter_ns: additional time of a packet one way.
    """

    def __init__(self, sim: Simulation, name: str, address: str, changed: Callable[[], None]) -> None:
        self.sim = sim
        self.name = name
        self.address = address
        self.carrier = True
        self.bandwidth_bps = NOMINAL_BPS
        self.loss = self.big_loss = 0.0
        self.delay_ns = self.jitter_ns = 0
        self.up_ns = sim.now
        self._changed = changed
        self._rates: dict[str, tuple[float, float]] = {}  # owner -> bytes a second received, sent
        self._totals = [0.0, 0.0, 0.0]  # received, sent, errors (frames)
        self._since_ns = sim.now
        self.carrier_changes = 1

    @property
    def is_healthy(self) -> bool:
        """Whether it works as it should."""
        return self.carrier and not self.bounded and not (self.loss or self.big_loss or self.delay_ns or self.jitter_ns)

    @property
    def bounded(self) -> bool:
        """Whether its bandwidth is less than nominal."""
        return self.bandwidth_bps < NOMINAL_BPS

    @property
    def speed_mbps(self) -> int:
        """Negotiated speed: auto-negotiation falls back to 10, 100, 1000 Mb/s, never to odd values."""
        return NOMINAL_BPS // 1_000_000

    def degrade(
        self,
        *,
        bandwidth_bps: int | None = None,
        loss: float = 0.0,
        big_loss: float = 0.0,
        delay_ns: int = 0,
        jitter_ns: int = 0,
    ) -> None:
        """Make it fail slowly. Raises ValueError for magnitudes that no interface can have."""
        if bandwidth_bps is not None and not 1 <= bandwidth_bps <= NOMINAL_BPS:
            raise ValueError(f"bandwidth must be between 1 and {NOMINAL_BPS} bit/s, not {bandwidth_bps}")
        for what, share in (("loss", loss), ("big_loss", big_loss)):
            if not 0.0 <= share < 1.0:
                raise ValueError(f"{what} must be at least 0 and less than 1, not {share:g} (cut() loses all)")
        if delay_ns < 0 or jitter_ns < 0:
            raise ValueError("delay and jitter cannot be negative")
        self.settle()
        self.bandwidth_bps = NOMINAL_BPS if bandwidth_bps is None else bandwidth_bps
        self.loss, self.big_loss = loss, big_loss
        self.delay_ns, self.jitter_ns = delay_ns, jitter_ns
        self._changed()

    def repair(self) -> None:
        """As new."""
        if not self.carrier:
            self.carrier_changes += 1
        self.carrier = True
        self.degrade()

    def cut(self) -> None:
        """No link: the cable is out, the port is off."""
        if self.carrier:
            self.settle()
            self.carrier = False
            self.carrier_changes += 1
            self._changed()

    def report(self, owner: str, received: float, sent: float) -> None:
        """So many bytes a second an owner wants to receive and send from now on (0, 0: none)."""
        before = self._rates.get(owner, (0.0, 0.0))
        if (received, sent) == before:
            return
        self.settle()
        if received or sent:
            self._rates[owner] = (received, sent)
        else:
            self._rates.pop(owner, None)

    def utilisation(self) -> float:
        """Demand of the busier direction as a share of the bandwidth; above 1 it does not fit."""
        busiest = max(math.fsum(rate[side] for rate in self._rates.values()) for side in (0, 1))
        return busiest * 8.0 / self.bandwidth_bps

    def settle(self) -> None:
        """Count what has passed until now, at the rates since the last time."""
        self._totals = self._counted()
        self._since_ns = self.sim.now

    def counters(self) -> dict[str, int]:
        """Bytes, packets and losses in both directions since boot."""
        received, sent, lost = self._counted()
        idle = (self.sim.now - self.up_ns) // SECOND
        received, sent = received + idle * IDLE_RECEIVED_BPS, sent + idle * IDLE_SENT_BPS
        return {
            "rx_bytes": int(received), "rx_packets": int(received / FRAME_BYTES) + idle,
            "rx_errors": int(lost), "rx_crc_errors": int(lost), "rx_dropped": 0,
            "tx_bytes": int(sent), "tx_packets": int(sent / FRAME_BYTES) + idle, "tx_errors": 0, "tx_dropped": 0,
        }  # fmt: skip

    def retransmitted(self) -> int:
        """Segments that were sent again because something got lost here, since boot."""
        return int(self._counted()[2] * 1.1)

    def _counted(self) -> list[float]:
        seconds = (self.sim.now - self._since_ns) / SECOND
        if not self.carrier:
            return self._totals
        received = math.fsum(rate[0] for rate in self._rates.values())
        sent = math.fsum(rate[1] for rate in self._rates.values())
        fits = 1.0 / max(1.0, self.utilisation())
        lost = (received / FRAME_BYTES + IDLE_RECEIVED_BPS / FRAME_BYTES) * (self.loss + self.big_loss / 2.0)
        step = (received * fits * seconds, sent * fits * seconds, lost * seconds)
        return [total + more for total, more in zip(self._totals, step, strict=True)]
