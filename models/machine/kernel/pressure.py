"""Pressure stall information: the share of time in which somebody waits for a resource (kernel/sched/psi.c)."""

from __future__ import annotations

from simcluster.models.machine.container import Container
from simcluster.models.machine.host import Host
from simcluster.models.machine.kernel.load import NO_PRESSURE, RESOURCES


def machine_text(machine: Host, resource: str) -> str | None:
    """/proc/pressure/{cpu,memory,io}; None if there is no such resource."""
    if resource not in RESOURCES:
        return None
    load = machine.os.load
    return load.some[resource].text("some") + load.full[resource].text("full")


def group_text(container: Container, resource: str) -> str:
    """`cpu.pressure`, `io.pressure` and `memory.pressure` of a container's group."""
    found = container.machine.os.load.groups.get((container.container_id, resource), NO_PRESSURE)
    # All of a container's tasks are stopped together: by its quota, or because they wait for the same drive.
    return found.text("some") + found.text("full")
