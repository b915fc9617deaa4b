"""Bad links and slow cores reach the users: latency, time-outs, and back again."""

import pytest

from simcluster.engine import MILLISECOND
from simcluster.models.machine.links.nic import Nic
from simcluster.models.machine.links.shaping import Shaping
from simcluster.models.traffic.cluster.distribution import quantile
from tests.clusters.handmade import HandmadeCluster


@pytest.fixture
def cluster():
    made = HandmadeCluster()
    made.pod("web", "docker.io/library/nginx:1.27", ports=(80,), node="n1")
    made.service("web", 80, ("web",))
    links = made.network.links
    links.nics["n1"] = Nic(made.sim, "eth0", "172.18.0.3", links.changed)
    return made


def edge(cluster):
    cluster.traffic.add_users("web", "shop", "web", rps=50.0)
    cluster.run(5)
    return cluster.traffic


def planned(cluster):
    plan = cluster.traffic._plan
    return plan.roots[0][0]


def test_delay_and_loss_slow_calls_down(cluster):
    edge(cluster)
    before = planned(cluster).latency.mean
    cluster.network.links.nics["n1"].degrade(delay_ns=20 * MILLISECOND, loss=0.01)
    cluster.run(5)
    assert planned(cluster).latency.mean > before + 15 * MILLISECOND
    cluster.network.links.nics["n1"].repair()
    cluster.run(5)
    assert planned(cluster).latency.mean == pytest.approx(before, rel=0.2)


def test_a_cut_link_fails_what_crosses_it(cluster):
    edge(cluster)
    assert planned(cluster).ok == 1.0
    cluster.network.links.nics["n1"].cut()
    cluster.run(5)
    assert planned(cluster).ok < 0.6  # users enter through both nodes


def test_slow_cores_serve_slower(cluster):
    edge(cluster)
    server = cluster.traffic._plan.servers[0]
    operation = server.spec.operations[0]
    before = server.service_ns(operation)
    cluster.machines["n1"].cpu_speed = 0.5
    assert server.service_ns(operation) - operation.latency_ns == pytest.approx(2 * (before - operation.latency_ns))


def test_the_way_out_of_a_node_delays_all_answers_that_leave_it(cluster):
    edge(cluster)
    before = planned(cluster).latency.mean
    cluster.network.links.shape("n1", Shaping(delay_ns=20 * MILLISECOND))
    cluster.run(5)
    assert planned(cluster).latency.mean - before == pytest.approx(20 * MILLISECOND, rel=0.01)


def test_lost_packets_delay_a_few_and_leave_the_median(cluster):
    edge(cluster)
    calm = quantile(planned(cluster).latency, 0.5)
    seen = []
    for loss in (0.0001, 0.001, 0.01, 0.05):
        cluster.network.links.nics["n1"].degrade(loss=loss)
        cluster.run(5)
        latency = planned(cluster).latency
        assert latency.late.mean >= 200 * MILLISECOND
        seen.append(quantile(latency, 0.5))
    assert [round(value, -2) for value in (calm, *seen)] == sorted(round(value, -2) for value in (calm, *seen))
    assert seen[-1] < 1.5 * calm
