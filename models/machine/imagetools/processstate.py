"""Commands of images that show processes, memory and mounts: ps, top, free, uptime, mount, pgrep, pstree.

BusyBox' forms on Alpine and BusyBox, procps' (4.0) on Debian. Left out: threads, formats of `ps -o` but the common.
"""

from __future__ import annotations

import re

from simcluster.engine import SECOND, format_rfc3339
from simcluster.models.machine.container import Container
from simcluster.models.machine.imagefacts import facts_of
from simcluster.models.machine.imagetools.call import Outcome, Tool, ToolCall
from simcluster.models.machine.kernel import containerproc
from simcluster.models.machine.kernel.containerproc import Inner

_COLUMNS = ("pid", "ppid", "user", "comm", "args", "stat", "rss", "vsz", "time", "etime", "pcpu", "pmem")
_ALIASES = {
    "cmd": "args",
    "command": "args",
    "uid": "user",
    "s": "stat",
    "state": "stat",
    "%cpu": "pcpu",
    "%mem": "pmem",
}


def _gnu(container: Container) -> bool:
    facts = facts_of(container.spec.image)
    return facts is not None and facts.base in ("debian", "ubuntu")


def _user(container: Container) -> str:
    facts = facts_of(container.spec.image)
    uid = container.uid
    if facts is not None and uid and facts.user[1] == uid:
        return facts.user[0]
    return "root" if not uid else str(uid)


def _listed(call: ToolCall) -> list[Inner]:
    """The processes of the container, or of the one whose namespace it has joined, and the command itself."""
    container = call.container
    own = containerproc.processes(container)
    if tuple(call.argv) != container.argv:  # else it is the main process itself
        own.append(Inner(containerproc.SELF, 0, call.name, " ".join(call.argv), "R", 1 << 20))
    joined = container.sandbox.containers.get(container.spec.target)
    if joined is None or not joined.running:
        return own
    there = containerproc.processes(joined)
    begin = max(one.pid for one in there) + 6  # what had been started and is gone
    return [*there, *(one._replace(pid=begin + at, ppid=0) for at, one in enumerate(own))]


def _time(cpu_ns: int) -> str:
    seconds = cpu_ns // SECOND
    return f"{seconds // 60}:{seconds % 60:02d}"


def _cell(container: Container, one: Inner, column: str) -> str:
    memory = container.machine.memory_bytes
    age = max(1, container.sim.now - container.started_ns)
    since = age // SECOND
    values = {
        "pid": str(one.pid), "ppid": str(one.ppid), "user": _user(container), "comm": one.comm, "args": one.args,
        "stat": one.state, "rss": str(one.resident >> 10), "vsz": str(one.resident * 3 >> 10),
        "time": _time(one.cpu_ns), "etime": f"{since // 60:02d}:{since % 60:02d}",
        "pcpu": f"{100 * one.cpu_ns / age:.1f}", "pmem": f"{100 * one.resident / memory:.1f}",
    }  # fmt: skip
    return values[column]


