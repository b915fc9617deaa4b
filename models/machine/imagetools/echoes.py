"""`ping` in both forms, iputils' and BusyBox': an echo by echo, over the way as it is now.

Each echo takes the way's round trip with the spread of an idle network, and what the way adds: delay, jitter, losses. A
TTL of 64 (net.ipv4.ip_default_ttl) is less one for each host that routes: a pod's own, and that of the other end. Left
out: ICMP errors, sizes, floods, IPv6.
"""

from __future__ import annotations

import math
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


def _milliseconds(took_ns: int) -> str:
    """Three significant digits, as iputils prints them."""
    ms = took_ns / MILLISECOND
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}" if ms >= 1 else f"{ms:.3f}"


def iputils(call: ToolCall) -> Outcome:
    """`ping [-c N] [-i S] [-W S] [-w S] [-q] HOST`, iputils' form; without a count until somebody presses Ctrl-C."""
    values, letters, operands = _options(call, "cWwisItQSm")
    if not operands:
        return Outcome(stderr="ping: usage error: Destination address required\n", code=1)
    count = values.get("c", "0")
    interval, linger = _nanoseconds(values.get("i", "1")), _nanoseconds(values.get("W", "10"))
    for letter, right in (("c", count.isdigit()), ("i", interval is not None), ("W", linger is not None)):
        if not right:
            return Outcome(stderr=f"ping: invalid argument: '{values[letter]}'\n", code=1)
    assert interval is not None
    assert linger is not None
    host = operands[-1]
    address, delay_ns = _resolved(call, host)
    if not address:
        return Outcome(stderr=f"ping: {host}: Name or service not known\n", code=2, delay_ns=delay_ns)
    interval = max(interval, 2 * MILLISECOND)
    deadline = _nanoseconds(values.get("w", "")) or 0
    number = int(count[:6])
    if deadline:
        number = min(number or _MOST, deadline // interval + 1)
    endless = not number
    asked = Asked(host, address, number or _ENDLESS, interval, linger, "q" in letters, endless)
    found = echoes(call.container, asked, call.now_ns)
    rows = "".join(
        f"64 bytes from {address}: icmp_seq={one.number} ttl={one.ttl} time={_milliseconds(one.took_ns)} ms\n"
        for one in ([] if asked.quiet else found)
    )
    head = f"PING {host} ({address}) 56(84) bytes of data.\n{rows}"
    if endless:
        return Outcome(head, delay_ns=1 << 62)
    spent = min(_spent(asked, found), deadline) if deadline else _spent(asked, found)
    return Outcome(head + _summary(asked, found), code=0 if found else 1, delay_ns=spent)


def _summary(asked: Asked, found: list[Echo]) -> str:
    sent, got = asked.number_sent, len(found)
    lost = f"{100 * (sent - got) / sent:.6g}%"
    sending = (sent - 1) * asked.interval_ns
    if got < sent:  # who waits for nothing sends by a timer that is a little late each time
        sending += (sent - 1) * 24 * MILLISECOND
    text = f"\n--- {asked.host} ping statistics ---\n{sent} packets transmitted, {got} received, {lost} packet loss, "
    text += f"time {sending // MILLISECOND + (sent > 1)}ms\n"
    if not found:
        return text + "\n"
    times = [one.took_ns / MILLISECOND for one in found]
    mean = math.fsum(times) / got
    spread = math.sqrt(max(0.0, math.fsum(ms * ms for ms in times) / got - mean * mean))
    return f"{text}rtt min/avg/max/mdev = {min(times):.3f}/{mean:.3f}/{max(times):.3f}/{spread:.3f} ms\n"


def busybox(call: ToolCall) -> Outcome:
    """`ping [-c N] [-i S] [-W S] [-w S] [-q] HOST` of BusyBox."""
    values, letters, operands = _options(call, "cWwisItmp")
    if not operands:
        return usage_error(call, "missing host")
    host, count = operands[-1], values.get("c", "0")
    if not count.isdigit():
        return usage_error(call, f"invalid number '{count}'")
    address, delay_ns = _resolved(call, host)
    if not address:
        return Outcome(stderr=f"ping: bad address '{host}'\n", code=1, delay_ns=delay_ns)
    interval, linger = _nanoseconds(values.get("i", "1")), _nanoseconds(values.get("W", "10"))
    if interval is None or linger is None:
        return usage_error(call, f"invalid number '{values.get('i') or values.get('W')}'")
    number, deadline = int(count[:6]), _nanoseconds(values.get("w", "")) or 0
    if deadline:
        number = min(number or _MOST, deadline // max(interval, MILLISECOND) + 1)
    asked = Asked(host, address, number or _ENDLESS, interval, linger, "q" in letters, not number)
    found = echoes(call.container, asked, call.now_ns)
    rows = "".join(
        f"64 bytes from {address}: seq={one.number - 1} ttl={one.ttl} time={one.took_ns / MILLISECOND:.3f} ms\n"
        for one in ([] if asked.quiet else found)
    )
    head = f"PING {host} ({address}): 56 data bytes\n{rows}"
    if asked.endless:
        return Outcome(head, delay_ns=1 << 62)
    text = f"{head}\n--- {host} ping statistics ---\n"
    text += f"{asked.number_sent} packets transmitted, {len(found)} packets received, "
    text += f"{100 * (asked.number_sent - len(found)) // asked.number_sent}% packet loss\n"
    if found:
        times = [one.took_ns / MILLISECOND for one in found]
        mean = math.fsum(times) / len(times)
        text += f"round-trip min/avg/max = {min(times):.3f}/{mean:.3f}/{max(times):.3f} ms\n"
    spent = min(_spent(asked, found), deadline) if deadline else _spent(asked, found)
    return Outcome(text, code=0 if found else 1, delay_ns=spent)
