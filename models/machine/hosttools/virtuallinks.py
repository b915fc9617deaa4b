"""Links that are made up when somebody looks: /proc/self, /proc/PID/{exe,cwd,root,fd,ns}, and those that the kubelet
keeps in /var/log/containers.
"""

from __future__ import annotations

from simcluster.engine.streams import mix
from simcluster.models.machine import containerlogs
from simcluster.models.machine.kernel.proctable import LOGIN, Process, processes
from simcluster.models.machine.machine import Machine

#: Namespaces, and the number of the first of each (fs/nsfs.c, proc_ns.h).
_SPACES = {"cgroup": 4026531835, "ipc": 4026531839, "mnt": 4026531841, "net": 4026531840, "pid": 4026531836,
           "time": 4026531834, "user": 4026531837, "uts": 4026531838}  # fmt: skip
_LINKS = ("cwd", "exe", "root")
FOLDERS = ("fd", "ns")


def link(machine: Machine, path: str) -> str:
    """Where a link leads; empty if there is none."""
    if path.startswith(f"{containerlogs.CONTAINERS}/"):
        found = containerlogs.find(machine, path)
        return found.run.log_path if found is not None and found.run is not None else ""
    if path == "/proc/self":
        return str(LOGIN)
    if path in ("/proc/mounts", "/proc/net"):
        return f"self/{path[6:]}" if path == "/proc/mounts" else ""
    parts = path.split("/")
    if len(parts) not in (4, 5) or parts[1] != "proc" or not parts[2].isdigit():
        return ""
    process = next((one for one in processes(machine) if str(one.pid) == parts[2]), None)
    if process is None:
        return ""
    if len(parts) == 4:
        return {"cwd": "/root" if process.pid == LOGIN else "/", "root": "/", "exe": _program(process)}.get(
            parts[3], ""
        )
    if parts[3] == "fd" and parts[4].isdigit():
        return _descriptors(machine, process).get(parts[4], "")
    return f"{parts[4]}:[{_space(machine, process, parts[4])}]" if parts[3] == "ns" and parts[4] in _SPACES else ""


def names(machine: Machine, folder: str) -> list[str] | None:
    """Names of links in a folder of /proc; None if it is none with links."""
    parts = folder.split("/")
    if len(parts) not in (3, 4) or parts[1] != "proc" or not parts[2].isdigit():
        return None
    process = next((one for one in processes(machine) if str(one.pid) == parts[2]), None)
    if process is None:
        return None
    if len(parts) == 3:
        return [name for name in (*_LINKS, *FOLDERS) if name != "exe" or _program(process)]
    return {"fd": list(_descriptors(machine, process)), "ns": list(_SPACES)}.get(parts[3])


def _program(process: Process) -> str:
    """The file of its program; a thread of the kernel has none."""
    word = process.args.strip('"@').split(" ")[0].rstrip(":")
    return "" if word.startswith("[") else word if word.startswith("/") else f"/usr/bin/{process.comm}"


def _descriptors(machine: Machine, process: Process) -> dict[str, str]:
    """Open files: of containers as many as their tables hold, of daemons a few."""
    if process.args.startswith("["):
        return {}
    if process.pid == LOGIN:
        return {str(number): "/dev/pts/0" for number in (0, 1, 2, 255)}
    container = next((c for c in machine.runtime.containers() if c.running and c.pid == process.pid), None)
    held = 12 if container is None else machine.os.descriptors.held(container)
    found = {"0": "/dev/null", "1": "pipe:[21001]", "2": "pipe:[21002]"}
    for number in range(3, max(3, held)):
        if number < 8:
            found[str(number)] = "anon_inode:[eventpoll]" if number % 2 else "anon_inode:[eventfd]"
        else:
            found[str(number)] = f"socket:[{900_000 + process.pid * 16 + number}]"
    return found


def _space(machine: Machine, process: Process, kind: str) -> int:
    """Number of one of its namespaces: pods have their own, the host's processes share the first."""
    container = next((c for c in machine.runtime.containers() if c.running and c.pid == process.pid), None)
    if container is None or kind in ("time", "user") or (kind in ("net", "uts") and container.sandbox.host_network):
        return _SPACES[kind]
    owner = container.sandbox.sandbox_id if kind in ("net", "ipc", "uts") else container.container_id
    return 4026532000 + mix(machine.sim.streams.key("namespace", kind, owner), 0) % 900
