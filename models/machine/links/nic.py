"""A network interface: what it can do now, and what its counters say.

Counters grow with what owners report (bytes a second), integrated from one change of a rate to the next in whole
numbers: an idle interface costs nothing. Left out: queues, offloads, bonding.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from simcluster.engine import SECOND, Simulation, Timer

#: What a node of a data centre has.
NOMINAL_BPS = 10_000_000_000
#: Mean size of a frame in counters.
FRAME_BYTES = 900
#: What a node says and hears when nobody uses it (kubelet, watches, ARP): bytes a second.
IDLE_RECEIVED_BPS, IDLE_SENT_BPS = 9_000, 14_000
#: Beyond this loss a segment that is sent again and again counts no further.
MOST_LOSS = 0.95
#: What is counted: bytes received and sent, frames lost and dropped, segments sent again, and those of them lost.
_COUNTED = ("received", "sent", "lost", "dropped", "repeated", "lost again")


class Nic:
    """One interface.

    Attributes:
        carrier: whether there is a link at all.
        speed_mbps: what it negotiated.
        loss, big_loss: share of packets, and besides of full packets, that get lost at it.
        delay_ns, jitter_ns: additional time of a packet one way.
        flaps: how long on average it is up and down in turns (a loose cable, a dying transceiver); (0, 0) if not.
    """

    def __init__(self, sim: Simulation, name: str, address: str, changed: Callable[[], None]) -> None:
        self.sim = sim
        self.name = name
        self.address = address
        self.carrier = True
        self.bandwidth_bps = NOMINAL_BPS
        self.loss = self.big_loss = 0.0
        self.delay_ns = self.jitter_ns = 0
        self._changed = changed
        self._rates: dict[str, tuple[float, float, float]] = {}  # owner -> bytes a second in, out, segments repeated
        self._totals = [0] * len(_COUNTED)
        self._flow = [0] * len(_COUNTED)
        self._since_ns = sim.now
        self.carrier_changes = 1
        self.flaps = (0, 0)
        self.driver: Callable[[bool], None] | None = None  # the driver, when the link comes or goes
        self._flapping: Timer | None = None
        self._flows()

    @property
    def is_healthy(self) -> bool:
        """Whether it works as it should."""
        return (
            self.carrier
            and not any(self.flaps)
            and not self.bounded
            and not (self.loss or self.big_loss or self.delay_ns or self.jitter_ns)
        )

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
        self.bandwidth_bps = NOMINAL_BPS if bandwidth_bps is None else bandwidth_bps
        self.loss, self.big_loss = loss, big_loss
        self.delay_ns, self.jitter_ns = delay_ns, jitter_ns
        self._flows()
        self._changed()

    def repair(self) -> None:
        """As new."""
        self.flap(0, 0)
        if not self.carrier:
            self.carrier_changes += 1
        self.carrier = True
        self.degrade()

    def cut(self) -> None:
        """No link: the cable is out, the port is off."""
        if self.carrier:
            self.carrier = False
            self.carrier_changes += 1
            self._flows()
            self._changed()

    def flap(self, up_ns: int, down_ns: int) -> None:
        """From now on it comes and goes: exponential times with these means. (0, 0) ends it. Raises ValueError."""
        if (up_ns > 0) != (down_ns > 0) or up_ns < 0:
            raise ValueError("an interface that flaps is up for a while and down for a while")
        self.flaps = (up_ns, down_ns)
        if self._flapping is not None:
            self._flapping.cancel()
            self._flapping = None
        if down_ns:
            self._turn()

    def _turn(self) -> None:
        """It goes, or comes back."""
        was = self.carrier
        self.carrier = not was
        self.carrier_changes += 1
        self._flows()
        self._changed()
        if self.driver is not None:
            self.driver(self.carrier)
        mean = self.flaps[1 if was else 0]
        stream = self.sim.stream("flap", self.address, self.name, str(self.carrier_changes))
        self._flapping = self.sim.after(max(1, int(stream.exponential(float(mean)))), self._turn)

    def booted(self) -> None:
        """The machine has booted: its driver counts anew, and the link comes up."""
        self._totals, self._since_ns, self.carrier_changes = [0] * len(_COUNTED), self.sim.now, 0
        self.carrier = False
        self.repair()

    def report(self, owner: str, received: float, sent: float, repeated: float = 0.0) -> None:
        """What an owner wants from now on (all 0: nothing).

        Args:
            received, sent: bytes a second.
            repeated: segments a second that he sends again because they get lost on their ways beyond this interface.
        """
        wanted = (received, sent, repeated)
        if wanted == self._rates.get(owner, (0.0, 0.0, 0.0)):
            return
        if any(wanted):
            self._rates[owner] = wanted
        else:
            self._rates.pop(owner, None)
        self._flows()

    def utilisation(self) -> float:
        """Demand of the busier direction as a share of the bandwidth; above 1 it does not fit."""
        busiest = max(math.fsum(rate[side] for rate in self._rates.values()) for side in (0, 1))
        return busiest * 8.0 / self.bandwidth_bps

    def counters(self) -> dict[str, int]:
        """Bytes, packets and losses in both directions since boot."""
        received, sent, lost, dropped, _, _ = self._counted()
        return {
            "rx_bytes": received, "rx_packets": received // FRAME_BYTES,
            "rx_errors": lost, "rx_crc_errors": lost, "rx_dropped": 0,
            "tx_bytes": sent, "tx_packets": sent // FRAME_BYTES, "tx_errors": 0, "tx_dropped": dropped,
        }  # fmt: skip

    def retransmitted(self) -> int:
        """Segments that this side sent again because something got lost, since boot."""
        return self._counted()[4]

    def lost_again(self) -> int:
        """How many of these got lost once more."""
        return self._counted()[5]

    def _counted(self) -> list[int]:
        return [amount // SECOND for amount in self._until_now()]

    def _until_now(self) -> list[int]:
        span = self.sim.now - self._since_ns
        return [total + rate * span // SECOND for total, rate in zip(self._totals, self._flow, strict=True)]

    def _flows(self) -> None:
        """Something has changed: count what has passed until now, and at which rates it goes on."""
        self._totals, self._since_ns = self._until_now(), self.sim.now
        if not self.carrier:
            self._flow = [0] * len(_COUNTED)
            return
        fits = 1.0 / max(1.0, self.utilisation())
        received, sent, repeated = (math.fsum(rate[side] for rate in self._rates.values()) for side in range(3))
        lost = self.loss + self.big_loss / 2.0  # every other packet is a full one
        came, went = received * fits + IDLE_RECEIVED_BPS, sent * fits + IDLE_SENT_BPS
        again = went / FRAME_BYTES * lost / (1.0 - min(lost, MOST_LOSS)) + repeated
        rates = (came, went, came / FRAME_BYTES * lost, sent * (1.0 - fits) / FRAME_BYTES, again, again * lost)
        self._flow = [int(rate * SECOND + 0.5) for rate in rates]
