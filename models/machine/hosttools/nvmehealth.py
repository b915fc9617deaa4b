"""The health log of NVMe drives (log page 2), as smartctl and nvme-cli show it."""

from __future__ import annotations

from simcluster.engine import MINUTE
from simcluster.models.machine.storage import Disk


def health_rows(disk: Disk) -> list[tuple[str, str, str]]:
    """The NVMe health log: smartctl's label, nvme-cli's, and smartctl's value."""
    smart, counted = disk.smart, disk.counted()
    counted.add(disk.lifetime, 1.0)
    read, wrote = int(counted.read_sectors) // 1000, int(counted.write_sectors) // 1000
    base = smart.base_hours * 1200  # data units of its earlier life
    spare = max(0, 100 - disk.sectors.remapped * 100 // disk.model.spare_sectors)
    warning = "0x01" if spare < 10 else "0x00"
    unsafe = disk.key % 9 + smart.unsafe_shutdowns
    return [
        ("Critical Warning", "critical_warning", warning),
        ("Temperature", "temperature", f"{disk.temperature} Celsius"),
        ("Available Spare", "available_spare", f"{spare}%"),
        ("Available Spare Threshold", "available_spare_threshold", "10%"),
        ("Percentage Used", "percentage_used", f"{min(99, smart.base_hours // 3000)}%"),
        ("Data Units Read", "Data Units Read", _units(base + read)),
        ("Data Units Written", "Data Units Written", _units(base // 2 + wrote)),
        ("Host Read Commands", "host_read_commands", f"{base * 9 + int(counted.reads):,}"),
        ("Host Write Commands", "host_write_commands", f"{base * 20 + int(counted.writes):,}"),
        (
            "Controller Busy Time",
            "controller_busy_time",
            f"{smart.base_hours // 10 + int(counted.busy_ns) // MINUTE:,}",
        ),
        ("Power Cycles", "power_cycles", str(smart.cycles)),
        ("Power On Hours", "power_on_hours", f"{disk.power_on_hours:,}"),
        ("Unsafe Shutdowns", "unsafe_shutdowns", str(unsafe)),
        ("Media and Data Integrity Errors", "media_errors", str(smart.reported_uncorrect)),
        ("Error Information Log Entries", "num_err_log_entries", str(smart.error_count)),
        ("Warning  Comp. Temperature Time", "Warning Temperature Time", "0"),
        ("Critical Comp. Temperature Time", "Critical Composite Temperature Time", "0"),
    ]


def _units(count: int) -> str:
    return f"{count:,} [{count * 512_000 / 1e12:.2f} TB]"
