"""What is wrong with one network interface of a node, whatever it is."""

from __future__ import annotations

from simcluster.engine.content import Content
from simcluster.faults.host import HostMechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget
from simcluster.models.machine.links.nic import Nic


class InterfaceParams(Content):
    """Which interface."""

    nic: str = "eth0"


class InterfaceMechanism(HostMechanism):
    """Base of faults of an interface, its cable or its port at the switch."""

    params: InterfaceParams

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return f"interface {self.params.nic}"

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {"nic": self.params.nic}

    def check(self, target: FaultTarget) -> None:
        """The node must have the interface, and it must work. Raises ImpossibleTarget."""
        super().check(target)
        if not self.nic(target).is_healthy:
            raise ImpossibleTarget(f"{self.params.nic} of {self.ref} does not work as it should already")

    def still_present(self, target: FaultTarget) -> str:
        """It is bad, and pods of the application are, or may come, behind it."""
        machine = self.current(target)
        nic = None if machine is None else machine.nics.get(self.params.nic)
        if nic is None or nic.is_healthy or self.left_behind(target):
            return ""
        return f"{self.params.nic} of {self.ref} is still bad, and the application may still use it"

    def nic(self, target: FaultTarget) -> Nic:
        """The interface. Raises ImpossibleTarget."""
        nics = self.host(target).nics
        found = nics.get(self.params.nic)
        if found is None:
            raise ImpossibleTarget(f"{self.ref} has no interface {self.params.nic}; it has {', '.join(sorted(nics))}")
        return found
