"""`ping` echo by echo over the way as it is now: one law, and two programs that tell of it (iputils, BusyBox).

Each echo takes the way's round trip with the spread of an idle network, and what the way adds: delay, jitter, losses. A
TTL of 64 (net.ipv4.ip_default_ttl) is less one for each host that routes: a pod's own, and that of the other end. Left
out: ICMP errors, sizes, floods, IPv6.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

from simcluster.engine import MICROSECOND, MILLISECOND, SECOND
from simcluster.engine.streams import Stream
from simcluster.models.machine.container import Container
from simcluster.models.machine.imagetools.call import Outcome, ToolCall, usage_error
from simcluster.models.machine.names import is_loopback

_TTL = 64
#: Of a process to itself, and how far single echoes of an idle network are from the usual one (magnitudes).
_LOOPBACK_NS, _SPREAD = 38 * MICROSECOND, 0.14
#: What an operator's ping has sent when somebody presses Ctrl-C.
_ENDLESS = 60
#: Echoes of one call at most that are worked out.
_MOST = 100_000


class Echo(NamedTuple):
    """One that came back: its number (from 1), the answer's TTL and how long it took."""

    number: int
    ttl: int
    took_ns: int


class Asked(NamedTuple):
    """What was asked for."""

    host: str
    address: str
    number_sent: int
    interval_ns: int
    linger_ns: int
    quiet: bool
    endless: bool


def _options(call: ToolCall, valued: str) -> tuple[dict[str, str], str, list[str]]:
    """Options with values, letters without, operands."""
    values: dict[str, str] = {}
    letters, operands, words = "", [], list(call.argv[1:])
    while words:
        word = words.pop(0)
        if not word.startswith("-") or len(word) == 1:
            operands.append(word)
            continue
        for at, letter in enumerate(word[1:], 1):
            if letter in valued:
                values[letter] = word[at + 1 :] or (words.pop(0) if words else "")
                break
            letters += letter
    return values, letters, operands


def _nanoseconds(text: str) -> int | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return int(seconds * SECOND) if 0.0 <= seconds < 1e6 else None


def echoes(container: Container, asked: Asked, since_ns: int) -> list[Echo]:
    """The echoes that come back of those that are sent from an instant on."""
    network, sandbox = container.machine.network, container.sandbox
    source, address = sandbox.address, asked.address
    stream = Stream(container.sim.streams.key("ping", source, address), since_ns // MILLISECOND)
    count = min(asked.number_sent, _MOST)
    if is_loopback(address) or address == source:
        return [_echo(stream, number, _TTL, _LOOPBACK_NS) for number in range(1, count + 1)]
    owner = network.sandboxes.get(address)
    if owner is None or network.connect((address, 0), source, "ICMP") == "timeout":
        return []
    way = network.links.path(sandbox.node, owner.node, source, address)
    if way.cut:
        return []
    pods = [end for end in (source, address) if end not in network.nodes]
    hops = len(pods) if sandbox.node != owner.node else len(pods) - 1  # each host routes for its pod, one for both
    found, kept = [], (1.0 - way.loss) * (1.0 - way.loss)
    for number in range(1, count + 1):
        echo = _echo(stream, number, _TTL - max(0, hops), way.round_trip_ns)
        late = max(0.0, 2 * way.delay_ns + math.sqrt(2.0) * way.jitter_ns * stream.normal())
        if stream.chance(kept):
            found.append(echo._replace(took_ns=echo.took_ns + int(late)))
    return found


def _echo(stream: Stream, number: int, ttl: int, usual_ns: int) -> Echo:
    return Echo(number, ttl, stream.lognormal_ns(usual_ns, _SPREAD))


def _resolved(call: ToolCall, host: str) -> tuple[str, int]:
    network = call.container.machine.network
    found = network.resolve_for(call.container.sandbox, host)
    return (found.address or ("127.0.0.1" if host == "localhost" else "")), found.delay_ns


def _spent(asked: Asked, found: list[Echo]) -> int:
    """Until the last answer came, or nobody waited for it any more."""
    last = (asked.number_sent - 1) * asked.interval_ns
    if found and found[-1].number == asked.number_sent:
        return last + found[-1].took_ns
    return last + asked.linger_ns


class _Program(ABC):
    """What one of the programs says where the other says something else."""

    #: Letters whose options take a value, and how soon after one echo the next may be sent.
    valued: str
    least_interval_ns: int

    @abstractmethod
    def complaint(self, call: ToolCall, letter: str, text: str) -> Outcome:
        """There is no host (no letter), or an option's value is wrong."""

    @abstractmethod
    def unknown(self, host: str, delay_ns: int) -> Outcome:
        """Nobody has the name."""

    @abstractmethod
    def rows_of(self, asked: Asked, found: list[Echo]) -> str:
        """The first line, and one for each echo."""

    @abstractmethod
    def summed(self, asked: Asked, found: list[Echo]) -> str:
        """The last lines."""


class _Iputils(_Program):
    valued = "cWwisItQSm"
    least_interval_ns = 2 * MILLISECOND

    def complaint(self, call: ToolCall, letter: str, text: str) -> Outcome:
        why = f"invalid argument: '{text}'" if letter else "usage error: Destination address required"
        return Outcome(stderr=f"ping: {why}\n", code=1)

    def unknown(self, host: str, delay_ns: int) -> Outcome:
        return Outcome(stderr=f"ping: {host}: Name or service not known\n", code=2, delay_ns=delay_ns)

    def rows_of(self, asked: Asked, found: list[Echo]) -> str:
        rows = "".join(
            f"64 bytes from {asked.address}: icmp_seq={one.number} ttl={one.ttl} time={_milliseconds(one.took_ns)} ms\n"
            for one in found
        )
        return f"PING {asked.host} ({asked.address}) 56(84) bytes of data.\n{rows}"

    def summed(self, asked: Asked, found: list[Echo]) -> str:
        sent, got = asked.number_sent, len(found)
        sending = (sent - 1) * asked.interval_ns
        if got < sent:  # who waits for nothing sends by a timer that is a little late each time
            sending += (sent - 1) * 24 * MILLISECOND
        text = f"{sent} packets transmitted, {got} received, {100 * (sent - got) / sent:.6g}% packet loss, "
        text += f"time {sending // MILLISECOND + (sent > 1)}ms\n"
        if not found:
            return text + "\n"
        low, mean, high, spread = _spans(found)
        return f"{text}rtt min/avg/max/mdev = {low:.3f}/{mean:.3f}/{high:.3f}/{spread:.3f} ms\n"


class _Busybox(_Program):
    valued = "cWwisItmp"
    least_interval_ns = MILLISECOND

    def complaint(self, call: ToolCall, letter: str, text: str) -> Outcome:
        return usage_error(call, f"invalid number '{text}'" if letter else "missing host")

    def unknown(self, host: str, delay_ns: int) -> Outcome:
        return Outcome(stderr=f"ping: bad address '{host}'\n", code=1, delay_ns=delay_ns)

    def rows_of(self, asked: Asked, found: list[Echo]) -> str:
        rows = "".join(
            f"64 bytes from {asked.address}: seq={one.number - 1} ttl={one.ttl} "
            f"time={one.took_ns / MILLISECOND:.3f} ms\n"
            for one in found
        )
        return f"PING {asked.host} ({asked.address}): 56 data bytes\n{rows}"

    def summed(self, asked: Asked, found: list[Echo]) -> str:
        sent, got = asked.number_sent, len(found)
        text = f"{sent} packets transmitted, {got} packets received, {100 * (sent - got) // sent}% packet loss\n"
        if not found:
            return text
        low, mean, high, _ = _spans(found)
        return f"{text}round-trip min/avg/max = {low:.3f}/{mean:.3f}/{high:.3f} ms\n"


def _milliseconds(took_ns: int) -> str:
    """Three significant digits, as iputils prints them."""
    ms = took_ns / MILLISECOND
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}" if ms >= 1 else f"{ms:.3f}"


