"""Commands of images that show the pod's network: ip, ifconfig, route, arp, netstat, ss. Formats: BusyBox 1.36.

Left out: changes, which need NET_ADMIN, and of a privileged pod's are not modelled either: they are refused.
"""

from __future__ import annotations

from simcluster.models.machine.container import Container
from simcluster.models.machine.imagetools.call import Outcome, Tool, ToolCall, usage_error
from simcluster.models.machine.kernel import podnet

_REFUSED = "RTNETLINK answers: Operation not permitted\n"
_CHANGES = ("add", "del", "set", "replace", "change", "flush")


def _host(call: ToolCall) -> Outcome | None:
    """In the network of the node its own program answers."""
    if not call.container.sandbox.host_network:
        return None
    found: Outcome | None = call.container.machine.run(list(call.argv), call.stdin)
    return found


def ip(call: ToolCall) -> Outcome:
    """ip { addr | link | route | neigh }."""
    host = _host(call)
    if host is not None:
        return host
    options = [word for word in call.argv[1:] if word.startswith("-")]
    words = [word for word in call.argv[1:] if not word.startswith("-")]
    kind = words[0] if words else ""
    if any(word in _CHANGES for word in words[1:]):
        return Outcome(stderr=f"ip: {_REFUSED}", code=2)
    container = call.container
    brief = any(word in ("-br", "-brief") for word in options)
    if kind and "address".startswith(kind):
        if brief:
            address = f"{container.sandbox.address}/24"
            return Outcome(
                f"lo               UNKNOWN        127.0.0.1/8 ::1/128 \neth0@if7         UP             {address} \n"
            )
        return Outcome(_links(container, addresses=True))
    if kind and "link".startswith(kind):
        return Outcome(_links(container, addresses=False))
    if kind and "route".startswith(kind):
        return _routes(container, words[1:])
    if kind and "neighbour".startswith(kind):
        way = podnet.gateway(container)
        return Outcome(f"{way} dev eth0 lladdr {podnet.hardware(way)} used 0/0/0 probes 1 REACHABLE\n")
    if not kind:
        text = "Usage: ip [OPTIONS] address|route|link|tunnel|neigh|rule [ARGS]\n"
        return Outcome(stderr=f"BusyBox v1.36.1 multi-call binary.\n\n{text}", code=1)
    return usage_error(call, f"invalid argument '{kind}' to 'ip'")


def _links(container: Container, *, addresses: bool) -> str:
    own = container.sandbox.address
    lines = [
        "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN qlen 1000",
        "    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00",
    ]
    if addresses:
        lines += ["    inet 127.0.0.1/8 scope host lo", "       valid_lft forever preferred_lft forever",
                  "    inet6 ::1/128 scope host ", "       valid_lft forever preferred_lft forever"]  # fmt: skip
    lines += [
        "2: eth0@if7: <BROADCAST,MULTICAST,UP,LOWER_UP,M-DOWN> mtu 1500 qdisc noqueue state UP qlen 1000",
        f"    link/ether {podnet.hardware(own)} brd ff:ff:ff:ff:ff:ff",
    ]
    if addresses:
        lines += [f"    inet {own}/24 brd {own.rpartition('.')[0]}.255 scope global eth0",
                  "       valid_lft forever preferred_lft forever"]  # fmt: skip
    return "".join(f"{line}\n" for line in lines)


def _routes(container: Container, words: list[str]) -> Outcome:
    own, way = container.sandbox.address, podnet.gateway(container)
    if words[:1] == ["get"] and len(words) > 1:
        return Outcome(f"{words[1]} via {way} dev eth0  src {own} \n")
    net = own.rpartition(".")[0]
    link = f"{way} dev eth0 scope link  src {own} \n"
    return Outcome(f"default via {way} dev eth0 \n{net}.0/24 via {way} dev eth0  src {own} \n{link}")


def ifconfig(call: ToolCall) -> Outcome:
    """Interfaces with their counters."""
    host = _host(call)
    if host is not None:
        return host
    container, names = call.container, call.arguments
    if len(names) > 1:
        return Outcome(stderr="ifconfig: SIOCSIFADDR: Operation not permitted\n", code=1)
    if names and names[0] not in ("eth0", "lo"):
        return Outcome(stderr=f"ifconfig: {names[0]}: error fetching interface information: Device not found\n", code=1)
    own = container.sandbox.address
    received, packets, sent, out = podnet.counted(container)
    eth0 = (
        f"eth0      Link encap:Ethernet  HWaddr {podnet.hardware(own).upper()}  \n"
        f"          inet addr:{own}  Bcast:{own.rpartition('.')[0]}.255  Mask:255.255.255.0\n"
        "          UP BROADCAST RUNNING MULTICAST  MTU:1500  Metric:1\n"
        f"          RX packets:{packets} errors:0 dropped:0 overruns:0 frame:0\n"
        f"          TX packets:{out} errors:0 dropped:0 overruns:0 carrier:0\n"
        "          collisions:0 txqueuelen:1000 \n"
        f"          RX bytes:{received} ({_size(received)})  TX bytes:{sent} ({_size(sent)})\n\n"
    )
    loop = (
        "lo        Link encap:Local Loopback  \n          inet addr:127.0.0.1  Mask:255.0.0.0\n"
        "          inet6 addr: ::1/128 Scope:Host\n          UP LOOPBACK RUNNING  MTU:65536  Metric:1\n"
        "          RX packets:0 errors:0 dropped:0 overruns:0 frame:0\n"
        "          TX packets:0 errors:0 dropped:0 overruns:0 carrier:0\n          collisions:0 txqueuelen:1000 \n"
        "          RX bytes:0 (0.0 B)  TX bytes:0 (0.0 B)\n\n"
    )
    return Outcome((eth0 if names[:1] != ["lo"] else "") + (loop if names[:1] != ["eth0"] else ""))


