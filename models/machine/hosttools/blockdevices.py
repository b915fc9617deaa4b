"""`lsblk`, `blkid`, `hdparm`: drives and partitions. Formats: util-linux 2.39, hdparm 9.65."""

from __future__ import annotations

from simcluster.engine import SECOND
from simcluster.models.machine.hosttools.blockfiles import numbers
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.storage import Disk, Partition
from simcluster.models.machine.storage.drivemodel import SECTORS_A_BLOCK
from simcluster.models.machine.storage.sectors import MOST_AT_ONCE
from simcluster.models.userland.outcome import Outcome


def on_bus(machine: Machine) -> list[Disk]:
    """Drives that the kernel knows."""
    return [disk for disk in machine.disks.values() if disk.outage is None or not disk.outage.gone]


def disk_of(machine: Machine, path: str) -> Disk | None:
    """The drive of `/dev/sda`, `/dev/sda1`, `/dev/nvme0` or `/dev/nvme0n1`; None if there is none."""
    name = path.removeprefix("/dev/")
    for disk in on_bus(machine) if path.startswith("/dev/") else ():
        if name in (disk.name, disk.controller, *(part.name for part in disk.partitions)):
            return disk
    return None


def part_of(disk: Disk, path: str) -> Partition | None:
    """The partition that a device path names."""
    return next((part for part in disk.partitions if f"/dev/{part.name}" == path), None)


def numbers_of(disk: Disk, path: str) -> tuple[int, int]:
    """Major and minor number of a drive or of one of its partitions."""
    major, minor = numbers(disk)
    parts = [f"/dev/{part.name}" for part in disk.partitions]
    return major, minor + (parts.index(path) + 1 if path in parts else 0)


def overwritten(disk: Disk, lba: int, sectors: int) -> None:
    """Somebody has written over sectors by hand: whatever was there reads as something else now, without an error."""
    if sectors > 0:
        disk.sectors.corrupt(lba, min(sectors, MOST_AT_ONCE * SECTORS_A_BLOCK))


