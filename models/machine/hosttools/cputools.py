"""Programs that show who uses CPU and memory: `vmstat`, `free`, `top -b`, `uptime`, `w`, `lscpu`.

Formats: procps-ng 4.0.4, util-linux 2.39 (Ubuntu 24.04). A report of an interval pauses and goes on as itself, with
what it counted before on standard input. Left out: `vmstat -d|-D|-m`, top's interactive commands.
"""

from __future__ import annotations

import math
from typing import Any

from simcluster.engine import MINUTE, SECOND, format_rfc3339
from simcluster.engine.clock import HOUR
from simcluster.models.machine.cpu import NANOCORES
from simcluster.models.machine.kernel import interrupts, memory, usage
from simcluster.models.machine.kernel.cputime import CpuTime
from simcluster.models.machine.kernel.proctable import Process, processes
from simcluster.models.machine.kernel.thermalfiles import LOWEST_MHZ, NOMINAL_MHZ, mhz
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.options import parse
from simcluster.models.userland.outcome import Outcome

_MIB = 1 << 20
_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_FREE_LONG = {"bytes": "b", "kilo": "kilo", "mega": "mega", "giga": "giga", "kibi": "k", "mebi": "m", "gibi": "g",
              "human": "h", "si": "si", "lohi": "l", "line": "L", "total": "t", "wide": "w", "seconds": "s",
              "count": "c", "version": "V"}  # fmt: skip


def _free(machine: Machine, args: list[str], stdin: str) -> Outcome:
    asked = parse(args, "bkmghltwLV", "sc", _FREE_LONG)
    if asked.problem or asked.words:
        return asked._replace(problem=asked.problem or f"extra operand '{asked.words[0]}'").refused(
            "free",
            "\nUsage:\n free [options]\n\nFor more details see free(1).\n",
        )
    found = memory.info(machine, machine.os.shared_bytes())
    reclaimable = found.slab // 2
    cache = found.buffers + found.cached + reclaimable
    used = found.total - found.free - cache
    middle = [found.buffers, found.cached + reclaimable] if asked.has("w") else [cache]
    rows: list[list[Any]] = [
        ["Mem:", found.total, used, found.free, found.shared, *middle, found.available],
        ["Swap:", 0, 0, 0],
    ]
    if asked.has("t"):
        rows.append(["Total:", found.total, used, found.free])
    heads = ["total", "used", "free", "shared", *(["buffers", "cache"] if asked.has("w") else ["buff/cache"]),
             "available"]  # fmt: skip
    lines = [" " * 8 + "".join(f"{head:>12}" for head in heads)]
    for row in rows:
        cells = [_amount(cell, asked.letters) for cell in row[1:]]
        lines.append(f"{row[0]!s:<8}" + "".join(f"{cell:>12}" for cell in cells))
    text = "\n".join(lines) + "\n"
    count = int(asked.values.get("c", "0") or 0)
    if "s" not in asked.values or count == 1:
        return Outcome(text)
    following = [word for word in args if word != "-c"]
    if count:
        following = ["-s", asked.values["s"], *("-" + letter for letter in asked.letters if letter not in "sc"),
                     "-c", str(count - 1)]  # fmt: skip
    pause = max(1, int(float(asked.values["s"]) * SECOND))
    return Outcome(text + "\n", delay_ns=pause, then=("free", *following))


