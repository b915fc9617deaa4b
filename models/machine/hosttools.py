"""Programs of a node's host: `crictl`, `hostname`, `free`, `uptime`, `uname`, `nproc`, `df`, `dmesg`, `ps`.

Programs that read and change files are `hostfiletools`; systemctl and journalctl belong to the
node shell, which speaks to the units and the journal.
Formats: crictl 1.32, procps-ng 4.0, coreutils 9.4 (Ubuntu 24.04).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simcluster.engine import MINUTE, SECOND, format_rfc3339
from simcluster.engine.clock import HOUR, month_name, weekday
from simcluster.models.machine.container import Container
from simcluster.models.machine.disk import usage_of
from simcluster.models.machine.hostfiletools import FILE_TOOLS
from simcluster.models.machine.program import ExecResult
from simcluster.models.machine.runtime import SOCKET_ERROR, RuntimeFailure

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine


def run_on_host(machine: Machine, argv: Sequence[str], stdin: str = "") -> ExecResult | None:
    """Run a program of the host; None if there is no such program."""
    name, args = argv[0].rpartition("/")[2], list(argv[1:])
    if name in FILE_TOOLS:
        return FILE_TOOLS[name](machine, args, stdin)
    if name == "crictl":
        return _crictl(machine, args)
    tool = _TOOLS.get(name)
    return None if tool is None else tool(machine, args)


def _hostname(machine: Machine, args: list[str]) -> ExecResult:
    return ExecResult(f"{machine.address} \n" if args[:1] in (["-I"], ["-i"]) else f"{machine.name}\n")


def _uname(machine: Machine, args: list[str]) -> ExecResult:
    kernel = machine.identity.kernel_version
    if args[:1] == ["-r"]:
        return ExecResult(f"{kernel}\n")
    if args[:1] == ["-a"]:
        build = "#45-Ubuntu SMP PREEMPT_DYNAMIC Fri Aug 30 12:02:04 UTC 2024"
        return ExecResult(f"Linux {machine.name} {kernel} {build} x86_64 x86_64 x86_64 GNU/Linux\n")
    return ExecResult("Linux\n")


def _nproc(machine: Machine, args: list[str]) -> ExecResult:
    return ExecResult(f"{machine.cpu_cores}\n")


def _uptime(machine: Machine, args: list[str]) -> ExecResult:
    up = machine.sim.now - machine.booted_ns
    hours, minutes = up // HOUR, up % HOUR // MINUTE
    shown = f"{hours}:{minutes:02d}" if hours else f"{minutes} min"
    load = _load(machine)
    clock = format_rfc3339(machine.sim.now)[11:19]
    return ExecResult(f" {clock} up {shown},  1 user,  load average: {load}, {load}, {load}\n")


def _load(machine: Machine) -> str:
    wanted = machine.cpu.demanded() * 100 // 1_000_000_000
    return f"{wanted // 100}.{wanted % 100:02d}"


def _free(machine: Machine, args: list[str]) -> ExecResult:
    total, used = machine.memory_bytes, machine.memory_used()
    cache = min(total - used, 1_400_000_000)
    shape = _mebi if "-m" in args else _human if "-h" in args else _kibi
    rows = [
        ["Mem:", *(shape(n) for n in (total, used, total - used - cache, 2_400_000, cache, total - used))],
        ["Swap:", *(shape(n) for n in (0, 0, 0))],
    ]
    heads = ["", "total", "used", "free", "shared", "buff/cache", "available"]
    lines = [f"{row[0]:<8}" + "".join(f"{cell:>12}" for cell in row[1:]) for row in (heads, *rows)]
    return ExecResult("\n".join(lines) + "\n")


def _kibi(amount: int) -> str:
    return str(amount >> 10)


def _mebi(amount: int) -> str:
    return str(amount >> 20)


def _human(amount: int) -> str:
    for unit, name in ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
        if amount >= unit:
            tenths = amount * 10 // unit
            return f"{tenths // 10}.{tenths % 10}{name}" if tenths < 100 else f"{tenths // 10}{name}"
    return f"{amount}B"


def _df(machine: Machine, args: list[str]) -> ExecResult:
    disk = usage_of(machine)
    if "-i" in args:
        used = disk.total_inodes - disk.free_inodes
        percent = -(-100 * used // disk.total_inodes)
        head = "Filesystem      Inodes   IUsed   IFree IUse% Mounted on"
        return ExecResult(
            f"{head}\n/dev/vda1      {disk.total_inodes:>7} {used:>7} {disk.free_inodes:>7} {percent:>4}% /\n"
        )
    percent = -(-100 * disk.used_bytes // (disk.used_bytes + disk.available_bytes))
    if "-h" in args:
        total, used_text, free = (_human_bytes(n) for n in (disk.total_bytes, disk.used_bytes, disk.available_bytes))
        head = "Filesystem      Size  Used Avail Use% Mounted on"
        return ExecResult(f"{head}\n/dev/vda1      {total:>5} {used_text:>5} {free:>5} {percent:>3}% /\n")
    total_kib, used_kib, free_kib = (n >> 10 for n in (disk.total_bytes, disk.used_bytes, disk.available_bytes))
    head = "Filesystem     1K-blocks     Used Available Use% Mounted on"
    return ExecResult(f"{head}\n/dev/vda1      {total_kib:>9} {used_kib:>8} {free_kib:>9} {percent:>3}% /\n")


def _human_bytes(amount: int) -> str:
    """As `df -h` rounds: up, with one digit below ten."""
    for unit, name in ((1 << 30, "G"), (1 << 20, "M")):
        if amount >= unit:
            tenths = -(-amount * 10 // unit)
            return f"{tenths // 10}.{tenths % 10}{name}" if tenths < 100 else f"{-(-amount // unit)}{name}"
    return f"{amount >> 10}K"


def _dmesg(machine: Machine, args: list[str]) -> ExecResult:
    lines = []
    for line in machine.log:
        if line.identifier == "kernel":
            since = line.t_ns - machine.booted_ns
            stamp = f"[{since // SECOND:5d}.{since % SECOND // 1000:06d}]"
            if "-T" in args:
                text = format_rfc3339(line.t_ns)
                date = f"{weekday(line.t_ns)} {month_name(int(text[5:7]))} {int(text[8:10]):2d}"
                stamp = f"[{date} {text[11:19]} {text[:4]}]"
            lines.append(f"{stamp} {line.text}\n")
    return ExecResult("".join(lines))


def _ps(machine: Machine, args: list[str]) -> ExecResult:
    rows = ["    PID TTY          TIME CMD"]
    for unit in machine.unit_list():
        if unit.active:
            first = unit.command.strip('"@').split()[0].rpartition("/")[2]
            rows.append(f"{unit.pid:7d} ?        00:00:0{unit.pid % 10} {first.rstrip(':')}")
    for container in machine.runtime.containers():
        if container.running:
            seconds = container.cpu_ns // SECOND
            clock = f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"
            words = " ".join((*container.spec.command, *container.spec.args)) or container.spec.name
            rows.append(f"{container.pid:7d} ?        {clock} {words[:60]}")
    return ExecResult("\n".join(rows) + "\n")


_TOOLS = {
    "hostname": _hostname,
    "uname": _uname,
    "nproc": _nproc,
    "uptime": _uptime,
    "free": _free,
    "df": _df,
    "dmesg": _dmesg,
    "ps": _ps,
}


def _crictl(machine: Machine, args: list[str]) -> ExecResult:
    words = [word for word in args if not word.startswith("-")]
    verb = words[0] if words else ""
    if not machine.runtime.up:
        error = SOCKET_ERROR.replace('"', '\\"')
        stamp = format_rfc3339(machine.sim.now)
        return ExecResult("", f'time="{stamp}" level=fatal msg="validate service connection: {error}"\n', 1)
    if verb == "ps":
        return _crictl_ps(machine, every="-a" in args or "--all" in args)
    if verb == "pods":
        return _crictl_pods(machine)
    if verb in ("images", "image"):
        return _crictl_images(machine)
    if verb == "logs" and len(words) > 1:
        return _crictl_logs(machine, words[1])
    if verb == "exec" and len(words) > 2:
        return _crictl_exec(machine, words[1], tuple(words[2:]))
    return ExecResult("", f"No help topic for '{verb}'\n" if verb else "NAME:\n   crictl - client for CRI\n", 3)


def _table(rows: list[list[str]]) -> ExecResult:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["".join(f"{cell:<{width + 3}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    return ExecResult("\n".join(line.rstrip() for line in lines) + "\n")


def _crictl_ps(machine: Machine, *, every: bool) -> ExecResult:
    rows = [["CONTAINER", "IMAGE", "CREATED", "STATE", "NAME", "ATTEMPT", "POD ID", "POD"]]
    for container in reversed(machine.runtime.containers()):
        if not (container.running or every):
            continue
        state = "Running" if container.running else "Exited"
        image = container.image_id.partition("sha256:")[2][:13] or container.spec.image
        spec = container.spec
        created = _ago(machine.sim.now - container.created_ns)
        pod_id = container.sandbox.sandbox_id[:13]
        attempt = str(container.attempt)
        rows.append([container.container_id[:13], image, created, state, spec.name, attempt, pod_id, spec.pod_name])
    return _table(rows)


def _crictl_pods(machine: Machine) -> ExecResult:
    rows = [["POD ID", "STATE", "NAME", "NAMESPACE", "ATTEMPT", "RUNTIME"]]
    for sandbox in reversed(list(machine.runtime.sandboxes.values())):
        rows.append([sandbox.sandbox_id[:13], "Ready", sandbox.pod_name, sandbox.namespace, "0", "(default)"])
    return _table(rows)


def _crictl_images(machine: Machine) -> ExecResult:
    rows = [["IMAGE", "TAG", "IMAGE ID", "SIZE"]]
    for image in sorted(machine.images.images.values(), key=lambda i: i.name):
        tag = image.name[len(image.repository) + 1 :]
        megabytes = image.size_bytes * 10 // 1_000_000
        size = f"{megabytes // 10}.{megabytes % 10}MB"
        rows.append([image.repository, tag, image.digest.partition(":")[2][:13], size])
    return _table(rows)


def _find(machine: Machine, prefix: str) -> Container | None:
    for names in machine.runtime.runs.values():
        for runs in names.values():
            for container in runs:
                if container.container_id.startswith(prefix):
                    return container
    return None


def _crictl_logs(machine: Machine, prefix: str) -> ExecResult:
    container = _find(machine, prefix)
    if container is None:
        return ExecResult("", _unknown(machine, prefix), 1)
    return ExecResult("".join(f"{line.text}\n" for line in container.log.read()))


def _crictl_exec(machine: Machine, prefix: str, argv: tuple[str, ...]) -> ExecResult:
    container = _find(machine, prefix)
    if container is None:
        return ExecResult("", _unknown(machine, prefix), 1)
    try:
        return machine.runtime.execute(container, argv).result
    except RuntimeFailure as failure:
        return ExecResult("", f"FATA[0000] execing command in container: {failure}\n", 1)


def _unknown(machine: Machine, prefix: str) -> str:
    error = f'rpc error: code = NotFound desc = an error occurred when try to find container \\"{prefix}\\": not found'
    return f'time="{format_rfc3339(machine.sim.now)}" level=fatal msg="{error}"\n'


def _ago(duration_ns: int) -> str:
    if duration_ns < MINUTE:
        return f"{duration_ns // SECOND} seconds ago"
    if duration_ns < HOUR:
        minutes = duration_ns // MINUTE
        return f"{minutes} minutes ago" if minutes > 1 else "About a minute ago"
    hours = duration_ns // HOUR
    return f"{hours} hours ago" if hours > 1 else "About an hour ago"
