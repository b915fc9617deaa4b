"""`ip`: interfaces, addresses, routes and neighbours. Format: iproute2 6.1 (Ubuntu 24.04).

Left out: changes but of the card and of routes to pods, IPv6, rules, namespaces, JSON.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import SECOND
from simcluster.models.machine.links.nic import Nic
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.outcome import Outcome

_FLAGS = {"-s": "s", "-stats": "s", "-statistics": "s", "-br": "br", "-brief": "br", "-4": "4", "-6": "6", "-d": "d",
          "-details": "d", "-o": "o", "-oneline": "o", "-c": "c", "-color": "c", "-h": "h", "-human": "h", "-r": "r",
          "-p": "p"}  # fmt: skip
#: Verbs that change something; what is changed of addresses and neighbours is left out.
_CHANGES = ("add", "append", "replace", "change", "del", "delete", "set")
#: States of a neighbour (arp(7), Documentation/networking/ip-sysctl.rst) by how long it has been silent: it counts as
#: reachable for base_reachable_time 30 s; somebody who sends to it then waits for delay_first_probe_time 5 s, asks it
#: ucast_solicit 3 times and everybody mcast_solicit 3 times, retrans_time 1 s apart.
_SILENT = (
    (30 * SECOND, "REACHABLE"),
    (35 * SECOND, "DELAY"),
    (38 * SECOND, "PROBE"),
    (41 * SECOND, "INCOMPLETE"),
)


class Interface(NamedTuple):
    """One interface: `place` is where it can be shaped (a node's name, a pod's address, "" for lo)."""

    number: int
    name: str
    place: str
    nic: Nic | None = None


def interfaces(machine: Machine) -> list[Interface]:
    """The node's interfaces: lo, its card, and the node's ends of its pods' pairs."""
    found = [Interface(1, "lo", ""), Interface(2, "eth0", machine.name, machine.nics["eth0"])]
    for number, sandbox in enumerate((s for s in machine.runtime.sandboxes.values() if not s.host_network), 3):
        found.append(Interface(number, f"veth{sandbox.sandbox_id[:8]}", sandbox.address))
    return found


def discipline(machine: Machine, one: Interface) -> str:
    """Name of the queueing discipline at the way out."""
    shaping = machine.network.links.shapes.get(one.place) if one.place else None
    if shaping is None:
        return "mq" if one.nic is not None else "noqueue"
    return "tbf" if shaping.rate_bps and not shaping.delay_ns and not shaping.loss else "netem"


