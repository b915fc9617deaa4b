"""`ipmitool`: power, sensors and event log of machines by their management controllers (`NODE-bmc`).

Format: ipmitool 1.8.19. The controllers' network is one of its own, so that they answer when the node does not.
Left out: consoles, voltages, and users: any name and password will do.
"""

from __future__ import annotations

from typing import cast

from simcluster.engine import format_rfc3339
from simcluster.models.machine.cooling import AMBIENT_C, CHASSIS_RPM, FAN_LOW
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.power import Power
from simcluster.models.userland.outcome import Outcome

_WITH_VALUE = ("-I", "-H", "-U", "-P", "-L", "-p", "-C", "-f", "-R", "-N")
_USAGE = "chassis power Commands: status, on, off, cycle, reset, diag, soft\n"


def ipmitool(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """ipmitool [-I lanplus -H NODE-bmc -U user -P password] [chassis] power status|on|off|cycle|reset|soft."""
    host, words, rest = "", [], iter(args)
    for arg in rest:
        if arg in _WITH_VALUE:
            value = next(rest, "")
            host = value if arg == "-H" else host
        elif not arg.startswith("-"):
            words.append(arg)
    there = _machine_of(machine, host)
    if there is None:
        return Outcome("", "Error: Unable to establish IPMI v2 / RMCP+ session\n", 1)
    power: Power = there.power
    if words[:1] in (["sdr"], ["sensor"]):
        return Outcome(_sensors(there, words))
    if words[:1] == ["sel"]:
        return Outcome(_events(there, words))
    if words[:1] == ["chassis"]:
        words = words[1:]
    if words[:1] == ["status"]:
        return Outcome(f"System Power         : {'on' if power.on else 'off'}\nPower Overload       : false\n")
    if words[:1] != ["power"] or len(words) != 2:
        return Outcome("", _USAGE, 1)
    return _do(power, words[1])


def _do(power: Power, what: str) -> Outcome:
    if what == "status":
        return Outcome(f"Chassis Power is {'on' if power.on else 'off'}\n")
    said = {"on": "Up/On", "off": "Down/Off", "soft": "Soft", "cycle": "Cycle", "reset": "Reset"}.get(what)
    if said is None:
        return Outcome("", _USAGE, 1)
    if what in ("cycle", "reset") and not power.on:
        text = f"Set Chassis Power Control to {said} failed: Command not supported in present state\n"
        return Outcome("", text, 1)
    if what == "soft":
        power.shut_down()
    elif what != "on":
        power.cut()
    if what in ("on", "cycle", "reset"):
        power.give()
    return Outcome(f"Chassis Power Control: {said}\n")


def _machine_of(machine: Machine, host: str) -> Machine | None:
    """The machine whose controller has this name; the machine itself without a name."""
    if not host:
        return machine
    network = machine.network
    for address, node in network.nodes.items():
        if host == f"{node}-bmc":
            found = network.sandboxes.get(address)
            return cast("Machine", found) if hasattr(found, "power") else None
    return None


#: Speed of fans below which the controller gives them up; degrees at which it complains, then is alarmed.
_FAN_LOST, _WARM, _HOT = 900, 88, 95


def _sensors(machine: Machine, words: list[str]) -> str:
    """`sdr [list|type Fan|type Temperature]` and `sensor [list]`."""
    kind = " ".join(words[1:]).lower()
    rows = []
    if "fan" not in kind:
        degrees = int(machine.cooling.temperature_c) if machine.power.on else 0
        rows.append(("CPU Temp", degrees, "degrees C", "cr" if degrees >= _HOT else "nc" if degrees >= _WARM else "ok"))
        rows.append(("Inlet Temp", int(AMBIENT_C), "degrees C", "ok"))
    if "temp" not in kind:
        speed = machine.cooling.fan_rpm
        state = "cr" if speed <= _FAN_LOST else "nc" if speed <= FAN_LOW else "ok"
        rows.append((_FAN, speed, "RPM", state))
        rows += [(f"FAN{n}", CHASSIS_RPM if machine.power.on else 0, "RPM", "ok") for n in (2, 3, 4)]
    if words[0] == "sensor":
        return "".join(f"{name:<17}| {value:<11.3f}| {unit:<11}| {state}\n" for name, value, unit, state in rows)
    return "".join(f"{name:<17}| {f'{value} {unit}':<18}| {state}\n" for name, value, unit, state in rows)


def _events(machine: Machine, words: list[str]) -> str:
    """`sel [list|elist]`: what the controller has noted; its own clock is right."""
    found = machine.sel.entries
    if words[1:2] == ["info"]:
        return f"SEL Information\nVersion          : 1.5 (v1.5, v2 compliant)\nEntries          : {len(found)}\n"
    lines = []
    for number, event in enumerate(found, 1):
        stamp = format_rfc3339(event.t_ns)
        state = "Asserted" if event.asserted else "Deasserted"
        day = f"{stamp[5:7]}/{stamp[8:10]}/{stamp[:4]}"
        lines.append(f"{number:4x} | {day} | {stamp[11:19]} UTC | {event.sensor} | {event.what} | {state}\n")
    return "".join(lines) or "SEL has no entries\n"


#: The fan of the processor.
_FAN = "FAN1"

TOOLS = {"ipmitool": ipmitool}
