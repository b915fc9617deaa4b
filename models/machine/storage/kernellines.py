"""What the kernel writes about drives: block layer, SCSI, libata and NVMe, as Linux 6.8 words it.

Sources: block/blk-core.c (blk_print_req_error's format), fs/buffer.c (buffer_io_error), drivers/scsi/scsi_logging.c and
scsi_lib.c, drivers/ata/libata-eh.c, drivers/nvme/host/core.c and pci.c. The libata error handler completes a medium
error as plain I/O error, because it goes past the SCSI layer's look at the sense data; NVMe's is a medium error.
"""

from __future__ import annotations

from simcluster.engine import SECOND
from simcluster.models.machine.storage.drivemodel import DriveModel

#: include/linux/ratelimit.h: DEFAULT_RATELIMIT_INTERVAL, DEFAULT_RATELIMIT_BURST.
RATE_INTERVAL_NS, RATE_BURST = 5 * SECOND, 10


class RateLimit:
    """printk_ratelimited of one place in the source: ten lines in five seconds, then a count of what was left out."""

    __slots__ = ("begin_ns", "function", "missed", "printed")

    def __init__(self, function: str) -> None:
        self.function = function
        self.begin_ns = -RATE_INTERVAL_NS
        self.printed = 0
        self.missed = 0

    def lines(self, now_ns: int, text: str) -> list[str]:
        """What appears when the kernel wants to write `text` now."""
        found: list[str] = []
        if now_ns - self.begin_ns >= RATE_INTERVAL_NS:
            if self.missed:
                found.append(f"{self.function}: {self.missed} callbacks suppressed")
            self.begin_ns, self.printed, self.missed = now_ns, 0, 0
        if self.printed < RATE_BURST:
            self.printed += 1
            found.append(text)
        else:
            self.missed += 1
        return found


def request_error(what: str, device: str, lba: int, operation: str) -> str:
    """`critical medium error, dev sda, sector 2048 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2`."""
    code = {"READ": "0x0", "WRITE": "0x1", "FLUSH": "0x2"}[operation]
    flags = {"READ": "0x80700", "WRITE": "0x103000", "FLUSH": "0x800"}[operation]
    segments = 0 if operation == "FLUSH" else 1
    place = f"{what} error, dev {device}, sector {lba}"
    return f"{place} op {code}:({operation}) flags {flags} phys_seg {segments} prio class 2"


def buffer_error(partition: str, block: int, what: str) -> str:
    """`Buffer I/O error on dev sda1, logical block 5, async page read`."""
    return f"Buffer I/O error on dev {partition}, logical block {block}, {what}"


def ata_medium_error(port: int, tag: int, lba: int, sectors: int) -> list[str]:
    """What libata says when a queued read fails with UNC, before the SCSI layer speaks."""
    low = f"{lba & 255:02x}:{lba >> 8 & 255:02x}:{lba >> 16 & 255:02x}"
    high = f"{lba >> 24 & 255:02x}:{lba >> 32 & 255:02x}:{lba >> 40 & 255:02x}"
    count, more = sectors & 255, sectors >> 8 & 255
    taskfile = f"{count:02x}:{tag << 3:02x}:{low}/{more:02x}:00:{high}/40"
    head = f"ata{port}.00"
    return [
        f"{head}: exception Emask 0x0 SAct 0x{1 << tag:x} SErr 0x0 action 0x0",
        f"{head}: irq_stat 0x40000008",
        f"{head}: failed command: READ FPDMA QUEUED",
        f"{head}: cmd 60/{taskfile} tag {tag} ncq dma {sectors * 512} in",
        f"         res 41/40:{count:02x}:{low}/00:00:{high}/40 Emask 0x409 (media error) <F>",
        f"{head}: status: {{ DRDY ERR }}",
        f"{head}: error: {{ UNC }}",
        f"{head}: configured for UDMA/133",
    ]


def scsi_medium_error(address: str, device: str, tag: int, lba: int, sectors: int, age_s: int) -> list[str]:
    """The SCSI disk driver's lines about a read that failed."""
    head = f"sd {address}: [{device}] tag#{tag}"
    block = " ".join(f"{byte:02x}" for byte in lba.to_bytes(8, "big"))
    length = " ".join(f"{byte:02x}" for byte in sectors.to_bytes(4, "big"))
    return [
        f"{head} FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_OK cmd_age={age_s}s",
        f"{head} Sense Key : Medium Error [current] ",
        f"{head} Add. Sense: Unrecovered read error - auto reallocate failed",
        f"{head} CDB: Read(16) 88 00 {block} {length} 00 00",
    ]


