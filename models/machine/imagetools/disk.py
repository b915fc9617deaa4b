"""`df` inside a container: its root, its shared memory and its volumes, as busybox and coreutils print them alike.

Left out: what the runtime mounts over single files (/etc/hosts), -i.
"""

from __future__ import annotations

from simcluster.models.machine.container import Container
from simcluster.models.machine.containerspec import Mount
from simcluster.models.machine.imagetools.call import Outcome, Tool, ToolCall
from simcluster.models.machine.kernel.sharedmemory import PATH as SHARED_MEMORY

_MIB = 1 << 20
#: Volumes whose files lie in memory.
_IN_MEMORY = ("secret", "projected", "downwardAPI")


def df(call: ToolCall) -> Outcome:
    """df [-h] [-k] [-m] [PATH...]."""
    if call.container.kernel is None:
        return Outcome(stderr="df: /proc/mounts: No such file or directory\n", code=1)
    rows, errors = _rows(call.container), ""
    if call.arguments:
        chosen = []
        for word in call.arguments:
            path = call.path(word)
            if not (call.files.is_folder(path) or call.files.is_file(path) or path in [row[4] for row in rows]):
                errors += f"df: {word}: can't find mount point\n"
                continue
            chosen.append(max((row for row in rows if _lies_on(path, row[4])), key=_depth))
        rows = chosen
    human, unit = call.has("h"), _MIB if call.has("m") else 1 << 10
    size = "Size" if human else "1M-blocks" if unit == _MIB else "1K-blocks"
    lines = [f"{'Filesystem':<20} {size:>9} {'Used':>9} {'Available':>9} Use% Mounted on\n"]
    for source, total, used, available, point in rows:
        shown = [_human(n) if human else str(n // unit) for n in (total, used, available)]
        percent = -(-100 * used // max(1, used + available))
        lines.append(f"{source:<20} {shown[0]:>9} {shown[1]:>9} {shown[2]:>9} {percent:3d}% {point}\n")
    return Outcome("".join(lines) if rows else "", errors, 1 if errors else 0)


def _rows(container: Container) -> list[tuple[str, int, int, int, str]]:
    """Source, bytes in all, used and available, and mount point."""
    machine = container.machine
    root = machine.files_at("/").usage()
    here = (root.total_bytes, root.used_bytes, root.available_bytes)
    size, used = machine.os.shm.size(container), machine.os.shm.used(container.spec.pod_uid)
    rows = [("overlay", *here, "/"), ("tmpfs", 64 * _MIB, 0, 64 * _MIB, "/dev")]
    mounted = any(mount.path.rstrip("/") == SHARED_MEMORY for mount in container.mounts)
    rows.append(("tmpfs" if mounted else "shm", size, used, size - used, SHARED_MEMORY))
    for mount in container.mounts:
        if mount.path.rstrip("/") != SHARED_MEMORY:
            rows.append(_volume(container, mount))
    return rows


def _volume(container: Container, mount: Mount) -> tuple[str, int, int, int, str]:
    machine = container.machine
    if mount.source in _IN_MEMORY:
        size = container.spec.memory_limit or machine.memory_bytes
        return "tmpfs", size, 4096 * 3, size - 4096 * 3, mount.path
    system = machine.files_at(mount.host or "/")
    usage = system.usage()
    return f"/dev/{system.device}", usage.total_bytes, usage.used_bytes, usage.available_bytes, mount.path


def _lies_on(path: str, point: str) -> bool:
    return point == "/" or path == point or path.startswith(point.rstrip("/") + "/")


def _depth(row: tuple[str, int, int, int, str]) -> int:
    return len(row[4])


def _human(amount: int) -> str:
    for unit, name in ((1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if amount >= unit:
            tenths = amount * 10 // unit
            return f"{tenths // 10}.{tenths % 10}{name}"
    return str(amount)


TOOLS: dict[str, Tool] = {"df": df}
