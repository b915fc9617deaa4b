"""Network counters of a node: `/proc/net/snmp`, `/proc/net/netstat`, `nstat`, `netstat -s`.

Sums over the node and the pods on it of what the kernel, its tables and its interface have counted: connections that
daemons and programs open and accept, segments that cross the interface or stay inside, what lost ones cost, resets.
Losses are repaired as `links.tcp` reckons: requests and answers fit into single segments, so that the retransmission
timer repairs them. Left out: namespaces (pods have counters of their own), the parts about IP, ICMP and UDP.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.models.machine.machine import Machine

#: Segments of one short connection in each direction: three to open and close it, request, answer, acknowledgements.
SEGMENTS_A_CONNECTION = 5
TCP = ("ActiveOpens", "PassiveOpens", "AttemptFails", "EstabResets", "CurrEstab", "InSegs", "OutSegs", "RetransSegs",
       "InErrs", "OutRsts", "InCsumErrors")  # fmt: skip
EXT = ("TCPTimeouts", "TCPLossProbes", "TCPLostRetransmit", "TCPFastRetrans", "TCPSynRetrans", "ListenOverflows",
       "ListenDrops", "TCPReqQFullDoCookies", "TW", "TCPAbortOnTimeout")  # fmt: skip


class Sockets(NamedTuple):
    """TCP sockets of a machine: established, in TIME_WAIT, listening."""

    established: int
    time_wait: int
    listening: int


def sockets(machine: Machine) -> Sockets:
    """Sockets of the node and of its pods."""
    running = [container.state for container in machine.runtime.containers()].count("running")
    held = machine.os.descriptors.all_sockets()
    return Sockets(14 + held, int(machine.os.ports.all_time_wait()), 6 + running)


def values(machine: Machine, now: Sockets | None = None) -> dict[str, int]:
    """All counters by their names in nstat (`TcpRetransSegs`, `TcpExtTCPTimeouts`); `now`: if somebody has looked."""
    nic, totals = machine.nics["eth0"], machine.os.counters.totals(machine.sim.now)
    packets, repeated = nic.counters(), nic.retransmitted()
    established = (sockets(machine) if now is None else now).established

    def count(name: str) -> int:
        return totals.get(name, 0)

    opened, accepted = count("TcpActiveOpens"), count("TcpPassiveOpens")
    inside = (opened + accepted) * SEGMENTS_A_CONNECTION
    return {
        "TcpActiveOpens": opened, "TcpPassiveOpens": accepted, "TcpAttemptFails": count("TcpAttemptFails"),
        "TcpEstabResets": count("TcpEstabResets"), "TcpCurrEstab": established,
        "TcpInSegs": inside + packets["rx_packets"], "TcpOutSegs": inside + packets["tx_packets"],
        "TcpRetransSegs": repeated + count("drop"), "TcpInErrs": 0, "TcpOutRsts": count("TcpOutRsts"),
        "TcpInCsumErrors": 0,
        "TcpExtTCPTimeouts": repeated + count("drop"), "TcpExtTCPLossProbes": repeated,
        "TcpExtTCPLostRetransmit": nic.lost_again(), "TcpExtTCPFastRetrans": 0,
        "TcpExtTCPSynRetrans": count("drop"),
        "TcpExtListenOverflows": count("TcpExtListenOverflows"), "TcpExtListenDrops": count("TcpExtListenDrops"),
        "TcpExtTCPReqQFullDoCookies": count("TcpExtTCPReqQFullDoCookies"),
        "TcpExtTW": machine.os.ports.finished(),
        "TcpExtTCPAbortOnTimeout": 0,
    }  # fmt: skip


def snmp_file(machine: Machine) -> str:
    """/proc/net/snmp, its part about TCP."""
    found = values(machine)
    head = "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn " + " ".join(TCP)
    return f"{head}\nTcp: 1 200 120000 -1 " + " ".join(str(found[f"Tcp{name}"]) for name in TCP) + "\n"


def netstat_file(machine: Machine) -> str:
    """/proc/net/netstat, its part TcpExt."""
    found = values(machine)
    return "TcpExt: " + " ".join(EXT) + "\nTcpExt: " + " ".join(str(found[f"TcpExt{name}"]) for name in EXT) + "\n"


def sockstat_file(machine: Machine) -> str:
    """/proc/net/sockstat."""
    found = sockets(machine)
    used = found.established + found.listening
    tcp = f"TCP: inuse {used} orphan 0 tw {found.time_wait} alloc {used + 8} mem {used // 4 + 3}"
    rest = "UDP: inuse 6 mem 2\nUDPLITE: inuse 0\nRAW: inuse 0\nFRAG: inuse 0 memory 0\n"
    return f"sockets: used {used + 190}\n{tcp}\n{rest}"
