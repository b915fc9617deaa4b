"""Faults below Kubernetes: what they are aimed at is a node's machine."""

from __future__ import annotations

from simcluster.api.objects import name_of
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget
from simcluster.models.machine.machine import Machine


class HostMechanism(Mechanism):
    """Base of what is wrong with one node's kernel, links or other processes."""

    kinds = ("Node",)

    def host(self, target: FaultTarget) -> Machine:
        """The node's machine. Raises ImpossibleTarget."""
        self.object(target)
        machine = self.current(target)
        if machine is None:
            raise ImpossibleTarget(f"{self.ref} has no machine that this could happen to")
        return machine

    def current(self, target: FaultTarget) -> Machine | None:
        """The machine, whatever became of the Node."""
        found = target.machines.get(self.ref.name)
        return found if isinstance(found, Machine) else None

    def left_behind(self, target: FaultTarget) -> bool:
        """Whether operators have moved the application away and keep it away: no pod of it is there, none may come."""
        node = self.ref.find(target.api, self.namespace)
        if node is None:
            return False  # deleting the Node moves nothing and mends nothing
        if not (node.get("spec") or {}).get("unschedulable"):
            return False
        return not self.pods_here(target)

    def pods_here(self, target: FaultTarget) -> list[str]:
        """Names of the application's pods on the node."""
        pods = target.api.store.objects("pods", self.namespace)
        return sorted(name_of(pod) for pod in pods if pod["spec"].get("nodeName") == self.ref.name)