def ps(call: ToolCall) -> Outcome:
    """The processes that can be named."""
    container, found = call.container, _listed(call)
    wanted = next((call.argv[at + 1] for at, word in enumerate(call.argv[:-1]) if word.endswith("o")), "")
    if wanted and any(word.startswith("-") and word.endswith("o") for word in call.argv):
        columns = [_ALIASES.get(name, name) for name in wanted.partition("=")[0].lower().split(",")]
        wrong = next((name for name in columns if name not in _COLUMNS), "")
        if wrong:
            return Outcome(stderr=f"ps: bad -o argument '{wrong}', supported arguments: {','.join(_COLUMNS)}\n", code=1)
        heads = {"args": "COMMAND", "comm": "COMMAND", "pcpu": "%CPU", "pmem": "%MEM"}
        rows = [[heads.get(name, name.upper()) for name in columns]] if "=" not in wanted else []
        rows += [[_cell(container, one, name) for name in columns] for one in found]
        widths = [max(len(row[at]) for row in rows) for at in range(len(columns))]
        shown = (" ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
        return Outcome("".join(f"{line.rstrip()}\n" for line in shown))
    return _plain(call, found)


def _plain(call: ToolCall, found: list[Inner]) -> Outcome:
    """The table without `-o`."""
    container = call.container
    letters = "".join(call.argv[1:]).replace("-", "")
    if not _gnu(container):
        lines = [
            f"{one.pid:5d} {_user(container):<8} {_time(one.cpu_ns):>5} "
            + (f"{{{one.comm}}} {one.args}" if one.state == "Z" else one.args)
            for one in found
        ]
        return Outcome("PID   USER     TIME  COMMAND\n" + "".join(f"{line}\n" for line in lines))
    if "u" in letters:
        head = "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"
    elif "e" in letters or "A" in letters:
        head = "    PID TTY          TIME CMD\n"
        head = "UID          PID    PPID  C STIME TTY          TIME CMD\n" if "f" in letters else head
    else:
        own = found[-1]
        return Outcome(f"    PID TTY          TIME CMD\n{own.pid:>7} ?        00:00:00 {own.comm}\n")
    return Outcome(head + "".join(_row(container, one, letters) for one in found))


def _row(container: Container, one: Inner, letters: str) -> str:
    """A line of procps' ps."""
    began, user, spent = format_rfc3339(container.started_ns)[11:16], _user(container), _time(one.cpu_ns)
    if "u" in letters:
        cpu, memory = _cell(container, one, "pcpu"), _cell(container, one, "pmem")
        state = one.state + "s" if one.pid == 1 else one.state
        size, resident = one.resident * 3 >> 10, one.resident >> 10
        head = f"{user:<8} {one.pid:>7} {cpu:>4} {memory:>4} {size:>6} {resident:>5} ?        {state:<4} "
        return f"{head}{began:>5} {spent:>6} {one.args}\n"
    if "f" in letters:
        return f"{user:<8} {one.pid:>7} {one.ppid:>7}  0 {began} ?        00:{spent:0>5} {one.args}\n"
    return f"{one.pid:>7} ?        00:{spent:0>5} {one.comm}\n"


def pgrep(call: ToolCall) -> Outcome:
    """PIDs whose names match."""
    pattern = call.arguments[-1] if call.arguments else ""
    if not pattern:
        return Outcome(stderr="pgrep: no matching criteria specified\n", code=1)
    try:
        sought = re.compile(pattern[:200])
    except re.error:
        return Outcome(stderr=f"pgrep: bad regex '{pattern}'\n", code=1)
    lines = []
    for one in containerproc.processes(call.container):
        text = one.args if call.has("f") else one.comm
        if sought.fullmatch(text) if call.has("x") else sought.search(text):
            lines.append(f"{one.pid} {one.args if call.has('a') else one.comm}\n" if call.has("l") or call.has("a") else
                         f"{one.pid}\n")  # fmt: skip
    return Outcome("".join(lines), code=0 if lines else 1)


def _memory(container: Container) -> dict[str, int]:
    """/proc/meminfo in KiB."""
    text = container.machine.file("/proc/meminfo") or ""
    return {name: int(amount) for name, amount in re.findall(r"^(\w+):\s+(\d+)", text, re.MULTILINE)}


def free(call: ToolCall) -> Outcome:
    """Memory of the node: a container sees it all."""
    if _gnu(call.container):
        found: Outcome | None = call.container.machine.run(list(call.argv))
        return found or Outcome()
    found_kib = _memory(call.container)
    shift = 10 if call.has("m") else 20 if call.has("g") else 0
    total, unused, shared, cached, available = (
        found_kib.get(name, 0) >> shift for name in ("MemTotal", "MemFree", "Shmem", "Cached", "MemAvailable")
    )
    buffers = found_kib.get("Buffers", 0) >> shift
    head = "              total        used        free      shared  buff/cache   available\n"
    used = total - unused - cached - buffers
    return Outcome(
        f"{head}Mem:    {total:11d} {used:11d} {unused:11d} {shared:11d} {cached + buffers:11d} {available:11d}\n"
        f"Swap:   {0:11d} {0:11d} {0:11d}\n"
    )


def uptime(call: ToolCall) -> Outcome:
    """Since when the node is up."""
    text = (call.container.machine.file("/proc/uptime") or "0").split(".")[0]
    load = (call.container.machine.file("/proc/loadavg") or "0.00 0.00 0.00").split()
    minutes = int(text) // 60
    days, hours = minutes // 1440, minutes // 60 % 24
    span = f"{hours}:{minutes % 60:02d}" if hours else f"{minutes % 60} min"
    up = (f"{days} day{'s' * (days > 1)}, " if days else "") + span
    clock = format_rfc3339(call.now_ns)[11:19]
    return Outcome(f" {clock} up {up},  0 users,  load average: {', '.join(load[:3])}\n")


def top(call: ToolCall) -> Outcome:
    """One picture (-n 1 or -b); otherwise it goes on until somebody presses Ctrl-C."""
    container, found_kib = call.container, _memory(call.container)
    load = (container.machine.file("/proc/loadavg") or "0.00 0.00 0.00 1/1 1").strip()
    total, unused = found_kib.get("MemTotal", 0), found_kib.get("MemFree", 0)
    cached, buffers = found_kib.get("Cached", 0), found_kib.get("Buffers", 0)
    text = (
        f"Mem: {total - unused}K used, {unused}K free, {found_kib.get('Shmem', 0)}K shrd, {buffers}K buff, "
        f"{cached}K cached\n"
    )
    busy = min(100, int(100 * container.machine.cpu.used(container) / max(1, container.machine.cpu_cores)))
    text += f"CPU:  {busy:2d}% usr   0% sys   0% nic {100 - busy:3d}% idle   0% io   0% irq   0% sirq\n"
    text += f"Load average: {load}\n  PID  PPID USER     STAT   VSZ %VSZ CPU %CPU COMMAND\n"
    for one in _listed(call):
        size = one.resident * 3 >> 10
        share = int(100 * size / max(1, total))
        text += f"{one.pid:5d} {one.ppid:5d} {_user(container):<8} {one.state:<4} {size:6d} {share:3d}%   0   0% "
        text += f"{one.args}\n"
    once = any(word in ("-n1", "-bn1", "-n", "-bn") for word in call.argv)
    return Outcome(text) if once else Outcome(text, delay_ns=1 << 62)


def mount(call: ToolCall) -> Outcome:
    """What is mounted; changes need a privileged container."""
    if call.arguments:
        return Outcome(stderr="mount: permission denied (are you root?)\n", code=1 if not _gnu(call.container) else 32)
    rows = [line.split() for line in containerproc.mounts(call.container).splitlines()]
    return Outcome("".join(f"{row[0]} on {row[1]} type {row[2]} ({row[3]})\n" for row in rows))


TOOLS: dict[str, Tool] = {
    "free": free,
    "mount": mount,
    "pgrep": pgrep,
    "ps": ps,
    "top": top,
    "uptime": uptime,
}
