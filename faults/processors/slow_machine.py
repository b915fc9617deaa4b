"""A machine that is slow in its processor or its memory."""

from __future__ import annotations

from pydantic import Field

from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.host import HostMechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget


class CapParams(Content):
    """The share of its nominal clock at which the processor is held."""

    clock: float = Field(ge=0.04, lt=1.0)


class ClockCap(HostMechanism):
    """A power supply has failed, or firmware is wrong, and PROCHOT# holds the processor at a low clock.

    Symptoms: everything on the node takes several times as much CPU time; it is not hot, and no other process is busy.
    Shows in: cpu MHz in /proc/cpuinfo and cpufreq, `turbostat`, the management controller's event log, users. Not in
    the ring buffer: the processor says nothing of a signal from outside.
    Undone by: another power supply or firmware; moving the pods to other nodes.
    """

    sheet = DataSheet(
        layer="hardware",
        family="power_capped",
        changes=("cpu cap",),
        follows="Everything on the node takes several times as much CPU time; limits are reached by the usual load.",
        undone_by=("another power supply", "moving the pods"),
        units={"clock": "share of the nominal clock"},
        source="Gunawi et al., Fail-Slow at Scale (FAST 2018), power and firmware; Intel SDM vol. 3, 15.8 (PROCHOT#)",
    )
    Params = CapParams
    params: CapParams

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return "the clock of the processor"

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {"clock": f"{self.params.clock:g}"}

    def check(self, target: FaultTarget) -> None:
        """Nothing may hold it yet."""
        super().check(target)
        if self.host(target).slowed.get("cap", 1.0) < 1.0:
            raise ImpossibleTarget(f"the processor of {self.ref} is held at a low clock already")

    def inject(self, target: FaultTarget) -> None:
        """From now on it is slow."""
        self.host(target).power.hold(self.params.clock)

    def still_present(self, target: FaultTarget) -> str:
        """It is slow, and pods of the application are, or may come, there."""
        machine = self.current(target)
        if machine is None or machine.slowed.get("cap", 1.0) >= 1.0 or self.left_behind(target):
            return ""
        return f"the processor of {self.ref} is still held at a low clock, and the application may still use it"


class MemoryParams(Content):
    """Corrected errors a second."""

    per_s: float = Field(gt=0.0, le=7.0)


class MemoryErrors(HostMechanism):
    """A memory module is worn or loose, and the firmware corrects its errors one by one, with all cores stopped.

    Symptoms: everything on the node takes longer, at a full clock, with nobody using more CPU than usual.
    Shows in: the ring buffer (EDAC, CE memory read error), EDAC's counters in /sys, the management controller's event
    log, latency by node, users.
    Undone by: another module; moving the pods to other nodes.
    """

    sheet = DataSheet(
        layer="hardware",
        family="memory_errors",
        changes=("memory errors_per_s",),
        follows="Everything on the node takes longer, because all cores stop while the firmware corrects an error.",
        undone_by=("another module", "moving the pods"),
        units={"per_s": "corrected errors/s"},
        source="Gottscho et al., Measuring the Impact of Memory Errors on Application Performance (IEEE CAL 2017)",
    )
    Params = MemoryParams
    params: MemoryParams

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return "the memory"

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {"module": "DIMM#0"}

    def check(self, target: FaultTarget) -> None:
        """The memory must be sound."""
        super().check(target)
        if self.host(target).dimms.errors_per_s:
            raise ImpossibleTarget(f"the memory of {self.ref} has errors already")

    def inject(self, target: FaultTarget) -> None:
        """From now on there are errors."""
        self.host(target).dimms.err(self.params.per_s)

    def still_present(self, target: FaultTarget) -> str:
        """There are errors, and pods of the application are, or may come, there."""
        machine = self.current(target)
        if machine is None or not machine.dimms.errors_per_s or self.left_behind(target):
            return ""
        return f"the memory of {self.ref} still has errors, and the application may still use it"
