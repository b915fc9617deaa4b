"""A processor whose fan fails: it becomes too hot and lowers its clock."""

from __future__ import annotations

from pydantic import Field

from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.host import HostMechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget
from simcluster.models.machine.cooling import IDLE_W, LIMIT_C, RELIEVED_C, end_c, hottest_c


class CoolingParams(Content):
    """The share of its air that the heat sink still gets (`airflow`)."""

    airflow: float = Field(gt=0.0, lt=1.0)


class CoolingLoss(HostMechanism):
    """The fan of a node's processor fails, and the processor slows itself down instead of melting (fail-slow).

    Symptoms: everything on the node takes several times as much CPU time, CPU limits are reached by the load of every
    day, callers run into their time-outs. Nothing crashes, no program or object was changed, no other process is busy.
    Shows in: the ring buffer ("temperature is above threshold, cpu clock is throttled"), `sensors`, `turbostat`, cpu
    MHz in /proc/cpuinfo and cpufreq, thermal_throttle counters, the management controller's sensors and event log,
    users. Undone by: cordoning the node and moving the pods; nobody can mend a fan from a shell.
    """

    sheet = DataSheet(
        layer="hardware",
        family="overheating",
        changes=("fan/* airflow",),
        follows="The processor lowers its clock at its limit: everything on the node takes several times as "
        "much CPU time.",
        undone_by=("moving the pods", "another fan"),
        units={"airflow": "share of the air"},
        source="Intel SDM vol. 3, 15.8; Gunawi et al., Fail-Slow at Scale (FAST 2018)",
    )
    Params = CoolingParams
    params: CoolingParams

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return "the cooling"

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {"fan": "FAN1"}

    def check(self, target: FaultTarget) -> None:
        """The cooling must work, and be missed."""
        super().check(target)
        machine = self.host(target)
        if not machine.cooling.is_healthy:
            raise ImpossibleTarget(f"the cooling of {self.ref} does not work as it should already")
        if hottest_c(machine.cpu_cores, self.params.airflow) < LIMIT_C:
            raise ImpossibleTarget(
                f"with {self.params.airflow:g} of its air {self.ref} stays below {LIMIT_C:g} °C whatever it does"
            )

        if end_c(IDLE_W, self.params.airflow) >= RELIEVED_C:
            raise ImpossibleTarget(
                f"with {self.params.airflow:g} of its air {self.ref} is too hot at rest: it would switch itself off"
            )

    def inject(self, target: FaultTarget) -> None:
        """From now on the fan hardly turns."""
        self.host(target).cooling.impair(self.params.airflow)

    def still_present(self, target: FaultTarget) -> str:
        """It is bad, and pods of the application are, or may come, on the node."""
        machine = self.current(target)
        if machine is None or machine.cooling.is_healthy or self.left_behind(target):
            return ""
        return f"the processor of {self.ref} is still without cooling, and the application may still use it"
