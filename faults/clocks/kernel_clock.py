"""A node whose clock drifts: its chronyd has no source, and certificates are not valid by it."""

from __future__ import annotations

from pydantic import Field, field_validator

from simcluster.engine import SECOND
from simcluster.engine.content import Content, Nanoseconds
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.host import HostMechanism
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget
from simcluster.faults.units.unit_stop import UnitStop
from simcluster.models.machine.kernel import chrony
from simcluster.models.machine.kernel.clock import MAX_DRIFT_PPM, MAX_OFFSET_NS, UNIT

#: A clock that is off by less is right.
RIGHT_NS = SECOND
#: A crystal that is off by less than this is a good one.
LEAST_PPM = 1.0


class ClockParams(Content):
    """How fast the clock drifts, which `server` its chronyd asks in vain, and for how long it has done so already."""

    drift_ppm: float = Field(ge=-MAX_DRIFT_PPM, le=MAX_DRIFT_PPM)
    server: str = Field(default="10.20.0.123", pattern=r"^\d{1,3}(\.\d{1,3}){3}$")
    unattended: Nanoseconds = Field(default=0, ge=0)

    @field_validator("drift_ppm")
    @classmethod
    def _some(cls, value: float) -> float:
        if abs(value) < LEAST_PPM:
            raise ValueError(f"a clock that drifts by less than {LEAST_PPM:g} ppm is a good one, {value:g} is no fault")
        return value


class KernelClock(HostMechanism):
    """The configuration of a node's chronyd names a time server that does not answer; its crystal does the rest.

    Symptoms: nothing, as long as connections last and certificates are old. A certificate that is issued anew is not
    yet valid by a clock that is more than five minutes slow: the kubelet's next connection fails with `x509:
    certificate has expired or is not yet valid`, the node becomes NotReady, its pods run on but leave the endpoints
    and are evicted after five minutes.
    Shows in: `date`, `chronyc`, `timedatectl`, chrony.conf, stamps of the journal and of the Node's conditions and
    Lease, Node conditions, endpoints, users.
    Undone by: a source that answers (the file and a restart of chronyd, or `chronyc add server` and `makestep`).
    """

    sheet = DataSheet(
        layer="kernel",
        family="clock",
        changes=("clock drift_ppm", "clock servers", "clock wrong", "file /etc/chrony/chrony.conf"),
        follows="The clock drifts; a certificate that is issued anew is not yet valid by it, and the node "
        "becomes NotReady.",
        undone_by=("a time server that answers", "moving the pods"),
        units={"drift_ppm": "parts in a million", "unattended": "ns"},
        source="chrony 4.5, chrony.conf(5); Go, crypto/x509",
    )
    Params = ClockParams
    params: ClockParams

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return "the clock"

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {"server": self.params.server}

    def check(self, target: FaultTarget) -> None:
        """The clock must be right, chronyd must run; what has drifted for long must have done so from the beginning."""
        super().check(target)
        machine, params = self.host(target), self.params
        unit = machine.unit(UNIT)
        if unit is None or not unit.active:
            raise ImpossibleTarget(f"{self.ref} has no running unit {UNIT}")
        if chrony.answers(params.server):
            raise ImpossibleTarget(f"{params.server} is a time server that answers {self.ref}")
        if not machine.os.clock.synchronised or abs(machine.os.clock.offset_ns()) > RIGHT_NS:
            raise ImpossibleTarget(f"the clock of {self.ref} is wrong already")
        if params.unattended * abs(params.drift_ppm) > MAX_OFFSET_NS * 1_000_000:
            raise ImpossibleTarget(f"the clock of {self.ref} would be off by more than 100 years")
        if params.unattended and any(container.running for container in machine.runtime.containers()
                                     if container.spec.namespace == self.namespace):  # fmt: skip
            raise ImpossibleTarget(f"the clock of {self.ref} was right until now: make the step latent")

    def contradiction(self, other: Mechanism) -> str:
        """A daemon that does not run asks nobody."""
        if isinstance(other, UnitStop) and other.ref == self.ref and UNIT.startswith(other.params.unit):
            return f"chronyd of {self.ref} cannot be stopped and ask in vain at once"
        return super().contradiction(other)

    def inject(self, target: FaultTarget) -> None:
        """Change the configuration, start chronyd with it, and let the clock go."""
        machine = self.host(target)
        text = chrony.CONFIG_TEXT.replace(f"server {chrony.SERVER} ", f"server {self.params.server} ")
        machine.files.write(chrony.CONFIG, text)
        machine.control("restart", UNIT)
        machine.os.clock.neglect(self.params.drift_ppm, self.params.unattended)

    def still_present(self, target: FaultTarget) -> str:
        """The clock is wrong, or nobody keeps it; and pods of the application are, or may come, there."""
        machine = self.current(target)
        if machine is None or self.left_behind(target):
            return ""
        offset_ns = machine.os.clock.offset_ns()
        if abs(offset_ns) > RIGHT_NS:
            return f"the clock of {self.ref} is off by {offset_ns // SECOND} s"
        return "" if machine.os.clock.synchronised else f"chronyd of {self.ref} has no source"
