"""How good the way between two places is now, and what that costs a request."""

from __future__ import annotations

import math
from typing import NamedTuple

from simcluster.engine import MICROSECOND, SECOND, Shared
from simcluster.models.machine.links import tcp

#: Round trips of a healthy way, kernel and virtual switch included: inside a node, between nodes.
SAME_NODE_NS = 60 * MICROSECOND
OTHER_NODE_NS = 250 * MICROSECOND
#: Utilisation up to which the queue in front of a link is stationary.
MOST_UTILISATION = 0.97
#: The 99th percentile of an exponential law, in means.
_P99 = 4.605


class Cost(NamedTuple):
    """What a way adds to a request and its answer.

    Attributes:
        mean_ns, variance, p99_ns: of the additional time of what is answered.
        failing: share that is not answered within the time-out.
        late, late_ns, late_square: the share that waits for a retransmission's timer, and the mean and second moment
            of that wait; mean and variance count it.
    """

    mean_ns: float = 0.0
    variance: float = 0.0
    p99_ns: float = 0.0
    failing: float = 0.0
    late: float = 0.0
    late_ns: float = 0.0
    late_square: float = 0.0


FREE = Cost()
LOST = Cost(failing=1.0)


class PathQuality(NamedTuple):
    """The way from one place to another and back.

    Attributes:
        delay_ns: additional time one way; jitter_ns: its standard deviation.
        loss: share of packets lost one way; big_loss: of full packets, besides.
        bandwidth_bps: of the narrowest link, bits a second; 0 if nothing bounds it noticeably.
        utilisation: of that link by all who use it.
        cut: whether nothing arrives at all.
        round_trip_ns: of a healthy way.
    """

    delay_ns: int = 0
    jitter_ns: int = 0
    loss: float = 0.0
    big_loss: float = 0.0
    bandwidth_bps: int = 0
    utilisation: float = 0.0
    cut: bool = False
    round_trip_ns: int = OTHER_NODE_NS

    @property
    def is_healthy(self) -> bool:
        """Whether nothing about it costs anything."""
        return not (self.cut or self.delay_ns or self.jitter_ns or self.loss or self.big_loss or self.bandwidth_bps)

    @property
    def rtt_ns(self) -> int:
        """Round trip as it is now."""
        return self.round_trip_ns + 2 * self.delay_ns

    def cost(self, request_bytes: int, answer_bytes: int = 1000, *, timeout_ns: int = 0, connect: bool = False) -> Cost:
        """What the way adds to one request (beyond its healthy round trip).

        Args:
            timeout_ns: after which the caller gives up; 0: when TCP does.
            connect: whether a connection is opened for it.
        """
        if self.cut:
            return LOST
        if self.is_healthy:
            return FREE
        repairs = [tcp.message(size, self.loss, self.big_loss, self.rtt_ns, timeout_ns) for size in
                   (request_bytes, answer_bytes)]  # fmt: skip
        if connect:
            repairs.append(tcp.opening(self.loss, timeout_ns))
        trips = 2 if connect else 1
        fixed = 2.0 * trips * self.delay_ns
        mean = fixed + math.fsum(r.mean_ns for r in repairs)
        variance = 2.0 * trips * self.jitter_ns * self.jitter_ns
        variance += math.fsum(max(0.0, r.square - r.mean_ns * r.mean_ns) for r in repairs)
        sending, waiting, surplus = self._transfer(request_bytes + answer_bytes)
        mean, variance = mean + sending + waiting, variance + waiting * waiting
        p99 = fixed + 2.33 * math.sqrt(2.0 * trips) * self.jitter_ns + sending + _P99 * waiting
        p99 += max(r.p99_ns for r in repairs)
        alive = math.prod(1.0 - r.failing for r in repairs) * (1.0 - surplus)
        if timeout_ns and fixed + sending > timeout_ns:
            alive = 0.0
        late = 1.0 - math.prod(1.0 - r.chance for r in repairs)
        if late <= 0.0:
            return Cost(mean, variance, p99, 1.0 - alive)
        waits = math.fsum(r.mean_ns for r in repairs)
        squares = math.fsum(r.square - r.mean_ns * r.mean_ns for r in repairs) + waits * waits
        return Cost(mean, variance, p99, 1.0 - alive, late, waits / late, squares / late)

    def sample(self, chance: float, request_bytes: int = 300, answer_bytes: int = 1000) -> int | None:
        """Additional time of one request on a new connection whose luck is `chance`; None if nothing arrives."""
        if self.cut:
            return None
        if self.is_healthy:
            return 0
        first, again = tcp.tail_risk(request_bytes, self.loss, self.big_loss)
        other, worse = tcp.tail_risk(answer_bytes, self.loss, self.big_loss)
        timer = max(tcp.RTO_MIN_NS, 2 * self.rtt_ns)
        found = tcp.waited(1.0 - (1.0 - first) * (1.0 - other), max(again, worse), timer, chance)
        both = tcp.any_lost(self.loss, 2)
        found += tcp.waited(both, both, tcp.SYN_TIMEOUT_NS, chance * 7919.0 % 1.0)
        return found + 4 * self.delay_ns + int(self._transfer(request_bytes + answer_bytes)[0])

    def _transfer(self, size_bytes: int) -> tuple[float, float, float]:
        """Time to send, time behind others, and the share for which there is no room at all."""
        segments = -(-size_bytes // tcp.SEGMENT_BYTES)
        # What fits into the first window is not slowed by a window that losses keep small.
        full = 1.0 - (1.0 - self.loss) * (1.0 - self.big_loss) if segments > tcp.INITIAL_WINDOW else 0.0
        rate = tcp.throughput(full, self.rtt_ns, self.bandwidth_bps)
        sending = size_bytes * 8 * SECOND / rate if rate else 0.0
        slow = tcp.rounds(segments) * 2 * self.delay_ns
        if not self.bandwidth_bps:
            return max(sending, float(slow)), 0.0, 0.0
        busy = min(self.utilisation, MOST_UTILISATION)
        # M/D/1: half the exponential wait.
        waiting = sending * busy / (2.0 * (1.0 - busy))
        surplus = max(0.0, 1.0 - 1.0 / self.utilisation) if self.utilisation > 1.0 else 0.0
        return max(sending, float(slow)), waiting, surplus


HEALTHY = PathQuality()
HEALTHY_INSIDE = PathQuality(round_trip_ns=SAME_NODE_NS)
CUT = PathQuality(cut=True)


class Packets(Shared):
    """Nominal packets: a frame of this many bytes counts as one packet in counters."""

    SIZE = 900
