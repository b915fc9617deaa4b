"""SMART attributes of ATA drives: their numbers, and their tables as `smartctl -A` and `-x` print them (7.4)."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.models.machine.storage import Disk


class Attribute(NamedTuple):
    """One attribute: normalized values (100 is good), the limit below which it fails, and the raw count."""

    number: int
    name: str
    flag: int
    value: int
    worst: int
    limit: int
    raw: int

    @property
    def prefail(self) -> bool:
        """Whether it foretells a failure; others tell of age."""
        return bool(self.flag & 1)

    @property
    def online(self) -> bool:
        """Whether it is renewed all the time; others only by offline scans."""
        return bool(self.flag & 2)

    @property
    def failing(self) -> bool:
        """Whether it is below its limit."""
        return bool(self.limit) and self.value <= self.limit and self.prefail


def attributes(disk: Disk) -> list[Attribute]:
    """What a drive tells of itself now."""
    smart, model, remapped = disk.smart, disk.model, disk.sectors.remapped
    left = max(1, 100 - remapped * 100 // model.spare_sectors)
    hours, degrees = disk.power_on_hours, disk.temperature
    reported, timeouts = smart.reported_uncorrect, smart.command_timeouts
    rows = [
        (1, "Raw_Read_Error_Rate", 0x000F, 83, 64, 44, disk.key % 200_000_000),
        (3, "Spin_Up_Time", 0x0003, 97, 97, 0, 0),
        (4, "Start_Stop_Count", 0x0032, 100, 100, 20, smart.cycles),
        (5, "Reallocated_Sector_Ct", 0x0033, left, left, 10, remapped),
        (7, "Seek_Error_Rate", 0x000F, 87, 60, 45, disk.key % 400_000_000),
        (9, "Power_On_Hours", 0x0032, max(1, 100 - hours // 876), 1, 0, hours),
        (10, "Spin_Retry_Count", 0x0013, 100, 100, 97, 0),
        (12, "Power_Cycle_Count", 0x0032, 100, 100, 20, smart.cycles),
        (184, "End-to-End_Error", 0x0032, 100, 100, 99, 0),
        (187, "Reported_Uncorrect", 0x0032, max(1, 100 - reported), 0, 0, reported),
        (188, "Command_Timeout", 0x0032, max(1, 100 - timeouts), 0, 0, timeouts),
        (190, "Airflow_Temperature_Cel", 0x0022, 100 - degrees, 55, 40, degrees),
        (194, "Temperature_Celsius", 0x0022, degrees, 45, 0, degrees),
        (197, "Current_Pending_Sector", 0x0012, 100, 100, 0, disk.pending()),
        (198, "Offline_Uncorrectable", 0x0010, 100, 100, 0, smart.offline_uncorrectable),
        (199, "UDMA_CRC_Error_Count", 0x003E, 200, 200, 0, smart.crc_errors),
    ]
    found = [Attribute(*row)._replace(worst=min(row[3], row[4] or row[3])) for row in rows]
    return [one for one in found if model.rotates or one.number not in (1, 3, 4, 7, 10)]


def table(disk: Disk) -> str:
    """`smartctl -A`."""
    lines = [
        "SMART Attributes Data Structure revision number: 10\nVendor Specific SMART Attributes with Thresholds:\n"
        "ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE\n"
    ]
    for one in attributes(disk):
        kind, updated = "Pre-fail" if one.prefail else "Old_age", "Always" if one.online else "Offline"
        lines.append(
            f"{one.number:3d} {one.name:<23} 0x{one.flag:04x}   {one.value:03d}   {one.worst:03d}   {one.limit:03d}    "
            f"{kind:<8}  {updated:<7}  {'FAILING_NOW' if one.failing else '-':<11} {one.raw}\n"
        )
    return "".join(lines) + "\n"


#: Letters of the flags, from bit 0 on, and their legend.
_LETTERS = "POSRCK"
_LEGEND = (
    "K auto-keep", "C event count", "R error rate", "S speed/performance", "O updated online",
    "P prefailure warning",
)  # fmt: skip


def brief_table(disk: Disk) -> str:
    """`smartctl -x` (the brief format)."""
    lines = [
        "SMART Attributes Data Structure revision number: 10\nVendor Specific SMART Attributes with Thresholds:\n"
        "ID# ATTRIBUTE_NAME          FLAGS    VALUE WORST THRESH FAIL RAW_VALUE\n"
    ]
    for one in attributes(disk):
        flags = "".join(letter if one.flag >> bit & 1 else "-" for bit, letter in enumerate(_LETTERS))
        lines.append(
            f"{one.number:3d} {one.name:<23} {flags}   {one.value:03d}   {one.worst:03d}   {one.limit:03d}    "
            f"{'NOW' if one.failing else '-':<4} {one.raw}\n"
        )
    pipes = ("||||||_ ", "|||||__ ", "||||___ ", "|||____ ", "||_____ ", "|______ ")
    lines += [f"{'':28}{pipe}{text}\n" for pipe, text in zip(pipes, _LEGEND, strict=True)]
    return "".join(lines) + "\n"


def recovery(disk: Disk) -> str:
    """SCT Error Recovery Control: how long the drive tries before it gives a sector up."""
    tenths = [limit // 100_000_000 for limit in disk.model.give_up_ns]
    if tenths[0] != tenths[1]:
        shown = "           Read: Disabled\n          Write: Disabled\n"
    else:
        shown = (
            f"           Read:{tenths[1]:7d} ({tenths[1] / 10:.1f} seconds)\n"
            f"          Write:{tenths[1]:7d} ({tenths[1] / 10:.1f} seconds)\n"
        )
    return f"SCT Error Recovery Control:\n{shown}\n"
