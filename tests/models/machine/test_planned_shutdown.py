"""`shutdown` for later, and what cancels it."""

from __future__ import annotations

import pytest

from simcluster.engine import MINUTE, SECOND
from simcluster.models.machine.machine import Machine
from tests.clusters.onemachine import one_machine


@pytest.fixture
def machine() -> Machine:
    return one_machine()


def _run(machine: Machine, *words: str) -> tuple[str, int]:
    result = machine.run(["shutdown", *words])
    assert result is not None
    return result.stdout + result.stderr, result.code


def test_it_goes_down_when_it_is_time(machine: Machine) -> None:
    said, _ = _run(machine, "-h", "+2")
    assert said.startswith("Shutdown scheduled for Mon 2026-03-02 09:0")
    assert said.endswith("UTC, use 'shutdown -c' to cancel.\n")
    machine.sim.run_for(2 * MINUTE - SECOND)
    assert machine.power.on
    machine.sim.run_for(10 * SECOND)
    assert not machine.power.on


def test_it_stays_on_when_that_is_cancelled(machine: Machine) -> None:
    _run(machine, "+1")
    assert _run(machine, "--show")[0].startswith("Shutdown scheduled for ")
    assert _run(machine, "-c") == ("", 0)
    assert _run(machine, "--show") == ("No scheduled shutdown.\n", 1)
    machine.sim.run_for(2 * MINUTE)
    assert machine.power.on
    assert any("System shutdown has been cancelled" in line.text for line in machine.journal())


def test_the_last_plan_counts_and_a_pulled_plug_ends_it(machine: Machine) -> None:
    _run(machine, "+1")
    assert _run(machine, "-r", "23:59")[0].startswith("Reboot scheduled for Mon 2026-03-02 23:59:00 UTC")
    machine.sim.run_for(2 * MINUTE)
    assert machine.power.on
    machine.power.cut()
    assert machine.power.scheduled is None


@pytest.mark.parametrize("text", ["soon", "25:00", "12:61", "+"])
def test_a_time_that_is_none(machine: Machine, text: str) -> None:
    said, code = _run(machine, text)
    assert said.startswith("Failed to parse")
    assert code == 1
