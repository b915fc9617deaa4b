"""`tcpdump`: packets of what models know, on one interface or on all. Format: tcpdump 4.99 with libpcap 1.10.

Options: -i -c -n -nn -t -tttt -q -v -e(accepted) -s -l -U -A -X (payloads are not kept) -D -w; filters by host, net,
port, protocol, flags of TCP, and, or, not, parentheses. Left out: link headers, payloads, other protocols than TCP.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from ipaddress import ip_address, ip_network

from simcluster.engine import SECOND, format_rfc3339
from simcluster.models.machine.container import Sandbox
from simcluster.models.machine.hosttools.iptool import interfaces
from simcluster.models.machine.hosttools.packets import Capture, Packet, window
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.options import Options, parse
from simcluster.models.userland.outcome import Outcome

Filter = Callable[[Packet], bool]
_NAMES = {22: "ssh", 53: "domain", 80: "http", 443: "https", 3306: "mysql", 5432: "postgresql", 6379: "redis",
          8080: "http-alt"}  # fmt: skip
_FLAG_BITS = {"tcp-fin": "F", "tcp-syn": "S", "tcp-rst": "R", "tcp-push": "P", "tcp-ack": "."}
_WORD = re.compile(
    r"tcp\[[^\]]{0,20}\]\s*(?:&\s*(?:\([^)]{0,80}\)|[\w|-]{1,80}))?\s*(?:!=|==|=)\s*[\w|-]{1,80}"
    r"|[()!]|&&|\|\||[^\s()!]+"
)
_SYNTAX = "tcpdump: can't parse filter expression: syntax error\n"
#: What nobody watches for ever.
_STEP_NS = SECOND


class FilterError(Exception):
    """The filter cannot be compiled."""


def tcpdump(machine: Machine, args: list[str], stdin: str, pod: Sandbox | None = None) -> Outcome:
    """Print what passes, step by step, until it is enough or somebody ends it; `pod`: in whose network it runs."""
    asked = parse(
        args, "nNqvtelLUAXxSDpK#", "icswrCGTWy", {"interface": "i", "list-interfaces": "D", "version": "version"}
    )
    if asked.problem:
        usage = (
            "Usage: tcpdump [-AbdDefhHIJKlLnNOpqStuUvxX#] [ -B size ] [ -c count ] [ -i interface ] [ expression ]\n"
        )
        return asked.refused("tcpdump", f"tcpdump version 4.99.4\nlibpcap version 1.10.4\n{usage}")
    names = ["lo", "eth0"] if pod is not None else [one.name for one in interfaces(machine)]
    if asked.has("version"):
        return Outcome("tcpdump version 4.99.4\nlibpcap version 1.10.4 (with TPACKET_V3)\nOpenSSL 3.0.13 30 Jan 2024\n")
    if asked.has("D"):
        rows = [*names[1:], "any", "lo"]
        return Outcome("".join(f"{number}.{name} [Up, Running]\n" for number, name in enumerate(rows, 1)))
    if asked.has("r"):
        return Outcome("", f"tcpdump: {asked.values['r']}: No such file or directory\n", 1)
    device = asked.values.get("i", "eth0").partition("@")[0]
    if device not in (*names, "any"):
        return Outcome("", f"tcpdump: {device}: No such device exists\n(SIOCGIFHWADDR: No such device)\n", 1)
    count = asked.values.get("c", "0")
    if not count.isdigit() or (asked.has("c") and not int(count)):
        return Outcome("", f"tcpdump: invalid packet count {count}\n", 1)
    try:
        wanted = compiled(" ".join(asked.words))
    except FilterError:
        return Outcome("", _SYNTAX, 1)
    state = json.loads(stdin) if stdin.startswith('{"since"') else {}
    if not state:
        return Outcome(
            "",
            _banner(device),
            0,
            _STEP_NS,
            then=_again(args, pod),
            then_stdin=_state(machine.sim.now, 0, 0),
            parting="\n" + _counts(0, 0),
        )
    return _step(machine, asked, args, device, int(count), wanted, state, pod)


def _state(since_ns: int, seen: int, passed: int) -> str:
    return json.dumps({"since": since_ns, "seen": seen, "passed": passed})


def _banner(device: str) -> str:
    kind = "LINUX_SLL2 (Linux cooked v2)" if device == "any" else "EN10MB (Ethernet)"
    head = "tcpdump: data link type LINUX_SLL2\n" if device == "any" else ""
    return (
        f"{head}tcpdump: verbose output suppressed, use -v[v]... for full protocol decode\n"
        f"listening on {device}, link-type {kind}, snapshot length 262144 bytes\n"
    )


def _step(
    machine: Machine,
    asked: Options,
    args: list[str],
    device: str,
    count: int,
    wanted: Filter,
    state: dict[str, int],
    pod: Sandbox | None,
) -> Outcome:
    now = machine.sim.now
    seen, passed = state["seen"], state["passed"]
    lines = []
    for packet in _passed(machine, pod, state["since"], now):
        if device not in ("any", packet.where):
            continue
        if not wanted(packet):
            continue
        passed += 1
        if count and seen >= count:
            continue
        seen += 1
        lines.append(_line(machine, packet, asked, device))
    text = "".join(lines) if not asked.has("w") else ""
    if count and seen >= count:
        return Outcome(text, _counts(seen, passed))
    again, state_now = _again(args, pod), _state(now, seen, passed)
    return Outcome(text, "", 0, _STEP_NS, then=again, then_stdin=state_now, parting="\n" + _counts(seen, passed))


def _counts(seen: int, passed: int) -> str:
    plural = "" if seen == 1 else "s"
    return f"{seen} packet{plural} captured\n{passed} packets received by filter\n0 packets dropped by kernel\n"


def _again(args: list[str], pod: Sandbox | None) -> tuple[str, ...]:
    """As what it goes on."""
    if pod is None:
        return ("tcpdump", *args)
    pid = next((container.pid for container in pod.containers.values() if container.running), 0)
    return ("nsenter", "-t", str(pid), "-n", "tcpdump", *args)


def _passed(machine: Machine, pod: Sandbox | None, since_ns: int, until_ns: int) -> list[Packet]:
    """Packets at the node's interfaces, or at the other end of a pod's."""
    found = Capture(machine).between(since_ns, until_ns)
    if pod is None:
        return found
    other = {"In": "Out", "Out": "In"}
    veth = f"veth{pod.sandbox_id[:8]}"
    return [packet._replace(where="eth0", way=other[packet.way]) for packet in found if packet.where == veth]


def _line(machine: Machine, packet: Packet, asked: Options, device: str) -> str:
    shown = format_rfc3339(machine.os.clock.shown_ns(packet.t_ns), digits=6)
    stamps = asked.letters.count("t")
    stamp = "" if stamps == 1 else f"{shown[:10]} {shown[11:26]} " if stamps >= 4 else f"{shown[11:26]} "
    where = f"{packet.where:<5} {packet.way:<3} " if device == "any" else ""
    numeric = asked.has("n")
    ends = " > ".join(f"{address}.{port if numeric else _NAMES.get(port, port)}" for address, port in
                      (packet.source, packet.target))  # fmt: skip
    if asked.has("q"):
        return f"{stamp}{where}IP {ends}: tcp {packet.size}\n"
    seq = "" if packet.seq < 0 else f", seq {packet.seq}:{packet.seq + packet.size}" if packet.size else (
        f", seq {packet.seq}"
    )  # fmt: skip
    ack = "" if packet.ack < 0 else f", ack {packet.ack}"
    options = ", options [mss 1460,sackOK,nop,wscale 7]" if "S" in packet.flags else ""
    return (
        f"{stamp}{where}IP {ends}: Flags [{packet.flags}]{seq}{ack}, win {window(packet)}{options}, "
        f"length {packet.size}{packet.text}\n"
    )


# Filters (pcap-filter(7)).


def compiled(text: str) -> Filter:
    """A filter from its text. Raises FilterError."""
    parser = _Filters(_WORD.findall(text))
    found = parser.either()
    if parser.words:
        raise FilterError
    return found


class _Filters:
    """Reads a filter expression."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.empty = not words
        self.last: tuple[str, str] = ("", "")

    def _next(self) -> str:
        if not self.words:
            raise FilterError
        return self.words.pop(0)

    def either(self, depth: int = 0) -> Filter:
        """Terms joined by `or`."""
        if self.empty:
            return _everything
        if depth > 50:
            raise FilterError
        found = [self.both(depth)]
        while self.words[:1] in (["or"], ["||"]):
            self.words.pop(0)
            found.append(self.both(depth))
        return found[0] if len(found) == 1 else _Any(found)

    def both(self, depth: int) -> Filter:
        """Terms joined by `and`."""
        found = [self.term(depth)]
        while self.words[:1] in (["and"], ["&&"]):
            self.words.pop(0)
            found.append(self.term(depth))
        return found[0] if len(found) == 1 else _All(found)

    def term(self, depth: int) -> Filter:
        """One test, with a `not` before it or in parentheses."""
        word = self._next()
        if depth > 50:
            raise FilterError
        if word in ("not", "!"):
            return _Not(self.term(depth + 1))
        if word == "(":
            found = self.either(depth + 1)
            if self._next() != ")":
                raise FilterError
            return found
        if word.startswith("tcp["):
            return _flags(word)
        if word in ("tcp", "udp", "icmp", "arp", "ip", "ip6"):
            if self.words[:1] and self.words[0] in ("port", "src", "dst", "host", "net", "portrange"):
                return _All([_Protocol(word), self.term(depth)])
            return _Protocol(word)
        side = ""
        if word in ("src", "dst"):
            side, word = word, self._next()
        if word in ("host", "port", "net", "portrange"):
            self.last = (side, word)
            return _End(side, word, self._next())
        if re.fullmatch(r"[\d.]+(/\d+)?", word):
            kind = self.last[1] if word.isdigit() and self.last[1] else "host"
            return _End(side or self.last[0], kind, word)
        raise FilterError