def _amount(amount: int, letters: tuple[str, ...]) -> str:
    if "h" in letters:
        return _human(amount)
    unit = next((_UNITS[letter] for letter in reversed(letters) if letter in _UNITS), 0)
    decimal = next((1000**power for name, power in (("kilo", 1), ("mega", 2), ("giga", 3)) if name in letters), 0)
    return str(amount // (unit or decimal or 1 << 10))


def _human(amount: int) -> str:
    for unit, name in ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
        if amount >= unit:
            tenths = amount * 10 // unit
            return f"{tenths // 10}.{tenths % 10}{name}" if tenths < 100 else f"{tenths // 10}{name}"
    return f"{amount}B"


_VMSTAT_LONG = {"active": "a", "forks": "f", "slabs": "m", "one-header": "n", "stats": "s", "wide": "w", "unit": "S",
                "timestamp": "t", "no-first": "y", "version": "V"}  # fmt: skip


def _vmstat(machine: Machine, args: list[str], stdin: str) -> Outcome:
    asked = parse(args, "afnswtyV", "S", _VMSTAT_LONG)
    numbers = [int(word) for word in asked.words if word.isdigit()]
    if asked.problem or len(numbers) != len(asked.words) or len(numbers) > 2:
        usage_text = "\nUsage:\n vmstat [options] [delay [count]]\n\nFor more details see vmstat(8).\n"
        return asked._replace(problem=asked.problem or "failed to parse argument").refused("vmstat", usage_text)
    if asked.has("s"):
        return Outcome(_statistics(machine))
    first = not stdin.startswith("@ ")
    head = _VMSTAT_HEAD if first else ""
    row = _vmstat_row(machine, [] if first else stdin.split()[1:], asked.values.get("S", "K"))
    text = head + row
    if not numbers or (len(numbers) > 1 and numbers[1] <= 1):
        return Outcome(text)
    following = ("vmstat", *asked.given(), str(numbers[0]), *([str(numbers[1] - 1)] if len(numbers) > 1 else []))
    return Outcome(text, delay_ns=max(1, numbers[0]) * SECOND, then=following, then_stdin=_counted(machine))


_VMSTAT_HEAD = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- -------cpu-------\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st gu\n"
)


def _counted(machine: Machine) -> str:
    """Counters at this moment, from which the next report takes its differences."""
    read, written = _transferred(machine)
    counted = (*machine.os.times.all(), interrupts.all_of(machine), interrupts.switches(machine))
    return f"@ {machine.sim.now} {read!r} {written!r} {' '.join(map(str, counted))}"


def _transferred(machine: Machine) -> tuple[float, float]:
    """KiB read from and written to drives since boot."""
    counted = [disk.counted() for disk in machine.disks.values()]
    read = math.fsum(each.read_sectors for each in counted) / 2.0
    return read, math.fsum(each.write_sectors for each in counted) / 2.0


def _vmstat_row(machine: Machine, before: list[str], unit: str) -> str:
    found = memory.info(machine, machine.os.shared_bytes())
    size = {"k": 1000, "K": 1 << 10, "m": 1_000_000, "M": 1 << 20}.get(unit, 1 << 10)
    began_ns, *then = map(int, [before[0], *before[3:]] if before else [machine.booted_ns, *[0] * 7])  # exact
    read, written = map(float, before[1:3] or (0.0, 0.0))
    span = max(1.0, machine.sim.now - began_ns)
    cpu = usage.shares(machine.os.times.all().minus(CpuTime(*then[:5])))
    now_read, now_written = _transferred(machine)
    runnable = usage.runnable(machine) // NANOCORES
    waiting = int(math.fsum(usage.blocked(machine).values()) + 0.5)
    events = (interrupts.all_of(machine) - then[5], interrupts.switches(machine) - then[6])
    interrupted, switched = (int(count * SECOND / span) for count in events)
    return (
        f"{runnable:2d} {waiting:2d} {0:6d} {found.free // size:6d} {found.buffers // size:6d} "
        f"{(found.cached + found.slab // 2) // size:6d} {0:4d} {0:4d} {(now_read - read) * SECOND / span:5.0f} "
        f"{(now_written - written) * SECOND / span:5.0f} {interrupted:4d} {switched:4d} "
        f"{cpu.user:2.0f} {cpu.system:2.0f} {cpu.idle:2.0f} {cpu.iowait:2.0f} {cpu.steal:2.0f} {0:2d}\n"
    )


