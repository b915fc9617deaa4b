"""Files of /proc and /sys as a process in a container sees them: its own cgroup, the node's /proc."""

from __future__ import annotations

from simcluster.models.machine.container import Container
from simcluster.models.machine.kernel import cgroupfiles
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
    if path == "/proc/1/limits":
        soft = container.machine.os.descriptors.limit(container)
        head = "Limit                     Soft Limit           Hard Limit           Units     \n"
        return f"{head}Max open files            {soft:<21}{soft:<21}files     \n"
    return None
