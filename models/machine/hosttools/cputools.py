"""Programs that show who uses CPU and memory: `vmstat`, `free`, `top -b`, `mpstat`, `pidstat`, `uptime`, `lscpu`.

Formats: procps-ng 4.0.4, sysstat 12.6, util-linux 2.39 (Ubuntu 24.04). A program that would print every
second prints the present state as often as it was asked to, because the world does not move meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simcluster.engine import MINUTE, SECOND, format_rfc3339
from simcluster.engine.clock import HOUR
from simcluster.models.machine.cpu import NANOCORES
from simcluster.models.machine.kernel import memory
from simcluster.models.machine.kernel.procfiles import NOMINAL_MHZ, load_text
from simcluster.models.machine.program import ExecResult

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine

_MIB = 1 << 20
#: How the CPU time of servers splits into user and system time.
_USER_SHARE = 0.8


class Task(NamedTuple):
    """A process as the tools list it: its share of a core now, its resident memory, and its CPU time."""

    pid: int
    user: str
    name: str
    cores: float
    resident: int
    cpu_ns: int


class Split(NamedTuple):
    """Where CPU time goes, in per cent of all cores."""

    user: float
    system: float
    idle: float
    steal: float


def tasks(machine: Machine) -> list[Task]:
    """Processes that can be named, the busiest first."""
    found = []
    services = {process.pid for process in machine.processes.values()}
    for unit in machine.unit_list():
        if unit.active and unit.pid not in services:
            name = unit.command.strip('"@').split()[0].rpartition("/")[2].rstrip(":")
            cores = machine.cpu.system / NANOCORES * {"kubelet": 0.5, "containerd": 0.3}.get(name, 0.01)
            age = machine.sim.now - max(unit.changed_ns, machine.booted_ns)
            resident = {"kubelet": 96, "containerd": 62}.get(name, 12) * _MIB
            found.append(Task(unit.pid, "root", name[:15], cores, resident, int(cores * age)))
    for container in machine.runtime.containers():
        if container.running:
            words = container.spec.command or (container.spec.image.partition("@")[0].rpartition("/")[2],)
            name = words[0].rpartition("/")[2].partition(":")[0][:15]
            cores = machine.cpu.used(container)
            found.append(Task(container.pid, "root", name, cores, container.memory_bytes, container.cpu_ns))
    for process in machine.processes.values():
        cores, used = machine.cpu.granted(f"host/{process.name}"), process.used_ns(machine.sim.now)
        found.append(Task(process.pid, process.user, process.name[:15], cores, process.memory_bytes, used))
    return sorted(found, key=_busiest)


def _busiest(task: Task) -> tuple[float, int]:
    return (-task.cores, task.pid)


def split(machine: Machine) -> Split:
    """Where the machine's CPU time goes now."""
    cores = machine.cpu.capacity / NANOCORES
    busy = min(machine.cpu.demanded(), machine.cpu.available) / NANOCORES
    steal = machine.cpu.stolen / NANOCORES
    user = busy * _USER_SHARE
    parts = [100.0 * part / cores for part in (user, busy - user, cores - busy - steal, steal)]
    return Split(*parts)


