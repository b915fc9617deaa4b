"""A pod's network namespace: its interface, routes, neighbours and sockets, and the files of /proc/net.

Listening are the ports on which its programs accept connections, established the connections that stay open between it
and others (`Network.conversations`). The plugin is ptp: the gateway is the node's end of the pair. Left out: IPv6, UDP.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.models.machine.container import Container
from simcluster.models.machine.links.conversation import OK

PATHS = tuple(f"/proc/net/{name}" for name in ("arp", "dev", "route", "tcp"))
#: Ports that somebody may have opened without a declaration (a probe of all 65535 would tell the same).
_USUAL = (80, 443, 3000, 3306, 5432, 5672, 6379, 8000, 8080, 8081, 8443, 8888, 9000, 9090, 9100, 9200, 11211, 27017)
_MOST = 64


class Socket(NamedTuple):
    """A socket: state, ends, and the main process whose it is."""

    state: str
    here: tuple[str, int]
    there: tuple[str, int]
    comm: str
    pid: int


def hardware(address: str) -> str:
    """The address of its interface."""
    return "02:42:" + ":".join(f"{int(part):02x}" for part in address.split("."))


def gateway(container: Container) -> str:
    """Where its default route leads: the first address of the node's pods."""
    return container.sandbox.address.rpartition(".")[0] + ".1"


def counted(container: Container) -> tuple[int, int, int, int]:
    """Bytes and packets in, bytes and packets out."""
    veth = container.sandbox.veth
    return (0, 0, 0, 0) if veth is None else veth.counted(container.sim.now)


def sockets(container: Container) -> list[Socket]:
    """Sockets of all containers of the pod, listening ones first."""
    sandbox = container.sandbox
    found = []
    for one in sandbox.containers.values():
        if one.running:
            ports = dict.fromkeys((*one.spec.ports, *_USUAL))
            pid = 1 if one is container else 0
            found += [
                Socket("LISTEN", ("0.0.0.0", port), ("0.0.0.0", 0), one.comm, pid)
                for port in sorted(ports)
                if one.program.listens_on(port)
            ]
    key = container.sim.streams.key("sockets", sandbox.address)
    for number, talk in enumerate(container.machine.network.conversations()):
        if talk.outcome != OK or talk.opening >= 1.0 or len(found) > _MOST:
            continue
        port = 32768 + (key + number * 7919) % 28232
        pid = 1
        if talk.source == sandbox.address:
            found.append(Socket("ESTABLISHED", (sandbox.address, port), talk.asked, container.comm, pid))
        elif talk.answering[0] == sandbox.address:
            found.append(Socket("ESTABLISHED", talk.answering, (talk.source, port), container.comm, pid))
    return found


def file_of(container: Container, path: str) -> str | None:
    """Text of a file of /proc/net; None if there is none of that name."""
    if container.sandbox.host_network:
        host: str | None = container.machine.file(path)
        return host
    name = path.removeprefix("/proc/net/")
    if name == "dev":
        received, packets, sent, out = counted(container)
        return (
            "Inter-|   Receive                                                |  Transmit\n"
            " face |bytes    packets errs drop fifo frame compressed multicast"
            "|bytes    packets errs drop fifo colls carrier compressed\n"
            "    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0"
            "       0          0\n"
            f"  eth0: {received:7d} {packets:7d}    0    0    0     0          0         0 {sent:8d} {out:7d}    0    0"
            "    0     0       0          0\n"
        )
    if name == "route":
        head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
        way = _hex(gateway(container))
        net = _hex(container.sandbox.address.rpartition(".")[0] + ".0")
        rows = (f"eth0\t00000000\t{way}\t0003\t0\t0\t0\t00000000\t0\t0\t0", f"eth0\t{net}\t{way}\t0003\t0\t0\t0\t"
                "00FFFFFF\t0\t0\t0", f"eth0\t{way}\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0")  # fmt: skip
        return "".join(f"{line:<127}\n" for line in (head, *rows))
    if name == "arp":
        way = gateway(container)
        return (
            "IP address       HW type     Flags       HW address            Mask     Device\n"
            f"{way:<16} 0x1         0x2         {hardware(way)}     *        eth0\n"
        )
    return _tcp(container) if name == "tcp" else None


def _hex(address: str) -> str:
    return "".join(f"{int(part):02X}" for part in reversed(address.split(".")))


def _tcp(container: Container) -> str:
    lines = [
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
        + " " * 53
        + "\n"
    ]
    for number, one in enumerate(sockets(container)):
        state = "0A" if one.state == "LISTEN" else "01"
        here, there = (f"{_hex(address)}:{port:04X}" for address, port in (one.here, one.there))
        row = f"{number:4d}: {here} {there} {state} 00000000:00000000 00:00000000 00000000 {container.uid:5d}        0 "
        lines.append(f"{row}{20_000 + number} 1 0000000000000000 100 0 0 10 0".ljust(149) + "\n")
    return "".join(lines)
