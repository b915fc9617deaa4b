"""`dmesg`: the kernel's ring buffer. Format: util-linux 2.39 (Ubuntu 24.04).

Left out: colours, following (it would never end here), the raw device.
"""

from __future__ import annotations

from simcluster.engine import MINUTE, SECOND, format_rfc3339
from simcluster.engine.clock import month_name, weekday
from simcluster.models.machine.journal import JournalLine
from simcluster.models.machine.kernel.levels import NAMES, level
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.options import Options, parse
from simcluster.models.userland.outcome import Outcome

_LONG = {"ctime": "T", "level": "l", "facility": "f", "human": "H", "notime": "t", "raw": "r", "decode": "x",
         "clear": "C", "read-clear": "c", "follow": "w", "follow-new": "W", "kernel": "k", "userspace": "u",
         "nopager": "P", "color": "L", "reltime": "e", "show-delta": "d", "console-off": "D", "console-on": "E",
         "time-format": "time", "since": "since", "until": "until", "syslog": "S", "force-prefix": "p"}  # fmt: skip


def dmesg(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """dmesg: the ring buffer."""
    asked = parse(args, "THtrxCcwWkuPLedDESp", "lfnsF time since until", _LONG)
    if asked.problem or asked.words:
        return asked._replace(problem=asked.problem or "bad usage").refused("dmesg")
    wanted = _levels(asked.values.get("l", ""))
    if wanted is None:
        return Outcome("", f"dmesg: unknown level '{asked.values['l']}'\n", 1)
    if asked.has("u"):
        return Outcome("")
    lines = [
        line
        for line in machine.journal()
        if line.identifier == "kernel"
        and line.t_ns - line.wrong_ns >= max(machine.booted_ns, machine.os.cleared_ns + 1)
        and (not wanted or level("kernel", line.text) in wanted)
    ]
    if asked.has("C", "c"):
        machine.os.cleared_ns = machine.sim.now
    if asked.has("C"):
        return Outcome("")
    if asked.has("w", "W"):
        return _followed(machine, asked, args, lines, stdin)
    return Outcome("".join(_shown(machine, asked, lines)))


def _followed(machine: Machine, asked: Options, args: list[str], lines: list[JournalLine], stdin: str) -> Outcome:
    """What has come since the last look; it goes on until somebody presses Ctrl-C."""
    now = machine.sim.now
    since = int(stdin) if stdin.isdigit() else now if asked.has("W") else -1
    new = [line for line in lines if since < line.t_ns - line.wrong_ns]
    return Outcome("".join(_shown(machine, asked, new)), "", 0, SECOND, then=("dmesg", *args), then_stdin=str(now))


def _levels(text: str) -> list[int] | None:
    """`err,warn` or `err+` (and worse); None if there is no such level."""
    found: list[int] = []
    for word in text.split(",") if text else []:
        name = word.strip("+")
        if name not in NAMES:
            return None
        number = NAMES.index(name)
        found += range(number + 1) if word.endswith("+") else [number]
    return found


def _shown(machine: Machine, asked: Options, lines: list[JournalLine]) -> list[str]:
    shown, before = [], -1
    for line in lines:
        since = line.t_ns - line.wrong_ns - machine.booted_ns  # monotonic: no wrong clock shows here
        # The wall clock of a line is that of now, less the line's age.
        stamp = _stamp(asked, since, machine.booted_ns + since + machine.os.clock.offset_ns(), before)
        prefix = f"kern  :{NAMES[level('kernel', line.text)]:<6}: " if asked.has("x") else ""
        raw = f"<{level('kernel', line.text)}>" if asked.has("r") else ""
        shown.append(f"{prefix}{raw}{stamp}{line.text}\n")
        before = since
    return shown


def _stamp(asked: Options, since: int, wall_ns: int, before: int) -> str:
    form = asked.values.get("time", "")
    if asked.has("t") or form == "notime":
        return ""
    text = format_rfc3339(wall_ns, digits=6)
    date = f"{weekday(wall_ns)} {month_name(int(text[5:7]))} {int(text[8:10]):2d}"
    if asked.has("T") or form == "ctime":
        return f"[{date} {text[11:19]} {text[:4]}] "
    if form == "iso":
        return f"{text[:19]},{text[20:26]}+00:00 "
    if asked.has("H", "e") or form == "reltime":
        if before < 0 or since // MINUTE != before // MINUTE:
            return f"[{month_name(int(text[5:7]))}{int(text[8:10]):>3} {text[11:16]}] "
        delta = since - before
        return f"[{f'+{delta // SECOND}.{delta % SECOND // 1000:06d}':>11}] "
    return f"[{since // SECOND:5d}.{since % SECOND // 1000:06d}] "


TOOLS = {"dmesg": dmesg}
