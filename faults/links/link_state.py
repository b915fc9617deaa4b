"""A network interface of a node without a link, or with one that comes and goes."""

from __future__ import annotations

from pydantic import Field, model_validator

from simcluster.faults.datasheet import DataSheet
from simcluster.faults.links.interface import InterfaceMechanism, InterfaceParams
from simcluster.faults.target import FaultTarget

_NS_PER_S = 1_000_000_000


class StateParams(InterfaceParams):
    """For how long on average it is up and down in turns; without, it is down for good."""

    up_s: float = Field(default=0.0, ge=0.0, le=86_400.0)
    down_s: float = Field(default=0.0, ge=0.0, le=86_400.0)

    @model_validator(mode="after")
    def _both(self) -> StateParams:
        if (self.up_s > 0.0) != (self.down_s > 0.0):
            raise ValueError("give up_s and down_s, or none of them: then it stays down")
        return self


class LinkState(InterfaceMechanism):
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

    def inject(self, target: FaultTarget) -> None:
        """It goes."""
        nic, params = self.nic(target), self.params
        if params.down_s:
            nic.flap(int(params.up_s * _NS_PER_S), int(params.down_s * _NS_PER_S))
        else:
            nic.cut()
