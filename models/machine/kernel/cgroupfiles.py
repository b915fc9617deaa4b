"""The cgroup v2 files of a container under /sys/fs/cgroup, as a process inside reads them.

Source: Documentation/admin-guide/cgroup-v2.rst; the runtime mounts the container's own group
as the root of what it sees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.machine.kernel import memory
from simcluster.models.machine.kernel.containerfiles import CGROUP
from simcluster.models.machine.kernel.pids import PER_CONTAINER
from simcluster.models.machine.kernel.pressure import cgroup_text

if TYPE_CHECKING:
    from simcluster.models.machine.container import Container


def read(container: Container, name: str) -> str | None:
    """Text of one file; None if there is none of that name."""
    if name not in CGROUP:
        return None
    if name.startswith("memory."):
        return _memory(container, name)
    if name.startswith("pids."):
        return _pids(container, name)
    if name.startswith("cpu."):
        return _cpu(container, name)
    if name == "io.pressure":
        return cgroup_text(0.0, 0)
    return "cpuset cpu io memory hugetlb pids rdma misc\n"


def _cpu(container: Container, name: str) -> str:
    limit = container.spec.cpu_limit
    if name == "cpu.max":
        return "max 100000\n" if limit is None else f"{int(limit * 100_000)} 100000\n"
    if name == "cpu.stat":
        return container.cpu_stat().text()
    if name == "cpu.weight":
        # kubelet: shares 2..262144 to weight 1..10000.
        shares = max(2, int(container.spec.cpu_request * 1024))
        return f"{1 + (shares - 2) * 9999 // 262142}\n"
    age = max(1, container.sim.now - container.started_ns)
    return cgroup_text(min(1.0, container.throttled_ns / age), container.throttled_ns // 1000)


def _memory(container: Container, name: str) -> str:
    limit, anonymous = container.spec.memory_limit, container.memory_bytes
    file = memory.file_bytes(container)
    if limit is not None:
        file = max(0, min(file, limit - anonymous))
    shared = container.machine.os.shm.used(container.spec.pod_uid)
    if name == "memory.current":
        return f"{anonymous + file + shared}\n"
    if name == "memory.peak":
        return f"{max(container.memory_peak, anonymous) + file}\n"
    if name == "memory.max":
        return "max\n" if limit is None else f"{limit}\n"
    if name in ("memory.high", "memory.swap.max"):
        return "max\n" if name == "memory.high" else "0\n"
    if name in ("memory.swap.current", "memory.oom.group"):
        return "1\n" if name == "memory.oom.group" else "0\n"
    if name == "memory.events":
        kills = container.machine.os.memory_kills(container)
        full = container.memory_full + kills
        return f"low 0\nhigh 0\nmax {full}\noom {kills}\noom_kill {kills}\noom_group_kill {kills}\n"
    if name == "memory.pressure":
        tight = limit is not None and anonymous + LEAST_ROOM > limit
        return cgroup_text(0.04 if tight else 0.0, container.memory_full * 1000)
    rows = (
        ("anon", anonymous), ("file", file + shared), ("kernel", anonymous // 40), ("kernel_stack", 196608),
        ("pagetables", anonymous // 256), ("sock", 4096), ("shmem", shared), ("file_mapped", file * 2 // 3),
        ("file_dirty", 0), ("file_writeback", 0), ("inactive_anon", anonymous // 10),
        ("active_anon", anonymous - anonymous // 10), ("inactive_file", file // 3), ("active_file", file - file // 3),
        ("slab", anonymous // 60), ("pgfault", anonymous // 4096 * 3), ("pgmajfault", file // 65536),
    )  # fmt: skip
    return "".join(f"{key} {value}\n" for key, value in rows)


#: With less room than this a process keeps reclaiming its own cache.
LEAST_ROOM = 4 << 20


def _pids(container: Container, name: str) -> str:
    table, uid = container.machine.os.pids, container.spec.pod_uid
    if name == "pids.max":
        limit = table.limit(uid)
        return "max\n" if limit is None else f"{limit}\n"
    if name == "pids.events":
        return f"max {table.rejected(uid)}\n"
    return f"{(PER_CONTAINER if container.running else 0) + table.extra(uid)}\n"
