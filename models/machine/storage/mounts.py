"""The drives of one machine and what is mounted where; built when somebody first asks for them.

Every node has an NVMe drive with the system; workers also a hard disk for local volumes. Left out: swap, LVM, RAID,
network file systems.
"""

from __future__ import annotations

from collections.abc import Iterator

from simcluster.engine.streams import mix
from simcluster.models.machine.storage.calibrated import calibrated
from simcluster.models.machine.storage.disk import Disk, Partition
from simcluster.models.machine.storage.drivemodel import NEARLINE_HDD, NVME_SSD, DriveModel
from simcluster.models.machine.storage.filesystem import FileSystem, uuid_from
from simcluster.models.machine.storage.usage import RESERVED_KIB, TOTAL_INODES, TOTAL_KIB, Chassis, root_base

#: Where the local provisioner puts volumes.
DATA_MOUNT = "/var/local-path-provisioner"
#: Where memory is a file system, the inner one first.
TMPFS = ("/run/lock", "/run", "/dev/shm")
#: Writes and flushes a second of the node's own daemons: journald and kubelet; on the control plane etcd as well.
_BACKGROUND = {"worker": (4.0, 0.4), "control-plane": (38.0, 17.0)}
#: A GPT's first partition begins here, and takes 1 GiB (EFI) on the system's drive.
_FIRST_SECTOR, _EFI_SECTORS = 2048, 2_097_152


class MountTable:
    """What is mounted, in the order in which it was."""

    def __init__(self) -> None:
        self._mounted: dict[str, FileSystem] = {}
        self._known: dict[str, FileSystem] = {}  # by partition, mounted or not
        self.bound: dict[str, str] = {}  # mount point -> the folder that is seen there, too

    def __iter__(self) -> Iterator[FileSystem]:
        return iter(list(self._mounted.values()))

    def add(self, system: FileSystem) -> None:
        """Mount a file system where it says it belongs."""
        self._known[system.device] = system
        self._mounted[system.mount_point] = system

    def at(self, path: str) -> FileSystem:
        """The file system on which a path lies."""
        found = self._mounted["/"]
        for point, system in self._mounted.items():
            if (path == point or path.startswith(point + "/")) and len(point) > len(found.mount_point):
                found = system
        return found

    def source_of(self, path: str) -> str:
        """Where a path really lies: bind mounts are followed."""
        for point in sorted(self.bound, key=len, reverse=True):
            if path == point or path.startswith(point + "/"):
                return self.bound[point] + path[len(point) :]
        return path

    def on(self, device: str) -> FileSystem | None:
        """The file system on a partition (`sda1`), mounted or not."""
        return self._known.get(device.removeprefix("/dev/"))

    def is_mounted(self, system: FileSystem) -> bool:
        """Whether it is mounted."""
        return self._mounted.get(system.mount_point) is system

    def unmount(self, target: str) -> str:
        """umount by mount point or device; an error text of umount(8), or ""."""
        if self.bound.pop(target.rstrip("/"), ""):
            return ""
        system = self._mounted.get(target.rstrip("/") or "/") or self.on(target)
        if system is None or not self.is_mounted(system):
            return f"umount: {target}: not mounted."
        if system.mount_point == "/":
            return f"umount: {target}: target is busy."
        del self._mounted[system.mount_point]
        if system.disk.present and not system.aborted:
            system.disk.flush()
        system.disk.host.kernel(f"EXT4-fs ({system.device}): unmounting filesystem {system.uuid}.")
        return ""

    def mount(self, device: str, point: str, *, read_only: bool = False) -> str:
        """mount a partition; an error text of mount(8), or ""."""
        system = self.on(device)
        if system is None:
            return f"mount: {point}: special device {device} does not exist."
        if self.is_mounted(system):
            return f"mount: {point}: /dev/{system.device} already mounted on {system.mount_point}."
        if not system.disk.present:
            return f"mount: {point}: can't read superblock on /dev/{system.device}."
        if not system.uuid:
            return (
                f"mount: {point}: wrong fs type, bad option, bad superblock on /dev/{system.device}, "
                "missing codepage or helper program, or other error."
            )
        system.recover()
        system.mount_point, system.read_only = point.rstrip("/") or "/", read_only
        self._mounted[system.mount_point] = system
        way = "ro" if read_only else "r/w"
        system.disk.host.kernel(
            f"EXT4-fs ({system.device}): mounted filesystem {system.uuid} {way} with ordered data mode. "
            "Quota mode: none."
        )
        return ""


