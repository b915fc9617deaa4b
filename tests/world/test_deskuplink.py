"""The operator's desk reaches the API server over the network of its machine."""

from __future__ import annotations

import simcluster
from simcluster.engine import SECOND

DELAYED = "tc qdisc add dev eth0 root netem delay 400ms"


def _spent(box: simcluster.Sandbox, line: str) -> int:
    before = box.world.sim.now
    assert box.kubectl(line).exit_code == 0
    return box.world.sim.now - before


def test_a_delay_on_the_control_planes_way_out_slows_every_exchange_and_its_end_ends_that() -> None:
    box = simcluster.sandbox(nodes=1)
    usual = _spent(box, "get nodes")
    box.node("control-plane").sh(DELAYED)
    slow = _spent(box, "get nodes")
    assert 2 * 0.4 * SECOND <= slow - usual <= 4 * SECOND
    box.node("control-plane").sh("tc qdisc del dev eth0 root")
    assert _spent(box, "get nodes") == usual


def test_lost_packets_cost_retransmissions_and_a_cut_way_a_dial() -> None:
    box = simcluster.sandbox(nodes=1)
    box.node("control-plane").sh("tc qdisc add dev eth0 root netem loss 30%")
    assert sum(_spent(box, "get pods -A") for _ in range(5)) > 6 * SECOND  # integers
    box.node("control-plane").sh("tc qdisc replace dev eth0 root netem loss 100%")
    before = box.world.sim.now
    said = box.kubectl("get nodes")
    assert said.exit_code == 1
    assert said.stderr == "Unable to connect to the server: dial tcp 172.18.0.2:6443: i/o timeout\n"
    assert box.world.sim.now - before >= 30 * SECOND


def test_a_control_plane_that_is_off_has_no_route() -> None:
    box = simcluster.sandbox(nodes=1)
    box.world.machines["control-plane"].power.cut()
    said = box.kubectl("get nodes")
    assert said.stderr == "Unable to connect to the server: dial tcp 172.18.0.2:6443: connect: no route to host\n"
