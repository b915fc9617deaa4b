"""/proc/diskstats, /proc/partitions, /proc/mounts, /etc/fstab and /sys/block: what the kernel shows of drives."""

from __future__ import annotations

from simcluster.models.machine.hosttools import pseudomounts
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.storage import Disk, FileSystem
from simcluster.models.machine.storage.counters import Counters


def read(machine: Machine, path: str) -> str | None:
    """Text of one of these files; None if the path is none of them."""
    if path == "/proc/diskstats":
        return diskstats(machine)
    if path == "/proc/partitions":
        return _partitions(machine)
    if path in ("/proc/mounts", "/proc/self/mounts", "/etc/mtab"):
        return "".join(f"{source} {point} {kind} {how} 0 0\n" for source, point, kind, how in mounts(machine))
    if path == "/etc/fstab" and machine.files.find(path) is None:
        return _fstab(machine)
    if path.startswith("/sys/block/"):
        return _sys_block(machine, path.split("/")[3:])
    return None


def paths(machine: Machine) -> list[str]:
    """All of these files."""
    fixed = ["/proc/diskstats", "/proc/partitions", "/proc/mounts", "/proc/self/mounts", "/etc/mtab", "/etc/fstab"]
    drives = [disk for disk in machine.disks.values() if nodes(disk)]
    return fixed + [f"/sys/block/{disk.name}/{name}" for disk in drives for name in _attributes(disk)]


def nodes(disk: Disk) -> list[str]:
    """Names in /dev of a drive on the bus and its partitions."""
    if disk.outage is not None and disk.outage.gone:
        return []
    own = [disk.controller, disk.name] if disk.model.is_nvme else [disk.name]
    return own + [part.name for part in disk.partitions]


def mounts(machine: Machine) -> list[tuple[str, str, str, str]]:
    """All that is mounted, in that order: source, mount point, type, options."""
    drives = [(f"/dev/{s.device}", s.mount_point, "ext4", options(s)) for s in machine.mounts]
    first, later = pseudomounts.before_root(machine), pseudomounts.after_root(machine)
    made_up = [(m.source, m.point, m.kind, m.options) for m in (*first, *later, *pseudomounts.of_pods(machine))]
    bound = [(machine.files_at(source), point) for point, source in machine.mounts.bound.items()]
    made_up += [(f"/dev/{s.device}", point, "ext4", options(s)) for s, point in bound]
    at = len(first)
    return [*made_up[:at], *drives[:1], *made_up[at : at + len(later)], *drives[1:], *made_up[at + len(later) :]]


def options(system: FileSystem) -> str:
    """Mount options as the kernel shows them."""
    words = ["ro" if system.read_only else "rw", "relatime"]
    if system.remount_on_error:
        words.append("errors=remount-ro")
    return ",".join(words)


def numbers(disk: Disk) -> tuple[int, int]:
    """Major and minor number of a drive."""
    if disk.model.is_nvme:
        return 259, 4 * int(disk.name[4:].partition("n")[0])
    return 8, 16 * (ord(disk.name[2]) - ord("a"))


def diskstats(machine: Machine) -> str:
    """All drives on the bus, each followed by its partitions."""
    lines = []
    for disk in machine.disks.values():
        if disk.outage is not None and disk.outage.gone:
            continue
        major, minor = numbers(disk)
        counted = disk.counted()
        lines.append(_stat_line(major, minor, disk.name, counted, disk))
        for number, part in enumerate(disk.partitions, 1):
            main = part is disk.partitions[-1]
            lines.append(_stat_line(major, minor + number, part.name, counted if main else Counters(), disk))
    return "".join(lines)


def _stat_line(major: int, minor: int, name: str, counted: Counters, disk: Disk) -> str:
    return f"{major:4d} {minor:7d} {name} " + " ".join(map(str, stat_fields(counted, disk))) + "\n"


def stat_fields(counted: Counters, disk: Disk) -> list[int]:
    """The 17 counters of a line: Documentation/admin-guide/iostats.rst."""
    weighted = counted.read_ns + counted.write_ns + counted.flush_ns
    waits = 1 if disk.outage is not None or disk.utilisation() >= 1.0 else 0
    return [
        *(int(counted.reads), int(counted.reads) // 9, int(counted.read_sectors), int(counted.read_ns) // 1_000_000),
        *(
            int(counted.writes),
            int(counted.writes) // 3,
            int(counted.write_sectors),
            int(counted.write_ns) // 1_000_000,
        ),
        *(waits, int(counted.busy_ns) // 1_000_000, int(weighted) // 1_000_000),
        *(0, 0, 0, 0),
        *(int(counted.flushes), int(counted.flush_ns) // 1_000_000),
    ]


def _partitions(machine: Machine) -> str:
    lines = ["major minor  #blocks  name\n\n"]
    for disk in machine.disks.values():
        major, minor = numbers(disk)
        lines.append(f"{major:4d}  {minor:7d} {disk.model.size_bytes >> 10:10d} {disk.name}\n")
        for number, part in enumerate(disk.partitions, 1):
            lines.append(f"{major:4d}  {minor + number:7d} {part.sectors >> 1:10d} {part.name}\n")
    return "".join(lines)


def _fstab(machine: Machine) -> str:
    lines = ["# <file system> <mount point>   <type>  <options>       <dump>  <pass>\n"]
    for system in machine.mounts:
        order = 1 if system.mount_point == "/" else 2
        extra = "errors=remount-ro" if order == 1 else "defaults,errors=remount-ro,nofail"
        lines.append(f"UUID={system.uuid} {system.mount_point} ext4 {extra} 0 {order}\n")
    return "".join(lines)


def _sys_block(machine: Machine, parts: list[str]) -> str | None:
    disk = machine.disks.get(parts[0])
    if disk is None or (disk.outage is not None and disk.outage.gone):
        return None
    text = _attributes(disk).get("/".join(parts[1:]))
    return None if text is None else text + "\n"


def _attributes(disk: Disk) -> dict[str, str]:
    model = disk.model
    texts = {
        "size": str(model.sectors),
        "ro": "0",
        "removable": "0",
        "queue/rotational": "1" if model.rotates else "0",
        "queue/nr_requests": "1023" if model.is_nvme else "64",
        "queue/scheduler": "[none] mq-deadline" if model.is_nvme else "none [mq-deadline]",
        "queue/read_ahead_kb": "128",
        "queue/max_sectors_kb": "1280",
        "queue/logical_block_size": "512",
        "queue/physical_block_size": "4096",
        "device/model": f"{model.model[:40]:<40}" if model.is_nvme else f"{model.model[:16]:<16}",
        "device/queue_depth": str(min(model.queue, 32)),
        "device/state": "live" if model.is_nvme else "running",
        "device/timeout": "30",
        "stat": " ".join(f"{field:8d}" for field in stat_fields(disk.counted(), disk)),
    }
    if disk.outage is not None and disk.outage.disabled:
        texts["device/state"] = "dead" if model.is_nvme else "offline"
    return texts
