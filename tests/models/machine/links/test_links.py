"""Links: what slow interfaces, shaping and partitions cost, and the programs that show them."""

import pytest

from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.machine.links import tcp
from simcluster.models.machine.links.quality import FREE
from simcluster.models.machine.links.shaping import Shaping
from simcluster.models.machine.network import Network
from tests.clusters.onemachine import one_machine, said, start


def pair():
    network = Network()
    return network, one_machine(network=network), one_machine("worker-2", "172.18.0.4", network)


def test_healthy_ways_cost_nothing():
    network, *_ = pair()
    path = network.path("worker-1", "worker-2")
    assert path.is_healthy
    assert path.cost(500, 5000, connect=True) == FREE
    assert network.path("worker-1", "worker-1").round_trip_ns < path.round_trip_ns


def test_loss_costs_little_on_average_and_200_ms_now_and_then():
    network, node, _ = pair()
    version = network.version
    node.nics["eth0"].degrade(loss=0.02)
    assert network.version > version
    cost = network.path("worker-1", "worker-2").cost(300, 1000, timeout_ns=SECOND)
    assert 4 * MILLISECOND < cost.mean_ns < 12 * MILLISECOND
    assert 190 * MILLISECOND < cost.p99_ns < 300 * MILLISECOND
    assert 0.0 < cost.failing < 1e-4
    assert network.path("worker-2", "worker-2").is_healthy
    node.nics["eth0"].repair()
    assert network.path("worker-1", "worker-2").is_healthy


def test_a_lost_syn_costs_a_second_and_three():
    half = tcp.opening(0.5, 0)
    both = 0.75
    assert tcp.repetitions(both, both, SECOND, 2, 0).failing == pytest.approx(both**3)
    assert half.mean_ns > SECOND
    assert tcp.opening(0.5, 500 * MILLISECOND).failing == pytest.approx(both)


def test_long_transfers_are_bounded_as_mathis_says():
    network, node, _ = pair()
    node.nics["eth0"].degrade(bandwidth_bps=150_000_000, loss=0.01)
    path = network.path("worker-1", "worker-2")
    cost = path.cost(1000, 100_000_000)
    bound = 1448 * 8 / (path.rtt_ns / 1e9) * (1.5 / 0.01) ** 0.5
    assert cost.mean_ns / 1e9 >= 100_001_000 * 8 / min(bound, 150e6)
    assert cost.mean_ns / 1e9 < 30.0


def test_a_nic_of_a_kilobit_stalls_everything():
    network, node, _ = pair()
    node.nics["eth0"].degrade(bandwidth_bps=1000)
    assert network.path("worker-1", "worker-2").cost(500, 500, timeout_ns=5 * SECOND).failing == 1.0


def test_only_big_packets_lost():
    network, node, _ = pair()
    node.nics["eth0"].degrade(big_loss=0.4)
    path = network.path("worker-1", "worker-2")
    assert path.cost(200, 400).mean_ns == 0.0
    assert path.cost(200, 20_000).mean_ns > 50 * MILLISECOND


def test_partitions_cut_nodes_and_pods():
    network, *_ = pair()
    network.links.partition("split", ["worker-1"], ["worker-2", "control-plane"])
    assert network.path("worker-1", "worker-2").cut
    assert network.path("control-plane", "worker-1").cost(10).failing == 1.0
    assert not network.path("control-plane", "worker-2").cut
    network.links.heal("split")
    network.links.partition("pod", ["10.244.1.2"], ["worker-1", "worker-2"])
    assert network.path("worker-1", "worker-2", "10.244.1.9", "10.244.1.2").cut
    assert not network.path("worker-1", "worker-2", "10.244.1.9", "10.244.1.3").cut
    with pytest.raises(ValueError, match="both sides"):
        network.links.partition("no", ["a"], ["a"])


