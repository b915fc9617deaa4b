"""`shutdown`, `poweroff`, `reboot`, `halt`: the machine goes down in an orderly way.

Format: systemd 255. A shutdown without a time comes after a minute, as systemd's does.
"""

from __future__ import annotations

import re

from simcluster.engine import MINUTE, SECOND, format_rfc3339
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.power import ScheduledShutdown
from simcluster.models.userland.outcome import Outcome

DAY = 24 * 60 * MINUTE
_MINUTES = re.compile(r"\+?\d{1,7}")


def poweroff(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """poweroff, halt: off. With -f twice the plug is pulled."""
    return _go(machine, args, reboot="--reboot" in args)


def reboot(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """reboot: off and on again."""
    return _go(machine, args, reboot="-p" not in args and "--poweroff" not in args)


def shutdown(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """shutdown [-h|-P|-r] [now|+MINUTES|HH:MM], shutdown -c, shutdown --show."""
    flags = [arg for arg in args if arg.startswith("-")]
    words = [arg for arg in args if not arg.startswith("-")]
    power = machine.power
    if "-c" in flags:
        power.cancel_schedule()
        return Outcome("")
    if "--show" in flags:
        if power.scheduled is None:
            return Outcome("", "No scheduled shutdown.\n", 1)
        return Outcome("", _announcement(power.scheduled))
    reboots = "-r" in flags or "--reboot" in flags
    delay_ns = _delay_ns(machine, words[0] if words else "+1")
    if delay_ns is None:
        return Outcome("", f"Failed to parse time specification: {words[0]}\n", 1)
    if delay_ns == 0:
        return _go(machine, [], reboot=reboots)
    planned = power.schedule(delay_ns, reboot=reboots)
    return Outcome("", _announcement(planned) if planned is not None else "")


def _announcement(planned: ScheduledShutdown) -> str:
    return f"{planned.text} scheduled for {planned.when}, use 'shutdown -c' to cancel.\n"


def _delay_ns(machine: Machine, text: str) -> int | None:
    """How long until the time; None if it is none."""
    if text == "now":
        return 0
    if _MINUTES.fullmatch(text):
        return int(text.removeprefix("+")) * MINUTE
    hours, _, minutes = text.partition(":")
    if not (hours.isdecimal() and minutes.isdecimal() and int(hours) < 24 and int(minutes) < 60):
        return None
    now_ns = machine.os.clock.now_ns()
    clock = format_rfc3339(now_ns, digits=9)[11:29]
    since_ns = (int(clock[:2]) * 60 + int(clock[3:5])) * MINUTE + int(clock[6:8]) * SECOND + int(clock[9:])
    return ((int(hours) * 60 + int(minutes)) * MINUTE - since_ns) % DAY


def _go(machine: Machine, args: list[str], *, reboot: bool) -> Outcome:
    forced = args.count("-f") + args.count("--force") + 2 * args.count("-ff")
    if forced >= 2:
        machine.power.cut()
        if reboot:
            machine.power.give()
    else:
        machine.power.shut_down(reboot=reboot)
    return Outcome("")


TOOLS = {"poweroff": poweroff, "halt": poweroff, "reboot": reboot, "shutdown": shutdown}
