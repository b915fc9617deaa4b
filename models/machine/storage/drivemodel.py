"""Makes of drives: their geometry, speed and habits.

Figures: 7200 rpm nearline drives need 8-12 ms for a random 4 KiB and carry 100-200 MB/s; SATA flash some
100 us; NVMe flash 10-80 us. A drive with error recovery control gives a sector up after 7 s, one without
after 5-30 s. Left out: zones of shingled drives, power states, wear levelling.
"""

from __future__ import annotations

from dataclasses import dataclass

from simcluster.engine import MICROSECOND, MILLISECOND, SECOND, Shared

SECTOR = 512
#: A physical sector of all these drives, and a block of the file systems on them.
BLOCK = 4096
SECTORS_A_BLOCK = BLOCK // SECTOR
GIB = 1 << 30


@dataclass(frozen=True)
class DriveModel(Shared):
    """One make.

    Attributes:
        kind: `hdd`, `ssd` (SATA) or `nvme`.
        size_bytes: capacity.
        turn_ns: one revolution; 0 for flash.
        settle_ns, stroke_ns: a seek over the share d of the surface takes settle + stroke * sqrt(d).
        outer_bytes_per_s, inner_bytes_per_s: transfer at the first and the last sector.
        read_ns, write_ns: one 4 KiB of flash, without waiting.
        channels: requests that it works on at the same time.
        queue: requests that it accepts at once (NCQ, NVMe queue).
        flush_ns: making its write cache durable.
        give_up_ns: (least, most) time of internal retries before it gives a sector up.
        spare_sectors: how many it can remap.
        read_factor, write_factor: every read (write, flush) takes so many times as long as such a drive takes.
    """

    kind: str
    model: str
    family: str
    firmware: str
    size_bytes: int
    turn_ns: int = 0
    settle_ns: int = 0
    stroke_ns: int = 0
    outer_bytes_per_s: int = 0
    inner_bytes_per_s: int = 0
    read_ns: int = 0
    write_ns: int = 0
    channels: int = 1
    queue: int = 32
    flush_ns: int = 0
    give_up_ns: tuple[int, int] = (7 * SECOND, 7 * SECOND)
    spare_sectors: int = 2040
    read_factor: float = 1.0
    write_factor: float = 1.0

    @property
    def sectors(self) -> int:
        """Capacity in sectors of 512 bytes."""
        return self.size_bytes // SECTOR

    @property
    def rotates(self) -> bool:
        """Whether it is a hard disk."""
        return self.turn_ns > 0

    @property
    def is_nvme(self) -> bool:
        """Whether it speaks NVMe."""
        return self.kind == "nvme"


#: 60 s / 7200.
TURN_7200_NS = 8_333_333

NEARLINE_HDD = DriveModel(
    "hdd",
    "ST1000NM0008-2F2100",
    "Seagate Enterprise Capacity 3.5 HDD",
    "SN05",
    1_000_204_886_016,
    turn_ns=TURN_7200_NS,
    settle_ns=800 * MICROSECOND,
    stroke_ns=10 * MILLISECOND,
    outer_bytes_per_s=194_000_000,
    inner_bytes_per_s=98_000_000,
    flush_ns=2 * TURN_7200_NS,
)
#: The same mechanics without error recovery control.
DESKTOP_HDD = DriveModel(
    "hdd",
    "ST1000DM010-2EP102",
    "Seagate BarraCuda 3.5",
    "CC43",
    1_000_204_886_016,
    turn_ns=TURN_7200_NS,
    settle_ns=900 * MICROSECOND,
    stroke_ns=11 * MILLISECOND,
    outer_bytes_per_s=185_000_000,
    inner_bytes_per_s=92_000_000,
    flush_ns=2 * TURN_7200_NS,
    give_up_ns=(5 * SECOND, 30 * SECOND),
)
SATA_SSD = DriveModel(
    "ssd",
    "SAMSUNG MZ7LH480HAHQ-00005",
    "Samsung based SSDs",
    "HXT7404Q",
    480_103_981_056,
    outer_bytes_per_s=540_000_000,
    inner_bytes_per_s=540_000_000,
    read_ns=95 * MICROSECOND,
    write_ns=35 * MICROSECOND,
    channels=8,
    flush_ns=150 * MICROSECOND,
    give_up_ns=(40 * MILLISECOND, 400 * MILLISECOND),
)
NVME_SSD = DriveModel(
    "nvme",
    "SAMSUNG MZQL2960HCJR-00A07",
    "",
    "GDC5902Q",
    100 * GIB,
    outer_bytes_per_s=3_000_000_000,
    inner_bytes_per_s=3_000_000_000,
    read_ns=70 * MICROSECOND,
    write_ns=12 * MICROSECOND,
    channels=32,
    queue=1023,
    flush_ns=60 * MICROSECOND,
    give_up_ns=(10 * MILLISECOND, 120 * MILLISECOND),
    spare_sectors=65_536,
)

DRIVE_MODELS = {"hdd": NEARLINE_HDD, "desktop-hdd": DESKTOP_HDD, "ssd": SATA_SSD, "nvme": NVME_SSD}