def _spans(found: list[Echo]) -> tuple[float, float, float, float]:
    """Least, mean, most and the deviation of round trips in milliseconds."""
    times = [one.took_ns / MILLISECOND for one in found]
    mean = math.fsum(times) / len(times)
    spread = math.sqrt(max(0.0, math.fsum(ms * ms for ms in times) / len(times) - mean * mean))
    return min(times), mean, max(times), spread


def _ping(call: ToolCall, program: _Program) -> Outcome:
    values, letters, operands = _options(call, program.valued)
    if not operands:
        return program.complaint(call, "", "")
    count, host = values.get("c", "0"), operands[-1]
    interval, linger = _nanoseconds(values.get("i", "1")), _nanoseconds(values.get("W", "10"))
    for letter, right in (("c", count.isdigit()), ("i", interval is not None), ("W", linger is not None)):
        if not right:
            return program.complaint(call, letter, values[letter])
    assert interval is not None
    assert linger is not None
    address, delay_ns = _resolved(call, host)
    if not address:
        return program.unknown(host, delay_ns)
    interval = max(interval, program.least_interval_ns)
    number, deadline = int(count[:6]), _nanoseconds(values.get("w", "")) or 0
    if deadline:
        number = min(number or _MOST, deadline // interval + 1)
    asked = Asked(host, address, number or _ENDLESS, interval, linger, "q" in letters, not number)
    found = echoes(call.container, asked, call.now_ns)
    head = program.rows_of(asked, [] if asked.quiet else found)
    if asked.endless:
        return Outcome(head, delay_ns=1 << 62)
    spent = min(_spent(asked, found), deadline) if deadline else _spent(asked, found)
    text = f"{head}\n--- {host} ping statistics ---\n{program.summed(asked, found)}"
    return Outcome(text, code=0 if found else 1, delay_ns=spent)


def iputils(call: ToolCall) -> Outcome:
    """`ping [-c N] [-i S] [-W S] [-w S] [-q] HOST`, iputils' form; without a count until somebody presses Ctrl-C."""
    return _ping(call, _Iputils())


def busybox(call: ToolCall) -> Outcome:
    """`ping [-c N] [-i S] [-W S] [-w S] [-q] HOST` of BusyBox."""
    return _ping(call, _Busybox())