class Storage:
    """Drives and mounts of one machine."""

    def __init__(self, machine: Chassis) -> None:
        self.machine = machine
        self.disks: dict[str, Disk] = {}
        self.mounts = MountTable()
        background = _BACKGROUND.get(machine.role, _BACKGROUND["worker"])
        root = self.add_disk("nvme0n1", NVME_SSD, background=background)
        efi = Partition("nvme0n1p1", _FIRST_SECTOR, _EFI_SECTORS, "vfat", uuid=_short_uuid(root.key))
        begin = _FIRST_SECTOR + _EFI_SECTORS
        system = Partition("nvme0n1p2", begin, root.model.sectors - begin - 2048, "ext4", uuid=uuid_from(root.key, 2))
        root.partitions = [efi, system]
        installed = FileSystem(root, system, "/", TOTAL_KIB << 10, self.root_base)
        installed.reserved_bytes, installed.inodes = RESERVED_KIB << 10, TOTAL_INODES
        self.mounts.add(installed)
        if machine.role != "control-plane":
            self.add_data_disk("sda", NEARLINE_HDD, DATA_MOUNT)

    def add_disk(
        self, name: str, model: DriveModel, *, port: int = 1, background: tuple[float, float] = (0.0, 0.0)
    ) -> Disk:
        """Put a drive into the machine."""
        model = calibrated(model, self.machine.name, name, self.machine.sim.parameters)
        disk = Disk(self.machine.sim, self.machine, name, model, port=port, background=background)
        self.disks[name] = disk
        return disk

    def add_data_disk(self, name: str, model: DriveModel, mount_point: str, *, port: int = 1) -> FileSystem:
        """Put a drive into the machine, with one ext4 partition that is mounted."""
        disk = self.add_disk(name, model, port=port)
        sectors = (model.sectors - _FIRST_SECTOR - 2048) // 2048 * 2048
        part = f"{name}p1" if model.is_nvme else f"{name}1"
        partition = Partition(part, _FIRST_SECTOR, sectors, "ext4", "data", uuid_from(disk.key, 1))
        disk.partitions = [partition]
        system = FileSystem(disk, partition, mount_point, ext4_bytes(sectors * 512), self.data_base)
        self.mounts.add(system)
        return system

    def root_base(self, mount_point: str) -> tuple[int, int]:
        """What the system takes of the root file system."""
        used, inodes = root_base(self.machine)
        for system in self.mounts:
            if system.mount_point != "/":  # what lies below another mount point is not on the root file system
                used -= self.machine.files.hollow_below(system.mount_point)
        return used, inodes

    def data_base(self, mount_point: str) -> tuple[int, int]:
        """What an empty data file system takes (lost+found), and files made by hand."""
        return 24_576 + self.machine.files.hollow_below(mount_point), 11


def ext4_bytes(partition_bytes: int) -> int:
    """Size of an ext4 file system as df shows it: without inode tables, bitmaps and journal."""
    inodes, groups = partition_bytes // 16384, -(-partition_bytes // (128 << 20))
    journal = (1 << 30) if partition_bytes > 128 << 30 else (128 << 20)
    return (partition_bytes - inodes * 256 - groups * 8192 - journal) // 4096 * 4096


def _short_uuid(key: int) -> str:
    text = f"{mix(key, 300):016X}"
    return f"{text[:4]}-{text[4:8]}"
