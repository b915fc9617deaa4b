"""A systemd unit of a node that was stopped."""

from __future__ import annotations

from typing import ClassVar

from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.deployer import Deployer
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget, ObjectRef


class UnitParams(Content):
    """The unit to stop, without `.service`."""

    unit: str


class UnitStop(Mechanism):
    """`systemctl stop UNIT` on a node, and nobody starts it again.

    Symptoms of a stopped kubelet: containers keep running unwatched; the node's lease is no
    longer renewed, after the grace period the node is NotReady (Unknown) and tainted, its
    pods count as not ready and leave the endpoints, and after 300 s they are evicted.
    Shows in: systemctl, the journal, Node conditions, Events, endpoints, users.
    Undone by: starting the unit.
    """

    sheet = DataSheet(
        layer="node",
        family="kubelet_stopped",
        changes=("unit/* active",),
        follows="Of a kubelet: its lease is not renewed, the node is NotReady after the grace period, its pods "
        "leave the endpoints and are evicted.",
        undone_by=("starting the unit",),
        source="Kubernetes, node controller; systemd",
    )
    FAMILIES: ClassVar[dict[str, str]] = {"containerd": "runtime_stopped", "chrony": "clock"}  # others are kubelets
    Params = UnitParams
    kinds = ("Node",)
    params: UnitParams

    def __init__(self, ref: ObjectRef, namespace: str, params: UnitParams, deployer: Deployer) -> None:
        super().__init__(ref, namespace, params, deployer)
        self.family = self.FAMILIES.get(params.unit.removesuffix(".service"), self.family)

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return f"unit {self.params.unit}"

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {"unit": self.params.unit}

    def check(self, target: FaultTarget) -> None:
        """The node must have the unit, running."""
        super().check(target)
        host = target.machines.get(self.ref.name)
        unit = None if host is None else host.unit(self.params.unit)
        if unit is None or not unit.active:
            raise ImpossibleTarget(f"{self.ref} has no running unit {self.params.unit}")

    def inject(self, target: FaultTarget) -> None:
        """Stop it."""
        problem = target.machines[self.ref.name].control("stop", self.params.unit)
        assert not problem, problem

    def still_present(self, target: FaultTarget) -> str:
        """The unit does not run."""
        host = target.machines.get(self.ref.name)
        unit = None if host is None else host.unit(self.params.unit)
        if unit is None or unit.active:
            return ""
        return f"{self.params.unit} does not run on {self.ref}"
