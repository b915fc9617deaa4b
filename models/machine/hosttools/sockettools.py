"""Programs that show sockets and their counters: `ss`, `netstat`, `nstat`. Formats: iproute2 6.1, net-tools 2.10."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from simcluster.models.machine.kernel import snmp
from simcluster.models.machine.program import ExecResult

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine

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
    for unit, port in (("ssh.service", 22), ("kubelet.service", 10250)):
        if units[unit].active:
            name = "sshd" if port == 22 else "kubelet"
            found.append(
                Socket("LISTEN", f"*:{port}" if port != 22 else f"0.0.0.0:{port}", "*:*", name, units[unit].pid)
            )
    for sandbox in machine.runtime.sandboxes.values():
        if sandbox.host_network:
            for container in sandbox.containers.values():
                found += [Socket("LISTEN", f"*:{port}", "*:*", container.spec.name, container.pid)
                          for port in container.spec.ports if container.running]  # fmt: skip
    kubelet = units["kubelet.service"]
    if kubelet.active:
        server = next((a for a, n in machine.network.nodes.items() if "control-plane" in n), machine.address)
        for number in range(2):
            port = 33210 + 2 * (kubelet.pid + number) % 20000
            found.append(Socket("ESTAB", f"{machine.address}:{port}", f"{server}:6443", "kubelet", kubelet.pid))
    return found


def _ss(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    letters = "".join(word[1:] for word in args if word.startswith("-") and not word.startswith("--"))
    if "s" in letters or "--summary" in args:
        return ExecResult(_summary(machine))
    wanted = ("LISTEN",) if "l" in letters else ("LISTEN", "ESTAB") if "a" in letters else ("ESTAB",)
    process = "Process" if "p" in letters else ""
    head = f"{'State':<9}{'Recv-Q':<7}{'Send-Q':<7}{'Local Address:Port':>22} {'Peer Address:Port':>22}{process}\n"
    lines = [head]
    backlog = machine.os.sysctls.get("net.core.somaxconn")
    for one in sockets(machine):
        if one.state in wanted:
            who = f' users:(("{one.name}",pid={one.pid},fd=7))' if "p" in letters else ""
            send = backlog if one.state == "LISTEN" else "0"
            lines.append(f"{one.state:<9}{'0':<7}{send:<7}{one.here:>22} {one.there:>22}{who}\n")
            if "i" in letters and one.state == "ESTAB":
                lines.append(_details(machine))
    return ExecResult("".join(lines))


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


def _nstat(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    every = any(word.startswith("-") and "z" in word for word in args)
    words = [word for word in args if not word.startswith("-")]
    lines = ["#kernel\n"]
    for name, value in snmp.values(machine).items():
        if words and not any(name == word or (word.endswith("*") and name.startswith(word[:-1])) for word in words):
            continue
        if value or every or words:
            lines.append(f"{name:<32}{value:<19}0.0\n")
    return ExecResult("".join(lines))


def _netstat(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    letters = "".join(word[1:] for word in args if word.startswith("-"))
    found = snmp.values(machine)
    if "s" in letters:
        tcp = "".join(f"    {found[name]} {text}\n" for name, text in _FREE_TEXT.items())
        extended = "".join(f"    {text.format(found[name])}\n" for name, text in _EXTENDED_TEXT.items() if found[name])
        return ExecResult(f"Tcp:\n{tcp}TcpExt:\n{extended}")
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
    return ExecResult("".join(lines))


TOOLS = {"netstat": _netstat, "nstat": _nstat, "ss": _ss}