def _everything(packet: Packet) -> bool:
    return True


class _Any:
    def __init__(self, parts: list[Filter]) -> None:
        self.parts = parts

    def __call__(self, packet: Packet) -> bool:
        return any(part(packet) for part in self.parts)


class _All(_Any):
    def __call__(self, packet: Packet) -> bool:
        return all(part(packet) for part in self.parts)


class _Not:
    def __init__(self, part: Filter) -> None:
        self.part = part

    def __call__(self, packet: Packet) -> bool:
        return not self.part(packet)


class _Protocol:
    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, packet: Packet) -> bool:
        return self.name in ("tcp", "ip")


class _End:
    """An address or a port at one end or at either."""

    def __init__(self, side: str, kind: str, value: str) -> None:
        self.side, self.kind, self.value = side, kind, value
        self.ports: range = range(0)
        numbers = {name: number for number, name in _NAMES.items()}
        try:
            if kind == "port":
                number = numbers.get(value) or int(value)
                self.ports = range(number, number + 1)
            elif kind == "portrange":
                first, _, last = value.partition("-")
                self.ports = range(int(first), int(last) + 1)
            elif kind == "net":
                self.net = ip_network(value, strict=False)
            else:
                ip_address(value)
        except ValueError:
            raise FilterError from None

    def _fits(self, end: tuple[str, int]) -> bool:
        if self.kind in ("port", "portrange"):
            return end[1] in self.ports
        return end[0] == self.value if self.kind == "host" else ip_address(end[0]) in self.net

    def __call__(self, packet: Packet) -> bool:
        ends = {"src": [packet.source], "dst": [packet.target]}.get(self.side, [packet.source, packet.target])
        return any(self._fits(end) for end in ends)


