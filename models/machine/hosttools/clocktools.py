"""Programs about the clock: `chronyc`, `timedatectl`, `date`, `hwclock`.

Formats: chrony 4.5, systemd 255, coreutils 9.4, util-linux 2.39. Left out: chronyc's commands about access and
reference clocks.
"""

from __future__ import annotations

import re

from simcluster.engine import MINUTE, SECOND, format_rfc3339
from simcluster.engine.clock import DAY, HOUR, month_name, parse_rfc3339, weekday
from simcluster.models.machine.imagetools.system import format_date
from simcluster.models.machine.kernel import chrony
from simcluster.models.machine.kernel.chrony import POLL_NS
from simcluster.models.machine.kernel.clock import MAX_OFFSET_NS, shown_offset
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.outcome import Outcome

#: What a good crystal is wrong by; chronyd has learned it.
_CRYSTAL_PPM = 7.412
_LEGEND = """
  .-- Source mode  '^' = server, '=' = peer, '#' = local clock.
 / .- Source state '*' = current best, '+' = combined, '-' = not combined,
| /             'x' = may be in error, '~' = too variable, '?' = unusable.
||                                                 .- xxxx [ yyyy ] +/- zzzz
||      Reachability register (octal) -.           |  xxxx = adjusted offset,
||      Log2(Polling interval) --.      |          |  yyyy = measured offset,
||                                \\     |          |  zzzz = estimated error.
||                                 |    |           \\
"""
_DATES = {"--rfc-3339=seconds": "%Y-%m-%d %H:%M:%S+00:00", "-R": "%a, %d %b %Y %H:%M:%S +0000",
          "--rfc-email": "%a, %d %b %Y %H:%M:%S +0000"}  # fmt: skip
_ISO = {
    "": "%Y-%m-%d",
    "date": "%Y-%m-%d",
    "hours": "%Y-%m-%dT%H+00:00",
    "minutes": "%Y-%m-%dT%H:%M+00:00",
    "seconds": "%Y-%m-%dT%H:%M:%S+00:00",
    "s": "%Y-%m-%dT%H:%M:%S+00:00",
    "ns": "%Y-%m-%dT%H:%M:%S,%N+00:00",
}


def _chronyc(machine: Machine, args: list[str], stdin: str) -> Outcome:
    words = [word for word in args if not word.startswith("-")]
    flags = [word for word in args if word.startswith("-")]
    unknown = next((flag for flag in flags if flag not in ("-n", "-N", "-a", "-v", "-m", "-4", "-6")), "")
    if unknown:
        return Outcome("", f"chronyc: invalid option -- '{unknown.lstrip('-')[:1]}'\n", 1)
    if not machine.os.clock.disciplined:
        return Outcome("", "506 Cannot talk to daemon\n", 1)
    verb = words[0] if words else ""
    if verb in ("add", "delete"):
        return _servers(machine, verb, words[1:])
    if verb == "makestep":
        machine.os.clock.settle()
        return Outcome("200 OK\n")
    if verb in ("online", "offline", "burst"):
        return Outcome("200 OK\n")
    if verb == "sources" and "-v" in flags:
        return Outcome(_LEGEND + _sources(machine))
    shown = {"activity": _activity, "sources": _sources, "sourcestats": _statistics, "tracking": _tracking}.get(verb)
    return Outcome("Unrecognized command\n", "", 1) if shown is None else Outcome(shown(machine))


def _servers(machine: Machine, verb: str, words: list[str]) -> Outcome:
    clock = machine.os.clock
    names = words[1:] if words[:1] and words[0] in ("server", "pool", "peer") else words if verb == "delete" else []
    if not names:
        return Outcome("", f"Could not parse {verb} command\n", 1)
    if verb == "delete":
        if names[0] not in clock.servers:
            return Outcome("503 No such source\n", "", 1)
        clock.ask(tuple(server for server in clock.servers if server != names[0]))
    elif names[0] in clock.servers:
        return Outcome("503 Source already present\n", "", 1)
    else:
        clock.ask((*clock.servers, names[0]))
    return Outcome("200 OK\n")


def _activity(machine: Machine) -> str:
    return (
        f"200 OK\n{len(machine.os.clock.servers)} sources online\n0 sources offline\n"
        "0 sources doing burst (return to online)\n0 sources doing burst (return to offline)\n"
        "0 sources with unknown address\n"
    )


def _is_known(machine: Machine) -> bool:
    """Whether chronyd knows the time by now."""
    clock = machine.os.clock
    return clock.synchronised and (not clock.asked_ns or machine.sim.now >= clock.asked_ns + chrony.BURST_NS)


