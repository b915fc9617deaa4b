"""Programs about the clock: `chronyc`, `timedatectl`, `date`. Formats: chrony 4.5, systemd 255, coreutils 9.4."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.engine import SECOND, format_rfc3339
from simcluster.engine.clock import month_name, parse_rfc3339, weekday
from simcluster.models.machine.kernel.clock import POLL_NS, shown_offset
from simcluster.models.machine.program import ExecResult
from simcluster.models.machine.toolssystem import format_date

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine

#: The time server of the data centre, and what it is like.
SERVER = "169.254.169.123"
_REFERENCE = "A9FEA97B"


def _chronyc(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    words = [word for word in args if not word.startswith("-")]
    if not machine.os.clock.disciplined:
        return ExecResult("", "506 Cannot talk to daemon\n", 1)
    verb = words[0] if words else ""
    if verb == "tracking":
        return ExecResult(_tracking(machine))
    if verb == "sources":
        return ExecResult(_sources(machine))
    if verb == "makestep":
        machine.os.clock.step(0)
        return ExecResult("200 OK\n")
    return ExecResult("Unrecognized command\n", "", 1)


def _tracking(machine: Machine) -> str:
    clock = machine.os.clock
    offset = clock.offset_ns() / SECOND
    polled = machine.sim.now - machine.sim.now % POLL_NS
    text = format_rfc3339(polled)
    stamp = f"{weekday(polled)} {month_name(int(text[5:7]))} {text[8:10]} {text[11:19]} {text[:4]}"
    way = "fast" if offset >= 0 else "slow"
    drift = clock.drift_ppm + 7.412
    rows = (
        ("Reference ID", f"{_REFERENCE} ({SERVER})"), ("Stratum", "4"), ("Ref time (UTC)", stamp),
        ("System time", f"{abs(offset) or 0.000000412:.9f} seconds {way} of NTP time"),
        ("Last offset", f"{-offset or 0.000000218:+.9f} seconds"),
        ("RMS offset", f"{abs(offset) or 1.731e-06:.9f} seconds"),
        ("Frequency", f"{abs(drift):.3f} ppm {'fast' if drift > 0 else 'slow'}"), ("Residual freq", "+0.000 ppm"),
        ("Skew", "0.021 ppm"), ("Root delay", "0.000312844 seconds"), ("Root dispersion", "0.000211973 seconds"),
        ("Update interval", "64.4 seconds"), ("Leap status", "Normal"),
    )  # fmt: skip
    return "".join(f"{name:<16}: {value}\n" for name, value in rows)


def _sources(machine: Machine) -> str:
    offset = -machine.os.clock.offset_ns()
    shown = shown_offset(offset or 412)
    since = machine.sim.now % POLL_NS // SECOND
    return (
        "MS Name/IP address         Stratum Poll Reach LastRx Last sample               \n"
        "===============================================================================\n"
        f"^* {SERVER:<27} 3   6   377 {since:5d} {shown:>8}[{shown:>7}] +/-  311us\n"
    )


def _timedatectl(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    clock = machine.os.clock
    now, text = clock.now_ns(), format_rfc3339(clock.now_ns())
    stamp = f"{weekday(now)} {text[:10]} {text[11:19]}"
    good = clock.disciplined and abs(clock.offset_ns()) < SECOND
    return ExecResult(
        f"               Local time: {stamp} UTC\n"
        f"           Universal time: {stamp} UTC\n"
        f"                 RTC time: {stamp}\n"
        "                Time zone: Etc/UTC (UTC, +0000)\n"
        f"System clock synchronized: {'yes' if good else 'no'}\n"
        f"              NTP service: {'active' if clock.disciplined else 'inactive'}\n"
        "          RTC in local TZ: no\n"
    )


def _date(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    if args[:1] in (["-s"], ["--set"]) and len(args) > 1:
        try:
            wanted = parse_rfc3339(_iso(args[1]))
        except ValueError:
            return ExecResult("", f"date: invalid date ‘{args[1]}’\n", 1)
        machine.os.clock.step(wanted - machine.sim.now)
        args = []
    form = next((word[1:] for word in args if word.startswith("+")), "")
    if any(word in ("-Iseconds", "-Is", "--iso-8601=seconds") for word in args):
        form = "%Y-%m-%dT%H:%M:%S+00:00"
    return ExecResult(format_date(form or "%a %b %e %H:%M:%S UTC %Y", machine.os.clock.now_ns()) + "\n")


def _iso(text: str) -> str:
    date, _, time = text.strip().replace("T", " ").rstrip("Z").partition(" ")
    return f"{date}T{time or '00:00:00'}Z"


TOOLS = {"chronyc": _chronyc, "date": _date, "timedatectl": _timedatectl}
