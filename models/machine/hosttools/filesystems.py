"""`mount`, `umount`, `findmnt`, `tune2fs -l`, `mkfs.ext4`, `sync`. Formats: util-linux 2.39, e2fsprogs 1.47."""

from __future__ import annotations

from itertools import pairwise

from simcluster.engine import SECOND
from simcluster.models.machine.hosttools.blockdevices import disk_of
from simcluster.models.machine.hosttools.blockfiles import mounts
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.nodetree import NodeTree
from simcluster.models.machine.shell.files import normalize
from simcluster.models.machine.storage import FileSystem
from simcluster.models.userland.outcome import Outcome

_VERSION = "1.47.0 (5-Feb-2023)"


def _refused(text: str, code: int = 32) -> Outcome:
    return Outcome("", f"{text}\n", code) if text else Outcome("")


def mount(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """mount: list, mount, or remount with -o."""
    words, chosen, rest = [], "", iter(args)
    for arg in rest:
        if arg in ("-o", "--options"):
            chosen = next(rest, "")
        elif arg in ("-t", "--types"):
            next(rest, "")
        elif not arg.startswith("-"):
            words.append(arg)
    if not words:
        kind = next((value for flag, value in pairwise(args) if flag in ("-t", "--types")), "")
        lines = [f"{s} on {p} type {k} ({o})\n" for s, p, k, o in mounts(machine) if kind in ("", k)]
        return Outcome("".join(lines))
    flags = chosen.split(",")
    if {"--bind", "-B", "--rbind", "bind", "rbind"} & {*args, *flags}:
        return _bind(machine, *words) if len(words) == 2 else _refused("mount: bad usage", 1)
    if "remount" in flags:
        system = _find(machine, words[-1])
        if system is None or not machine.mounts.is_mounted(system):
            return _refused(f"mount: {words[-1]}: mount point not mounted or bad option.")
        return _refused(system.remount(read_only="ro" in flags))
    device = words[0] if words[0].startswith("/dev/") else ""
    known = machine.mounts.on(device) if device else _find(machine, words[0])
    if len(words) == 1 and known is None:
        return _refused(f"mount: {words[0]}: can't find in /etc/fstab.", 1)
    point = words[1] if len(words) > 1 else known.mount_point if known is not None else ""
    if not NodeTree(machine).is_folder(point) and (known is None or point != known.mount_point):
        return _refused(f"mount: {point}: mount point does not exist.")
    name = device or (f"/dev/{known.device}" if known is not None else words[0])
    return _refused(machine.mounts.mount(name, point, read_only="ro" in flags or "-r" in args))


def _bind(machine: Machine, source: str, point: str) -> Outcome:
    """One place of the tree is seen at another one, too."""
    tree = NodeTree(machine)
    if not tree.exists(point):
        return _refused(f"mount: {point}: mount point does not exist.")
    if not tree.exists(source):
        return _refused(f"mount: {point}: special device {source} does not exist.")
    if tree.is_folder(source) != tree.is_folder(point):
        return _refused(f"mount: {point}: mount point is not a directory.")
    machine.mounts.bound[normalize(point, "/root")] = tree.place(source)
    return Outcome("")


def _find(machine: Machine, target: str) -> FileSystem | None:
    for system in machine.mounts:
        if target.rstrip("/") == system.mount_point.rstrip("/") or target == f"/dev/{system.device}":
            return system
    for disk in machine.disks.values():
        for part in disk.partitions:
            known = machine.mounts.on(part.name)
            if known is not None and target == known.mount_point:
                return known
    return None


def _point(mounted: tuple[str, str, str, str]) -> str:
    return mounted[1]


def umount(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """umount by mount point or device."""
    words = [arg for arg in args if not arg.startswith("-")]
    if not words:
        return _refused("umount: bad usage\nTry 'umount --help' for more information.", 1)
    return _refused(machine.mounts.unmount(words[0]))


def findmnt(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """findmnt: the tree of mounts, or one of them."""
    words = [arg for arg in args if not arg.startswith("-")]
    systems = [m for m in mounts(machine) if not words or words[0] in (m[1], m[0])]
    if not systems:
        return Outcome("", "", 1)
    rows = [["TARGET", "SOURCE", "FSTYPE", "OPTIONS"]]
    systems = systems if words else sorted(systems, key=_point)
    for number, (source, point, kind, chosen) in enumerate(systems):
        mark = "└─" if number == len(systems) - 1 else "├─"
        rows.append([point if point == "/" or words else f"{mark}{point}", source, kind, chosen])
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return Outcome("".join(" ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() + "\n" for r in rows))


def tune2fs(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """tune2fs -l: the superblock."""
    device = next((arg for arg in args if arg.startswith("/dev/")), "")
    system = machine.mounts.on(device)
    head = f"tune2fs {_VERSION}\n"
    if system is None or disk_of(machine, device) is None:
        text = f"tune2fs: No such file or directory while trying to open {device}\n"
        return Outcome(head, f"{text}Couldn't find valid filesystem superblock.\n", 1)
    usage = system.usage()
    state = "clean with errors" if system.error_count else "clean"
    rows = [
        ("Filesystem volume name", "<none>"),
        ("Last mounted on", system.mount_point),
        ("Filesystem UUID", system.uuid),
        ("Filesystem magic number", "0xEF53"),
        ("Filesystem revision #", "1 (dynamic)"),
        (
            "Filesystem features",
            "has_journal ext_attr resize_inode dir_index filetype extent 64bit flex_bg sparse_super",
        ),
        ("Default mount options", "user_xattr acl"),
        ("Filesystem state", state),
        ("Errors behavior", "Continue"),
        ("Filesystem OS type", "Linux"),
        ("Inode count", str(usage.total_inodes)),
        ("Block count", str(system.blocks)),
        ("Reserved block count", str(system.blocks // 20)),
        ("Free blocks", str((usage.total_bytes - usage.used_bytes) // 4096)),
        ("Free inodes", str(usage.free_inodes)),
        ("First block", "0"),
        ("Block size", "4096"),
        ("Inode size", "256"),
        ("Journal inode", "8"),
    ]
    if system.error_count:
        rows.append(("FS Error count", str(system.error_count)))
    return Outcome(head + "".join(f"{name + ':':<25} {value}\n" for name, value in rows))


def mkfs(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """mkfs.ext4: an empty file system on a partition that is not mounted."""
    device = next((arg for arg in args if arg.startswith("/dev/")), "")
    system = machine.mounts.on(device)
    head = f"mke2fs {_VERSION}\n"
    if system is None or not system.disk.present:
        return Outcome("", f"{head}The file {device} does not exist and no size was specified.\n", 1)
    if machine.mounts.is_mounted(system):
        return Outcome("", f"{head}{device} is mounted; will not make a filesystem here!\n", 1)
    system.format()
    text = f"Creating filesystem with {system.blocks} 4k blocks and {system.inodes} inodes\n"
    text += f"Filesystem UUID: {system.uuid}\n"
    done = "Allocating group tables: done\nWriting inode tables: done\nCreating journal (262144 blocks): done\n"
    last = "Writing superblocks and filesystem accounting information: done\n\n"
    return Outcome(f"{text}\n{done}{last}", head, delay_ns=2 * SECOND)


def sync(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """sync: everything that is only in memory is written."""
    slowest = 0
    for system in machine.mounts:
        for file in system.files_below(system.mount_point):
            found = system.stored(file)
            if found is not None and found.dirty:
                slowest += system.fsync(file, comm="sync").delay_ns
    return Outcome(delay_ns=slowest) if slowest else Outcome("")


TOOLS = {
    "findmnt": findmnt,
    "mkfs.ext4": mkfs,
    "mount": mount,
    "sync": sync,
    "tune2fs": tune2fs,
    "dumpe2fs": tune2fs,
    "umount": umount,
}