def _tracking(machine: Machine) -> str:
    clock = machine.os.clock
    if not _is_known(machine):
        return _untracked(clock.drift_ppm + _CRYSTAL_PPM)
    offset = clock.offset_ns() / SECOND
    polled = machine.sim.now - (machine.sim.now - clock.asked_ns) % POLL_NS
    server = next(each for each in clock.servers if chrony.answers(each))
    drift = clock.drift_ppm + _CRYSTAL_PPM
    number = "".join(f"{int(part):02X}" for part in server.split("."))
    return _table(
        ("Reference ID", f"{number} ({server})"), ("Stratum", "4"), ("Ref time (UTC)", _long(polled)),
        ("System time", f"{abs(offset) or 0.000000412:.9f} seconds {'fast' if offset >= 0 else 'slow'} of NTP time"),
        ("Last offset", f"{-offset or 0.000000218:+.9f} seconds"),
        ("RMS offset", f"{abs(offset) or 1.731e-06:.9f} seconds"), ("Frequency", _frequency(drift)),
        ("Residual freq", "+0.000 ppm"), ("Skew", "0.021 ppm"), ("Root delay", "0.000312844 seconds"),
        ("Root dispersion", "0.000211973 seconds"), ("Update interval", "64.4 seconds"), ("Leap status", "Normal"),
    )  # fmt: skip


def _untracked(drift: float) -> str:
    return _table(
        ("Reference ID", "00000000 ()"), ("Stratum", "0"), ("Ref time (UTC)", "Thu Jan 01 00:00:00 1970"),
        ("System time", "0.000000000 seconds fast of NTP time"), ("Last offset", "+0.000000000 seconds"),
        ("RMS offset", "0.000000000 seconds"), ("Frequency", _frequency(min(drift, _CRYSTAL_PPM))),
        ("Residual freq", "+0.000 ppm"), ("Skew", "0.000 ppm"), ("Root delay", "1.000000000 seconds"),
        ("Root dispersion", "1.000000000 seconds"), ("Update interval", "0.0 seconds"),
        ("Leap status", "Not synchronised"),
    )  # fmt: skip


def _table(*rows: tuple[str, str]) -> str:
    return "".join(f"{name:<16}: {value}\n" for name, value in rows)


def _frequency(drift: float) -> str:
    return f"{abs(drift):.3f} ppm {'fast' if drift > 0 else 'slow'}"


def _long(t_ns: int) -> str:
    text = format_rfc3339(t_ns)
    return f"{weekday(t_ns)} {month_name(int(text[5:7]))} {text[8:10]} {text[11:19]} {text[:4]}"


def _sources(machine: Machine) -> str:
    clock = machine.os.clock
    asked = machine.sim.now - clock.asked_ns + (8 * POLL_NS if not clock.asked_ns else 0)  # it ran before time began
    offset = -clock.offset_ns() or 412
    lines = [
        "MS Name/IP address         Stratum Poll Reach LastRx Last sample               \n",
        "===============================================================================\n",
    ]
    for server in clock.servers:
        register = chrony.reach(server, asked)
        if not register:
            lines.append(f"^? {server:<27}   0   6     0     -     +0ns[   +0ns] +/-    0ns\n")
            continue
        state, since = "*" if _is_known(machine) else "?", asked % POLL_NS // SECOND
        shown = shown_offset(offset)
        lines.append(f"^{state} {server:<27}   3   6   {register:3o} {since:5d}  {shown:>7}[{shown:>7}] +/-  311us\n")
    return "".join(lines)


def _statistics(machine: Machine) -> str:
    lines = [
        "Name/IP Address            NP  NR  Span  Frequency  Freq Skew  Offset  Std Dev\n",
        "==============================================================================\n",
    ]
    for server in machine.os.clock.servers:
        if chrony.answers(server):
            lines.append(f"{server:<25}  12   6   705     +0.002      0.021   +412ns  1731ns\n")
        else:
            lines.append(f"{server:<25}   0   0     0     +0.000   2000.000     +0ns  4000ms\n")
    return "".join(lines)


def _timedatectl(machine: Machine, args: list[str], stdin: str) -> Outcome:
    words = [word for word in args if not word.startswith("-")]
    clock = machine.os.clock
    if words[:1] == ["set-ntp"] and words[1:2] and words[1] in ("true", "false", "yes", "no", "1", "0"):
        machine.control("start" if words[1] in ("true", "yes", "1") else "stop", "chrony")
        return Outcome("")
    if words[:1] == ["set-time"]:
        if clock.disciplined:
            return Outcome("", "Failed to set time: Automatic time synchronization is enabled\n", 1)
        return _date(machine, ["-s", " ".join(words[1:])], "")._replace(stdout="")
    if words and words[0] not in ("status", "show"):
        return Outcome("", f"Unknown command verb {words[0]}.\n", 1)
    good = "yes" if _is_known(machine) and abs(clock.offset_ns()) < SECOND else "no"
    if words[:1] == ["show"]:
        ntp = "yes" if clock.disciplined else "no"
        return Outcome(
            f"Timezone=Etc/UTC\nLocalRTC=no\nCanNTP=yes\nNTP={ntp}\nNTPSynchronized={good}\n"
            f"TimeUSec={_stamp(clock.now_ns())} UTC\nRTCTimeUSec={_stamp(machine.sim.now + clock.hardware_ns)} UTC\n"
        )
    return Outcome(
        f"               Local time: {_stamp(clock.now_ns())} UTC\n"
        f"           Universal time: {_stamp(clock.now_ns())} UTC\n"
        f"                 RTC time: {_stamp(machine.sim.now + clock.hardware_ns)}\n"
        "                Time zone: Etc/UTC (UTC, +0000)\n"
        f"System clock synchronized: {good}\n"
        f"              NTP service: {'active' if clock.disciplined else 'inactive'}\n"
        "          RTC in local TZ: no\n"
    )


