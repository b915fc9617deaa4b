"""A machine without power answers nobody: no connection is refused, and neighbours forget it as their kernels do."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND, Simulation
from simcluster.models.machine.hardware import MachineSpec
from simcluster.models.machine.images import ImageRegistry
from simcluster.models.machine.linux import LinuxMachine
from simcluster.models.machine.network import Network
from tests.clusters.nodes import ScriptedCatalog


def pair() -> tuple[LinuxMachine, LinuxMachine]:
    sim, network = Simulation(), Network()
    addresses = {"worker-1": "172.18.0.3", "worker-2": "172.18.0.4"}
    one, other = (
        LinuxMachine(sim, MachineSpec(name, address), network, ImageRegistry(sim), ScriptedCatalog())
        for name, address in addresses.items()
    )
    return one, other


def neighbour(node: LinuxMachine) -> str:
    answer = node.run(["ip", "neigh"])
    assert answer is not None
    return answer.stdout.split()[-1]


@pytest.mark.parametrize("port", [22, 10250, 9999])
def test_a_machine_that_is_off_refuses_nothing(port: int) -> None:
    one, other = pair()
    before = one.network.connect((other.address, port))
    assert before == ("refused" if port == 9999 else "ok")
    other.power.cut()
    assert one.network.connect((other.address, port)) == "timeout"
    other.power.give()
    assert one.network.connect((other.address, port)) == "timeout"  # it boots
    one.sim.run_for(300 * SECOND)
    assert one.network.connect((other.address, port)) == before


def test_a_stopped_kubelet_on_a_machine_that_runs_refuses() -> None:
    one, other = pair()
    other.control("stop", "kubelet")
    assert one.network.connect((other.address, 10250)) == "refused"


def test_neighbours_forget_a_silent_machine_in_the_kernels_own_steps() -> None:
    one, other = pair()
    assert neighbour(one) == "REACHABLE"
    other.power.cut()
    seen = []
    for _ in range(50):
        one.sim.run_for(SECOND)
        seen.append(neighbour(one))
    assert list(dict.fromkeys(seen)) == ["REACHABLE", "DELAY", "PROBE", "INCOMPLETE", "FAILED"]
    counts = [seen.count(state) for state in ("REACHABLE", "DELAY", "PROBE", "INCOMPLETE")]
    assert counts == [30, 5, 3, 3]
    other.power.give()
    one.sim.run_for(300 * SECOND)
    assert neighbour(one) == "REACHABLE"
