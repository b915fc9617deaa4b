"""A network interface of a node that fails slowly: it loses packets, is narrow, or is late."""

from __future__ import annotations

from pydantic import Field, model_validator

from simcluster.faults.datasheet import DataSheet
from simcluster.faults.links.interface import InterfaceMechanism, InterfaceParams
from simcluster.faults.target import FaultTarget
from simcluster.models.machine.links.nic import NOMINAL_BPS


class LinkParams(InterfaceParams):
    """How bad it becomes: `loss` of all packets, `big_loss` of full ones besides, `delay_ms`, `bandwidth_bps`."""

    loss: float = Field(default=0.0, ge=0.0, lt=1.0)
    big_loss: float = Field(default=0.0, ge=0.0, lt=1.0)
    delay_ms: float = Field(default=0.0, ge=0.0, le=10_000.0)
    jitter_ms: float = Field(default=0.0, ge=0.0, le=10_000.0)
    bandwidth_bps: int = Field(default=NOMINAL_BPS, ge=1, le=NOMINAL_BPS)

    @model_validator(mode="after")
    def _something(self) -> LinkParams:
        if not (self.loss or self.big_loss or self.delay_ms or self.jitter_ms or self.bandwidth_bps < NOMINAL_BPS):
            raise ValueError(
                "give loss, big_loss, delay_ms, jitter_ms or bandwidth_bps: an interface as new is no fault"
            )
        return self


class LinkSlow(InterfaceMechanism):
    """A node's interface, its cable or its port at the switch goes bad and stays up.

    Symptoms: what crosses it is sent again and again by TCP, so calls from and to the node's pods take hundreds of
    milliseconds to seconds; calls inside the node are as fast as ever. The interface counts errors.
    Shows in: `ip -s link`, `nstat`, the API's view of a kubelet that is late now and then, latency by node, users.
    Undone by: cordoning the node and moving the pods; nobody can mend the hardware from a shell.
    """

    sheet = DataSheet(
        layer="hardware",
        family="network",
        changes=("nic/* *",),
        follows="TCP sends again what is lost: calls from and to the node's pods take hundreds of milliseconds "
        "to seconds.",
        undone_by=("moving the pods",),
        units={
            "loss": "share of packets",
            "big_loss": "share of full packets",
            "delay_ms": "ms",
            "jitter_ms": "ms",
            "bandwidth_bps": "bit/s",
        },
        source="Gunawi et al., Fail-Slow at Scale (FAST 2018); RFC 6298",
    )
    Params = LinkParams
    params: LinkParams

    def inject(self, target: FaultTarget) -> None:
        """From now on it is bad."""
        params = self.params
        self.nic(target).degrade(
            bandwidth_bps=params.bandwidth_bps,
            loss=params.loss,
            big_loss=params.big_loss,
            delay_ns=int(params.delay_ms * 1_000_000),
            jitter_ns=int(params.jitter_ms * 1_000_000),
        )
