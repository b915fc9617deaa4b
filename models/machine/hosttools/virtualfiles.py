"""Files that the kernel makes up when they are read: /proc and /sys.

Each family has a function (machine, path) -> text or None; the first that knows the path answers.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.models.machine.hosttools import blockfiles
from simcluster.models.machine.kernel import groupfiles, procfiles, proctable, thermalfiles
from simcluster.models.machine.machine import Machine

VIRTUAL_FILES: tuple[Callable[[Machine, str], str | None], ...] = (blockfiles.read, thermalfiles.read, procfiles.read)


def virtual_file(machine: Machine, path: str) -> str | None:
    """Text of a file of /proc or /sys; None if the path is no such file."""
    for read in VIRTUAL_FILES:
        text = read(machine, path)
        if text is not None:
            return text
    return None


def virtual_names(machine: Machine, path: str) -> list[str] | None:
    """Names in a folder that the kernel makes up; None if it is no such folder, or files of another kind are there."""
    groups = "/sys/fs/cgroup"
    if path == groups or path.startswith(groups + "/"):
        return groupfiles.names(machine, path[len(groups) :])
    if path == "/proc":
        listed = [str(process.pid) for process in proctable.processes(machine)]
        fixed = ("cmdline", "diskstats", "mounts", "net", "partitions", "pressure", "sys")
        return sorted([*listed, *fixed, *(name[6:] for name in procfiles.NAMES if name.count("/") == 2)])
    found = thermalfiles.names(machine, path) if path.startswith("/sys/") else None
    if found is not None:
        return found
    if path == "/proc/pressure":
        return ["cpu", "io", "memory"]
    number = path[6:] if path.startswith("/proc/") else ""
    if number.isdigit() and any(str(process.pid) == number for process in proctable.processes(machine)):
        return ["cgroup", "cmdline", "comm", "limits", "oom_score_adj", "status"]
    return None
