"""A noisy neighbour: other guests of the hypervisor use the CPU of nodes for a while."""

from __future__ import annotations

from pydantic import Field

from simcluster.engine.content import Content, Nanoseconds
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import FaultTarget, Host, ImpossibleTarget, pods_of


class StealParams(Content):
    """The hypervisor gives so large a `share` of the CPU time to others, for so long (`lasts`).

    Attributes:
        leaves: it gives them even more, so that a node keeps no more than such a share of what its containers want now.
    """

    share: float = Field(gt=0.0, lt=1.0)
    lasts: Nanoseconds = Field(gt=0)
    leaves: float = Field(default=1.0, gt=0.0, le=1.0)

    def of(self, host: Host) -> float:
        """The share of a machine's CPU time that others get."""
        if self.leaves == 1.0:
            return self.share
        wanted = host.cpu.asked / host.cpu.capacity
        return max(self.share, 1.0 - self.leaves * wanted) if wanted else self.share


class CpuSteal(Mechanism):
    """Nodes get less CPU for a while: a Node, or every node on which a Deployment's or a Namespace's pods run now.

    Symptoms: while it lasts, everything on the nodes is slow, and /proc/stat counts stolen time.
    Afterwards nothing, unless something in the application keeps the overload going.
    Shows in: the nodes' `top` and /proc/stat, latency, callers' logs, users. No object is changed.
    Ends by itself.
    """

    sheet = DataSheet(
        layer="hardware",
        family="noisy_neighbour",
        changes=("cpu stolen_share",),
        follows="While it lasts, everything on the nodes is slow; afterwards nothing, unless something keeps "
        "the overload going.",
        undone_by=("itself",),
        units={"share": "share of CPU time", "lasts": "ns", "leaves": "share of the CPU time wanted"},
        source="Linux, steal time in /proc/stat (proc(5))",
    )
    Params = StealParams
    kinds = ("Deployment", "Namespace", "Node")
    lasting = False
    params: StealParams

    def check(self, target: FaultTarget) -> None:
        """There must be a node, with all of its CPU."""
        super().check(target)
        hosts = self._hosts(target)
        if not hosts:
            raise ImpossibleTarget(f"{self.ref} runs on no node")
        if any(host.stolen_share for host in hosts.values()):
            raise ImpossibleTarget(f"the nodes of {self.ref} lack CPU already")

    def inject(self, target: FaultTarget) -> None:
        """Take the CPU, and give it back in time."""
        hosts = self._hosts(target)
        for host in hosts.values():
            host.steal_cpu(self.params.of(host))
        target.sim.after(self.params.lasts, self._give_back, target, tuple(hosts))

    def still_present(self, target: FaultTarget) -> str:
        """It still lasts."""
        short = [name for name, host in sorted(target.machines.items()) if host.stolen_share >= self.params.share]
        return f"{', '.join(short)} still lack CPU" if short else ""

    def _give_back(self, target: FaultTarget, names: tuple[str, ...]) -> None:
        for name in names:
            target.machines[name].steal_cpu(0.0)

    def _hosts(self, target: FaultTarget) -> dict[str, Host]:
        found = self.object(target)
        names = [self.ref.name]
        if self.ref.kind == "Deployment":
            names = sorted({pod["spec"].get("nodeName", "") for pod in pods_of(target.api.store, found)})
        if self.ref.kind == "Namespace":
            pods = target.api.store.objects("pods", self.ref.name)
            names = sorted({pod["spec"].get("nodeName", "") for pod in pods})
        return {name: target.machines[name] for name in names if name in target.machines}
