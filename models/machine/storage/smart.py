"""What a drive counts about itself: SMART attributes, the NVMe health log, its error log, and self-tests.

Counters that follow from the state of the drive (pending and remapped sectors) are read there. Transitions: a read
that failed for good counts in 187, its sector in 197, after an offline scan in 198; writing it takes it out of 197
and, being remapped, into 5; a command that timed out counts in 188; a bad cable in 199.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class DriveError(NamedTuple):
    """One entry of the drive's error log: when, which sector, how many sectors the command asked for."""

    t_ns: int
    lba: int
    sectors: int


class SelfTest(NamedTuple):
    """One self-test: `short` or `long`, when it began, how long it takes, and the first sector it cannot read (-1)."""

    kind: str
    begin_ns: int
    duration_ns: int
    failed_lba: int


@dataclass(slots=True)
class Smart:
    """Counters of one drive.

    Attributes:
        base_hours, cycles: power-on hours and power cycles before the machine booted.
        reported_uncorrect: 187; on NVMe media and data integrity errors.
        command_timeouts: 188. crc_errors: 199. offline_uncorrectable: 198.
        unsafe_shutdowns: on NVMe, times that power went without notice.
        errors: the newest last, at most five are kept, as in the summary error log.
        error_count: how many there were.
    """

    base_hours: int = 0
    cycles: int = 0
    reported_uncorrect: int = 0
    command_timeouts: int = 0
    crc_errors: int = 0
    offline_uncorrectable: int = 0
    unsafe_shutdowns: int = 0
    error_count: int = 0
    errors: list[DriveError] = field(default_factory=list)
    tests: list[SelfTest] = field(default_factory=list)

    def failed_read(self, t_ns: int, lba: int, sectors: int) -> None:
        """A read was given up."""
        self.reported_uncorrect += 1
        self.error_count += 1
        self.errors = [*self.errors[-4:], DriveError(t_ns, lba, sectors)]
