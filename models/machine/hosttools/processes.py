"""`ps`: the processes of a node. Format: procps-ng 4.0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.engine import SECOND
from simcluster.models.machine.program import ExecResult

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine


def ps(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    """ps: daemons and the main processes of containers."""
    rows = ["    PID TTY          TIME CMD"]
    services = {process.pid for process in machine.processes.values()}
    for unit in machine.unit_list():
        if unit.active and unit.pid not in services:
            first = unit.command.strip('"@').split()[0].rpartition("/")[2]
            rows.append(f"{unit.pid:7d} ?        00:00:0{unit.pid % 10} {first.rstrip(':')}")
    for container in machine.runtime.containers():
        if container.running:
            seconds = container.cpu_ns // SECOND
            clock = f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"
            words = " ".join((*container.spec.command, *container.spec.args)) or container.spec.name
            rows.append(f"{container.pid:7d} ?        {clock} {words[:60]}")
    for process in machine.processes.values():
        seconds = process.used_ns(machine.sim.now) // SECOND
        clock = f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"
        rows.append(f"{process.pid:7d} ?        {clock} {process.name}")
    return ExecResult("\n".join(rows) + "\n")


TOOLS = {"ps": ps}
