"""Programs about interfaces: `ethtool`, `tc`. Formats: iproute2 6.1, ethtool 6.7 (Ubuntu 24.04).

`tc qdisc add|change|replace|del` takes netem and tbf with their common options and binds at once.
"""

from __future__ import annotations

import re

from simcluster.engine import MICROSECOND, MILLISECOND, SECOND
from simcluster.models.machine.hosttools.iptool import Interface, discipline, interfaces
from simcluster.models.machine.links.shaping import Shaping
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.outcome import Outcome

_RATES = {"bit": 1, "kbit": 1000, "mbit": 1_000_000, "gbit": 1_000_000_000}
_TIMES = {"us": MICROSECOND, "ms": MILLISECOND, "s": SECOND, "": MICROSECOND}
_DEFAULT = (
    "qdisc mq 0: dev eth0 root \n"
    "qdisc fq_codel 0: dev eth0 parent :1 limit 10240p flows 1024 quantum 1514 "
    "target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64 \n"
)


def _ethtool(machine: Machine, args: list[str], stdin: str) -> Outcome:
    words = [word for word in args if not word.startswith("-")]
    name = words[0] if words else ""
    nic = machine.nics.get(name)
    if nic is None:
        return Outcome("", "netlink error: no device matches name (offset 24)\nnetlink error: No such device\n", 1)
    if "-S" in args or "--statistics" in args:
        rows = "".join(f"     {key}: {value}\n" for key, value in nic.counters().items())
        return Outcome(f"NIC statistics:\n{rows}")
    if "-i" in args or "--driver" in args:
        version = machine.identity.kernel_version
        return Outcome(f"driver: ixgbe\nversion: {version}\nfirmware-version: 0x800007a7\nbus-info: 0000:03:00.0\n")
    speed = f"{nic.speed_mbps}Mb/s" if nic.carrier else "Unknown!"
    duplex = "Full" if nic.carrier else "Unknown! (255)"
    return Outcome(
        f"Settings for {name}:\n\tSupported ports: [ FIBRE ]\n\tSupported link modes:   10000baseT/Full\n"
        f"\tSpeed: {speed}\n\tDuplex: {duplex}\n\tAuto-negotiation: on\n\tPort: FIBRE\n"
        f"\tLink detected: {'yes' if nic.carrier else 'no'}\n"
    )


def _tc(machine: Machine, args: list[str], stdin: str) -> Outcome:
    flags = [word for word in args if word.startswith("-")]
    wrong = next((word for word in flags if word not in ("-s", "-statistics", "-stats", "-d", "-p", "-g", "-c")), "")
    if wrong:
        return Outcome("", f'Option "{wrong}" is unknown, try "tc -help".\n', 255)
    words = [word for word in args if not word.startswith("-")]
    if not words or not "qdisc".startswith(words[0]):
        return Outcome("", f'Object "{words[0] if words else ""}" is unknown, try "tc help".\n', 1)
    verb = words[1] if len(words) > 1 else "show"
    device = words[words.index("dev") + 1] if "dev" in words[:-1] else ""
    known = {one.name: one for one in interfaces(machine)}
    if device and device not in known:
        return Outcome("", f'Cannot find device "{device}"\n', 1)
    if verb in ("show", "list", "ls"):
        shown = [known[device]] if device else list(known.values())
        statistics = any(word in ("-s", "-statistics", "-stats") for word in flags)
        return Outcome("".join(_shown(machine, one, statistics) for one in shown))
    place = known[device].place if device else ""
    if verb in ("del", "delete"):
        if place not in machine.network.links.shapes:
            return Outcome("", "Error: Cannot delete qdisc with handle of zero.\n", 2)
        machine.network.links.unshape(place)
        return Outcome("")
    if verb not in ("add", "change", "replace") or not place:
        return Outcome("", 'Command "' + verb + '" is unknown, try "tc qdisc help".\n', 1)
    if verb == "add" and place in machine.network.links.shapes:
        return Outcome("", "Error: Exclusivity flag on, cannot modify.\n", 2)
    shaping = _parsed(words)
    if shaping is None:
        return Outcome("", 'What is "' + words[-1] + '"?\nUsage: ... netem [ limit PACKETS ]\n', 1)
    machine.network.links.shape(place, shaping)
    return Outcome("")


def _shown(machine: Machine, one: Interface, statistics: bool) -> str:
    shaping = machine.network.links.shapes.get(one.place) if one.place else None
    sent = _sent(machine, one, shaping) if statistics else ""
    if shaping is None:
        if one.nic is not None:
            lines = _DEFAULT.splitlines(keepends=True)
            return "".join(line + sent for line in lines)
        return f"qdisc noqueue 0: dev {one.name} root refcnt 2 \n{sent}"
    if discipline(machine, one) == "tbf":
        return (
            f"qdisc tbf 8001: dev {one.name} root refcnt 2 rate {_rate(shaping.rate_bps)} burst 32Kb lat 400ms \n{sent}"
        )
    text = f"qdisc netem 8001: dev {one.name} root refcnt 2 limit {shaping.limit}"
    if shaping.delay_ns:
        text += f" delay {_time(shaping.delay_ns)}" + (f"  {_time(shaping.jitter_ns)}" if shaping.jitter_ns else "")
    if shaping.loss:
        text += f" loss {100.0 * shaping.loss:g}%"
    if shaping.rate_bps:
        text += f" rate {_rate(shaping.rate_bps)}"
    return text + "\n" + sent


def _sent(machine: Machine, one: Interface, shaping: Shaping | None) -> str:
    """What -s adds: of the card by its counters; of a pod's end nothing is counted."""
    n = one.nic.counters() if one.nic is not None else {"tx_bytes": 0, "tx_packets": 0}
    dropped = int(n["tx_packets"] * shaping.loss) if shaping is not None else 0
    return (
        f" Sent {n['tx_bytes']} bytes {n['tx_packets']} pkt (dropped {dropped}, overlimits 0 requeues 0) \n"
        " backlog 0b 0p requeues 0\n"
    )


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


TOOLS = {"ethtool": _ethtool, "tc": _tc}
