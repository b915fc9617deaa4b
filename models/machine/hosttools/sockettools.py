"""Programs that show sockets and their counters: `ss`, `netstat`, `nstat`. Formats: iproute2 6.1, net-tools 2.10."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from simcluster.models.machine.kernel import snmp
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.options import parse
from simcluster.models.userland.outcome import Outcome

_FREE_TEXT = {
    "TcpActiveOpens": "active connection openings", "TcpPassiveOpens": "passive connection openings",
    "TcpAttemptFails": "failed connection attempts", "TcpEstabResets": "connection resets received",
    "TcpCurrEstab": "connections established", "TcpInSegs": "segments received", "TcpOutSegs": "segments sent out",
    "TcpRetransSegs": "segments retransmitted", "TcpInErrs": "bad segments received", "TcpOutRsts": "resets sent",
}  # fmt: skip
_EXTENDED_TEXT = {
    "TcpExtTW": "{} TCP sockets finished time wait in fast timer",
    "TcpExtListenOverflows": "{} times the listen queue of a socket overflowed",
    "TcpExtListenDrops": "{} SYNs to LISTEN sockets dropped",
    "TcpExtTCPLossProbes": "TCPLossProbes: {}",
    "TcpExtTCPLostRetransmit": "TCPLostRetransmit: {}",
    "TcpExtTCPFastRetrans": "{} fast retransmits",
    "TcpExtTCPTimeouts": "TCPTimeouts: {}",
    "TcpExtTCPSynRetrans": "TCPSynRetrans: {}",
    "TcpExtTCPReqQFullDoCookies": "TCPReqQFullDoCookies: {}",
    "TcpExtTCPAbortOnTimeout": "{} connections aborted due to timeout",
}


_LISTENERS = (
    ("ssh.service", "sshd", "0.0.0.0:22"), ("systemd-resolved.service", "systemd-resolve", "127.0.0.53%lo:53"),
    ("kubelet.service", "kubelet", "127.0.0.1:10248"), ("containerd.service", "containerd", "127.0.0.1:38041"),
    ("kubelet.service", "kubelet", "*:10250"),
)  # fmt: skip
_SS_LONG = {"all": "a", "numeric": "n", "listening": "l", "tcp": "t", "udp": "u", "unix": "x", "raw": "w",
            "summary": "s", "info": "i", "processes": "p", "extended": "e", "memory": "m", "options": "o",
            "no-header": "H", "ipv4": "4", "ipv6": "6", "resolve": "r", "oneline": "O", "family": "f"}  # fmt: skip


class Socket(NamedTuple):
    """One socket of the node's own network namespace."""

    state: str
    here: str
    there: str
    name: str
    pid: int


def sockets(machine: Machine) -> list[Socket]:
    """Listening and established sockets of the node's daemons (pods have namespaces of their own)."""
    units = machine.units.units
    found = []
    for unit, name, here in _LISTENERS:
        if units[unit].active:
            found.append(Socket("LISTEN", here, "*:*" if here[0] == "*" else "0.0.0.0:*", name, units[unit].pid))
    for sandbox in machine.runtime.sandboxes.values():
        if sandbox.host_network:
            for container in sandbox.containers.values():
                found += [Socket("LISTEN", f"*:{port}", "*:*", container.comm, container.pid)
                          for port in container.spec.ports if container.running]  # fmt: skip
    server = next((a for a, n in machine.network.nodes.items() if "control-plane" in n), machine.address)
    kubelet = units["kubelet.service"]
    if kubelet.active:
        for number in range(2):
            port = 33210 + 2 * (kubelet.pid + number) % 20000
            found.append(Socket("ESTAB", f"{machine.address}:{port}", f"{server}:6443", "kubelet", kubelet.pid))
    return found


def _ss(machine: Machine, args: list[str], stdin: str) -> Outcome:
    asked = parse(args, "anltuxwsipemoH46rOZ", "fA", _SS_LONG)
    if asked.problem:
        return asked.refused("ss", "Usage: ss [ OPTIONS ]\n       ss [ OPTIONS ] [ FILTER ]\n", 255)
    if asked.has("s"):
        return Outcome(_summary(machine))
    wanted = ("LISTEN",) if asked.has("l") else ("LISTEN", "ESTAB") if asked.has("a") else ("ESTAB",)
    if asked.words[:1] == ["state"] and len(asked.words) > 1:
        state = {"listening": "LISTEN", "established": "ESTAB"}.get(asked.words[1], asked.words[1].upper())
        wanted = (state,)
    only = _ports(asked.words)
    others = asked.has("u", "x", "w") and not asked.has("t")
    rows = [] if others else [one for one in sockets(machine) if one.state in wanted and _is_of(one, only)]
    head = f"{'State':<9}{'Recv-Q':<7}{'Send-Q':<7}{'Local Address:Port':>22} {'Peer Address:Port':>22} "
    lines = [] if asked.has("H") else [head + ("Process" if asked.has("p") else "") + "\n"]
    backlog = machine.os.sysctls.get("net.core.somaxconn")
    for one in rows:
        who = f'users:(("{one.name}",pid={one.pid},fd=7))' if asked.has("p") else ""
        send = backlog if one.state == "LISTEN" else "0"
        lines.append(f"{one.state:<9}{'0':<7}{send:<7}{one.here:>22} {one.there:>22} {who}\n")
        if asked.has("i") and one.state == "ESTAB":
            lines.append(_details(machine))
    return Outcome("".join(lines))


