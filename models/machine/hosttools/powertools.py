"""`shutdown`, `poweroff`, `reboot`, `halt`: the machine goes down in an orderly way.

Format: systemd 255. Left out: a shutdown planned for later, and its cancellation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.machine.program import ExecResult

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine


def poweroff(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    """poweroff, halt: off. With -f twice the plug is pulled."""
    return _go(machine, args, reboot="--reboot" in args)


def reboot(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    """reboot: off and on again."""
    return _go(machine, args, reboot="-p" not in args and "--poweroff" not in args)


def shutdown(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    """shutdown [-h|-P|-r] [now|+0]."""
    flags = [arg for arg in args if arg.startswith("-")]
    words = [arg for arg in args if not arg.startswith("-")]
    if "-c" in flags:
        return ExecResult("")
    if words[:1] not in (["now"], ["+0"]):
        return ExecResult("", f"Failed to parse time specification: {words[0] if words else '+1'}\n", 1)
    return _go(machine, [], reboot="-r" in flags or "--reboot" in flags)


def _go(machine: Machine, args: list[str], *, reboot: bool) -> ExecResult:
    forced = args.count("-f") + args.count("--force") + 2 * args.count("-ff")
    if forced >= 2:
        machine.power.cut()
        if reboot:
            machine.power.give()
    else:
        machine.power.shut_down(reboot=reboot)
    return ExecResult("")


TOOLS = {"poweroff": poweroff, "halt": poweroff, "reboot": reboot, "shutdown": shutdown}