def _stamp(t_ns: int) -> str:
    text = format_rfc3339(t_ns)
    return f"{weekday(t_ns)} {text[:10]} {text[11:19]}"


def _date(machine: Machine, args: list[str], stdin: str) -> Outcome:
    form, wanted, shown_ns = "", "", machine.os.clock.now_ns()
    words = list(args)
    while words:
        word = words.pop(0)
        if word in ("-s", "-d") or word in ("--set", "--date"):
            if not words:
                return Outcome("", f"date: option requires an argument -- '{word.lstrip('-')[:1]}'\n{_MORE}", 1)
            word = f"{'--set' if word in ('-s', '--set') else '--date'}={words.pop(0)}"
        name, _, value = word.partition("=")
        if name in ("--set", "--date"):
            instant = _instant(value, machine.os.clock.now_ns())
            if instant is None:
                return Outcome("", f"date: invalid date ‘{value}’\n", 1)
            wanted, shown_ns = wanted or ("set" if name == "--set" else ""), instant
        elif word.startswith("+"):
            form = word[1:]
        elif word in _DATES:
            form = _DATES[word]
        elif word.startswith(("-I", "--iso-8601")) and word.removeprefix("-I").rpartition("=")[2] in _ISO:
            form = _ISO[word.removeprefix("-I").rpartition("=")[2]]
        elif word == "--iso-8601":
            form = _ISO[""]
        elif word not in ("-u", "--utc", "--universal"):
            what = "unrecognized option" if word.startswith("--") else "invalid option --"
            name = f"'{word}'" if word.startswith("--") else f"'{word.lstrip('-')[:1]}'"
            said = f"date: {what} {name}\n{_MORE}" if word.startswith("-") else f"date: invalid date ‘{word}’\n"
            return Outcome("", said, 1)
    if wanted:
        if abs(shown_ns - machine.sim.now) > MAX_OFFSET_NS:
            return Outcome("", "date: cannot set date: Invalid argument\n", 1)
        machine.os.clock.step(shown_ns - machine.sim.now)
    return Outcome(format_date(form or "%a %b %e %H:%M:%S UTC %Y", shown_ns) + "\n")


_SPANS = {"second": SECOND, "sec": SECOND, "minute": MINUTE, "min": MINUTE, "hour": HOUR, "day": DAY, "week": 7 * DAY}
_MORE = "Try 'date --help' for more information.\n"


def _instant(text: str, now_ns: int) -> int | None:
    """An instant as `date -d` takes it: `@SECONDS`, `now`, `+30 days`, `2 hours ago`, a date and a time of day."""
    moved = re.fullmatch(r"([+-]?\d+) *(second|sec|minute|min|hour|day|week)s?( ago)?", text.strip())
    if moved:
        return now_ns + int(moved[1]) * (-1 if moved[3] else 1) * _SPANS[moved[2]]
    if text in ("now", "today", ""):
        return now_ns
    try:
        if text.startswith("@"):
            return parse_rfc3339("1970-01-01T00:00:00Z") + int(text[1:]) * SECOND
        date, _, time = text.strip().replace("T", " ").removesuffix("UTC").rstrip("Z ").partition(" ")
        if ":" in date:
            date, time = format_rfc3339(now_ns)[:10], date
        return parse_rfc3339(f"{date}T{(time or '00:00') + (':00' if time.count(':') < 2 else '')}Z")
    except ValueError:
        return None


def _hwclock(machine: Machine, args: list[str], stdin: str) -> Outcome:
    clock = machine.os.clock
    if "--systohc" in args or "-w" in args:
        clock.hardware_ns = clock.offset_ns()
        return Outcome("")
    if "--hctosys" in args or "-s" in args:
        clock.step(clock.hardware_ns)
        return Outcome("")
    unknown = next((word for word in args if word not in ("-r", "--show", "--verbose", "-v", "--utc", "-u")), "")
    if unknown:
        said = f"hwclock: unrecognized option '{unknown}'\n" if unknown.startswith("--") else (
            f"hwclock: invalid option -- '{unknown.lstrip('-')[:1]}'\n")  # fmt: skip
        return Outcome("", said + "Try 'hwclock --help' for more information.\n", 1)
    text = format_rfc3339(machine.sim.now + clock.hardware_ns, digits=6)
    return Outcome(f"{text[:10]} {text[11:26]}+00:00\n")


TOOLS = {"chronyc": _chronyc, "date": _date, "hwclock": _hwclock, "timedatectl": _timedatectl}