def _size(amount: int) -> str:
    value, unit = float(amount), "B"
    for name in ("KiB", "MiB", "GiB"):
        if value >= 1024:
            value, unit = value / 1024, name
    return f"{value:.1f} {unit}"


def route(call: ToolCall) -> Outcome:
    """The kernel's routes."""
    host = _host(call)
    if host is not None:
        return host
    if any(word in ("add", "del") for word in call.arguments):
        return Outcome(stderr="route: SIOCADDRT: Operation not permitted\n", code=1)
    way, net = podnet.gateway(call.container), call.container.sandbox.address.rpartition(".")[0]
    rows = (("0.0.0.0" if call.has("n") else "default", way, "0.0.0.0", "UG"), (f"{net}.0", way, "255.255.255.0", "UG"),
            (way, "0.0.0.0" if call.has("n") else "*", "255.255.255.255", "UH"))  # fmt: skip
    head = "Kernel IP routing table\nDestination     Gateway         Genmask         Flags Metric Ref    Use Iface\n"
    return Outcome(head + "".join(f"{a:<15} {b:<15} {c:<15} {d:<5} 0      0        0 eth0\n" for a, b, c, d in rows))


def arp(call: ToolCall) -> Outcome:
    """Neighbours."""
    host = _host(call)
    if host is not None:
        return host
    way = podnet.gateway(call.container)
    return Outcome(f"? ({way}) at {podnet.hardware(way)} [ether]  on eth0\n")


def netstat(call: ToolCall) -> Outcome:
    """Sockets of the pod: -t -l -n -a -p, -r as `route`, -i as /proc/net/dev."""
    host = _host(call)
    if host is not None:
        return host
    if call.has("r"):
        return route(call)
    if call.has("i"):
        _, packets, _, out = podnet.counted(call.container)
        head = "Kernel Interface table\n"
        head += "Iface       MTU Met    RX-OK RX-ERR RX-DRP RX-OVR    TX-OK TX-ERR TX-DRP TX-OVR Flg\n"
        return Outcome(
            f"{head}eth0       1500   0 {packets:8d}      0      0      0 {out:8d}      0      0      0 BMRU\n"
            "lo        65536   0        0      0      0      0        0      0      0      0 LRU\n"
        )
    what = "only servers" if call.has("l") else "servers and established" if call.has("a") else "w/o servers"
    owner = "PID/Program name    " if call.has("p") else ""
    lines = [
        f"Active Internet connections ({what})\n",
        "Proto Recv-Q Send-Q Local Address           Foreign Address         State       " + owner + "\n",
    ]
    for one in _wanted(call, podnet.sockets(call.container), every=call.has("a")):
        here, there = (f"{address}:{port or '*'}" for address, port in (one.here, one.there))
        name = (f"{one.pid}/{one.comm}" if one.pid else "-") + " " * 4 if call.has("p") else ""
        lines.append(f"tcp        0      0 {here:<23} {there:<23} {one.state:<11} {name}\n")
    return Outcome("".join(lines))


def _wanted(call: ToolCall, sockets: list[podnet.Socket], *, every: bool) -> list[podnet.Socket]:
    if call.has("u") and not call.has("t"):
        return []
    return [one for one in sockets if every or (one.state == "LISTEN") == call.has("l")]


def ss(call: ToolCall) -> Outcome:
    """The same as iproute2 shows it."""
    host = _host(call)
    if host is not None:
        return host
    head = f"{'State':<9}{'Recv-Q':<7}{'Send-Q':<7}{'Local Address:Port':>22} {'Peer Address:Port':>22} "
    lines = [] if call.has("H") else [head + ("Process" if call.has("p") else "") + "\n"]
    backlog = call.container.machine.os.sysctls.get("net.core.somaxconn") if call.container.kernel else "4096"
    for one in _wanted(call, podnet.sockets(call.container), every=call.has("a")):
        here, there = (f"{address}:{port or '*'}" for address, port in (one.here, one.there))
        who = f'users:(("{one.comm}",pid={one.pid},fd=6))' if call.has("p") and one.pid else ""
        state, send = ("LISTEN", backlog) if one.state == "LISTEN" else ("ESTAB", "0")
        lines.append(f"{state:<9}{'0':<7}{send:<7}{here:>22} {there:>22} {who}\n")
    return Outcome("".join(lines))


TOOLS: dict[str, Tool] = {
    "arp": arp,
    "ifconfig": ifconfig,
    "ip": ip,
    "netstat": netstat,
    "route": route,
    "ss": ss,
}
