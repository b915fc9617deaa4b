"""`nvme list`, `nvme smart-log`, `nvme error-log`. Format: nvme-cli 2.8 (Ubuntu 24.04)."""

from __future__ import annotations

from simcluster.models.machine.hosttools.blockdevices import disk_of, on_bus
from simcluster.models.machine.hosttools.nvmehealth import health_rows
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.storage import Disk
from simcluster.models.userland.outcome import Outcome


def nvme(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """nvme: list, smart-log, error-log."""
    verb = args[0] if args else ""
    if verb == "list":
        return _list([disk for disk in on_bus(machine) if disk.model.is_nvme])
    device = next((arg for arg in args if arg.startswith("/dev/")), "")
    disk = disk_of(machine, device)
    if disk is None or not disk.model.is_nvme:
        return Outcome("", f"Failed to open {device}: No such file or directory\n", 2)
    if disk.outage is not None:
        return Outcome("", "smart log: Input/output error\n", 5)
    if verb == "smart-log":
        return Outcome(_smart_log(disk))
    if verb == "error-log":
        return Outcome(_error_log(disk))
    return Outcome("", f"ERROR: Invalid sub-command '{verb}'\n", 22)


def _list(disks: list[Disk]) -> Outcome:
    heads = (("Node", 21), ("Generic", 21), ("SN", 20), ("Model", 40), ("Namespace", 10), ("Usage", 26), ("Format", 16))
    top = " ".join(f"{name:<{width}}" for name, width in heads) + " FW Rev  \n"
    rule = " ".join("-" * width for _, width in heads) + " --------\n"
    rows = []
    for disk in disks:
        size = disk.model.size_bytes / 1e9
        usage = f"{size:6.2f}  GB / {size:6.2f}  GB"
        cells = (
            f"/dev/{disk.name}",
            f"/dev/ng{disk.name[4:]}",
            disk.serial,
            disk.model.model,
            "0x1",
            usage,
            "512   B +  0 B",
        )
        row = " ".join(f"{cell:<{width}}" for cell, (_, width) in zip(cells, heads, strict=True))
        rows.append(f"{row} {disk.model.firmware}\n")
    return Outcome(top + rule + "".join(rows))


def _smart_log(disk: Disk) -> str:
    lines = [f"Smart Log for NVME device:{disk.name} namespace-id:ffffffff\n"]
    for _, name, value in health_rows(disk):
        if name == "temperature":
            degrees = disk.temperature
            value = f"{degrees} °C ({degrees + 273} K)"
        elif name == "critical_warning":
            value = str(int(value, 16))
        lines.append(f"{name:<39}: {value.replace(',', '') if name.islower() else value}\n")
    return "".join(lines)


def _error_log(disk: Disk) -> str:
    lines = [
        f"Error Log Entries for device:{disk.controller} entries:{max(1, len(disk.smart.errors))}\n.................\n"
    ]
    for number, error in enumerate(reversed(disk.smart.errors)):
        lines.append(
            f" Entry[{number:2d}]   \n.................\nerror_count\t: {disk.smart.error_count - number}\n"
            f"sqid\t\t: 3\ncmdid\t\t: 0x{error.lba % 4096:x}\nstatus_field\t: 0x2281(Unrecovered Read Error: "
            "The read data could not be recovered from the media)\n"
            f"phase_tag\t: 0\nparm_err_loc\t: 0\nlba\t\t: 0x{error.lba:x}\nnsid\t\t: 0x1\n"
            "vs\t\t: 0\n.................\n"
        )
    return "".join(lines)


TOOLS = {"nvme": nvme}
