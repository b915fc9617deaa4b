"""A drive that does not answer: for a while, for good, or because it left the bus.

Nothing happens to the host until somebody sends a command. Its timer runs 30 s; then the driver resets, and after
libata's schedule of resets (10, 10, 35 and 5 s) or NVMe's second time-out the drive is disabled, and every command
fails at once. A drive that wakes up in between is found by the next reset. Sources: drivers/scsi/sd.h (SD_TIMEOUT),
drivers/ata/libata-eh.c (ata_eh_reset_timeouts), drivers/nvme/host/core.c (nvme_io_timeout), pci.c (nvme_timeout).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from simcluster.engine import SECOND, Simulation
from simcluster.models.machine.storage import kernellines
from simcluster.models.machine.storage.drivemodel import DriveModel
from simcluster.models.machine.storage.smart import Smart

COMMAND_TIMER_NS = 30 * SECOND
_NEVER = 1 << 62
#: When libata's four attempts to reset end, after the command timer ran out.
_RESETS_NS = (10 * SECOND, 20 * SECOND, 55 * SECOND, 60 * SECOND)
#: NVMe: a second time-out resets the controller, which is not ready within so long.
_NVME_RESET_NS, _NVME_READY_NS = 30 * SECOND, 30 * SECOND


class DiskHost(Protocol):
    """The machine, as far as a drive needs it."""

    name: str
    booted_ns: int

    def kernel(self, *lines: str) -> None:
        """The kernel writes to its ring buffer."""


class Drive(Protocol):
    """The drive that does not answer."""

    sim: Simulation
    host: DiskHost
    model: DriveModel
    smart: Smart
    port: int
    outage: Outage | None

    @property
    def controller(self) -> str:
        """Its NVMe controller."""

    def came_back(self) -> None:
        """It answers again."""

    def report_dead(self, lba: int, what: str, wait_ns: int) -> None:
        """The kernel has given it up."""


class Refusal(NamedTuple):
    """What a command meets: how long it waits, and whether it fails then."""

    wait_ns: int
    fails: bool


ANSWERS = Refusal(0, False)


class Outage:
    """Why and how long one drive does not answer.

    Attributes:
        until_ns: when it answers again.
        gone: it is not on the bus.
        disabled: the kernel has given it up.
    """

    __slots__ = ("_ends_ns", "_fails", "_lba", "_write", "disabled", "disk", "gone", "until_ns")

    def __init__(self, disk: Drive, until_ns: int, *, gone: bool = False) -> None:
        self.disk = disk
        self.until_ns = until_ns
        self.gone = gone
        self.disabled = gone
        self._ends_ns = 0  # when the error handling of the first command ends; 0: nobody has sent one
        self._fails = False
        self._lba = 0
        self._write = False

    def meet(self, lba: int, write: bool) -> Refusal:
        """Send a command."""
        now = self.disk.sim.now
        if self.disabled:
            return Refusal(0, True)
        if not self._ends_ns:
            self._begin(lba, write)
        return Refusal(max(0, self._ends_ns - now), self._fails)

    @property
    def meets_handler(self) -> bool:
        """Whether the kernel's error handler is at work and will find the drive again."""
        return self._ends_ns > self.until_ns

    def stalled_ns(self, tick_ns: int) -> int:
        """How much of the next tick passes without an answer, if commands are sent."""
        return 0 if self.disabled else max(0, min(tick_ns, max(self._ends_ns, self.until_ns) - self.disk.sim.now))

    def _begin(self, lba: int, write: bool) -> None:
        disk, now = self.disk, self.disk.sim.now
        left = self.until_ns - now
        self._lba, self._write = lba, write
        if left <= COMMAND_TIMER_NS:
            self._ends_ns = self.until_ns
            return
        disk.sim.after(COMMAND_TIMER_NS, self._timed_out)
        if disk.model.is_nvme:
            limit = COMMAND_TIMER_NS + _NVME_RESET_NS
            self._fails = left > limit + _NVME_READY_NS
            self._ends_ns = now + (limit + _NVME_READY_NS if self._fails else max(limit, left))
            disk.sim.after(limit, self._nvme_reset)
        else:
            attempts = [COMMAND_TIMER_NS + end for end in _RESETS_NS]
            self._fails = left > attempts[-1]
            self._ends_ns = now + next((end for end in attempts if left <= end), attempts[-1])
            for number, end in enumerate(attempts[:-1], 1):
                if now + end < self._ends_ns:
                    disk.sim.after(end, self._reset_failed, number)
        disk.sim.at(self._ends_ns, self._end)

    @property
    def _current(self) -> bool:
        return self.disk.outage is self

    def _timed_out(self) -> None:
        if not self._current:
            return
        disk = self.disk
        disk.smart.command_timeouts += 1
        if disk.model.is_nvme:
            disk.host.kernel(f"nvme {disk.controller}: I/O {self._lba % 1024} (I/O Cmd) QID 3 timeout, aborting")
        else:
            disk.host.kernel(*kernellines.ata_timeout(disk.port, self._lba % 31, self._lba, self._write))

    def _nvme_reset(self) -> None:
        if self._current:
            name = self.disk.controller
            self.disk.host.kernel(
                f"nvme {name}: I/O {self._lba % 1024} QID 3 timeout, reset controller",
                f"nvme {name}: Abort status: 0x371",
            )

    def _reset_failed(self, number: int) -> None:
        if self._current:
            self.disk.host.kernel(*kernellines.ata_failed_reset(self.disk.port, number))

    def _end(self) -> None:
        """The error handler is through."""
        if not self._current:
            return
        disk = self.disk
        if not self._fails:
            lines = [f"nvme {disk.controller}: 4/0/0 default/read/poll queues"]
            disk.host.kernel(*(lines if disk.model.is_nvme else kernellines.ata_recovered(disk.port)))
            disk.came_back()
            return
        self.disabled = True
        if disk.model.is_nvme:
            disk.host.kernel(
                f"nvme {disk.controller}: Device not ready; aborting reset, CSTS=0x1",
                f"nvme {disk.controller}: Disabling device after reset failure: -19",
            )
        else:
            disk.host.kernel(*kernellines.ata_failed_reset(disk.port, 4))
        disk.report_dead(self._lba, "WRITE" if self._write else "READ", COMMAND_TIMER_NS * 3)


def forever(disk: Drive) -> Outage:
    """It never answers again."""
    return Outage(disk, _NEVER)


def until(disk: Drive, until_ns: int) -> Outage:
    """It answers again at an instant."""
    return Outage(disk, until_ns)


def gone(disk: Drive, until_ns: int) -> Outage:
    """It has left the bus; the kernel notices at once. 0: for good."""
    return Outage(disk, until_ns or _NEVER, gone=True)
