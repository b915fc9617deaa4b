"""Pressure stall information: the share of time in which somebody waits for a resource.

Averages over 10, 60 and 300 s are the present share, because what causes it lasts far longer
than they do or is not noticed; the total is what the accounts have counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine


def cpu_share(machine: Machine) -> float:
    """Share of time in which some runnable task of the machine waits for a CPU."""
    wanted, there = machine.cpu.demanded(), machine.cpu.available
    return max(0.0, 1.0 - there / wanted) if wanted > 0 else 0.0


def machine_text(machine: Machine, resource: str) -> str:
    """/proc/pressure/{cpu,memory,io}."""
    if resource == "cpu":
        stalled = sum(container.throttled_ns for container in machine.runtime.containers())  # integers
        return _text(cpu_share(machine), stalled // 1000, 0.0)
    if resource == "memory":
        left = machine.memory_bytes - machine.memory_used()
        share = 0.0 if left * 20 > machine.memory_bytes else 0.3 * (1.0 - left * 20 / machine.memory_bytes)
        return _text(share, 0, share / 2.0)
    return _text(0.0, 0, 0.0)


def cgroup_text(share: float, total_usec: int) -> str:
    """`cpu.pressure` and others of a group."""
    return _text(share, total_usec, share)


def _text(some: float, total_usec: int, full: float) -> str:
    rows = []
    for kind, share in (("some", some), ("full", full)):
        average = f"{100.0 * share:.2f}"
        rows.append(f"{kind} avg10={average} avg60={average} avg300={average} total={total_usec if share else 0}\n")
    if not some and total_usec:
        rows[0] = f"some avg10=0.00 avg60=0.00 avg300=0.00 total={total_usec}\n"
    return "".join(rows)
