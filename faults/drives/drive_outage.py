"""A drive that answers no more: for good, for a while, or because it left the bus."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from simcluster.faults.datasheet import DataSheet
from simcluster.faults.deployer import Deployer
from simcluster.faults.drives.stored_data import StoredMechanism, StoredParams, place_of
from simcluster.faults.target import FaultTarget, ObjectRef

_NS_PER_S = 1_000_000_000


class OutageParams(StoredParams):
    """It `stop`s (answers never again) or is `gone` from the bus; `lasts_s` if it comes back."""

    how: Literal["stop", "gone"] = "stop"
    lasts_s: float = Field(default=0.0, ge=0.0)


class DriveOutage(StoredMechanism):
    """A drive fails as a whole (fail-stop), or its firmware hangs for a while.

    Symptoms: after the kernel's command timer and its resets every read and write is an I/O error; the file system
    becomes read-only, the store under it ends or hangs.
    Shows in: the ring buffer (link resets, rejecting I/O to offline device), `lsblk`, the store's log, users.
    Undone by: another drive and the data from elsewhere; moving the store.
    """

    sheet = DataSheet(
        layer="hardware",
        family="drive_dead",
        changes=("disk/* outage",),
        lost=True,
        follows="After the kernel's time-outs everything on the drive is an I/O error, and the store under it ends.",
        undone_by=("another drive", "data that lie elsewhere"),
        units={"lasts_s": "s"},
        source="Linux, libata-eh.c and nvme/host/pci.c",
    )
    Params = OutageParams
    params: OutageParams

    def __init__(self, ref: ObjectRef, namespace: str, params: OutageParams, deployer: Deployer) -> None:
        super().__init__(ref, namespace, params, deployer)
        self.lasting = not params.lasts_s

    def inject(self, target: FaultTarget) -> None:
        """From now on it does not answer."""
        disk, lasts_ns = self.disk(target), int(self.params.lasts_s * _NS_PER_S)
        if self.params.how == "gone":
            disk.disappear(lasts_ns)
        elif lasts_ns:
            disk.hang(lasts_ns)
        else:
            disk.fail_stop()

    def still_present(self, target: FaultTarget) -> str:
        """The claim's volume, wherever it is now, lies on a drive that does not answer."""
        place = place_of(target.api.store, self.namespace, self.params.claim)
        host = None if place is None else target.machines.get(place.node)
        if place is None or host is None or host.files_at(place.folder).disk.outage is None:
            return ""
        return f"claim {self.params.claim} lies on a drive that does not answer"