def _statistics(machine: Machine) -> str:
    found = memory.info(machine, machine.os.shared_bytes())
    read, written = _transferred(machine)
    cache = found.cached + found.slab // 2
    used = found.total - found.free - found.buffers - cache
    ticks, cpu = SECOND // 100, machine.os.times.all()
    rows = (
        (found.total >> 10, "K total memory"), (used >> 10, "K used memory"), (found.free >> 10, "K free memory"),
        (found.buffers >> 10, "K buffer memory"), (cache >> 10, "K swap cache"), (0, "K total swap"),
        (0, "K used swap"), (0, "K free swap"), (cpu.user // ticks, "non-nice user cpu ticks"),
        (0, "nice user cpu ticks"), (cpu.system // ticks, "system cpu ticks"),
        (cpu.idle // ticks, "idle cpu ticks"), (cpu.iowait // ticks, "IO-wait cpu ticks"),
        (cpu.steal // ticks, "stolen cpu ticks"), (int(read), "K paged in"),
        (int(written), "K paged out"), (0, "pages swapped in"), (0, "pages swapped out"),
    )  # fmt: skip
    return "".join(f"{amount:13d} {name}\n" for amount, name in rows)


def _uptime_line(machine: Machine) -> str:
    up = machine.sim.now - machine.booted_ns
    days, hours, minutes = up // (24 * HOUR), up // HOUR % 24, up % HOUR // MINUTE
    shown = f"{days} day{'s' if days > 1 else ''}, " if days else ""
    shown += f"{hours:2d}:{minutes:02d}" if hours else f"{minutes} min"
    clock = format_rfc3339(machine.os.clock.now_ns())[11:19]
    averages = ", ".join(f"{value:.2f}" for value in machine.os.load.averages)
    return f"{clock} up {shown},  1 user,  load average: {averages}"


def _uptime(machine: Machine, args: list[str], stdin: str) -> Outcome:
    asked = parse(args, "psVr", "", {"pretty": "p", "since": "s", "version": "V", "raw": "r"})
    if asked.problem or asked.words:
        return asked._replace(problem=asked.problem or "extra operand").refused(
            "uptime",
            "\nUsage:\n uptime [options]\n\nFor more details see uptime(1).\n",
        )
    if asked.has("s"):
        text = format_rfc3339(machine.booted_ns + machine.os.clock.offset_ns())
        return Outcome(f"{text[:10]} {text[11:19]}\n")
    if asked.has("p"):
        minutes = (machine.sim.now - machine.booted_ns) // MINUTE
        parts = [(minutes // 1440, "day"), (minutes // 60 % 24, "hour"), (minutes % 60, "minute")]
        shown = ", ".join(f"{n} {name}{'s' if n != 1 else ''}" for n, name in parts if n) or "0 minutes"
        return Outcome(f"up {shown}\n")
    return Outcome(f" {_uptime_line(machine)}\n")


def _w(machine: Machine, args: list[str], stdin: str) -> Outcome:
    clock = format_rfc3339(machine.os.clock.now_ns())[11:16]
    return Outcome(
        f" {_uptime_line(machine)}\nUSER     TTY      FROM             LOGIN@   IDLE   JCPU   PCPU  WHAT\n"
        f"root     pts/0    {'172.18.0.1':<16} {clock}    0.00s  0.03s  0.01s w\n"
    )


_TOP_KEYS = {
    "%CPU": "cores",
    "%MEM": "resident",
    "RES": "resident",
    "TIME+": "cpu_ns",
    "PID": "pid",
    "VIRT": "resident",
}


def _top(machine: Machine, args: list[str], stdin: str) -> Outcome:
    asked = parse(args, "bcHiSs1", "dnopuUwEe", {})
    if asked.problem or asked.words:
        wrong = asked.problem or f"unknown argument '{asked.words[0]}'"
        return Outcome("", f"top: {wrong}\nUsage:\n  top [options]\n\nFor more details see top(1).\n", 1)
    if not asked.has("b"):
        return Outcome("", "top: failed tty get\n", 1)
    key = asked.values.get("o", "%CPU").lstrip("+-")
    if key not in _TOP_KEYS:
        return Outcome("", f"top: unrecognized field name '{key}'\n", 1)
    text = _top_page(machine, asked.values, key, "c" in asked.letters, "i" in asked.letters)
    turns = int(asked.values["n"]) if asked.values.get("n", "").isdigit() else 0
    if turns == 1:
        return Outcome(text)
    pause = max(1, int(float(asked.values.get("d", "3")) * SECOND))
    following = ("top", *asked.given("n"), *(["-n", str(turns - 1)] if turns else []))
    return Outcome(text + "\n", delay_ns=pause, then=following)


def _top_page(machine: Machine, values: dict[str, str], key: str, full: bool, active: bool) -> str:
    everything = processes(machine)
    listed = everything
    if "p" in values:
        listed = [one for one in listed if str(one.pid) in values["p"].split(",")]
    user = values.get("u", values.get("U", ""))
    if user:
        listed = [one for one in listed if one.user == user]
    if active:
        listed = [one for one in listed if one.cores >= 0.0005]
    listed = sorted(listed, key=_Busiest(_TOP_KEYS[key]))
    cpu, found = usage.split(machine), memory.info(machine, machine.os.shared_bytes())
    total, running = len(everything), max(1, sum(1 for one in everything if one.state == "R"))
    zombies = sum(1 for one in everything if one.state == "Z")
    cache = found.buffers + found.cached + found.slab // 2
    mebi = [n / _MIB for n in (found.total, found.free, found.total - found.free - cache, cache, found.available)]
    lines = [
        f"top - {_uptime_line(machine)}",
        f"Tasks: {total:3d} total, {running:3d} running, {total - running - zombies:3d} sleeping,   "
        f"0 stopped, {zombies:3d} zombie",
        f"%Cpu(s): {cpu.user:4.1f} us, {cpu.system:4.1f} sy,  0.0 ni, {cpu.idle:4.1f} id, {cpu.iowait:4.1f} wa, "
        f" 0.0 hi,  0.0 si, {cpu.steal:4.1f} st ",
        f"MiB Mem : {mebi[0]:8.1f} total, {mebi[1]:8.1f} free, {mebi[2]:8.1f} used, {mebi[3]:8.1f} buff/cache     ",
        f"MiB Swap: {0:8.1f} total, {0:8.1f} free, {0:8.1f} used. {mebi[4]:8.1f} avail Mem ",
        "",
        "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND",
    ]
    lines += [_top_row(machine, task, full) for task in listed]
    return "\n".join(lines) + "\n"


class _Busiest:
    """Sorts processes by a field, the largest first."""

    def __init__(self, field: str) -> None:
        self._field = field

    def __call__(self, one: Process) -> tuple[float, int]:
        return (-float(getattr(one, self._field)), one.pid)


def _top_row(machine: Machine, task: Process, full: bool) -> str:
    kib, kernel = task.resident >> 10, task.args.startswith("[")
    hundredths = task.cpu_ns // (SECOND // 100)
    clock = f"{hundredths // 6000}:{hundredths % 6000 // 100:02d}.{hundredths % 100:02d}"
    percent = 100.0 * task.resident / machine.memory_bytes
    virtual = 0 if kernel else kib * 3 + 700_000
    return (
        f"{task.pid:7d} {task.user:<8}  20 {task.nice:3d} {virtual:7d} {kib:6d} {kib // 4:6d} {task.state} "
        f"{100.0 * task.cores:5.1f} {percent:5.1f} {clock:>9} {task.args if full else task.comm}"
    )


def _lscpu(machine: Machine, args: list[str], stdin: str) -> Outcome:
    rows = (
        ("Architecture:", "x86_64"), ("CPU(s):", machine.cpu_cores),
        ("On-line CPU(s) list:", f"0-{machine.cpu_cores - 1}" if machine.cpu_cores > 1 else "0"),
        ("Vendor ID:", "GenuineIntel"), ("Model name:", "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz"),
        ("CPU family:", 6), ("Model:", 85), ("Thread(s) per core:", 1), ("Core(s) per socket:", machine.cpu_cores),
        ("Socket(s):", 1), ("CPU(s) scaling MHz:", f"{100 * mhz(machine) / NOMINAL_MHZ:.0f}%"),
        ("CPU max MHz:", f"{NOMINAL_MHZ:.4f}"), ("CPU min MHz:", f"{LOWEST_MHZ:.4f}"),
    )  # fmt: skip
    return Outcome("".join(f"{name:<33}{value}\n" for name, value in rows))


TOOLS = {
    "free": _free,
    "lscpu": _lscpu,
    "top": _top,
    "uptime": _uptime,
    "vmstat": _vmstat,
    "w": _w,
}
