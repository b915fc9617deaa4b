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
    files = sum(map(program_bytes, alive)) + _data_bytes(machine, alive)  # integers
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
    return max(LEAST_FILE, container.memory_bytes * FILE_PERCENT // 100) if container.running else 0


def file_bytes(machine: Host, container: Group) -> int:
    """Page cache that is charged to a container: its programs, and its files, while there is room.

    Stores and brokers keep count of their files; of others it is what they have read and written. Pages that a store
    reads for its own cache (WiredTiger, shared buffers) are in the kernel's as well.
    """
    if not container.running:
        return 0
    return program_bytes(container) + _data_bytes(machine, (container,))


def file_peak(machine: Host, container: Group) -> int:
    """The most page cache that may have been charged to a container for its data since it began."""
    if container.file_cache is not None:
        return container.file_peak
    moved = [io[0] + io[1] for (owner, _), io in machine.os.load.io.items() if owner == container.container_id]
    return min(sum(moved), machine.memory_bytes // 2)  # integers


def cache_room(machine: Host, container: Group) -> int:
    """Bytes of data that the page cache may hold for one container: half of what is free, and what its limit leaves."""
    free = _room(machine)
    limit = container.spec.memory_limit
    return free if limit is None else max(0, min(free, limit - container.memory_bytes))


def _room(machine: Host) -> int:
    return max(0, machine.memory_bytes - machine.memory_used() - machine.min_free) // 2


def _data_bytes(machine: Host, containers: Sequence[Group]) -> int:
    """Page cache of the data of some containers: half of what is free for each, at the most."""
    moved: dict[str, int] = {one.container_id: one.file_cache or 0 for one in containers}
    counted = {one.container_id: None for one in containers if one.file_cache is not None}
    for (owner, _), io in machine.os.load.io.items():
        if owner in moved and owner not in counted:
            moved[owner] += io[0] + io[1]
    if not any(moved.values()):
        return 0
    most = _room(machine)
    return sum([min(amount, most) for amount in moved.values()])  # integers


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
