"""The load balancer before the nodes: dead ones get no users after three checks, and some again when they answer."""

from __future__ import annotations

from simcluster.engine import SECOND, Simulation
from simcluster.models.machine.links.nic import Nic
from simcluster.models.machine.network import Network, ServiceKey


def made() -> tuple[Simulation, Network, dict[str, Nic]]:
    sim, network = Simulation(), Network()
    nics = network.links.nics
    for number, name in enumerate(("a", "b", "c")):
        nics[name] = Nic(sim, "eth0", f"10.0.0.{number}", network.links.changed)
        network.set_rules(name, ServiceKey("10.96.0.1", 80), ((f"10.244.{number}.1", 80),))
    return sim, network, nics


def test_a_dead_node_gets_no_users_after_a_while_and_comes_back() -> None:
    sim, network, nics = made()
    assert network.entries() == ("a", "b", "c")
    nics["b"].cut()
    assert not network.door.answers("b")
    sim.run_for(20 * SECOND)
    assert network.entries() == ("a", "b", "c")
    version = network.version
    sim.run_for(10 * SECOND)
    assert network.entries() == ("a", "c")
    assert network.version > version
    nics["b"].repair()
    sim.run_for(10 * SECOND)
    assert network.entries() == ("a", "c")
    sim.run_for(10 * SECOND)
    assert network.entries() == ("a", "b", "c")


def test_a_short_break_changes_nothing() -> None:
    sim, network, nics = made()
    nics["b"].cut()
    sim.run_for(10 * SECOND)
    nics["b"].repair()
    sim.run_for(60 * SECOND)
    assert network.entries() == ("a", "b", "c")
    nics["b"].cut()
    sim.run_for(20 * SECOND)
    assert network.entries() == ("a", "b", "c")  # the verdict of the first break counts no more


def test_if_none_answers_all_are_used() -> None:
    sim, network, nics = made()
    for nic in nics.values():
        nic.cut()
    sim.run_for(60 * SECOND)
    assert network.entries() == ("a", "b", "c")


def test_a_bad_cable_is_not_a_dead_node() -> None:
    sim, network, nics = made()
    nics["b"].degrade(loss=0.45)
    sim.run_for(60 * SECOND)
    assert network.entries() == ("a", "b", "c")
