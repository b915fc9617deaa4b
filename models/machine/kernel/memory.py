"""A machine's memory as /proc/meminfo and cgroup files show it.

Anonymous memory is what processes hold (working sets); the page cache is what they read and
wrote, as much of it as fits besides: stores and brokers keep count of their files in it and read
from it. Under pressure the cache goes first, then the kernel kills.
Left out: swap (kubelet runs without), huge pages, NUMA.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simcluster.models.machine.host import Host
from simcluster.models.machine.kernel.group import Group

MIB = 1 << 20
#: Page cache of a node's system files and images' layers that were read at start.
SYSTEM_CACHE = 1_250 * MIB
#: Files that a container has read at least once (its binary, libraries), as a share of its anonymous memory.
FILE_PERCENT = 12
LEAST_FILE = 6 * MIB
SHARED_BYTES = 3 * MIB
BUFFERS = 48 * MIB
#: Slab: fixed structures and what each container costs.
SLAB_BASE, SLAB_PER_CONTAINER = 160 * MIB, 2 * MIB


class MemoryInfo(NamedTuple):
    """Bytes of a machine's memory."""

    total: int
    free: int
    available: int
    buffers: int
    cached: int
    shared: int
    slab: int
    anonymous: int
    page_tables: int
    stacks: int


def info(machine: Host, shared_bytes: int) -> MemoryInfo:
    """Memory of a machine now; `shared_bytes` is what is in all /dev/shm together."""
    total, used = machine.memory_bytes, machine.memory_used()
    alive = [container for container in machine.containers() if container.state == "running"]
    running = len(alive)
    slab = SLAB_BASE + SLAB_PER_CONTAINER * running
    left = max(0, total - used)
    files = sum(each_file_bytes(machine, alive))  # integers
    wish = SYSTEM_CACHE + files + slab // 2
    cache = min(wish, max(0, left - machine.min_free))
    buffers = min(BUFFERS, cache // 20)
    cached = max(0, cache - buffers - slab // 2)
    return MemoryInfo(
        total, left - cache, max(0, left - machine.min_free // 2), buffers, cached, SHARED_BYTES + shared_bytes,
        slab, max(0, used - slab // 2), used // 180, (330 + 12 * running) * 16384,
    )  # fmt: skip


def program_bytes(container: Group) -> int:
    """Bytes of the files that a container's processes have read to start: programs and libraries."""
    return program_of(container.memory_bytes) if container.running else 0


def program_of(anonymous: int) -> int:
    """`program_bytes` of a container that runs and holds so many bytes."""
    return max(LEAST_FILE, anonymous * FILE_PERCENT // 100)


def file_bytes(machine: Host, container: Group) -> int:
    """Page cache that is charged to a container: its programs, and its files, while there is room.

    Stores and brokers keep count of their files; of others it is what they have read and written. Pages that a store
    reads for its own cache (WiredTiger, shared buffers) are in the kernel's as well.
    """
    if not container.running:
        return 0
    return each_file_bytes(machine, (container,))[0]


def each_file_bytes(machine: Host, containers: Sequence[Group]) -> list[int]:
    """`file_bytes` of several containers that run: of data half of what is free for each, at the most."""
    moved = _moved(machine)
    most = _room(machine) if moved or any(one.file_cache for one in containers) else 0
    return [
        program_of(one.memory_bytes)
        + min(most, moved.get(one.container_id, 0) if one.file_cache is None else one.file_cache)
        for one in containers
    ]


def file_peak(machine: Host, container: Group) -> int:
    """The most page cache that may have been charged to a container for its data since it began."""
    return each_file_peak(machine, (container,))[0]


def each_file_peak(machine: Host, containers: Sequence[Group]) -> list[int]:
    """`file_peak` of several containers."""
    moved, most = _moved(machine), machine.memory_bytes // 2
    return [
        min(moved.get(one.container_id, 0), most) if one.file_cache is None else one.file_peak for one in containers
    ]


def cache_room(machine: Host, container: Group) -> int:
    """Bytes of data that the page cache may hold for one container: half of what is free, and what its limit leaves."""
    free = _room(machine)
    limit = container.spec.memory_limit
    return free if limit is None else max(0, min(free, limit - container.memory_bytes))


def _room(machine: Host) -> int:
    return max(0, machine.memory_bytes - machine.memory_used() - machine.min_free) // 2


def _moved(machine: Host) -> dict[str, int]:
    """Bytes that containers have read and written, of those that have."""
    moved: dict[str, int] = {}
    for (owner, _), io in machine.os.load.io.items():
        moved[owner] = moved.get(owner, 0) + io[0] + io[1]
    return moved


def meminfo_text(found: MemoryInfo) -> str:
    """/proc/meminfo."""
    active = found.anonymous + found.cached // 2
    rows = (
        ("MemTotal", found.total), ("MemFree", found.free), ("MemAvailable", found.available),
        ("Buffers", found.buffers), ("Cached", found.cached), ("SwapCached", 0), ("Active", active),
        ("Inactive", found.cached - found.cached // 2), ("Active(anon)", found.anonymous),
        ("Active(file)", found.cached // 2), ("Unevictable", 0), ("Mlocked", 0), ("SwapTotal", 0), ("SwapFree", 0),
        ("Dirty", 312 << 10), ("Writeback", 0), ("AnonPages", found.anonymous), ("Mapped", found.cached // 3),
        ("Shmem", found.shared), ("Slab", found.slab), ("SReclaimable", found.slab // 2),
        ("SUnreclaim", found.slab - found.slab // 2), ("KernelStack", found.stacks), ("PageTables", found.page_tables),
        ("CommitLimit", found.total // 2), ("Committed_AS", found.anonymous * 3), ("VmallocTotal", 34359738367 << 10),
    )  # fmt: skip
    return "".join(f"{name + ':':<16}{amount >> 10:>8} kB\n" for name, amount in rows)
