"""Files of /proc and /sys as a process in a container sees them: its own cgroup, the node's /proc."""

from __future__ import annotations

from simcluster.models.machine.container import Container
from simcluster.models.machine.kernel import cgroupfiles, containerproc, podnet
from simcluster.models.machine.kernel.cgroupfiles import CGROUP

FOLDER = "/sys/fs/cgroup"

#: Files of the node that every container sees as they are.
_NODE = ("/proc/cpuinfo", "/proc/loadavg", "/proc/meminfo", "/proc/stat", "/proc/uptime")
PATHS = tuple(f"{FOLDER}/{name}" for name in CGROUP)


def read(container: Container, path: str) -> str | None:
    """Text of a file; None if there is none of that name."""
    folder, _, name = path.rpartition("/")
    if folder == FOLDER and name in CGROUP:
        return cgroupfiles.read(container, name)
    own = (
        "" if container.sandbox.host_network else container.machine.os.namespaces.get(container.spec.pod_uid, path[10:])
    )
    if own and path.startswith("/proc/sys/"):
        return f"{own}\n"
    if path in _NODE or path.startswith(("/proc/sys/", "/proc/pressure/")):
        return container.machine.file(path)
    if path == "/proc/mounts":
        return containerproc.mounts(container)
    if path.startswith("/proc/net/"):
        return podnet.file_of(container, path)
    return containerproc.read(container, path) if path.startswith("/proc/") else None


def names(container: Container, folder: str) -> list[str] | None:
    """Names in a folder that the kernel makes up; None if it is no such folder."""
    if folder == "/proc":
        known = [path.split("/")[2] for path in (*_NODE, *podnet.PATHS, "/proc/mounts", "/proc/sys/")]
        return sorted({*(containerproc.names(container, folder) or ()), *known})
    if folder == "/proc/net":
        return sorted(path.rpartition("/")[2] for path in podnet.PATHS)
    return containerproc.names(container, folder) if folder.startswith("/proc/") else None
