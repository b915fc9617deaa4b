"""A drive that becomes slow and goes on working: fail-slow, under the data of a store."""

from __future__ import annotations

from pydantic import Field, model_validator

from simcluster.faults.datasheet import DataSheet
from simcluster.faults.drives.stored_data import StoredMechanism, StoredParams, place_of
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget
from simcluster.models.machine.storage import Disk, SlowMode, slow

_NS_PER_MS = 1_000_000


class SlowParams(StoredParams):
    """How slow it becomes; what is given adds up.

    Attributes:
        factor: everything takes that many times as long.
        bytes_per_s: transfer at most.
        retried: share of the reads that succeed only after `retries` more attempts of the drive.
        every_ms, stall_ms: about that often it answers nothing for so long.
        collected: share of the requests that garbage collection holds up (flash).
        on_ms, off_ms: the slowness comes and goes: lengths on average.
    """

    factor: float = Field(default=1.0, ge=1.0)
    bytes_per_s: int = Field(default=0, ge=0)
    retried: float = Field(default=0.0, ge=0.0, le=1.0)
    retries: int = Field(default=4, ge=1, le=4)
    every_ms: int = Field(default=0, ge=0)
    stall_ms: int = Field(default=0, ge=0)
    collected: float = Field(default=0.0, ge=0.0, le=1.0)
    on_ms: int = Field(default=0, ge=0)
    off_ms: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _possible(self) -> SlowParams:
        if bool(self.every_ms) != bool(self.stall_ms) or bool(self.on_ms) != bool(self.off_ms):
            raise ValueError("every_ms and stall_ms belong together, and so do on_ms and off_ms")
        if not self.modes():
            raise ValueError("give factor, bytes_per_s, retried, every_ms or collected: a drive as new is no fault")
        return self

    def modes(self) -> list[SlowMode]:
        """Its ways of being slow. Raises ValueError for magnitudes that no drive can have."""
        found = []
        if self.factor > 1.0:
            found.append(slow.constant(self.factor))
        if self.bytes_per_s:
            found.append(slow.bandwidth(self.bytes_per_s))
        if self.retried:
            found.append(slow.read_retries(self.retried, self.retries))
        if self.every_ms:
            found.append(slow.jitter(self.every_ms * _NS_PER_MS, self.stall_ms * _NS_PER_MS))
        if self.collected:
            found.append(slow.garbage_collection(self.collected))
        if self.on_ms:
            return [slow.flaky(mode, self.on_ms * _NS_PER_MS, self.off_ms * _NS_PER_MS) for mode in found]
        return found


class SlowDrive(StoredMechanism):
    """A drive slows down by a factor of ten to a thousand and reports no error.

    Symptoms: every read that no cache has takes hundreds of milliseconds, and requests queue up; the store's threads
    wait in state D, its slow operations are logged, its callers run into their time-outs.
    Shows in: `iostat -x` (r_await, aqu-sz, %util) of one drive, iowait, /proc/pressure/io, the store's log, users. Not
    in dmesg (only a command of more than 30 s would be), and SMART says PASSED.
    Undone by: data that lie elsewhere, another drive. A restart of the store empties its cache and makes it worse.
    """

    sheet = DataSheet(
        layer="hardware",
        family="disk_slow",
        changes=("disk/* slow",),
        follows="Reads that no cache has take hundreds of milliseconds and queue up; the store's callers run "
        "into their time-outs.",
        undone_by=("data that lie elsewhere", "another drive"),
        units={
            "factor": "times the usual service time",
            "bytes_per_s": "bytes/s",
            "retried": "share of reads",
            "every_ms": "ms",
            "stall_ms": "ms",
            "collected": "share of requests",
            "on_ms": "ms",
            "off_ms": "ms",
        },
        source="Gunawi et al., Fail-Slow at Scale (FAST 2018)",
    )
    Params = SlowParams
    params: SlowParams

    def check(self, target: FaultTarget) -> None:
        """The drive must be of a make that can be slow in that way."""
        super().check(target)
        disk = self.disk(target)
        for mode in self.params.modes():
            try:
                slow.on_drive(mode, disk.model)
            except ValueError as error:
                raise ImpossibleTarget(f"drive {disk.name} of {self.ref}: {error}") from None

    def contradiction(self, other: Mechanism) -> str:
        """One drive has one fault of speed."""
        if isinstance(other, SlowDrive) and other.ref == self.ref:
            return f"the drive of {self.ref} cannot become slow twice"
        return super().contradiction(other)

    def inject(self, target: FaultTarget) -> None:
        """From now on it is slow."""
        for mode in self.params.modes():
            self.disk(target).fail_slow(mode)

    def still_present(self, target: FaultTarget) -> str:
        """The claim's volume, wherever it is now, lies on a slow drive."""
        disk = self._present(target)
        if disk is None or not disk.modes:
            return ""
        return f"claim {self.params.claim} lies on drive {disk.name}, which is slow"

    def _present(self, target: FaultTarget) -> Disk | None:
        place = place_of(target.api.store, self.namespace, self.params.claim)
        host = None if place is None else target.machines.get(place.node)
        return None if place is None or host is None else host.files_at(place.folder).disk
