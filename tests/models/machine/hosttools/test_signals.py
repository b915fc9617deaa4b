"""Processes of a node that are ended by a signal: foreign services, daemons and processes that nobody knows."""

from __future__ import annotations

import pytest

from simcluster.models.machine.kernel.hostservice import HostService
from simcluster.models.machine.machine import Machine
from tests.clusters.onemachine import one_machine


def service(machine: Machine) -> None:
    HostService(machine, "scan-full", "Full scan", "/usr/bin/scan /", cores=2, weight=200, memory_bytes=1 << 28)
    assert not machine.control("start", "scan-full")


def ran(machine: Machine, *argv: str) -> tuple[str, str, int]:
    found = machine.run(argv)
    assert found is not None
    return found.stdout, found.stderr, found.code


def test_a_service_is_found_and_stopped_or_killed() -> None:
    machine = one_machine()
    service(machine)
    pid = machine.processes["scan"].pid
    assert ran(machine, "pgrep", "-l", "scan") == (f"{pid} scan\n", "", 0)
    assert ran(machine, "top", "-b")[0].count(" scan\n") == 1
    assert ran(machine, "kill", "-9", str(pid)) == ("", "", 0)
    unit = machine.unit("scan-full")
    assert unit is not None
    assert unit.failed
    assert not machine.processes
    machine.control("start", "scan-full")
    assert ran(machine, "pkill", "-x", "scan")[2] == 0
    assert not unit.failed
    assert not unit.active
    assert ran(machine, "pkill", "scan")[2] == 1


def test_nobody_and_nonsense_are_refused() -> None:
    machine = one_machine()
    assert ran(machine, "kill", "99999") == ("", "bash: kill: (99999) - No such process\n", 1)
    assert "arguments must be process or job IDs" in ran(machine, "kill", "x")[1]
    assert ran(machine, "kill")[2] == 2
    machine.burden("miner", 1.0)
    assert ran(machine, "kill", "-0", str(machine.processes["miner"].pid))[2] == 0
    assert ran(machine, "pkill", "miner")[2] == 0
    assert not machine.processes


def test_magnitudes_that_no_process_has_are_refused() -> None:
    machine = one_machine()
    for cores, weight in ((0.0, 100), (64.0, 100), (1.0, 0), (1.0, 10_001)):
        with pytest.raises(ValueError, match=r"cores|CPUWeight"):
            HostService(machine, "scan", "Scan", "/usr/bin/scan", cores=cores, weight=weight)
    service(machine)
    with pytest.raises(ValueError, match="already"):
        service(machine)
