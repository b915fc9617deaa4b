"""What loss, delay and bandwidth cost a message that TCP carries: closed forms, no packets.

A message of n segments meets two kinds of loss. If at least three segments follow a lost one,
duplicate acknowledgements repair it within a round trip; near the end of a message only the
retransmission timer does, which starts at 200 ms and doubles. A connection's first segment has
a timer of its own (1 s, doubling). Long transfers are bounded by the bandwidth and by
MSS / RTT * sqrt(3 / 2p) (Mathis et al., 1997). Left out: pacing, SACK reneging, receive windows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from simcluster.engine import MILLISECOND, SECOND, arithmetic

#: Payload of a segment on Ethernet with time stamps: 1500 - 20 - 20 - 12.
SEGMENT_BYTES = 1448
#: include/net/tcp.h: TCP_RTO_MIN 200 ms, TCP_TIMEOUT_INIT 1 s; both double.
RTO_MIN_NS = 200 * MILLISECOND
SYN_TIMEOUT_NS = SECOND
#: net.ipv4.tcp_retries2 = 15 and tcp_syn_retries = 6: after so many repetitions a connection is given up.
RETRIES = 15
SYN_RETRIES = 6
#: TCP_INIT_CWND.
INITIAL_WINDOW = 10
#: Losses that fewer segments follow wait for the timer.
TAIL_SEGMENTS = 3
#: TCP_RTO_MAX.
RTO_MAX_NS = 120 * SECOND
#: A tail loss probe is sent after two round trips and two jiffies of a 250 Hz kernel.
PROBE_EXTRA_NS = 8 * MILLISECOND


class Repair(NamedTuple):
    """Extra time that losses cost: mean, second moment, 99th percentile, and the share never repaired in time.

    `chance` is the share of messages that wait for a timer at all, of those repaired.
    """

    mean_ns: float
    square: float
    p99_ns: float
    failing: float
    chance: float = 0.0


def repetitions(first: float, again: float, timer_ns: int, retries: int, timeout_ns: int) -> Repair:
    """A chain of timers that double: lost with `first`, each repetition lost with `again`.

    Args:
        timer_ns: the first timer; retries: how often it is repeated.
        timeout_ns: after which the caller has gone; 0 if he waits until TCP gives up.
    """
    if first <= 0.0:
        return Repair(0.0, 0.0, 0.0, 0.0)
    mean = square = p99 = 0.0
    lost, waited, timer, worst = first, 0, timer_ns, 0.01
    for _ in range(retries):
        waited += timer
        timer = min(2 * timer, RTO_MAX_NS)
        if timeout_ns and waited > timeout_ns:
            break
        if lost > worst:
            p99 = float(waited)
        arrived = lost * (1.0 - again)
        mean += arrived * waited
        square += arrived * waited * waited
        lost *= again
    kept = 1.0 - lost
    if kept <= 1e-12:
        return Repair(0.0, 0.0, float(timeout_ns or waited), 1.0)
    if lost > worst:
        p99 = float(timeout_ns or waited)
    return Repair(mean / kept, square / kept, p99, lost, (first - lost) / kept)


def any_lost(loss: float, segments: int) -> float:
    """Chance that at least one of so many segments is lost."""
    if loss <= 0.0 or segments <= 0:
        return 0.0
    if loss >= 1.0:
        return 1.0
    return 1.0 - arithmetic.power(1.0 - loss, float(segments))


def tail_risk(size_bytes: int, loss: float, big_loss: float) -> tuple[float, float]:
    """Chance that one of a message's last segments is lost, and that its repetition is."""
    whole, rest = divmod(max(1, size_bytes), SEGMENT_BYTES)
    full, small = 1.0 - (1.0 - loss) * (1.0 - big_loss), 1 if rest else 0
    tail = min(whole + small, TAIL_SEGMENTS)
    tail_full = min(whole, tail - small)
    at_tail = 1.0 - (1.0 - any_lost(full, tail_full)) * (1.0 - any_lost(loss, tail - tail_full))
    return at_tail, full if tail_full else loss


def waited(first: float, again: float, timer_ns: int, chance: float) -> int:
    """How long one chain of timers takes whose luck is `chance` (uniform in 0..1)."""
    lost, total, timer = first, 0, timer_ns
    for _ in range(RETRIES):
        if chance >= lost:
            break
        total, timer, lost = total + timer, min(2 * timer, RTO_MAX_NS), lost * again
    return total


def message(size_bytes: int, loss: float, big_loss: float, rtt_ns: int, timeout_ns: int) -> Repair:
    """What losses cost one message of `size_bytes` on an open connection.

    Args:
        loss: of any packet; big_loss: of full ones, besides.
    """
    segments = -(-max(1, size_bytes) // SEGMENT_BYTES)
    full = 1.0 - (1.0 - loss) * (1.0 - big_loss)
    at_tail, again = tail_risk(size_bytes, loss, big_loss)
    timer = max(RTO_MIN_NS, rtt_ns * 2)
    slow = repetitions(at_tail, again, timer, RETRIES, timeout_ns)
    inside = any_lost(full, segments - min(segments, TAIL_SEGMENTS))
    if inside <= 0.0:
        return slow
    # A loss inside is repaired after a round trip; if the repair is lost too, the timer must.
    quick = float(rtt_ns)
    late = repetitions(inside * full, full, timer, RETRIES, timeout_ns)
    mean = slow.mean_ns + inside * quick + late.mean_ns
    square = slow.square + inside * quick * quick + late.square
    failing = 1.0 - (1.0 - slow.failing) * (1.0 - late.failing)
    chance = 1.0 - (1.0 - slow.chance) * (1.0 - late.chance)
    return Repair(mean, square, max(slow.p99_ns, late.p99_ns, quick if inside > 0.01 else 0.0), failing, chance)


def opening(loss: float, timeout_ns: int) -> Repair:
    """What loss costs a connection that is opened: SYN or its answer lost, repeated after 1, 3, 7 s ..."""
    both = any_lost(loss, 2)
    return repetitions(both, both, SYN_TIMEOUT_NS, SYN_RETRIES, timeout_ns)


def throughput(loss: float, rtt_ns: int, bandwidth_bps: int) -> float:
    """Bits a second of one long transfer: the bandwidth, or what losses allow (0: no bound)."""
    if loss <= 0.0 or rtt_ns <= 0:
        return float(bandwidth_bps)
    bound = SEGMENT_BYTES * 8 * SECOND / rtt_ns * math.sqrt(1.5 / loss)
    return min(bound, float(bandwidth_bps)) if bandwidth_bps else bound


def rounds(segments: int) -> int:
    """Round trips of slow start until so many segments are under way, beyond the first."""
    window, sent, count = INITIAL_WINDOW, INITIAL_WINDOW, 0
    while sent < segments and count < 20:
        window *= 2
        sent += window
        count += 1
    return count
