"""`smartctl` 7.4: health, identity, attributes and logs of a drive, and starting a self-test.

Exit status as its manual says: 2 the device did not open, 8 the drive is failing, 64 its error log has entries.
Left out: SCSI drives, vendor attributes beyond the common ones, temperature history.
"""

from __future__ import annotations

from simcluster.engine import MINUTE, SECOND, format_rfc3339
from simcluster.engine.clock import month_name, weekday
from simcluster.models.machine.hosttools import smartjson
from simcluster.models.machine.hosttools.blockdevices import disk_of, on_bus
from simcluster.models.machine.hosttools.nvmehealth import health_rows
from simcluster.models.machine.hosttools.smartattributes import brief_table, recovery, table
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.storage import Disk
from simcluster.models.userland.outcome import Outcome

_DATA, _NVME_DATA = "=== START OF READ SMART DATA SECTION ===\n", "=== START OF SMART DATA SECTION ===\n"
_FAILED = "FAILED!\nDrive failure expected in less than 24 hours. SAVE ALL DATA.\n"
_HOUR_NS = 3600 * SECOND


def smartctl(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """smartctl -H -i -A -a -x -j -l error|selftest|scterc -t short|long DEVICE, and --scan."""
    head = f"smartctl 7.4 2023-08-01 r5530 [x86_64-linux-{machine.identity.kernel_version}] (local build)\n"
    head += "Copyright (C) 2002-23, Bruce Allen, Christian Franke, www.smartmontools.org\n\n"
    if "--scan" in args:
        return Outcome("".join(_scanned(disk) for disk in on_bus(machine)))
    device = next((arg for arg in args if arg.startswith("/dev/")), "")
    disk = disk_of(machine, device)
    if not device:
        return Outcome(f"{head}ERROR: smartctl requires a device name as the final command-line argument.\n\n", "", 1)
    if disk is None:
        return Outcome(f"{head}Smartctl open device: {device} failed: No such device\n", "", 2)
    if disk.outage is not None:
        text = "Read Device Identity failed: Input/output error\n\n"
        advice = "A mandatory SMART command failed: exiting. To continue, add one or more '-T permissive' options.\n"
        return Outcome(f"{head}{text}{advice}", "", 2)
    wanted = _wanted(args)
    if "j" in wanted:
        code = 8 if _failing(disk) and wanted.keys() & {"H", "A"} else 0
        code |= 64 if disk.smart.error_count and "error" in wanted else 0
        return Outcome(smartjson.text(disk, args, wanted, machine.os.clock.now_ns(), code, _failing(disk)), "", code)
    parts = _nvme(disk, wanted, machine.sim.now) if disk.model.is_nvme else _ata(disk, wanted, machine.sim.now)
    if "test" in wanted:
        parts += _start_test(disk, wanted["test"], machine.sim.now)
    code = (8 if _failing(disk) and wanted.keys() & {"H", "A"} else 0) | (
        64 if disk.smart.error_count and wanted.keys() & {"error"} else 0
    )
    return Outcome(head + parts, "", code)


def _scanned(disk: Disk) -> str:
    if disk.model.is_nvme:
        return f"/dev/{disk.controller} -d nvme # /dev/{disk.controller}, NVMe device\n"
    return f"/dev/{disk.name} -d scsi # /dev/{disk.name}, SCSI device\n"


def _wanted(args: list[str]) -> dict[str, str]:
    """Which sections: H, i, A, error, selftest, test."""
    found: dict[str, str] = {}
    rest = iter(args)
    for arg in rest:
        if arg in ("-l", "--log"):
            found[next(rest, "error")] = ""
        elif arg in ("-t", "--test"):
            found["test"] = next(rest, "short")
        elif arg in ("-d", "--device", "-T"):
            next(rest, "")
        elif arg in ("--all", "--xall"):
            found |= dict.fromkeys(("i", "H", "A", "error", "selftest", *(["x"] if arg == "--xall" else [])), "")
        elif arg.startswith("--json"):
            found["j"] = ""
        elif arg.startswith("--"):
            long = {"--health": "H", "--info": "i", "--attributes": "A"}.get(arg)
            found |= {long: ""} if long else {}
        elif arg.startswith("-"):
            for letter in arg[1:]:
                names = ("i", "H", "A", "error", "selftest", letter) if letter in "ax" else (letter,)
                found |= dict.fromkeys(names, "")
    return found


def _failing(disk: Disk) -> bool:
    """The drive's own threshold: nine tenths of its spare sectors are gone."""
    return disk.sectors.remapped * 10 >= disk.model.spare_sectors * 9


def _date(now: int) -> str:
    text = format_rfc3339(now)
    return f"{weekday(now)} {month_name(int(text[5:7]))} {int(text[8:10]):2d} {text[11:19]} {text[:4]} UTC"


def _ata(disk: Disk, wanted: dict[str, str], now: int) -> str:
    parts = []
    if "i" in wanted:
        parts.append(_ata_identity(disk, now))
    if wanted.keys() & {"H", "A", "error", "selftest"}:
        parts.append(_DATA)
    if "H" in wanted:
        verdict = _FAILED if _failing(disk) else "PASSED\n"
        parts.append(f"SMART overall-health self-assessment test result: {verdict}\n")
    if "A" in wanted:
        parts.append(brief_table(disk) if "x" in wanted else table(disk))
    if "error" in wanted:
        extended = "SMART Extended Comprehensive Error Log Version: 1 (5 sectors)"
        parts.append(_error_log(disk).replace("SMART Error Log Version: 1", extended, 1 if "x" in wanted else 0))
    if "selftest" in wanted:
        extended = "SMART Extended Self-test Log Version: 1 (1 sectors)"
        usual = "SMART Self-test log structure revision number 1"
        parts.append(_self_tests(disk, now).replace(usual, extended, 1 if "x" in wanted else 0))
    if wanted.keys() & {"x", "scterc"}:
        parts.append(recovery(disk))
    return "".join(parts)


def _ata_identity(disk: Disk, now: int) -> str:
    model = disk.model
    rows = [
        ("Model Family", model.family),
        ("Device Model", model.model),
        ("Serial Number", disk.serial),
        ("LU WWN Device Id", f"5 000c50 0{disk.key % (1 << 32):08x}"),
        ("Firmware Version", model.firmware),
        ("User Capacity", _capacity(model.size_bytes)),
        ("Sector Sizes", "512 bytes logical, 4096 bytes physical"),
        ("Rotation Rate", "7200 rpm" if model.rotates else "Solid State Device"),
        ("Form Factor", "3.5 inches" if model.rotates else "2.5 inches"),
        ("Device is", "In smartctl database 7.3/5528"),
        ("ATA Version is", "ACS-3 T13/2161-D revision 5"),
        ("SATA Version is", "SATA 3.1, 6.0 Gb/s (current: 6.0 Gb/s)"),
        ("Local Time is", _date(now)),
        ("SMART support is", "Available - device has SMART capability."),
        ("SMART support is", "Enabled"),
    ]
    lines = "".join(f"{name + ':':<17} {value}\n" for name, value in rows)
    return f"=== START OF INFORMATION SECTION ===\n{lines}\n"


def _capacity(size: int) -> str:
    shown = f"{size / 1e12:.2f} TB" if size >= 10**12 else f"{size // 10**9} GB"
    return f"{size:,} bytes [{shown}]"


def _error_log(disk: Disk) -> str:
    smart = disk.smart
    head = "SMART Error Log Version: 1\n"
    if not smart.error_count:
        return f"{head}No Errors Logged\n\n"
    plural = "s" if smart.error_count > 1 else ""
    note = ""
    if smart.error_count > len(smart.errors):
        note = f" (device log contains only the most recent {len(smart.errors)} errors)"
    lines = [f"{head}ATA Error Count: {smart.error_count}{note}\n"] if plural else [f"{head}ATA Error Count: 1\n"]
    for number, error in zip(range(smart.error_count, 0, -1), reversed(smart.errors), strict=False):
        hours = smart.base_hours + (error.t_ns - disk.born_ns) // _HOUR_NS
        low, middle, high = error.lba & 255, error.lba >> 8 & 255, error.lba >> 16 & 255
        shown = min(error.lba, 0x0FFFFFFF)
        if error.lba > 0x0FFFFFFF:
            low = middle = high = 255
        head_bits = shown >> 24
        lines.append(
            f"\nError {number} occurred at disk power-on lifetime: {hours} hours "
            f"({hours // 24} days + {hours % 24} hours)\n"
            "  When the command that caused the error occurred, the device was active or idle.\n\n"
            "  After command completion occurred, registers were:\n  ER ST SC SN CL CH DH\n  -- -- -- -- -- -- --\n"
            f"  40 53 00 {low:02x} {middle:02x} {high:02x} {head_bits:02x}  "
            f"Error: UNC at LBA = 0x{shown:08x} = {shown}\n\n"
            "  Commands leading to the command that caused the error were:\n"
            "  CR FR SC SN CL CH DH DC   Powered_Up_Time  Command/Feature_Name\n"
            "  -- -- -- -- -- -- -- --  ----------------  --------------------\n"
            f"  60 00 {error.sectors:02x} {low:02x} {middle:02x} {high:02x} 40 00  {_up_time(disk, error.t_ns)}  "
            "READ FPDMA QUEUED\n"
        )
    return "".join(lines) + "\n"


def _up_time(disk: Disk, t_ns: int) -> str:
    since = (t_ns - disk.born_ns) // 1_000_000
    days, rest = divmod(since, 86_400_000)
    clock = f"{rest // 3_600_000:02d}:{rest // 60_000 % 60:02d}:{rest // 1000 % 60:02d}.{rest % 1000:03d}"
    return f"{days}d+{clock}" if days else f"    {clock}"


def _self_tests(disk: Disk, now: int) -> str:
    head = "SMART Self-test log structure revision number 1\n"
    if not disk.smart.tests:
        return f"{head}No self-tests have been logged.  [To run self-tests, use: smartctl -t]\n\n"
    lines = [f"{head}Num  Test_Description    Status                  Remaining  LifeTime(hours)  LBA_of_first_error\n"]
    for number, test in enumerate(disk.smart.tests, 1):
        done = now - test.begin_ns
        name = "Extended offline" if test.kind == "long" else "Short offline"
        hours = disk.smart.base_hours + (test.begin_ns - disk.born_ns) // _HOUR_NS
        status, left, where = "Completed without error", "00%", "-"
        if done < test.duration_ns:
            left = f"{(test.duration_ns - done) * 10 // test.duration_ns * 10:02d}%"
            status = "Self-test routine in progress"
        elif test.failed_lba >= 0:
            share = test.failed_lba * 10 // disk.model.sectors
            status, left, where = "Completed: read failure", f"{90 - 10 * min(9, share):02d}%", str(test.failed_lba)
        lines.append(f"#{number:2d}  {name:<19} {status:<29} {left:>3}  {hours:8d}         {where}\n")
    return "".join(lines) + "\n"


def _start_test(disk: Disk, kind: str, now: int) -> str:
    test = disk.self_test("long" if kind == "long" else "short")
    minutes = -(-test.duration_ns // MINUTE)
    name = "Extended" if test.kind == "long" else "Short"
    return (
        "=== START OF OFFLINE IMMEDIATE AND SELF-TEST SECTION ===\n"
        f'Sending command: "Execute SMART {name} self-test routine immediately in off-line mode".\n'
        f'Drive command "Execute SMART {name} self-test routine immediately in off-line mode" successful.\n'
        f"Testing has begun.\nPlease wait {minutes} minutes for test to complete.\n"
        f"Test will complete after {_date(now + test.duration_ns)}\nUse smartctl -X to abort test.\n"
    )


def _nvme(disk: Disk, wanted: dict[str, str], now: int) -> str:
    parts = []
    if "i" in wanted:
        size = disk.model.size_bytes
        rows = [
            ("Model Number", disk.model.model),
            ("Serial Number", disk.serial),
            ("Firmware Version", disk.model.firmware),
            ("PCI Vendor/Subsystem ID", "0x144d"),
            ("IEEE OUI Identifier", "0x002538"),
            ("Total NVM Capacity", _capacity(size).replace(" bytes", "")),
            ("Unallocated NVM Capacity", "0"),
            ("Controller ID", "6"),
            ("NVMe Version", "1.4"),
            ("Number of Namespaces", "32"),
            ("Namespace 1 Size/Capacity", _capacity(size).replace(" bytes", "")),
            ("Namespace 1 Formatted LBA Size", "512"),
            ("Local Time is", _date(now)),
        ]
        parts.append("=== START OF INFORMATION SECTION ===\n")
        parts.append("".join(f"{name + ':':<35} {value}\n" for name, value in rows) + "\n")
    if wanted.keys() & {"H", "A", "error"}:
        parts.append(_NVME_DATA)
    if "H" in wanted:
        parts.append(f"SMART overall-health self-assessment test result: {_FAILED if _failing(disk) else 'PASSED'}\n\n")
    if "A" in wanted:
        rows = [(label, value) for label, _, value in health_rows(disk)]
        parts.append("SMART/Health Information (NVMe Log 0x02)\n")
        parts.append("".join(f"{name + ':':<35} {value}\n" for name, value in rows) + "\n")
    if "error" in wanted:
        parts.append(_nvme_errors(disk))
    return "".join(parts)


def _nvme_errors(disk: Disk) -> str:
    head = "Error Information (NVMe Log 0x01, 16 of 64 entries)\n"
    if not disk.smart.error_count:
        return f"{head}No Errors Logged\n\n"
    lines = [f"{head}Num   ErrCount  SQId   CmdId  Status  PELoc          LBA  NSID    VS  Message\n"]
    for number, error in enumerate(reversed(disk.smart.errors)):
        count = disk.smart.error_count - number
        command = f"0x{error.lba % 4096:04x}"
        lines.append(
            f"{number:3d} {count:10d}     3  {command}  0x4502  0x000 {error.lba:12d}     1     -  "
            "Unrecovered Read Error\n"
        )
    return "".join(lines) + "\n"


TOOLS = {"smartctl": smartctl}