def ip(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """ip [OPTIONS] { address | link | route | neighbour } [show] [dev NAME]."""
    options = [word for word in args if word.startswith("-")]
    wrong = next((word for word in options if word not in _FLAGS), "")
    if wrong:
        return Outcome("", f'Option "{wrong}" is unknown, try "ip -help".\n', 255)
    flags = [_FLAGS[word] for word in options]
    words = [word for word in args if not word.startswith("-")]
    kind = words.pop(0) if words else ""
    if words[:1] and words[0] in _CHANGES and kind and ("route".startswith(kind) or "link".startswith(kind)):
        return _change_route(machine, words) if "route".startswith(kind) else _change_link(machine, words)
    verb = words.pop(0) if words and words[0] in ("show", "list", "ls", "s", "l", "get") else "show"
    if words and words[0] not in ("dev", "up", "master", "type", "to", "table", "default", "main", "all") and (
        kind in ("route", "r", "ro") or words[0] not in [one.name for one in interfaces(machine)]
    ) and verb != "get":  # fmt: skip
        known = "address".startswith(kind) or "link".startswith(kind)
        if known and words[0] not in ("add", "del", "set", "replace", "flush", "change"):
            return Outcome("", f'Device "{words[0]}" does not exist.\n', 1)
        return Outcome("", f'Command "{words[0]}" is unknown, try "ip {kind} help".\n', 255)
    device = words[words.index("dev") + 1] if "dev" in words[:-1] else words[0] if words and kind[:1] in "al" else ""
    shown = [one for one in interfaces(machine) if not device or device in (one.name, "up")]
    if not shown:
        return Outcome("", f'Device "{device}" does not exist.\n', 1)
    if kind and "address".startswith(kind):
        return Outcome("".join(_brief(machine, o, True) if "br" in flags else _address(machine, o) for o in shown))
    if kind and "link".startswith(kind):
        plain = [_link(machine, one, "s" in flags) for one in shown]
        return Outcome("".join([_brief(machine, one, False) for one in shown] if "br" in flags else plain))
    if kind and "route".startswith(kind):
        return _routes(machine, verb, words)
    if kind and ("neighbour".startswith(kind) or "neighbor".startswith(kind)):
        others = [address for address in machine.network.nodes if address != machine.address]
        return Outcome("".join(_neighbour(machine, address) for address in others))
    if kind and "rule".startswith(kind):
        return Outcome("0:\tfrom all lookup local\n32766:\tfrom all lookup main\n32767:\tfrom all lookup default\n")
    return Outcome("", f'Object "{kind}" is unknown, try "ip help".\n', 1)


def hardware(address: str) -> str:
    """The card's address of a node's address."""
    return "02:42:" + ":".join(f"{int(part):02x}" for part in address.split("."))


def _neighbour(machine: Machine, address: str) -> str:
    """What the kernel knows of another node on its network: nodes talk to each other all the time."""
    power = getattr(machine.network.sandboxes.get(address), "power", None)
    silent_ns = 0 if power is None or power.stopped_ns < 0 else machine.sim.now - power.stopped_ns
    state = next((state for limit_ns, state in _SILENT if silent_ns <= limit_ns), "FAILED")
    known = "" if state in ("INCOMPLETE", "FAILED") else f"lladdr {hardware(address)} "
    return f"{address} dev eth0 {known}{state} \n"


def _head(machine: Machine, one: Interface) -> str:
    if one.name == "lo":
        return "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN"
    up = one.nic is None or one.nic.carrier
    flags = "BROADCAST,MULTICAST,UP,LOWER_UP" if up else "NO-CARRIER,BROADCAST,MULTICAST,UP"
    name = one.name if one.nic is not None else f"{one.name}@if2"
    return f"{one.number}: {name}: <{flags}> mtu 1500 qdisc {discipline(machine, one)} state {'UP' if up else 'DOWN'}"


def _ether(machine: Machine, one: Interface) -> str:
    if one.name == "lo":
        return "    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n"
    peer = f" link-netns cni-{one.name[4:]}" if one.nic is None else ""
    return f"    link/ether {hardware(one.place if one.nic is None else one.nic.address)} brd ff:ff:ff:ff:ff:ff{peer}\n"


def _nets(machine: Machine, one: Interface) -> list[tuple[str, str]]:
    """Addresses with their lengths, and what follows them."""
    if one.name == "lo":
        return [("127.0.0.1/8", "scope host lo")]
    if one.nic is None:
        return []
    broadcast = f"{'.'.join(one.nic.address.split('.')[:2])}.255.255"
    return [(f"{one.nic.address}/16", f"brd {broadcast} scope global eth0")]


def _address(machine: Machine, one: Interface) -> str:
    text = f"{_head(machine, one)} group default qlen 1000\n{_ether(machine, one)}"
    for net, rest in _nets(machine, one):
        text += f"    inet {net} {rest}\n       valid_lft forever preferred_lft forever\n"
    return text


def _brief(machine: Machine, one: Interface, addresses: bool) -> str:
    up = one.nic is None or one.nic.carrier
    state = "UNKNOWN" if one.name == "lo" else "UP" if up else "DOWN"
    name = one.name if one.name == "lo" or one.nic is not None else f"{one.name}@if2"
    if addresses:
        return f"{name:<16} {state:<14} {' '.join(net for net, _ in _nets(machine, one))} \n"
    mac = "00:00:00:00:00:00" if one.name == "lo" else hardware(one.place if one.nic is None else one.nic.address)
    return f"{name:<16} {state:<14} {mac} <{_head(machine, one).partition('<')[2].partition('>')[0]}> \n"


def _link(machine: Machine, one: Interface, statistics: bool) -> str:
    text = f"{_head(machine, one)} mode DEFAULT group default qlen 1000\n{_ether(machine, one)}"
    if not statistics:
        return text
    zero = dict.fromkeys(machine.nics["eth0"].counters(), 0)
    n, lost = (zero, 0) if one.nic is None else (one.nic.counters(), one.nic.carrier_changes - 1)
    return (
        text + "    RX:  bytes packets errors dropped  missed   mcast           \n"
        f"    {n['rx_bytes']:>10} {n['rx_packets']:>7} {n['rx_errors']:>6} {n['rx_dropped']:>7} {0:>7} {0:>7} \n"
        "    TX:  bytes packets errors dropped carrier collsns           \n"
        f"    {n['tx_bytes']:>10} {n['tx_packets']:>7} {n['tx_errors']:>6} {n['tx_dropped']:>7} {lost:>7} {0:>7} \n"
    )


def _routes(machine: Machine, verb: str, words: list[str]) -> Outcome:
    pods = [one for one in interfaces(machine) if one.nic is None and one.place]
    net = machine.address.split(".")
    gateway = f"{'.'.join(net[:3])}.1"
    if verb == "get":
        wanted = words[0] if words else ""
        near = next((one.name for one in pods if one.place == wanted), "")
        if wanted.count(".") != 3:
            return Outcome("", f'Error: any valid prefix is expected rather than "{wanted}".\n', 1)
        inside = wanted.split(".")[:2] == net[:2]
        way = f"dev {near}" if near else "dev eth0" if inside else f"via {gateway} dev eth0"
        return Outcome(f"{wanted} {way} src {machine.address} uid 0 \n    cache \n")
    lines = [f"default via {gateway} dev eth0 \n"]
    lines += [f"{cidr} via {address} dev eth0 \n" for cidr, address in routes(machine).items()]
    lines += [f"{one.place} dev {one.name} scope host \n" for one in pods]
    lines.append(f"{net[0]}.{net[1]}.0.0/16 dev eth0 proto kernel scope link src {machine.address} \n")
    return Outcome("".join(lines))


def _cidr(address: str) -> str:
    """The pods of the node with this address."""
    return f"10.244.{max(0, int(address.rpartition('.')[2]) - 2)}.0/24"


def routes(machine: Machine) -> dict[str, str]:
    """The routes to the pods of other nodes: network -> address of the node."""
    gone = machine.network.links.removed.get(machine.name, ())
    return {
        _cidr(address): address for address, name in machine.network.nodes.items() if name not in (machine.name, *gone)
    }


def route(machine: Machine, net: str, *, there: bool) -> bool:
    """Take a route to the pods of another node away, or give it back; whether it was otherwise."""
    links = machine.network.links
    name = next((name for at, name in machine.network.nodes.items() if _cidr(at) == net and name != machine.name), "")
    gone = links.removed.get(machine.name, ())
    if not name or (name not in gone) == there:
        return False
    links.remove(machine.name, tuple(one for one in gone if one != name) if there else (*gone, name))
    return True


def _change_route(machine: Machine, words: list[str]) -> Outcome:
    """ip route {add|replace|change|del} NET [via ADDRESS] [dev NAME]; of routes to pods of other nodes."""
    verb, net = words[0], words[1] if len(words) > 1 else ""
    right = next((at for at in machine.network.nodes if _cidr(at) == net and at != machine.address), "")
    via = words[words.index("via") + 1] if "via" in words[:-1] else ""
    if verb.startswith("d"):
        there = right and (not via or via == right) and route(machine, net, there=False)
        return Outcome() if there else Outcome("", "RTNETLINK answers: No such process\n", 2)
    if not right or (via and via != right):
        return Outcome("", "Error: Nexthop has invalid gateway.\n", 2)
    if not route(machine, net, there=True) and verb == "add":
        return Outcome("", "RTNETLINK answers: File exists\n", 2)
    return Outcome()


def _change_link(machine: Machine, words: list[str]) -> Outcome:
    """ip link set [dev] eth0 {up|down}."""
    rest = [word for word in words[1:] if word != "dev"]
    nic = machine.nics.get(rest[0]) if rest else None
    if nic is None:
        return Outcome("", f'Cannot find device "{rest[0] if rest else ""}"\n', 1)
    if rest[1:] not in (["up"], ["down"]):
        return Outcome("", "RTNETLINK answers: Operation not supported\n", 2)
    if rest[1] == "up":
        nic.repair()
    else:
        nic.cut()
    return Outcome()


TOOLS = {"ip": ip}
