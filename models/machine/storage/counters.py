"""What the kernel counts about a block device: /proc/diskstats, and so iostat."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """Since boot. Requests and sectors may have fractions, as loads come as rates; times are ns.

    Attributes:
        reads, read_sectors, read_ns: completed reads, what they carried, and how long they took together.
        writes, write_sectors, write_ns, flushes, flush_ns: likewise.
        busy_ns: time with at least one request under way.
    """

    reads: float = 0.0
    read_sectors: float = 0.0
    read_ns: float = 0.0
    writes: float = 0.0
    write_sectors: float = 0.0
    write_ns: float = 0.0
    flushes: float = 0.0
    flush_ns: float = 0.0
    busy_ns: float = 0.0

    def read(self, count: float, size_bytes: float, each_ns: float) -> None:
        """Reads were done."""
        self.reads += count
        self.read_sectors += size_bytes / 512.0
        self.read_ns += count * each_ns

    def write(self, count: float, size_bytes: float, each_ns: float) -> None:
        """Writes were done."""
        self.writes += count
        self.write_sectors += size_bytes / 512.0
        self.write_ns += count * each_ns

    def flush(self, count: float, each_ns: float) -> None:
        """Flushes were done."""
        self.flushes += count
        self.flush_ns += count * each_ns

    def add(self, other: Counters, share: float) -> None:
        """A share of what others counted; a negative one takes it away."""
        self.reads += share * other.reads
        self.read_sectors += share * other.read_sectors
        self.read_ns += share * other.read_ns
        self.writes += share * other.writes
        self.write_sectors += share * other.write_sectors
        self.write_ns += share * other.write_ns
        self.flushes += share * other.flushes
        self.flush_ns += share * other.flush_ns
        self.busy_ns += share * other.busy_ns

    def copy(self) -> Counters:
        """The same numbers."""
        return Counters(
            self.reads,
            self.read_sectors,
            self.read_ns,
            self.writes,
            self.write_sectors,
            self.write_ns,
            self.flushes,
            self.flush_ns,
            self.busy_ns,
        )
