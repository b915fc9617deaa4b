"""Network counters of a node: `/proc/net/snmp`, `/proc/net/netstat`, `nstat`, `netstat -s`.

Traffic of the node itself grows with its uptime; losses on its links and full tables add theirs.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import SECOND
from simcluster.models.machine.machine import Machine

#: Segments a second of a node at rest, and connections it opens and accepts.
_SEGMENTS_PER_S = 42
_OPENED_PER_S, _ACCEPTED_PER_S = 0.9, 0.5
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
    running = sum(1 for container in machine.runtime.containers() if container.running)
    held = machine.os.descriptors.all_sockets()
    return Sockets(14 + held, int(machine.os.ports.all_time_wait()), 6 + running)


def values(machine: Machine) -> dict[str, int]:
    """All counters by their names in nstat (`TcpRetransSegs`, `TcpExtTCPTimeouts`)."""
    nic, up = machine.nics["eth0"], (machine.sim.now - machine.booted_ns) // SECOND
    packets = nic.counters()
    lost = 1.0 - (1.0 - nic.loss) * (1.0 - nic.big_loss / 2.0)
    retransmitted = nic.retransmitted() + up // 900
    sent = up * _SEGMENTS_PER_S + packets["tx_packets"]
    opened = int(up * _OPENED_PER_S)
    found = {
        "TcpActiveOpens": opened, "TcpPassiveOpens": int(up * _ACCEPTED_PER_S), "TcpAttemptFails": opened // 40,
        "TcpEstabResets": opened // 60, "TcpCurrEstab": sockets(machine).established,
        "TcpInSegs": up * _SEGMENTS_PER_S + packets["rx_packets"], "TcpOutSegs": sent,
        "TcpRetransSegs": retransmitted, "TcpInErrs": 0, "TcpOutRsts": opened // 20, "TcpInCsumErrors": 0,
        "TcpExtTCPTimeouts": retransmitted // 3, "TcpExtTCPLossProbes": retransmitted // 2,
        "TcpExtTCPLostRetransmit": int(retransmitted * lost), "TcpExtTCPFastRetrans": retransmitted // 6,
        "TcpExtTCPSynRetrans": retransmitted // 12 + machine.os.counter("drop"),
        "TcpExtListenOverflows": machine.os.counter("TcpExtListenOverflows"),
        "TcpExtListenDrops": machine.os.counter("TcpExtListenDrops"),
        "TcpExtTCPReqQFullDoCookies": machine.os.counter("TcpExtListenOverflows"),
        "TcpExtTW": opened // 2, "TcpExtTCPAbortOnTimeout": retransmitted // 400,
    }  # fmt: skip
    return found


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
