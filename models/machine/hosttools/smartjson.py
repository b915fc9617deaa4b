"""`smartctl -j`: what the other options show, as JSON. Keys: smartmontools 7.4 (json_format_version 1.0).

Left out: capabilities, vendor names of self-tests' states, keys that no exporter reads.
"""

from __future__ import annotations

import json
import re
from typing import Any

from simcluster.engine.clock import unix_seconds
from simcluster.models.machine.hosttools.nvmehealth import health_rows
from simcluster.models.machine.hosttools.smartattributes import attributes
from simcluster.models.machine.storage import Disk

_NVME = {
    "Critical Warning": "critical_warning", "Temperature": "temperature", "Available Spare": "available_spare",
    "Available Spare Threshold": "available_spare_threshold", "Percentage Used": "percentage_used",
    "Data Units Read": "data_units_read", "Data Units Written": "data_units_written",
    "Host Read Commands": "host_reads", "Host Write Commands": "host_writes",
    "Controller Busy Time": "controller_busy_time", "Power Cycles": "power_cycles",
    "Power On Hours": "power_on_hours", "Unsafe Shutdowns": "unsafe_shutdowns",
    "Media and Data Integrity Errors": "media_errors", "Error Information Log Entries": "num_err_log_entries",
}  # fmt: skip


def text(disk: Disk, args: list[str], wanted: dict[str, str], now_ns: int, code: int, failing: bool) -> str:
    """The document; `wanted` names the sections, `now_ns` is the machine's clock."""
    model, nvme = disk.model, disk.model.is_nvme
    name = f"/dev/{disk.name}"
    found: dict[str, Any] = {
        "json_format_version": [1, 0],
        "smartctl": {"version": [7, 4], "pre_release": False, "svn_revision": "5530",
                     "argv": ["smartctl", *args], "exit_status": code},
        "local_time": {"time_t": unix_seconds(now_ns)},
        "device": {"name": name, "info_name": f"{name} [SAT]" if not nvme else name, "type": "nvme" if nvme else "sat",
                   "protocol": "NVMe" if nvme else "ATA"},
    }  # fmt: skip
    if "i" in wanted:
        found |= {"model_name": model.model, "serial_number": disk.serial, "firmware_version": model.firmware}
        if not nvme:
            found["model_family"] = model.family
        found["user_capacity"] = {"blocks": model.sectors, "bytes": model.size_bytes}
        found["logical_block_size"] = 512
        if not nvme:
            found |= {"physical_block_size": 4096, "rotation_rate": 7200 if model.rotates else 0}
    if "H" in wanted:
        found["smart_status"] = {"passed": not failing, **({"nvme": {"value": int(failing)}} if nvme else {})}
    if "A" in wanted:
        found |= _health(disk) if nvme else _attributes(disk)
        found |= {
            "power_on_time": {"hours": disk.power_on_hours},
            "power_cycle_count": disk.smart.cycles,
            "temperature": {"current": disk.temperature},
        }
    if "error" in wanted and not nvme:
        found["ata_smart_error_log"] = {"summary": _errors(disk)}
    if "selftest" in wanted and not nvme:
        found["ata_smart_self_test_log"] = {"standard": {"revision": 1, "count": len(disk.smart.tests)}}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _health(disk: Disk) -> dict[str, Any]:
    rows = {}
    for label, _, value in health_rows(disk):
        if label in _NVME:
            number = re.match(r"0x[0-9a-f]+|[\d,]+", value)
            rows[_NVME[label]] = int(number[0].replace(",", ""), 0) if number else 0
    return {"nvme_smart_health_information_log": rows}


def _attributes(disk: Disk) -> dict[str, Any]:
    rows = [
        {
            "id": one.number, "name": one.name, "value": one.value, "worst": one.worst, "thresh": one.limit,
            "when_failed": "now" if one.failing else "",
            "flags": {"value": one.flag, "prefailure": one.prefail, "updated_online": one.online},
            "raw": {"value": one.raw, "string": str(one.raw)},
        }
        for one in attributes(disk)
    ]  # fmt: skip
    return {"ata_smart_attributes": {"revision": 10, "table": rows}}


def _errors(disk: Disk) -> dict[str, Any]:
    smart = disk.smart
    if not smart.error_count:
        return {"revision": 1, "count": 0}
    table = [
        {"error_number": number, "completion_registers": {"error": 64, "status": 83, "lba": error.lba},
         "error_description": f"Error: UNC at LBA = 0x{min(error.lba, 0x0FFFFFFF):08x} = {min(error.lba, 0x0FFFFFFF)}"}
        for number, error in zip(range(smart.error_count, 0, -1), reversed(smart.errors), strict=False)
    ]  # fmt: skip
    return {"revision": 1, "count": smart.error_count, "logged_count": len(smart.errors), "table": table}
