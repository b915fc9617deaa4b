"""Packets of the conversations that models know, as a capture on one node sees them.

A conversation's requests lie evenly on a grid of its own, or where a clock has them; each is a handshake (if it opens
a connection), a segment with the request, one with the answer, and the end. Left out: segmentation, retransmissions
of what gets lost on the way, ARP, name look-ups, IPv6.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import MICROSECOND, MILLISECOND, SECOND
from simcluster.engine.streams import mix
from simcluster.models.machine.links.conversation import OK, REFUSED, Conversation
from simcluster.models.machine.machine import Machine

#: Between two hosts of one network, and between two pods of one host (magnitudes).
_WAY_NS = 120 * MICROSECOND
#: Retransmission of a SYN (net/ipv4/tcp_timer.c): after 1, 3 and 7 s.
_AGAIN_S = (0, 1, 3, 7)
_FIRST_PORT, _PORTS = 32768, 28232
_WINDOW = {"S": 64240, "A": 502}
#: Packets of one step of a capture at most, as libpcap's buffer holds no more.
MOST = 20_000


class Packet(NamedTuple):
    """One packet, where and which way it passed.

    Attributes:
        where: the interface; way: `In`, `Out` (as a capture on `any` shows it).
        flags: tcpdump's letters; seq, ack: relative numbers, below zero if there are none.
    """

    t_ns: int
    where: str
    way: str
    source: tuple[str, int]
    target: tuple[str, int]
    flags: str
    seq: int
    ack: int
    size: int
    text: str


class Capture:
    """What passes through one node's interfaces."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._veths = {
            sandbox.address: f"veth{sandbox.sandbox_id[:8]}"
            for sandbox in machine.runtime.sandboxes.values()
            if not sandbox.host_network
        }

    def between(self, since_ns: int, until_ns: int) -> list[Packet]:
        """Packets from an instant up to another one, in order."""
        found: list[Packet] = []
        for one in self.machine.network.conversations():
            if self._places(one):
                found += self._conversation(one, since_ns, until_ns)
            if len(found) > MOST:
                break
        return sorted(found, key=_when)

    def _places(self, one: Conversation) -> list[tuple[str, bool, bool]]:
        """Interfaces that a conversation passes: name, whether requests come in there, whether before translation."""
        here, veths = self.machine.address, self._veths
        places = []
        if one.source in veths:
            places.append((veths[one.source], True, True))
        elif one.source != here and (one.answering[0] in veths or one.answering[0] == here):
            places.append(("eth0", True, False))
        if one.answering[0] in veths:
            places.append((veths[one.answering[0]], False, False))
        elif (one.source in veths or one.source == here) and one.answering[0] != here and one.outcome != REFUSED:
            places.append(("eth0", False, False))
        if one.source == here and one.answering[0] == here:
            places.append(("lo", True, False))
        return places

    def _conversation(self, one: Conversation, since_ns: int, until_ns: int) -> list[Packet]:
        key = self.machine.sim.streams.key("packets", one.source, one.answering[0], one.answering[1])
        period = max(1, int(SECOND / one.per_s))
        phase = one.begins_ns % period if one.begins_ns >= 0 else key % period
        lasting = 10 * SECOND if one.outcome == "timeout" else one.took_ns + 10 * MILLISECOND
        first = (since_ns - lasting - phase) // period
        found: list[Packet] = []
        places = self._places(one)
        for number in range(max(0, first), (until_ns - phase) // period + 1):
            begun = phase + number * period
            for packet in _packets(one, key, number, begun, places):
                if since_ns <= packet.t_ns < until_ns:
                    found.append(packet)
            if len(found) > MOST:
                break
        return found


def _when(packet: Packet) -> int:
    return packet.t_ns


def _packets(one: Conversation, key: int, number: int, t_ns: int, places: list[tuple[str, bool, bool]]) -> list[Packet]:
    """The packets of one request at every interface it passes."""
    opens = one.opening >= 1.0 or mix(key, number) < int(one.opening * (1 << 64))
    port = _FIRST_PORT + (mix(key, number + 7) if one.opening >= 1.0 else key) % _PORTS
    client = (one.source, port)
    answers = one.outcome == OK
    head = f": HTTP: GET {one.path} HTTP/1.1" if one.path else ""
    ask, said = one.request_bytes, one.answer_bytes
    steps: list[tuple[int, bool, str, int, int, int, str]] = []  # after, from the client, flags, seq, ack, size, text
    if one.outcome == "timeout":
        steps = [(after * SECOND, True, "S", 0, -1, 0, "") for after in _AGAIN_S]
    elif not answers:
        steps = [(0, True, "S", 0, -1, 0, ""), (_WAY_NS, False, "R.", 0, 1, 0, "")]
    else:
        if opens:
            steps += [
                (0, True, "S", 0, -1, 0, ""),
                (_WAY_NS, False, "S.", 0, 1, 0, ""),
                (2 * _WAY_NS, True, ".", -1, 1, 0, ""),
            ]
        answered = 3 * _WAY_NS + one.took_ns
        if ask:
            steps.append((3 * _WAY_NS, True, "P.", 1, 1, ask, head))
        if said:
            text = ": HTTP: HTTP/1.1 200 OK" if one.path else ""
            steps += [
                (answered, False, "P.", 1, ask + 1, said, text),
                (answered + _WAY_NS, True, ".", -1, said + 1, 0, ""),
            ]
        if opens and one.opening >= 1.0:
            steps += [
                (answered + 2 * _WAY_NS, True, "F.", ask + 1, said + 1, 0, ""),
                (answered + 3 * _WAY_NS, False, "F.", said + 1, ask + 2, 0, ""),
                (answered + 4 * _WAY_NS, True, ".", -1, said + 2, 0, ""),
            ]
    found = []
    for after, forth, flags, seq, ack, size, text in steps:
        for at, (name, comes, before) in enumerate(places):
            server = one.asked if before else one.answering
            source, target = (client, server) if forth else (server, client)
            late = at if forth else len(places) - 1 - at
            way = "In" if comes == forth else "Out"
            moment = t_ns + after + late * 11 * MICROSECOND
            found.append(Packet(moment, name, way, source, target, flags, seq, ack, size, text))
    return found


def window(packet: Packet) -> int:
    """The window that a packet announces: of a SYN, of a reset, of any other."""
    return _WINDOW["S"] if "S" in packet.flags else 0 if "R" in packet.flags else _WINDOW["A"]