def _ports(words: list[str]) -> list[tuple[str, str]]:
    """`sport = :22`, `dport = :6443` of a filter."""
    text = " ".join(words)
    return re.findall(r"\b([sd]port)\s*(?:=|==|eq)?\s*:?(\d+)", text)


def _is_of(one: Socket, only: list[tuple[str, str]]) -> bool:
    ends = {"sport": one.here.rpartition(":")[2], "dport": one.there.rpartition(":")[2]}
    return not only or any(ends[side] == port for side, port in only)


def _details(machine: Machine) -> str:
    """What -i adds: the state of the connection's congestion control."""
    path = machine.network.path(machine.name, "")
    rtt = path.rtt_ns / 1e6
    nic = machine.nics["eth0"]
    # Mathis et al.: the mean window under random loss, in segments.
    window = 10 if nic.loss < 0.0001 else max(2, int(math.sqrt(1.5 / nic.loss)))
    sent = nic.counters()["tx_packets"]
    lost = nic.retransmitted()
    again = f" retrans:0/{lost // 20}" if lost >= 20 else ""
    variation = max(rtt / 4, path.jitter_ns / 1e6)
    rto = max(200, 200 + int(4 * variation))
    return (
        f"\t cubic wscale:7,7 rto:{rto} rtt:{rtt:.3f}/{variation:.3f} ato:40 mss:1448 pmtu:1500 cwnd:{window} "
        f"ssthresh:7 bytes_sent:{sent * 40} segs_out:{sent // 20} segs_in:{sent // 18}{again} rcv_space:14480\n"
    )


def _summary(machine: Machine) -> str:
    found = snmp.sockets(machine)
    used = found.established + found.listening
    total = used + found.time_wait
    rows = [("RAW", 1, 0), ("UDP", 6, 3), ("TCP", used * 2 // 3, used - used * 2 // 3), ("FRAG", 0, 0)]
    inet = used + 10
    rows.insert(3, ("INET", inet * 2 // 3, inet - inet * 2 // 3))
    lines = "".join(f"{name}\t  {v4 + v6:<9} {v4:<9} {v6:<9}\n" for name, v4, v6 in rows)
    return (
        f"Total: {used + 190}\n"
        f"TCP:   {total} (estab {found.established}, closed {found.time_wait}, orphaned 0, "
        f"timewait {found.time_wait})\n\n"
        f"Transport Total     IP        IPv6\n{lines}\n"
    )


def _nstat(machine: Machine, args: list[str], stdin: str) -> Outcome:
    every = any(word.startswith("-") and "z" in word for word in args)
    words = [word for word in args if not word.startswith("-")]
    lines = ["#kernel\n"]
    for name, value in snmp.values(machine).items():
        if words and not any(name == word or (word.endswith("*") and name.startswith(word[:-1])) for word in words):
            continue
        if value or every or words:
            lines.append(f"{name:<32}{value:<19}0.0\n")
    return Outcome("".join(lines))


def _netstat(machine: Machine, args: list[str], stdin: str) -> Outcome:
    letters = "".join(word[1:] for word in args if word.startswith("-"))
    found = snmp.values(machine)
    if "s" in letters:
        tcp = "".join(f"    {found[name]} {text}\n" for name, text in _FREE_TEXT.items())
        extended = "".join(f"    {text.format(found[name])}\n" for name, text in _EXTENDED_TEXT.items() if found[name])
        return Outcome(f"Tcp:\n{tcp}TcpExt:\n{extended}")
    lines = [
        "Active Internet connections (only servers)\n"
        if "l" in letters
        else "Active Internet connections (w/o servers)\n"
    ]
    lines.append("Proto Recv-Q Send-Q Local Address           Foreign Address         State      \n")
    for one in sockets(machine):
        if (one.state == "LISTEN") == ("l" in letters):
            state = "ESTABLISHED" if one.state == "ESTAB" else one.state
            here = one.here.replace("*:", "0.0.0.0:")
            lines.append(f"tcp        0      0 {here:<23} {one.there.replace('*:*', '0.0.0.0:*'):<23} {state:<11}\n")
    return Outcome("".join(lines))


TOOLS = {"netstat": _netstat, "nstat": _nstat, "ss": _ss}
