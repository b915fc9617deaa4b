"""`ipmitool`: power of other machines by their management controllers (`NODE-bmc`). Format: ipmitool 1.8.19.

The controllers' network is one of its own, so that they answer when the node does not. Left out: sensors,
the event log, consoles, and users: any name and password will do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.machine.power import Power
from simcluster.models.machine.program import ExecResult

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine

_WITH_VALUE = ("-I", "-H", "-U", "-P", "-L", "-p", "-C", "-f", "-R", "-N")
_USAGE = "chassis power Commands: status, on, off, cycle, reset, diag, soft\n"


def ipmitool(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    """ipmitool [-I lanplus -H NODE-bmc -U user -P password] [chassis] power status|on|off|cycle|reset|soft."""
    host, words, rest = "", [], iter(args)
    for arg in rest:
        if arg in _WITH_VALUE:
            value = next(rest, "")
            host = value if arg == "-H" else host
        elif not arg.startswith("-"):
            words.append(arg)
    power = _power_of(machine, host)
    if power is None:
        return ExecResult("", "Error: Unable to establish IPMI v2 / RMCP+ session\n", 1)
    if words[:1] == ["chassis"]:
        words = words[1:]
    if words[:1] == ["status"]:
        return ExecResult(f"System Power         : {'on' if power.on else 'off'}\nPower Overload       : false\n")
    if words[:1] != ["power"] or len(words) != 2:
        return ExecResult("", _USAGE, 1)
    return _do(power, words[1])


def _do(power: Power, what: str) -> ExecResult:
    if what == "status":
        return ExecResult(f"Chassis Power is {'on' if power.on else 'off'}\n")
    said = {"on": "Up/On", "off": "Down/Off", "soft": "Soft", "cycle": "Cycle", "reset": "Reset"}.get(what)
    if said is None:
        return ExecResult("", _USAGE, 1)
    if what in ("cycle", "reset") and not power.on:
        text = f"Set Chassis Power Control to {said} failed: Command not supported in present state\n"
        return ExecResult("", text, 1)
    if what == "soft":
        power.shut_down()
    elif what != "on":
        power.cut()
    if what in ("on", "cycle", "reset"):
        power.give()
    return ExecResult(f"Chassis Power Control: {said}\n")


def _power_of(machine: Machine, host: str) -> Power | None:
    """The power of the machine whose controller has this name; the machine's own without a name."""
    if not host:
        return machine.power
    network = machine.network
    for address, node in network.nodes.items():
        if host == f"{node}-bmc":
            power: Power | None = getattr(network.sandboxes.get(address), "power", None)
            return power
    return None


TOOLS = {"ipmitool": ipmitool}