def _free(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    found = memory.info(machine, machine.os.shared_bytes())
    shape = _mebi if "-m" in args else _human if "-h" in args else _gibi if "-g" in args else _kibi
    cache = found.buffers + found.cached + found.slab // 2
    used = found.total - found.free - cache
    rows = [
        ["Mem:", *(shape(n) for n in (found.total, used, found.free, found.shared, cache, found.available))],
        ["Swap:", *(shape(n) for n in (0, 0, 0))],
    ]
    heads = ["", "total", "used", "free", "shared", "buff/cache", "available"]
    lines = [f"{row[0]:<8}" + "".join(f"{cell:>12}" for cell in row[1:]) for row in (heads, *rows)]
    return ExecResult("\n".join(lines) + "\n")


def _kibi(amount: int) -> str:
    return str(amount >> 10)


def _mebi(amount: int) -> str:
    return str(amount >> 20)


def _gibi(amount: int) -> str:
    return str(amount >> 30)


def _human(amount: int) -> str:
    for unit, name in ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
        if amount >= unit:
            tenths = amount * 10 // unit
            return f"{tenths // 10}.{tenths % 10}{name}" if tenths < 100 else f"{tenths // 10}{name}"
    return f"{amount}B"


def _vmstat(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    found, cpu = memory.info(machine, machine.os.shared_bytes()), split(machine)
    unit = 20 if any(word in ("-Sm", "-SM") for word in args) or "M" in args else 10
    numbers = [int(word) for word in args if word.isdigit()]
    times = numbers[1] if len(numbers) > 1 else 1
    runnable = max(0, machine.cpu.demanded() // NANOCORES)
    switches = 900 + int(100 * (100.0 - cpu.idle))
    line = (
        f"{runnable:2d} {0:2d} {0:6d} {found.free >> unit:6d} {found.buffers >> unit:6d} "
        f"{(found.cached + found.slab // 2) >> unit:6d} {0:4d} {0:4d} {4:5d} {38:5d} {switches // 2:4d} {switches:4d} "
        f"{cpu.user:2.0f} {cpu.system:2.0f} {cpu.idle:2.0f} {0:2d} {cpu.steal:2.0f} {0:2d}\n"
    )
    head = (
        "procs -----------memory---------- ---swap-- -----io---- -system-- -------cpu-------\n"
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st gu\n"
    )
    return ExecResult(head + line * min(times, 60))


def _uptime_line(machine: Machine) -> str:
    up = machine.sim.now - machine.booted_ns
    days, hours, minutes = up // (24 * HOUR), up // HOUR % 24, up % HOUR // MINUTE
    shown = f"{days} day{'s' if days > 1 else ''}, " if days else ""
    shown += f"{hours:2d}:{minutes:02d}" if hours else f"{minutes} min"
    clock = format_rfc3339(machine.os.clock.now_ns())[11:19]
    averages = ", ".join(load_text(machine).split()[:3])
    return f"{clock} up {shown},  1 user,  load average: {averages}"


def _uptime(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    return ExecResult(f" {_uptime_line(machine)}\n")


def _top(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    letters = "".join(word[1:] for word in args if word.startswith("-"))
    if "b" not in letters:
        return ExecResult("", "top: failed tty get\n", 1)
    listed, cpu = tasks(machine), split(machine)
    if "RES" in args or "%MEM" in args:
        listed = sorted(listed, key=_largest)
    found = memory.info(machine, machine.os.shared_bytes())
    total = machine.os.tasks()
    running = max(1, min(total, machine.cpu.demanded() // NANOCORES))
    cache = found.buffers + found.cached + found.slab // 2
    mebi = [n / _MIB for n in (found.total, found.free, found.total - found.free - cache, cache, found.available)]
    lines = [
        f"top - {_uptime_line(machine)}",
        f"Tasks: {total:3d} total, {running:3d} running, {total - running:3d} sleeping,   0 stopped,   0 zombie",
        f"%Cpu(s): {cpu.user:4.1f} us, {cpu.system:4.1f} sy,  0.0 ni, {cpu.idle:4.1f} id,  0.0 wa,  0.0 hi,  0.0 si, "
        f"{cpu.steal:4.1f} st ",
        f"MiB Mem : {mebi[0]:8.1f} total, {mebi[1]:8.1f} free, {mebi[2]:8.1f} used, {mebi[3]:8.1f} buff/cache     ",
        f"MiB Swap: {0:8.1f} total, {0:8.1f} free, {0:8.1f} used. {mebi[4]:8.1f} avail Mem ",
        "",
        "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND",
    ]
    for task in listed:
        kib, state = task.resident >> 10, "R" if task.cores >= 0.5 else "S"
        hundredths = task.cpu_ns // (SECOND // 100)
        clock = f"{hundredths // 6000}:{hundredths % 6000 // 100:02d}.{hundredths % 100:02d}"
        percent = 100.0 * task.resident / machine.memory_bytes
        lines.append(
            f"{task.pid:7d} {task.user:<8}  20   0 {kib * 3 + 700000:7d} {kib:6d} {kib // 4:6d} {state} "
            f"{100.0 * task.cores:5.1f} {percent:5.1f} {clock:>9} {task.name}"
        )
    return ExecResult("\n".join(lines) + "\n")


def _largest(task: Task) -> tuple[int, int]:
    return (-task.resident, task.pid)


def _heading(machine: Machine) -> tuple[str, str]:
    text = format_rfc3339(machine.os.clock.now_ns())
    date, hour = f"{text[5:7]}/{text[8:10]}/{text[:4]}", int(text[11:13])
    clock = f"{hour % 12 or 12:02d}{text[13:19]} {'AM' if hour < 12 else 'PM'}"
    kernel = machine.identity.kernel_version
    return f"Linux {kernel} ({machine.name}) \t{date} \t_x86_64_\t({machine.cpu_cores} CPU)\n", clock


def _mpstat(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    head, clock = _heading(machine)
    cpu = split(machine)
    columns = ("%usr", "%nice", "%sys", "%iowait", "%irq", "%soft", "%steal", "%guest", "%gnice", "%idle")
    values = (cpu.user, 0.0, cpu.system, 0.0, 0.0, 0.0, cpu.steal, 0.0, 0.0, cpu.idle)
    lines = [head, f"{clock}  CPU " + "".join(f"{name:>8}" for name in columns)]
    names = ["all", *(str(n) for n in range(machine.cpu_cores))] if "ALL" in args else ["all"]
    lines += [f"{clock} {name:>4} " + "".join(f"{value:8.2f}" for value in values) for name in names]
    return ExecResult("\n".join(lines) + "\n")


def _pidstat(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    head, clock = _heading(machine)
    lines = [head, f"{clock}   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command"]
    for task in tasks(machine):
        if task.cores >= 0.0005:
            percent = 100.0 * task.cores
            lines.append(
                f"{clock} {0 if task.user == 'root' else 1000:5d} {task.pid:9d} {percent * _USER_SHARE:7.2f} "
                f"{percent * (1 - _USER_SHARE):7.2f}    0.00    0.00 {percent:7.2f} {task.pid % machine.cpu_cores:5d}  "
                f"{task.name}"
            )
    return ExecResult("\n".join(lines) + "\n")


def _lscpu(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    rows = (
        ("Architecture:", "x86_64"), ("CPU(s):", machine.cpu_cores),
        ("On-line CPU(s) list:", f"0-{machine.cpu_cores - 1}" if machine.cpu_cores > 1 else "0"),
        ("Vendor ID:", "GenuineIntel"), ("Thread(s) per core:", 1), ("Core(s) per socket:", machine.cpu_cores),
        ("Socket(s):", 1), ("CPU(s) scaling MHz:", f"{100 * machine.cpu_speed:.0f}%"),
        ("CPU max MHz:", f"{NOMINAL_MHZ:.4f}"), ("CPU min MHz:", "800.0000"),
    )  # fmt: skip
    return ExecResult("".join(f"{name:<33}{value}\n" for name, value in rows))


TOOLS = {
    "free": _free,
    "lscpu": _lscpu,
    "mpstat": _mpstat,
    "pidstat": _pidstat,
    "top": _top,
    "uptime": _uptime,
    "vmstat": _vmstat,
}