class _Flags:
    """`tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn`."""

    def __init__(self, masked: str, wanted: str | None, *, equal: bool) -> None:
        self.masked, self.wanted, self.equal = masked, wanted, equal

    def __call__(self, packet: Packet) -> bool:
        there = "".join(flag for flag in self.masked if flag in packet.flags)
        if self.wanted is None:
            return bool(there) != self.equal
        return (sorted(there) == sorted(self.wanted)) == self.equal


def _flags(text: str) -> Filter:
    match = re.fullmatch(
        r"tcp\[(?:tcpflags|13)\]\s*(?:&\s*\(?\s*([\w|-]+)\s*\)?\s*)?(!=|==|=)\s*\(?\s*([\w|-]+)\s*\)?", text
    )
    if match is None:
        raise FilterError
    masked = _bits(match[1]) if match[1] else "FSRP."
    equal = match[2] != "!="
    return _Flags(masked, None if match[3] == "0" else _bits(match[3]), equal=equal)


def _bits(text: str) -> str:
    if text.isdigit():
        return "".join(flag for bit, flag in enumerate("FSRP.") if int(text) >> bit & 1)
    names = text.split("|")
    if any(name not in _FLAG_BITS for name in names):
        raise FilterError
    return "".join(_FLAG_BITS[name] for name in names)


TOOLS = {"tcpdump": tcpdump}
