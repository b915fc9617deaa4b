"""A service of a node that is not part of Kubernetes: a systemd unit whose process uses CPU and memory.

A backup, a scanner, an agent of some other team. `systemctl` starts and stops it, `kill` ends it
(its unit has no `Restart=`), and while it runs it competes with the pods for the cores by
the weight of its cgroup. Left out: what it does besides, units with several processes.
"""

from __future__ import annotations

from simcluster.models.machine.host import Host
from simcluster.models.machine.kernel.cgroups import DEFAULT_WEIGHT, MOST_WEIGHT, SYSTEM
from simcluster.models.machine.units import Unit


class HostService:
    """One such unit on one machine.

    Args:
        name: of the unit, without `.service`; description, command: as systemctl shows them. The process is
            called by its program.
        cores: how many cores its threads want; memory_bytes: what it holds.
        weight: CPUWeight of the unit; group: its slice (`-.slice` puts it beside system.slice and kubepods.slice).

    Raises:
        ValueError: the node has such a unit, or the magnitudes are none of a process here.
    """

    def __init__(
        self,
        machine: Host,
        name: str,
        description: str,
        command: str,
        *,
        cores: float,
        weight: int = DEFAULT_WEIGHT,
        group: str = SYSTEM,
        memory_bytes: int = 0,
    ) -> None:
        if machine.units.find(name) is not None:
            raise ValueError(f"{machine.name} has a unit {name} already")
        if not 0.0 < cores <= machine.cpu_cores:
            raise ValueError(f"{machine.name} has {machine.cpu_cores} cores, so a process cannot use {cores:g}")
        if not 1 <= weight <= MOST_WEIGHT:
            raise ValueError(f"CPUWeight must be between 1 and {MOST_WEIGHT}, not {weight}")
        if memory_bytes > machine.memory_bytes:
            raise ValueError(f"{machine.name} has no {memory_bytes} bytes of memory")
        self._machine = machine
        self._cores, self._memory_bytes = cores, memory_bytes
        self._weight, self._group = weight, group
        self.name = name
        self.process = command.split(maxsplit=1)[0].rpartition("/")[2]
        if self.process in machine.processes:
            raise ValueError(f"{self.process} runs on {machine.name} already")
        unit = Unit(f"{name}.service", description, command, active=False, enabled=True, slice=group, cpu_weight=weight)
        unit.on_start, unit.on_stop, unit.on_weight = self.started, self.ended, self.weighed
        machine.units.units[unit.name] = unit

    def started(self) -> None:
        """The process runs."""
        machine, unit = self._machine, self._machine.units.find(self.name)
        machine.burden(
            self.process,
            self._cores,
            weight=self._weight if unit is None else unit.cpu_weight,
            group=self._group,
            memory_bytes=self._memory_bytes,
        )
        process = machine.processes.get(self.process)
        if unit is not None and process is not None:
            process.pid = unit.pid

    def weighed(self) -> None:
        """Its group has another weight."""
        self.ended()
        self.started()

    def ended(self) -> None:
        """It does not run any more."""
        self._machine.unburden(self.process)