def size_text(amount: int) -> str:
    """`931.5G`, `1G`: as lsblk rounds."""
    for unit, name in ((1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if amount >= unit:
            tenths = (amount * 10 + unit // 2) // unit
            return f"{tenths // 10}{name}" if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10}{name}"
    return f"{amount}B"


_COLUMNS = {
    "-f": ["NAME", "FSTYPE", "FSVER", "LABEL", "UUID", "FSAVAIL", "FSUSE%", "MOUNTPOINTS"],
    "": ["NAME", "MAJ:MIN", "RM", "SIZE", "RO", "TYPE", "MOUNTPOINTS"],
}
_RIGHT = ("RM", "SIZE", "RO", "FSAVAIL", "FSUSE%", "ROTA")


def lsblk(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """lsblk: the tree of drives; -f file systems, -o columns, -d without partitions, -n without heads."""
    letters = "".join(arg[1:] for arg in args if arg.startswith("-") and not arg.startswith("--"))
    columns = _COLUMNS["-f" if "f" in letters or "--fs" in args else ""]
    words = iter(args)
    chosen: list[str] = []
    for word in words:
        if word in ("-o", "--output"):
            columns = [name.upper() for name in next(words, "NAME").split(",")]
        elif word.startswith("-o"):
            columns = [name.upper() for name in word[2:].split(",")]
        elif not word.startswith("-"):
            chosen.append(word)
    disks = on_bus(machine)
    if chosen:
        found = [disk_of(machine, path) for path in chosen]
        if None in found:
            return Outcome("", f"lsblk: {chosen[found.index(None)]}: not a block device\n", 32)
        disks = [disk for disk in found if disk is not None]
    rows = []
    for disk in disks:
        rows.append(_cells(machine, disk, None, "", columns))
        if "d" in letters:
            continue
        for part in disk.partitions:
            branch = "└─" if part is disk.partitions[-1] else "├─"
            rows.append(_cells(machine, disk, part, branch, columns))
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    lines = []
    for row in rows if "n" in letters else [columns, *rows]:
        cells = [
            cell.rjust(width) if head in _RIGHT else cell.ljust(width)
            for head, cell, width in zip(columns, row, widths, strict=True)
        ]
        lines.append(" ".join(cells).rstrip() + "\n")
    return Outcome("".join(lines))


def _cells(machine: Machine, disk: Disk, part: Partition | None, branch: str, columns: list[str]) -> list[str]:
    major, minor = numbers(disk)
    if part is not None:
        minor += disk.partitions.index(part) + 1
    system = machine.mounts.on(part.name) if part is not None else None
    mounted = system is not None and machine.mounts.is_mounted(system)
    usage = system.usage() if system is not None and mounted else None
    size = disk.model.size_bytes if part is None else part.sectors * 512
    name = disk.name if part is None else part.name
    values = {
        "NAME": branch + name,
        "KNAME": name,
        "PATH": f"/dev/{name}",
        "MAJ:MIN": f"{major:>3}:{minor:<3}",
        "RM": "0",
        "SIZE": size_text(size),
        "RO": "0",
        "TYPE": "disk" if part is None else "part",
        "MOUNTPOINTS": system.mount_point if system is not None and mounted else "",
        "FSTYPE": part.content if part is not None else "",
        "FSVER": {"ext4": "1.0", "vfat": "FAT32"}.get(part.content, "") if part is not None else "",
        "LABEL": part.label if part is not None else "",
        "UUID": part.uuid if part is not None else "",
        "FSAVAIL": size_text(usage.available_bytes) if usage is not None else "",
        "FSUSE%": f"{usage.used_bytes * 100 // usage.total_bytes}%" if usage is not None else "",
        "MODEL": disk.model.model if part is None else "",
        "SERIAL": disk.serial if part is None else "",
        "ROTA": "1" if disk.model.rotates else "0",
        "TRAN": ("nvme" if disk.model.is_nvme else "sata") if part is None else "",
        "STATE": ("offline" if not disk.present else "live" if disk.model.is_nvme else "running")
        if part is None
        else "",
    }
    values["MOUNTPOINT"] = values["MOUNTPOINTS"]
    return [values.get(column, "") for column in columns]


def blkid(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """blkid: UUIDs and types of partitions."""
    wanted = [arg for arg in args if arg.startswith("/dev/")]
    lines = []
    for disk in on_bus(machine):
        for part in disk.partitions:
            if (wanted and f"/dev/{part.name}" not in wanted) or not part.uuid:
                continue
            label = f'LABEL="{part.label}" ' if part.label else ""
            lines.append(f'/dev/{part.name}: {label}UUID="{part.uuid}" BLOCK_SIZE="4096" TYPE="{part.content}"\n')
    return Outcome("".join(lines), "", 0 if lines else 2)


def hdparm(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """hdparm: -t (timed reads), -I (identity, basics), --read-sector, --write-sector, --repair-sector."""
    device = next((arg for arg in args if arg.startswith("/dev/")), "")
    disk = disk_of(machine, device)
    if disk is None:
        return Outcome("", f"{device}: No such file or directory\n", 2)
    head = f"\n{device}:\n"
    words = [arg for arg in args if arg != device]
    sector = next((word for word in words if word.isdigit()), "")
    if "--read-sector" in words and sector:
        answer = disk.read(int(sector), 1)
        text = "FAILED: Input/output error\n" if answer.failed else "succeeded\n" + "0000 " * 8 + "\n"
        return Outcome(
            f"{head}reading sector {sector}: {text}", delay_ns=answer.delay_ns, code=5 if answer.failed else 0
        )
    if ("--write-sector" in words or "--repair-sector" in words) and sector:
        if "--yes-i-know-what-i-am-doing" not in words:
            text = (
                "Use of --write-sector is VERY DANGEROUS.\nYou are trying to deliberately overwrite a low-level sector "
            )
            return Outcome(
                head, f"{text}on the media.\nThis is a BAD idea, and can easily result in total data loss.\n", 1
            )
        wrote = disk.write(int(sector), 1)
        if not wrote.failed and "--write-sector" in words:
            overwritten(disk, int(sector), 1)
        text = "FAILED: Input/output error" if wrote.failed else "succeeded"
        return Outcome(
            f"{head}re-writing sector {sector}: {text}\n", delay_ns=wrote.delay_ns, code=5 if wrote.failed else 0
        )
    if "-I" in words:
        return Outcome(
            f"{head}\nATA device, with non-removable media\n\tModel Number:       {disk.model.model}\n"
            f"\tSerial Number:      {disk.serial}\n\tFirmware Revision:  {disk.model.firmware}\n"
        )
    return _timed_reads(disk, head)


def _timed_reads(disk: Disk, head: str) -> Outcome:
    """hdparm -t: sequential reads for three seconds."""
    spent, megabytes = 0, 0
    while spent < 3 * SECOND and megabytes < 20_000:
        answer = disk.read(megabytes * 2048, 2048 * 16, sequential=True)
        spent += answer.delay_ns
        if answer.failed:
            return Outcome(head, "read() failed: Input/output error\n", 5, spent)
        megabytes += 16
    rate = megabytes * 100 * SECOND // max(1, spent)
    text = f" Timing buffered disk reads: {megabytes} MB in {spent // 10_000_000 / 100:5.2f} seconds = "
    return Outcome(f"{head}{text}{rate // 100:3d}.{rate % 100:02d} MB/sec\n", delay_ns=spent)


TOOLS = {"lsblk": lsblk, "blkid": blkid, "hdparm": hdparm}