def test_shaping_by_tc_binds_and_shows():
    network, node, _ = pair()
    assert node.run(["tc", "qdisc", "show", "dev", "eth0"]).stdout.startswith("qdisc mq 0: dev eth0 root")
    added = node.run(["tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", "100ms", "10ms", "loss", "5%"])
    assert added[:3] == ("", "", 0)
    shown = node.run(["tc", "qdisc", "show", "dev", "eth0"]).stdout
    assert shown == "qdisc netem 8001: dev eth0 root refcnt 2 limit 1000 delay 100ms  10ms loss 5%\n"
    assert network.path("worker-1", "worker-2").cost(100).mean_ns > 100 * MILLISECOND
    assert node.run(["tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", "1ms"]).code == 2
    assert node.run(["tc", "qdisc", "del", "dev", "eth0", "root"]).code == 0
    assert network.path("worker-1", "worker-2").is_healthy
    pod = start(node, "web")
    network.links.shape(pod.sandbox.address, Shaping(delay_ns=50 * MILLISECOND, rate_bps=1_000_000))
    assert network.path("worker-1", "worker-1", "", pod.sandbox.address).delay_ns == 25 * MILLISECOND
    assert "rate 1Mbit" in node.run(["tc", "qdisc", "show"]).stdout
    with pytest.raises(ValueError, match="loss"):
        Shaping(loss=1.5)


def test_counters_grow_with_what_passes():
    _, node, _ = pair()
    nic = node.nics["eth0"]
    nic.report("web", 1_000_000.0, 2_000_000.0)
    nic.degrade(loss=0.1)
    node.sim.run_for(10 * SECOND)
    counters = nic.counters()
    assert counters["rx_bytes"] == pytest.approx(10_000_000 + 90_000, rel=0.01)
    assert counters["rx_errors"] == pytest.approx(1110, rel=0.05)
    assert "TcpRetransSegs" in node.run(["nstat"]).stdout
    assert f"rx_errors: {counters['rx_errors']}" in node.run(["ethtool", "-S", "eth0"]).stdout
    assert "errors" in node.run(["ip", "-s", "link"]).stdout
    assert "retrans:0/" in node.run(["ss", "-ti"]).stdout
    assert "Link detected: yes" in node.run(["ethtool", "eth0"]).stdout
    nic.cut()
    assert "NO-CARRIER" in node.run(["ip", "addr"]).stdout
    for wrong in ({"loss": 1.0}, {"bandwidth_bps": 0}, {"delay_ns": -1}):
        with pytest.raises(ValueError, match=r"must be|negative"):
            nic.degrade(**wrong)


def test_one_request_waits_as_its_luck_is():
    network, node, _ = pair()
    node.nics["eth0"].degrade(loss=0.3, delay_ns=5 * MILLISECOND)
    path = network.path("worker-1", "worker-2")
    times = [path.sample(n / 1000.0) for n in range(1000)]
    assert times[999] == 20 * MILLISECOND + times[999] % MILLISECOND or times[999] > 20 * MILLISECOND
    late = sum(time > SECOND for time in times) / 1000.0
    assert 0.4 < late < 0.7  # a SYN or its answer was lost: 51 per cent
    node.nics["eth0"].cut()
    assert network.path("worker-1", "worker-2").sample(0.5) is None


def test_a_filter_with_state_cuts_what_one_side_opens() -> None:
    network, *_ = pair()
    network.links.partition("filter", ["worker-1"], ["worker-2"], one_way=True)
    assert network.path("worker-1", "worker-2").cut
    assert not network.path("worker-2", "worker-1").cut


def test_a_link_that_flaps_is_up_as_long_as_it_says_on_average_and_the_driver_tells() -> None:
    _, node, _ = pair()
    nic, up_ns = node.nics["eth0"], 0
    nic.flap(30 * SECOND, 10 * SECOND)
    for _ in range(4_000):
        node.sim.run_for(SECOND)
        up_ns += nic.carrier * SECOND
    assert 0.6 < up_ns / (4000 * SECOND) < 0.9
    assert "ixgbe 0000:03:00.0 eth0: NIC Link is Down" in said(node)
    assert not nic.is_healthy
    nic.repair()
    node.sim.run_for(600 * SECOND)
    assert nic.is_healthy
