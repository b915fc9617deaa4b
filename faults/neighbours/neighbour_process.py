"""A noisy neighbour on a node: a process of some other team takes the CPU of the pods."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.host import HostMechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget
from simcluster.models.machine.kernel.cgroups import MOST_WEIGHT
from simcluster.models.machine.kernel.hostservice import HostService


class NeighbourParams(Content):
    """The service that comes: a systemd unit with its command, the cores it wants, its Slice and its CPUWeight."""

    unit: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$")
    description: str
    command: str = Field(min_length=1)
    cores: float = Field(gt=0.0)
    weight: int = Field(default=100, ge=1, le=MOST_WEIGHT)
    slice: Literal["system.slice", "-.slice"] = "system.slice"
    memory_mib: int = Field(default=64, ge=0)

    @property
    def process(self) -> str:
        """Its name as the kernel knows it."""
        return self.command.split(maxsplit=1)[0].rpartition("/")[2]


class NeighbourProcess(HostMechanism):
    """A service is installed on a node beside the kubelet, and its threads want all cores with a large CPUWeight.

    In system.slice it takes at most what that has against kubepods.slice (on 4 cores 1.6 of them), whatever its
    weight; directly under the root (`Slice=-.slice`) its weight counts against all pods together.

    Symptoms: the pods of the node get what is left; their queues grow and their callers time out; probes
    with short time-outs may fail. Nothing is throttled by a quota, and no object is changed.
    Shows in: `kubectl top node`, the node's `top`, `ps` and `systemctl`, latency, callers' logs, users.
    Undone by: stopping or killing it; or cordoning the node and moving the pods.
    """

    sheet = DataSheet(
        layer="node",
        family="noisy_neighbour",
        changes=("unit/* *",),
        follows="The pods of the node get what is left of its CPU; their queues grow and their callers time out.",
        undone_by=("stopping or killing it", "moving the pods"),
        units={"cores": "cores", "weight": "CPUWeight", "memory_mib": "MiB"},
        source="Linux cgroup v2, cpu.weight; systemd.resource-control(5)",
    )
    Params = NeighbourParams
    params: NeighbourParams

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return f"unit {self.params.unit}"

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {"process": self.params.process}

    def check(self, target: FaultTarget) -> None:
        """The node must have so many cores and no such unit."""
        super().check(target)
        machine, params = self.host(target), self.params
        if machine.unit(params.unit) is not None or params.process in machine.processes:
            raise ImpossibleTarget(f"{self.ref} has a unit {params.unit} or a process {params.process} already")
        if params.cores > machine.cpu_cores:
            raise ImpossibleTarget(f"{self.ref} has {machine.cpu_cores} cores: no process can use {params.cores:g}")
        if params.memory_mib << 20 > machine.memory_bytes // 2:
            raise ImpossibleTarget(f"{self.ref} has no {params.memory_mib} MiB to spare: its pods would be killed")

    def inject(self, target: FaultTarget) -> None:
        """Install the unit and start it."""
        machine, params = self.host(target), self.params
        HostService(
            machine,
            params.unit,
            params.description,
            params.command,
            cores=params.cores,
            weight=params.weight,
            group=params.slice,
            memory_bytes=params.memory_mib << 20,
        )
        machine.control("start", params.unit)

    def still_present(self, target: FaultTarget) -> str:
        """It runs, and pods of the application are, or may come, beside it."""
        machine = self.current(target)
        if machine is None or self.params.process not in machine.processes or self.left_behind(target):
            return ""
        return f"{self.params.process} still takes the CPU of {self.ref}"
