"""A node whose clock is wrong: nobody disciplines it, and certificates are not valid by it."""

from __future__ import annotations

from pydantic import Field, field_validator

from simcluster.engine import SECOND
from simcluster.engine.content import Content
from simcluster.faults.mechanisms.kernel_host import HostMechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget
from simcluster.models.machine.kernel.clock import MAX_DRIFT_PPM, MAX_OFFSET_NS, UNIT

#: A clock that is off by less is right.
RIGHT_NS = SECOND


class ClockParams(Content):
    """How far the clock is set wrong (`offset_s`, negative: behind), and its drift from then on."""

    offset_s: int
    drift_ppm: float = Field(default=0.0, ge=-MAX_DRIFT_PPM, le=MAX_DRIFT_PPM)

    @field_validator("offset_s")
    @classmethod
    def _within(cls, value: int) -> int:
        if not RIGHT_NS // SECOND < abs(value) <= MAX_OFFSET_NS // SECOND:
            raise ValueError(f"a wrong clock is off by more than 1 s and at most 100 years, not by {value} s")
        return value


class KernelClock(HostMechanism):
    """chronyd is stopped on a node, its clock is set wrong, and the kubelet is restarted.

    The restarted kubelet makes new connections, whose certificates it checks by the wrong clock.

    Symptoms: the kubelet's journal says `x509: certificate has expired or is not yet valid`; the node is no longer
    reported and becomes NotReady; its pods run on but leave the endpoints and are evicted after five minutes.
    Shows in: `date`, `chronyc`, `timedatectl`, `systemctl`, the journal, Node conditions, endpoints, users.
    Undone by: starting chronyd, which steps the clock.
    """

    Params = ClockParams
    params: ClockParams

    def check(self, target: FaultTarget) -> None:
        """The clock must be right, and chronyd and the kubelet must run."""
        super().check(target)
        machine = self.host(target)
        for name in (UNIT, "kubelet.service"):
            unit = machine.unit(name)
            if unit is None or not unit.active:
                raise ImpossibleTarget(f"{self.ref} has no running unit {name}")
        if abs(machine.os.clock.offset_ns()) > RIGHT_NS:
            raise ImpossibleTarget(f"the clock of {self.ref} is wrong already")

    def inject(self, target: FaultTarget) -> None:
        """Stop chronyd, set the clock, restart the kubelet."""
        machine = self.host(target)
        machine.control("stop", UNIT)
        machine.os.clock.step(self.params.offset_s * SECOND)
        if self.params.drift_ppm:
            machine.os.clock.set_drift(self.params.drift_ppm)
        machine.control("restart", "kubelet")

    def still_present(self, target: FaultTarget) -> str:
        """The clock is wrong."""
        machine = self.current(target)
        if machine is None:
            return ""
        offset_ns = machine.os.clock.offset_ns()
        return "" if abs(offset_ns) <= RIGHT_NS else f"the clock of {self.ref} is off by {offset_ns // SECOND} s"
