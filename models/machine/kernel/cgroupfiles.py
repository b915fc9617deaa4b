"""The cgroup v2 files of a container under /sys/fs/cgroup, as a process inside reads them.

Source: Documentation/admin-guide/cgroup-v2.rst; the runtime mounts the container's own group
as the root of what it sees.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import SECOND
from simcluster.models.machine.container import Container
from simcluster.models.machine.kernel import memory
from simcluster.models.machine.kernel.cgroups import weight_of
from simcluster.models.machine.kernel.pids import PER_CONTAINER
from simcluster.models.machine.kernel.pressure import group_text

#: Files of a group.
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
#: Minor faults a second of CPU time, of servers that allocate and free as they work.
FAULTS_PER_CPU_S = 300
#: What a group counts that its parent goes on counting when it is gone.
CUMULATIVE = ("cpu.stat", "memory.events")
#: The drive of the system, device numbers, and how much the kernel reads ahead.
ROOT, NUMBERS, READ_AHEAD = "nvme0n1", {"nvme0n1": "259:0", "sda": "8:0", "sdb": "8:16"}, 131072


def read(container: Container, name: str) -> str | None:
    """Text of one file; None if there is none of that name."""
    if name not in CGROUP:
        return None
    if name.endswith(".pressure"):
        return group_text(container, name.partition(".")[0])
    if name.startswith("memory."):
        return _memory(container, name)
    if name.startswith("pids."):
        return _pids(container, name)
    if name.startswith("cpu."):
        return _cpu(container, name)
    if name == "io.stat":
        return _io(container)
    return "cpuset cpu io memory hugetlb pids rdma misc\n"


def _cpu(container: Container, name: str) -> str:
    limit = container.spec.cpu_limit
    if name == "cpu.max":
        return "max 100000\n" if limit is None else f"{int(limit * 100_000)} 100000\n"
    if name == "cpu.stat":
        return container.cpu_stat().text()
    return f"{weight_of(container.spec.cpu_request)}\n"


def _io(container: Container) -> str:
    """What it has read and written by drive; its programs and libraries came from the root drive, once."""
    machine, key = container.machine, container.container_id
    found = {disk: counted for (owner, disk), counted in machine.os.load.io.items() if owner == key}
    files = loaded_bytes(container)
    read, written, reads, writes = found.get(ROOT, (0, 0, 0, 0))
    found[ROOT] = (read + files, written, reads + files // READ_AHEAD, writes)
    return "".join(
        f"{NUMBERS.get(disk, '8:0')} rbytes={r} wbytes={w} rios={ri} wios={wi} dbytes=0 dios=0\n"
        for disk, (r, w, ri, wi) in sorted(found.items())
    )


def _memory(container: Container, name: str) -> str:
    limit, anonymous = container.spec.memory_limit, container.memory_bytes
    file = memory.file_bytes(container.machine, container)
    if limit is not None:
        file = max(0, min(file, limit - anonymous))
    shared = container.machine.os.shm.used(container.spec.pod_uid)
    if name == "memory.current":
        return f"{anonymous + file + shared}\n"
    if name == "memory.peak":
        return f"{peak_bytes(container)}\n"
    if name == "memory.max":
        return "max\n" if limit is None else f"{limit}\n"
    if name in ("memory.high", "memory.swap.max"):
        return "max\n" if name == "memory.high" else "0\n"
    if name in ("memory.swap.current", "memory.oom.group"):
        return "1\n" if name == "memory.oom.group" else "0\n"
    if name == "memory.events":
        kills = container.oom_kills
        full = container.memory_full + kills
        return f"low 0\nhigh 0\nmax {full}\noom {kills}\noom_kill {kills}\noom_group_kill {kills}\n"
    mapped = min(file, memory.program_bytes(container)) * 2 // 3  # programs and libraries; data are read
    rows = (
        ("anon", anonymous), ("file", file + shared), ("kernel", anonymous // 40), ("kernel_stack", 196608),
        ("pagetables", anonymous // 256), ("sock", 4096), ("shmem", shared), ("file_mapped", mapped),
        ("file_dirty", 0), ("file_writeback", 0), ("inactive_anon", anonymous // 10),
        ("active_anon", anonymous - anonymous // 10), ("inactive_file", file - mapped), ("active_file", mapped),
        ("slab", anonymous // 60), ("pgfault", faults(container)),
        ("pgmajfault", loaded_bytes(container) // READ_AHEAD),
    )  # fmt: skip
    return "".join(f"{key} {value}\n" for key, value in rows)


def loaded_bytes(container: Container) -> int:
    """Bytes of programs and libraries that a container has read from the drive until now."""
    return loaded_of(container.memory_peak)


def loaded_of(peak: int) -> int:
    """The same of a container that has held so many bytes at the most."""
    return max(memory.LEAST_FILE, peak * memory.FILE_PERCENT // 100)


def peak_bytes(container: Container) -> int:
    """The most that it was charged for since it began: what it held, its programs and its files."""
    peak = max(container.memory_peak, container.memory_bytes) + loaded_bytes(container)
    peak += memory.file_peak(container.machine, container)
    return peak if container.spec.memory_limit is None else min(peak, container.spec.memory_limit)


def faults(container: Container) -> int:
    """Page faults: pages touched for the first time, pages of programs mapped, and what allocators give and take."""
    touched = (container.memory_grown + loaded_bytes(container)) // 4096
    return touched + container.cpu_ns * FAULTS_PER_CPU_S // SECOND


def faults_of(cpu_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Page faults of containers that have used so much CPU time, but for pages that were touched or mapped."""
    seconds, rest = np.divmod(cpu_ns, SECOND)
    found: NDArray[np.int64] = seconds * FAULTS_PER_CPU_S + rest * FAULTS_PER_CPU_S // SECOND
    return found


def _pids(container: Container, name: str) -> str:
    table, uid = container.machine.os.pids, container.spec.pod_uid
    if name == "pids.max":
        return "max\n"  # the kubelet limits the pod's group, not this one
    if name == "pids.events":
        return f"max {table.rejected(uid)}\n"
    return f"{(PER_CONTAINER if container.running else 0) + table.extra(uid)}\n"
