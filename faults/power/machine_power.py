"""A machine that loses its power."""

from __future__ import annotations

from simcluster.api.objects import name_of
from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.drives.stored_data import place_of
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget


class PowerParams(Content):
    """Nothing to say: it is off."""


class PowerLoss(Mechanism):
    """A node's machine goes off in an instant (fail-stop), and nobody switches it on.

    Symptoms: no address of it answers; its lease is not renewed, after the grace period the node is NotReady
    (Unknown), after 300 s its pods are evicted, which it never confirms; pods whose volumes are
    folders of it wait for it.
    Shows in: Node conditions, Events, ssh, its management controller, pods, users. Not in any log of its own.
    Undone by: power, or by nothing of the application being there any more: neither pods nor volumes.
    """

    sheet = DataSheet(
        layer="hardware",
        family="machine_off",
        changes=("power on",),
        lost=True,  # what programs had in memory: registrations that are made once, caches
        at_once=("nic/* carrier", "unit/* active", "clock *", "sysctl *"),
        follows="Its lease is not renewed, the node is NotReady after the grace period, its pods are evicted "
        "and never confirm it.",
        undone_by=("power", "nothing of the application being there any more"),
        source="Kubernetes, node controller",
    )
    Params = PowerParams
    kinds = ("Node",)

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {"power": "off"}

    def check(self, target: FaultTarget) -> None:
        """The machine must run."""
        super().check(target)
        host = target.machines.get(self.ref.name)
        if host is None or not host.power.running:
            raise ImpossibleTarget(f"{self.ref} has no running machine")

    def inject(self, target: FaultTarget) -> None:
        """Off."""
        target.machines[self.ref.name].power.cut()

    def contradiction(self, other: Mechanism) -> str:
        """Nothing else can go wrong on a machine that is off."""
        return f"{self.ref} is off: nothing else can fail there" if other.ref == self.ref else ""

    def still_present(self, target: FaultTarget) -> str:
        """The machine is off, and the application still has pods or volumes there."""
        host = target.machines.get(self.ref.name)
        if host is None or host.power.on:
            return ""
        store = target.api.store
        for pod in store.objects("pods", self.namespace):
            if pod["spec"].get("nodeName") == self.ref.name:
                return f"{self.ref} is off, and pod {name_of(pod)} is bound to it"
        for claim in store.objects("persistentvolumeclaims", self.namespace):
            place = place_of(store, self.namespace, name_of(claim))
            if place is not None and place.node == self.ref.name:
                return f"{self.ref} is off, and the volume of claim {name_of(claim)} is there"
        return ""
