"""Files that the kernel makes up when they are read: /proc and /sys.

Each family has a function (machine, path) -> text or None; the first that knows the path answers.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.models.machine import dimms
from simcluster.models.machine.hosttools import blockfiles, modules, syslogfiles, virtuallinks
from simcluster.models.machine.kernel import groupfiles, procfiles, proctable, thermalfiles
from simcluster.models.machine.kernel.proctable import LOGIN
from simcluster.models.machine.machine import Machine

GROUPS = "/sys/fs/cgroup"
_OF_PROCESS = ("cgroup", "cmdline", "comm", "environ", "limits", "oom_score_adj", "statm", "status")
VIRTUAL_FILES: tuple[Callable[[Machine, str], str | None], ...] = (
    blockfiles.read,
    thermalfiles.read,
    dimms.read,
    syslogfiles.read,
    procfiles.read,
)


def virtual_file(machine: Machine, path: str) -> str | None:
    """Text of a file of /proc or /sys; None if the path is no such file."""
    if path == "/proc/modules":
        return modules.modules_file(machine)
    if path.startswith("/proc/self/") and path != "/proc/self/mounts":
        path = f"/proc/{LOGIN}/{path[len('/proc/self/') :]}"
    for read in VIRTUAL_FILES:
        text = read(machine, path)
        if text is not None:
            return text
    return None


def virtual_names(machine: Machine, folder: str) -> list[str] | None:
    """Names in a folder that the kernel makes up; None if it is no such folder."""
    if folder == "/dev":
        return sorted(name for disk in machine.disks.values() for name in blockfiles.nodes(disk))
    if folder == "/var/log":
        return [path.rpartition("/")[2] for path in syslogfiles.FILES]
    if folder != "/etc" and not f"{folder}/".startswith(("/proc/", "/sys/")):
        return None
    if folder == GROUPS or folder.startswith(GROUPS + "/"):
        return groupfiles.names(machine, folder[len(GROUPS) :])
    prefix, number = folder + "/", folder[6:]
    if folder.startswith("/proc/") and number.isdigit():
        there = any(str(process.pid) == number for process in proctable.processes(machine))
        return [*_OF_PROCESS, *(virtuallinks.names(machine, folder) or ())] if there else None
    if folder.startswith("/proc/") and folder.rpartition("/")[2] in virtuallinks.FOLDERS:
        return virtuallinks.names(machine, folder)
    known = [
        *blockfiles.paths(machine),
        *thermalfiles.paths(machine),
        *dimms.paths(machine),
        *procfiles.paths(machine),
        "/proc/modules",
        GROUPS,
    ]
    names = dict.fromkeys(path[len(prefix) :].partition("/")[0] for path in known if path.startswith(prefix))
    if folder == "/proc":
        names.update(dict.fromkeys(str(process.pid) for process in proctable.processes(machine)))
    return sorted(names) or None