def scsi_dead(address: str, device: str, tag: int, lba: int, sectors: int, age_s: int, operation: str) -> list[str]:
    """The SCSI disk driver's lines about a command to a drive that is gone."""
    head = f"sd {address}: [{device}] tag#{tag}"
    block = " ".join(f"{byte:02x}" for byte in lba.to_bytes(8, "big"))
    length = " ".join(f"{byte:02x}" for byte in sectors.to_bytes(4, "big"))
    code = "Read(16) 88" if operation == "READ" else "Write(16) 8a"
    return [
        f"{head} FAILED Result: hostbyte=DID_BAD_TARGET driverbyte=DRIVER_OK cmd_age={age_s}s",
        f"{head} CDB: {code} 00 {block} {length} 00 00",
    ]


def nvme_medium_error(device: str, lba: int, sectors: int) -> str:
    """The NVMe driver's line about a read that failed."""
    return f"{device}: Read(0x2) @ LBA {lba}, {sectors} blocks, Unrecovered Read Error (sct 0x2 / sc 0x81) DNR "


def ata_timeout(port: int, tag: int, lba: int, write: bool) -> list[str]:
    """libata when the command timer of 30 s has run out."""
    head = f"ata{port}.00"
    low = f"{lba & 255:02x}:{lba >> 8 & 255:02x}:{lba >> 16 & 255:02x}"
    high = f"{lba >> 24 & 255:02x}:{lba >> 32 & 255:02x}:{lba >> 40 & 255:02x}"
    command, name, way = ("61", "WRITE", "out") if write else ("60", "READ", "in")
    return [
        f"{head}: exception Emask 0x0 SAct 0x{1 << tag:x} SErr 0x0 action 0x6 frozen",
        f"{head}: failed command: {name} FPDMA QUEUED",
        f"{head}: cmd {command}/08:{tag << 3:02x}:{low}/00:00:{high}/40 tag {tag} ncq dma 4096 {way}",
        "         res 40/00:00:00:00:00/00:00:00:00:00/00 Emask 0x4 (timeout)",
        f"{head}: status: {{ DRDY }}",
        f"ata{port}: hard resetting link",
    ]


def ata_recovered(port: int) -> list[str]:
    """libata when a reset helped."""
    return [
        f"ata{port}: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
        f"ata{port}.00: configured for UDMA/133",
        f"ata{port}: EH complete",
    ]


def ata_failed_reset(port: int, attempt: int) -> list[str]:
    """libata after an attempt to reset; the fourth is the last."""
    if attempt < 4:
        limit = ["", f"ata{port}: limiting SATA link speed to 3.0 Gbps"][attempt == 3]
        lines = [f"ata{port}: softreset failed (1st FIS failed)", limit, f"ata{port}: hard resetting link"]
        return [line for line in lines if line]
    return [
        f"ata{port}: softreset failed (1st FIS failed)",
        f"ata{port}: reset failed, giving up",
        f"ata{port}.00: disable device",
        f"ata{port}: EH complete",
    ]


def attached(port: int, address: str, name: str, model: DriveModel) -> list[str]:
    """A drive has been found on its port."""
    if model.is_nvme:
        controller = name.partition("n1")[0]
        found = f"nvme nvme0: pci function 0000:00:1{port}.0"
        return [found, f"nvme {controller}: 4/0/0 default/read/poll queues"]
    decimal, binary = model.size_bytes * 100 // 10**12, model.size_bytes // (1 << 30)
    return [
        f"ata{port}: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
        f"ata{port}.00: ATA-10: {model.model}, {model.firmware}, max UDMA/133",
        f"ata{port}.00: configured for UDMA/133",
        f"scsi {address}: Direct-Access     ATA      {model.model[:16]:<16} {model.firmware} PQ: 0 ANSI: 5",
        f"sd {address}: [{name}] {model.sectors} 512-byte logical blocks: "
        f"({decimal // 100}.{decimal % 100:02d} TB/{binary} GiB)",
        f"sd {address}: [{name}] Attached SCSI disk",
    ]
