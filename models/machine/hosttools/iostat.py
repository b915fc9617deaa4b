"""`iostat`: rates of drives by the difference of the kernel's counters; the first report is since boot.

Format: sysstat 12.6 (Ubuntu 24.04). With an interval it pauses and goes on as itself, with what it counted
before on standard input. Left out: -p for single partitions, JSON, time stamps.
"""

from __future__ import annotations

from simcluster.engine import SECOND, format_rfc3339
from simcluster.models.machine.hosttools.blockdevices import on_bus
from simcluster.models.machine.kernel import usage
from simcluster.models.machine.kernel.cputime import NOTHING, CpuTime
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.storage.counters import Counters
from simcluster.models.userland.outcome import Outcome

_WIDE = (
    *(("r/s", 7), ("rkB/s", 9), ("rrqm/s", 8), ("%rrqm", 6), ("r_await", 7), ("rareq-sz", 8)),
    *(("w/s", 7), ("wkB/s", 9), ("wrqm/s", 8), ("%wrqm", 6), ("w_await", 7), ("wareq-sz", 8)),
    *(("d/s", 7), ("dkB/s", 9), ("drqm/s", 8), ("%drqm", 6), ("d_await", 7), ("dareq-sz", 8)),
    *(("f/s", 7), ("f_await", 7), ("aqu-sz", 7), ("%util", 6)),
)
_BRIEF = (
    *(("tps", 9), ("kB_read/s", 12), ("kB_wrtn/s", 12), ("kB_dscd/s", 12)),
    *(("kB_read", 10), ("kB_wrtn", 10), ("kB_dscd", 10)),
)
_FIELDS = ("reads", "read_sectors", "read_ns", "writes", "write_sectors", "write_ns", "flushes", "flush_ns", "busy_ns")


def iostat(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """iostat [-x] [-d|-c] [-k|-m] [-z] [-y] [device...] [interval [count]]."""
    letters = "".join(arg[1:] for arg in args if arg.startswith("-") and not arg.startswith("--"))
    numbers = [arg for arg in args if arg.isdigit()]
    wanted = [arg.removeprefix("/dev/") for arg in args if not arg.startswith("-") and not arg.isdigit()]
    interval = int(numbers[0]) if numbers else 0
    count = int(numbers[1]) if len(numbers) > 1 else 0
    now, before = machine.sim.now, _parse(stdin) if stdin.startswith("@ ") else {}
    snapshot = _snapshot(machine)
    first = not before
    text = "" if not first else _title(machine)
    skipped = first and "y" in letters and bool(interval)  # the report since boot
    last = not interval or (count == 1 and not skipped)
    if not skipped:
        began = int(before.get("@", [machine.booted_ns])[0])
        span = max(1, now - began)
        if "d" not in letters:
            text += _processors(machine, CpuTime(*map(int, before["cpu"])) if before else NOTHING)
        if "c" not in letters:
            text += _devices(machine, before, span, letters, wanted)
    elif count:
        count += 1
    if last:
        return Outcome(text)
    rest = [arg for arg in args if not arg.isdigit()]
    following = ("iostat", *rest, str(interval), *([str(count - 1)] if count else []))
    return Outcome(text, delay_ns=interval * SECOND, then=following, then_stdin=snapshot)


def _snapshot(machine: Machine) -> str:
    lines = [f"@ {machine.sim.now}", "cpu " + " ".join(map(str, machine.os.times.all()))]
    for disk in on_bus(machine):
        counted = disk.counted()
        lines.append(f"{disk.name} " + " ".join(repr(float(getattr(counted, name))) for name in _FIELDS))
    return "\n".join(lines)


def _parse(text: str) -> dict[str, list[str]]:
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: row[1:] for row in rows if len(row) > 1}


def _title(machine: Machine) -> str:
    date = format_rfc3339(machine.sim.now)
    day = f"{date[5:7]}/{date[8:10]}/{date[:4]}"
    kernel = machine.identity.kernel_version
    return f"Linux {kernel} ({machine.name}) \t{day} \t_x86_64_\t({machine.cpu_cores} CPU)\n\n"


def _processors(machine: Machine, before: CpuTime) -> str:
    cpu = usage.shares(machine.os.times.all().minus(before))
    row = "".join(f" {share:7.2f}" for share in (cpu.user, 0.0, cpu.system, cpu.iowait, cpu.steal, cpu.idle))
    return f"avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n        {row}\n\n"


def _devices(machine: Machine, before: dict[str, list[str]], span: int, letters: str, wanted: list[str]) -> str:
    columns = _WIDE if "x" in letters else _BRIEF
    mega = "m" in letters
    heads = [(name.replace("kB", "MB") if mega else name, width) for name, width in columns]
    lines = [f"{'Device':<13}" + "".join(f" {name:>{width}}" for name, width in heads)]
    for disk in sorted(on_bus(machine), key=lambda disk: disk.name):
        if wanted and disk.name not in wanted:
            continue
        delta = _difference(disk.counted(), before.get(disk.name, []))
        if "z" in letters and not (delta.reads or delta.writes or delta.busy_ns):
            continue
        values = _wide(delta, span) if "x" in letters else _brief(delta, span)
        cells = []
        for (name, width), value in zip(columns, values, strict=True):
            if mega and name.startswith(("rkB", "wkB", "dkB", "kB")):
                value /= 1024.0
            whole = name in ("kB_read", "kB_wrtn", "kB_dscd")
            cells.append(f" {value:{width}.0f}" if whole else f" {value:{width}.2f}")
        lines.append(f"{disk.name:<13}" + "".join(cells))
    return "\n".join(lines) + "\n\n"


def _difference(now: Counters, before: list[str]) -> Counters:
    if not before:
        return now
    found = Counters()
    for name, old in zip(_FIELDS, before, strict=True):
        setattr(found, name, max(0.0, getattr(now, name) - float(old)))
    return found


def _each(total: float, count: float) -> float:
    return total / count if count > 0.0 else 0.0


def _wide(delta: Counters, span: int) -> list[float]:
    seconds = span / SECOND
    merged_reads, merged_writes = delta.reads / 9.0, delta.writes / 3.0
    queue = (delta.read_ns + delta.write_ns + delta.flush_ns) / span
    return [
        delta.reads / seconds,
        delta.read_sectors / 2.0 / seconds,
        merged_reads / seconds,
        10.0 if delta.reads else 0.0,
        _each(delta.read_ns, delta.reads) / 1e6,
        _each(delta.read_sectors / 2.0, delta.reads),
        delta.writes / seconds,
        delta.write_sectors / 2.0 / seconds,
        merged_writes / seconds,
        25.0 if delta.writes else 0.0,
        _each(delta.write_ns, delta.writes) / 1e6,
        _each(delta.write_sectors / 2.0, delta.writes),
        *(0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        delta.flushes / seconds,
        _each(delta.flush_ns, delta.flushes) / 1e6,
        queue,
        min(100.0, 100.0 * delta.busy_ns / span),
    ]


def _brief(delta: Counters, span: int) -> list[float]:
    seconds, read, wrote = span / SECOND, delta.read_sectors / 2.0, delta.write_sectors / 2.0
    return [(delta.reads + delta.writes) / seconds, read / seconds, wrote / seconds, 0.0, read, wrote, 0.0]


TOOLS = {"iostat": iostat}
