"""Programs about interfaces: `ip`, `ethtool`, `tc`. Formats: iproute2 6.1, ethtool 6.7 (Ubuntu 24.04).

`tc qdisc add|change|replace|del` takes netem and tbf with their common options and binds at once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simcluster.engine import MICROSECOND, MILLISECOND, SECOND
from simcluster.models.machine.links.nic import Nic
from simcluster.models.machine.links.shaping import Shaping
from simcluster.models.machine.program import ExecResult

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine

_RATES = {"bit": 1, "kbit": 1000, "mbit": 1_000_000, "gbit": 1_000_000_000}
_TIMES = {"us": MICROSECOND, "ms": MILLISECOND, "s": SECOND, "": MICROSECOND}
_DEFAULT = (
    "qdisc mq 0: dev eth0 root \n"
    "qdisc fq_codel 0: dev eth0 parent :1 limit 10240p flows 1024 quantum 1514 "
    "target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64 \n"
)
_LOOPBACK = "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN{group} qlen 1000\n"


def devices(machine: Machine) -> dict[str, str]:
    """Interfaces at which something can be shaped: name -> node name or pod address."""
    found = {"eth0": machine.name}
    for sandbox in machine.runtime.sandboxes.values():
        if not sandbox.host_network:
            found[f"veth{sandbox.sandbox_id[:8]}"] = sandbox.address
    return found


def _hardware(nic: Nic) -> str:
    parts = [int(part) for part in nic.address.split(".")]
    return "02:42:" + ":".join(f"{part:02x}" for part in parts)


def _flags(nic: Nic) -> str:
    return "BROADCAST,MULTICAST,UP,LOWER_UP" if nic.carrier else "NO-CARRIER,BROADCAST,MULTICAST,UP"


def _head(machine: Machine, nic: Nic) -> str:
    state = "UP" if nic.carrier else "DOWN"
    return f"2: eth0: <{_flags(nic)}> mtu 1500 qdisc {_discipline(machine, 'eth0')} state {state}"


def _ip(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    words = [word for word in args if not word.startswith("-")] or [""]
    verb = words[0]
    if verb and "address".startswith(verb):
        return ExecResult(_addresses(machine))
    if verb and "link".startswith(verb):
        return ExecResult(_links(machine, any(word in ("-s", "-stats", "-statistics") for word in args)))
    if verb and "route".startswith(verb):
        gateway = f"{machine.address.rpartition('.')[0]}.1"
        net = f"{machine.address.rpartition('.')[0].rpartition('.')[0]}.0.0/16"
        lines = [
            f"default via {gateway} dev eth0 \n",
            f"{net} dev eth0 proto kernel scope link src {machine.address} \n",
        ]
        for name, address in devices(machine).items():
            if name != "eth0":
                lines.insert(1, f"{address} dev {name} scope host \n")
        return ExecResult("".join(lines))
    return ExecResult("", f'Object "{verb}" is unknown, try "ip help".\n', 1)


def _addresses(machine: Machine) -> str:
    nic = machine.nics["eth0"]
    return (
        _LOOPBACK.format(group=" group default")
        + "    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n    inet 127.0.0.1/8 scope host lo\n"
        "       valid_lft forever preferred_lft forever\n"
        f"{_head(machine, nic)} group default qlen 1000\n"
        f"    link/ether {_hardware(nic)} brd ff:ff:ff:ff:ff:ff\n"
        f"    inet {nic.address}/16 brd {'.'.join(nic.address.split('.')[:2])}.255.255 scope global eth0\n"
        "       valid_lft forever preferred_lft forever\n"
    )


def _links(machine: Machine, statistics: bool) -> str:
    nic = machine.nics["eth0"]
    text = (
        _LOOPBACK.format(group=" mode DEFAULT group default")
        + "    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n"
    )
    text += f"{_head(machine, nic)} mode DEFAULT group default qlen 1000\n"
    text += f"    link/ether {_hardware(nic)} brd ff:ff:ff:ff:ff:ff\n"
    if statistics:
        n, lost = nic.counters(), nic.carrier_changes - 1
        text += "    RX:  bytes packets errors dropped  missed   mcast           \n"
        text += (
            f"    {n['rx_bytes']:>10} {n['rx_packets']:>7} {n['rx_errors']:>6} {n['rx_dropped']:>7} {0:>7} {0:>7} \n"
        )
        text += "    TX:  bytes packets errors dropped carrier collsns           \n"
        text += (
            f"    {n['tx_bytes']:>10} {n['tx_packets']:>7} {n['tx_errors']:>6} {n['tx_dropped']:>7} {lost:>7} {0:>7} \n"
        )
    return text


def _discipline(machine: Machine, device: str) -> str:
    shaping = machine.network.links.shapes.get(devices(machine).get(device, ""))
    if shaping is None:
        return "mq" if device == "eth0" else "noqueue"
    return "tbf" if shaping.rate_bps and not shaping.delay_ns and not shaping.loss else "netem"


def _ethtool(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    words = [word for word in args if not word.startswith("-")]
    name = words[0] if words else ""
    nic = machine.nics.get(name)
    if nic is None:
        return ExecResult("", "netlink error: no device matches name (offset 24)\nnetlink error: No such device\n", 1)
    if "-S" in args or "--statistics" in args:
        rows = "".join(f"     {key}: {value}\n" for key, value in nic.counters().items())
        return ExecResult(f"NIC statistics:\n{rows}")
    if "-i" in args or "--driver" in args:
        version = machine.identity.kernel_version
        return ExecResult(f"driver: ixgbe\nversion: {version}\nfirmware-version: 0x800007a7\nbus-info: 0000:03:00.0\n")
    speed = f"{nic.speed_mbps}Mb/s" if nic.carrier else "Unknown!"
    duplex = "Full" if nic.carrier else "Unknown! (255)"
    return ExecResult(
        f"Settings for {name}:\n\tSupported ports: [ FIBRE ]\n\tSupported link modes:   10000baseT/Full\n"
        f"\tSpeed: {speed}\n\tDuplex: {duplex}\n\tAuto-negotiation: on\n\tPort: FIBRE\n"
        f"\tLink detected: {'yes' if nic.carrier else 'no'}\n"
    )


def _tc(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    words = [word for word in args if not word.startswith("-")]
    if words[:1] != ["qdisc"]:
        return ExecResult("", f'Object "{words[0] if words else ""}" is unknown, try "tc help".\n', 1)
    verb = words[1] if len(words) > 1 else "show"
    device = words[words.index("dev") + 1] if "dev" in words[:-1] else ""
    known = devices(machine)
    if device and device not in known and device != "lo":
        return ExecResult("", f'Cannot find device "{device}"\n', 1)
    if verb in ("show", "list", "ls"):
        names = [device] if device else ["lo", *known]
        return ExecResult("".join(_shown(machine, name) for name in names))
    place = known.get(device, "")
    if verb in ("del", "delete"):
        if place not in machine.network.links.shapes:
            return ExecResult("", "Error: Cannot delete qdisc with handle of zero.\n", 2)
        machine.network.links.unshape(place)
        return ExecResult("")
    if verb not in ("add", "change", "replace") or not place:
        return ExecResult("", 'Command "' + verb + '" is unknown, try "tc qdisc help".\n', 1)
    if verb == "add" and place in machine.network.links.shapes:
        return ExecResult("", "Error: Exclusivity flag on, cannot modify.\n", 2)
    shaping = _parsed(words)
    if shaping is None:
        return ExecResult("", 'What is "' + words[-1] + '"?\nUsage: ... netem [ limit PACKETS ]\n', 1)
    machine.network.links.shape(place, shaping)
    return ExecResult("")


def _shown(machine: Machine, device: str) -> str:
    shaping = machine.network.links.shapes.get(devices(machine).get(device, ""))
    if shaping is None:
        if device == "eth0":
            return _DEFAULT
        return f"qdisc noqueue 0: dev {device} root refcnt 2 \n"
    if _discipline(machine, device) == "tbf":
        return f"qdisc tbf 8001: dev {device} root refcnt 2 rate {_rate(shaping.rate_bps)} burst 32Kb lat 400ms \n"
    text = f"qdisc netem 8001: dev {device} root refcnt 2 limit {shaping.limit}"
    if shaping.delay_ns:
        text += f" delay {_time(shaping.delay_ns)}" + (f"  {_time(shaping.jitter_ns)}" if shaping.jitter_ns else "")
    if shaping.loss:
        text += f" loss {100.0 * shaping.loss:g}%"
    if shaping.rate_bps:
        text += f" rate {_rate(shaping.rate_bps)}"
    return text + "\n"


def _rate(bits: int) -> str:
    for name in ("gbit", "mbit", "kbit"):
        if bits % _RATES[name] == 0 and bits >= _RATES[name]:
            return f"{bits // _RATES[name]}{name.capitalize()}"
    return f"{bits}bit"


def _time(span_ns: int) -> str:
    return f"{span_ns // MILLISECOND}ms" if span_ns % MILLISECOND == 0 else f"{span_ns // MICROSECOND}us"


def _parsed(words: list[str]) -> Shaping | None:
    """The discipline that words describe; None if they are not understood."""
    if "netem" not in words and "tbf" not in words:
        return None
    rest = words[words.index("netem" if "netem" in words else "tbf") + 1 :]
    delay = jitter = rate = 0
    loss, limit = 0.0, 1000
    while rest:
        word = rest.pop(0)
        if word in ("delay", "latency", "lat") and rest:
            value = _span(rest.pop(0)) or 0
            delay = value if word == "delay" else delay  # tbf's latency is the length of its queue
            if rest and _span(rest[0]) is not None and word == "delay":
                jitter = _span(rest.pop(0)) or 0
        elif word == "loss" and rest:
            rest = rest[1:] if rest[0] == "random" else rest
            loss = float(rest.pop(0).rstrip("%")) / 100.0
        elif word == "rate" and rest:
            match = re.fullmatch(r"(\d+)(bit|kbit|mbit|gbit)", rest.pop(0).lower())
            if match is None:
                return None
            rate = int(match[1]) * _RATES[match[2]]
        elif word == "limit" and rest:
            limit = int(re.sub(r"\D", "", rest.pop(0)) or 1000)
        elif word in ("burst", "buffer", "distribution", "minburst") and rest:
            rest.pop(0)
        else:
            return None
    try:
        return Shaping(delay, jitter, loss, rate, limit)
    except ValueError:
        return None


def _span(word: str) -> int | None:
    match = re.fullmatch(r"(\d+)(us|ms|s|)", word)
    return None if match is None else int(match[1]) * _TIMES[match[2]]


TOOLS = {"ethtool": _ethtool, "ip": _ip, "tc": _tc}
