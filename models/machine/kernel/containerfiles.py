"""Files of /proc and /sys as a process in a container sees them: its own cgroup, the node's /proc."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simcluster.models.machine.container import Container

#: Files of the container's own group.
FOLDER = "/sys/fs/cgroup"
CGROUP = (
    "cgroup.controllers",
    "cpu.max",
    "cpu.pressure",
    "cpu.stat",
    "cpu.weight",
    "io.pressure",
    "io.stat",
    "memory.current",
    "memory.events",
    "memory.high",
    "memory.max",
    "memory.oom.group",
    "memory.peak",
    "memory.pressure",
    "memory.stat",
    "memory.swap.current",
    "memory.swap.max",
    "pids.current",
    "pids.events",
    "pids.max",
)
#: Files of the node that every container sees as they are.
_NODE = ("/proc/cpuinfo", "/proc/loadavg", "/proc/meminfo", "/proc/stat", "/proc/uptime")
PATHS = tuple(f"{FOLDER}/{name}" for name in CGROUP)


def read(container: Container, path: str) -> str | None:
    """Text of a file; None if there is none of that name."""
    folder, _, name = path.rpartition("/")
    if folder == FOLDER and name in CGROUP:
        return container.machine.os.group_file(container, name)
    if path in _NODE or path.startswith(("/proc/sys/", "/proc/pressure/")):
        return container.machine.os.file(path)
    if path == "/proc/1/limits":
        soft = container.machine.os.descriptors.limit(container)
        head = "Limit                     Soft Limit           Hard Limit           Units     \n"
        return f"{head}Max open files            {soft:<21}{soft:<21}files     \n"
    return None
