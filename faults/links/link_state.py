"""A network interface of a node without a link, or with one that comes and goes."""

from __future__ import annotations

from pydantic import Field, model_validator

from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.host import HostMechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget
from simcluster.models.machine.links.nic import Nic

_NS_PER_S = 1_000_000_000


class StateParams(Content):
    """For how long on average it is up and down in turns; without, it is down for good."""

    nic: str = "eth0"
    up_s: float = Field(default=0.0, ge=0.0, le=86_400.0)
    down_s: float = Field(default=0.0, ge=0.0, le=86_400.0)

    @model_validator(mode="after")
    def _both(self) -> StateParams:
        if (self.up_s > 0.0) != (self.down_s > 0.0):
            raise ValueError("give up_s and down_s, or none of them: then it stays down")
        return self


class LinkState(HostMechanism):
    """A cable is out, a port of the switch is off, or a transceiver dies and its link comes and goes.

    Symptoms: without a link nobody reaches the node, which is NotReady after the grace period; with one that flaps,
    connections break off and time out, and the node may or may not be NotReady.
    Shows in: the ring buffer (NIC Link is Down), `ip -s link` and carrier_changes, Node conditions, time-outs, users.
    Undone by: another cable, port or transceiver; moving the pods to other nodes.
    """

    sheet = DataSheet(
        layer="hardware",
        family="network",
        changes=("nic/* carrier", "nic/* flaps"),
        follows="What crosses the interface waits or is lost while there is no link; the node may become NotReady.",
        undone_by=("another cable or transceiver", "moving the pods"),
        units={"up_s": "s", "down_s": "s"},
        source="Gunawi et al., Fail-Slow at Scale (FAST 2018); Linux, ixgbe driver",
    )
    Params = StateParams
    params: StateParams

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return f"interface {self.params.nic}"

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {"nic": self.params.nic}

    def check(self, target: FaultTarget) -> None:
        """The node must have the interface, and it must work."""
        super().check(target)
        if not self._nic(target).is_healthy:
            raise ImpossibleTarget(f"{self.params.nic} of {self.ref} does not work as it should already")

    def inject(self, target: FaultTarget) -> None:
        """It goes."""
        nic, params = self._nic(target), self.params
        if params.down_s:
            nic.flap(int(params.up_s * _NS_PER_S), int(params.down_s * _NS_PER_S))
        else:
            nic.cut()

    def still_present(self, target: FaultTarget) -> str:
        """It is bad, and pods of the application are, or may come, behind it."""
        machine = self.current(target)
        nic = None if machine is None else machine.nics.get(self.params.nic)
        if nic is None or nic.is_healthy or self.left_behind(target):
            return ""
        return f"the link of {self.params.nic} of {self.ref} is still bad, and the application may still use it"

    def _nic(self, target: FaultTarget) -> Nic:
        machine = self.host(target)
        nic = machine.nics.get(self.params.nic)
        if nic is None:
            raise ImpossibleTarget(f"{self.ref} has no interface {self.params.nic}; it has {', '.join(machine.nics)}")
        return nic
