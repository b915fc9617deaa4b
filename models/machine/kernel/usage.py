"""What the CPUs of a machine do now: who uses them, who waits for a drive; the same truth for every tool."""

from __future__ import annotations

import math
from typing import NamedTuple

from simcluster.models.machine.cpu import NANOCORES
from simcluster.models.machine.hardware import Hardware
from simcluster.models.machine.kernel.group import Group

#: How the CPU time of servers splits into user and system time (as in `cpu.stat`).
USER_SHARE = 0.85


class Split(NamedTuple):
    """Where CPU time goes, in per cent of all cores."""

    user: float
    system: float
    idle: float
    iowait: float
    steal: float


def blocked(machine: Hardware) -> dict[str, float]:
    """Tasks in uninterruptible sleep, on average, by the owner of the load (a container's id)."""
    if machine.built_storage is None:
        return {}
    found: dict[str, float] = {}
    for disk in machine.disks.values():
        for owner, waiting in disk.waiting().items():
            if waiting > 0.0:
                process = owner_of(owner)
                found[process] = found.get(process, 0.0) + waiting
    return found


def owner_of(load: str) -> str:
    """Whose a load on a drive is: `sda1/<container>/data` is a container's."""
    parts = load.split("/")
    return parts[1] if len(parts) > 1 else load


def wanted(container: Group, demand: int) -> int:
    """Nanocores that a container would use if nobody else were there: its quota stops the rest."""
    limit = container.spec.cpu_limit
    return demand if limit is None else min(demand, int(limit * NANOCORES))


def runnable(machine: Hardware) -> int:
    """Nanocores that tasks want which nothing but a lack of CPUs keeps from running."""
    cpu = machine.cpu
    total = cpu.system + cpu.spinning
    total += cpu.asked
    for process in machine.processes.values():
        total += int(process.cores * NANOCORES)
    return total


def busy(machine: Hardware) -> int:
    """Nanocores in use."""
    return min(runnable(machine), machine.cpu.available)


def split(machine: Hardware) -> Split:
    """Where the CPU time goes now."""
    return of(machine, busy(machine) / NANOCORES)


def of(machine: Hardware, used: float) -> Split:
    """The same when so many cores are in use."""
    cores = machine.cpu.capacity / NANOCORES
    steal = machine.cpu.stolen / NANOCORES
    used = min(used, cores - steal)
    idle = max(0.0, cores - steal - used)
    waits = min(idle, math.fsum(blocked(machine).values()))
    parts = (used * USER_SHARE, used * (1.0 - USER_SHARE), idle - waits, waits, steal)
    return Split(*(100.0 * part / cores for part in parts))


def since_boot(machine: Hardware, used_ns: int, waited_ns: int) -> Split:
    """The average since the machine booted, by the CPU time used and the time spent idle waiting for drives."""
    cores = machine.cpu.capacity / NANOCORES
    age = max(1, machine.sim.now - machine.booted_ns)
    used, waits = used_ns / age, waited_ns / age
    steal = machine.cpu.stolen / NANOCORES
    parts = (used * USER_SHARE, used * (1.0 - USER_SHARE), max(0.0, cores - steal - used - waits), waits, steal)
    return Split(*(100.0 * part / cores for part in parts))
