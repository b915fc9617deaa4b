"""Sectors of a drive that cannot be read, or that give back something else, under the data of a store."""

from __future__ import annotations

from pydantic import Field

from simcluster.faults.datasheet import DataSheet
from simcluster.faults.drives.stored_data import StoredMechanism, StoredParams
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget
from simcluster.models.machine.storage import BLOCK

#: Most physical sectors that one fault spoils (4 MiB): bursts in the field are far shorter.
MOST_BLOCKS = 1000


class SectorParams(StoredParams):
    """So many blocks of 4 KiB, from a place in each file on: `offset` bytes, a multiple of 4096."""

    blocks: int = Field(default=1, ge=1, le=MOST_BLOCKS)
    offset: int = Field(default=0, ge=0, multiple_of=BLOCK)


class SectorMechanism(StoredMechanism):
    """Base: a range of sectors under the files of a claim."""

    Params = SectorParams
    params: SectorParams

    def check(self, target: FaultTarget) -> None:
        """The files must be as long as that, and their drive whole."""
        super().check(target)
        system = self.system(target)
        if not system.disk.sectors.flawless:
            raise ImpossibleTarget(f"drive {system.disk.name} of {self.ref} has bad sectors already")
        for file in self.files(target):
            if self._size > -(-system.size_of(file) // BLOCK) * BLOCK - self.params.offset:
                end = self.params.offset + self._size
                raise ImpossibleTarget(f"{file} has {system.size_of(file)} bytes, fewer than {end}")

    def contradiction(self, other: Mechanism) -> str:
        """One file cannot be unreadable and readable but wrong."""
        if not isinstance(other, SectorMechanism) or type(other) is type(self):
            return super().contradiction(other)
        if (other.ref, other.params.claim) != (self.ref, self.params.claim):
            return ""
        return f"the data of claim {self.params.claim} cannot be unreadable and silently wrong at once"

    @property
    def _size(self) -> int:
        return self.params.blocks * BLOCK


class LatentErrors(SectorMechanism):
    """Sectors go bad under a store's files; nobody knows until they are read.

    Symptoms once they are: the drive tries for seconds, the kernel logs the medium error, the reader
    gets EIO, a database ends itself and cannot start any more.
    Shows in: dmesg, smartctl (197), badblocks, the store's log, CrashLoopBackOff, callers, users.
    Undone by: writing to the sectors (the drive remaps them), data that lie elsewhere, another drive.
    """

    sheet = DataSheet(
        layer="hardware",
        family="disk_errors",
        changes=("disk/* unreadable",),
        lost=True,
        follows="A read fails with EIO after seconds; a database ends itself and cannot start any more.",
        undone_by=("writing to the sectors", "data that lie elsewhere", "another drive"),
        units={"blocks": "blocks of 4 KiB", "offset": "bytes"},
        source="Bairavasundaram et al., An Analysis of Latent Sector Errors in Disk Drives (SIGMETRICS 2007)",
    )

    def inject(self, target: FaultTarget) -> None:
        """Spoil them."""
        system = self.system(target)
        for file in self.files(target):
            system.spoil(file, self.params.offset, self._size)

    def still_present(self, target: FaultTarget) -> str:
        """Files of the claim's volume lie on unreadable sectors."""
        return "; ".join(f"{drive} cannot read all of {file}" for drive, file in self.damaged(target, "bad"))


class SilentCorruption(SectorMechanism):
    """Sectors under a store's files give back something else than was written, and no error.

    Symptoms once they are read: a database that verifies checksums ends itself and cannot start any
    more; the kernel and the drive know nothing of it.
    Shows in: the store's log, CrashLoopBackOff, callers, users. Not in dmesg, not in SMART.
    Undone by: new contents for the files, data that lie elsewhere, another drive.
    """

    sheet = DataSheet(
        layer="hardware",
        family="silent_corruption",
        changes=("disk/* wrong",),
        lost=True,
        follows="A database that verifies checksums ends itself and cannot start any more; the kernel and the "
        "drive know nothing.",
        undone_by=("new contents for the files", "data that lie elsewhere", "another drive"),
        units={"blocks": "blocks of 4 KiB", "offset": "bytes"},
        source="Bairavasundaram et al., An Analysis of Data Corruption in the Storage Stack (FAST 2008)",
    )

    def inject(self, target: FaultTarget) -> None:
        """Change what they give back."""
        system = self.system(target)
        for file in self.files(target):
            system.corrupt(file, self.params.offset, self._size)

    def still_present(self, target: FaultTarget) -> str:
        """Files of the claim's volume lie on sectors that give back something else."""
        return "; ".join(f"{drive} gives back wrong data of {file}" for drive, file in self.damaged(target, "wrong"))
