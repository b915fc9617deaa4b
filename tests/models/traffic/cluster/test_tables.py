"""Full tables of kernels reach the users: conntrack, descriptors, ports; and they let go again."""

import pytest

from simcluster.engine import MILLISECOND, SECOND, fork
from simcluster.models.machine.links.shaping import Shaping
from simcluster.models.traffic.cluster.causes import UNCONNECTED
from simcluster.models.traffic.cluster.tolls import mean_toll, openings, toll
from simcluster.world import World
from tests.clusters.onemachine import said

MAXIMUM = "net.netfilter.nf_conntrack_max"
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: IMAGE
        ports: [{containerPort: 80}]
        %s
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""
BEHIND = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: back, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: back}}
  template:
    metadata: {labels: {app: back}}
    spec:
      containers:
      - {name: back, image: "nginx:1.27", ports: [{containerPort: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: back, namespace: default}
spec: {selector: {app: back}, ports: [{port: 80}]}
"""


def build(extra="", image="nginx:1.27", **users):
    world = World(seed=1, workers=2)
    if extra:
        world.apply(BEHIND)
    world.apply((WEB % extra).replace("IMAGE", image))
    world.run_for(40 * SECOND)
    load = world.traffic.add_users("people", "default", "web", 80, timeout_ns=2 * SECOND, **users)
    world.run_for(15 * SECOND)
    return world, load


@pytest.fixture(scope="module")
def made():
    return build(rps=100)[0]


@pytest.fixture
def world(made):
    return fork(made)


def met(world, seconds):
    start = world.sim.now
    world.run_for(seconds * SECOND)
    return world.traffic.users["default/people"].window(start, world.sim.now)


def server_on(world, node):
    return next(s.container for s in world.traffic.servers.values() if s.node == node and s.identity[2] == "web")


def local_errors(world):
    """What callers' own kernels refuse them now."""
    edges = [edge for node in world.traffic._plan.nodes for step in node.steps for edge in step]
    return [c.cause.text for edge in edges for c in edge.causes if c.cause.kind == UNCONNECTED]


def test_a_full_conntrack_table_fails_who_comes_through_the_node_until_it_is_larger(world):
    node = world.machines["worker-1"]
    assert met(world, 5).failed == 0
    assert node.os.sysctls.set(MAXIMUM, "200") == ""
    met(world, 5)
    seen = met(world, 10)
    assert 0.3 < 1.0 - seen.success_ratio < 0.9
    assert set(seen.errors) == {"timeout"}
    assert any("table full, dropping packet" in line for line in said(node))
    assert node.run(["sysctl", "-w", f"{MAXIMUM}=131072"]).code == 0
    world.run_for(11 * SECOND)  # who began before has given up by now
    assert met(world, 10).failed == 0


def test_an_untouched_node_counts_connections_and_bytes(world):
    node = world.machines["worker-1"]
    before = node.nics["eth0"].counters()["rx_bytes"]
    met(world, 30)
    assert node.os.conntrack.count > 300
    assert node.nics["eth0"].counters()["rx_bytes"] - before > 30 * 10 * 700
    assert not world.traffic.tables.tolled


def test_without_descriptors_connections_wait_and_nobody_answers(world):
    container = server_on(world, "worker-2")
    container.machine.os.descriptors.set_limit(container, 20)
    container.machine.os.descriptors.leak(container, 1e6)
    met(world, 10)
    seen = met(world, 10)
    assert 0.3 < 1.0 - seen.success_ratio < 0.7
    assert any("accept4() failed (24: Too many open files)" in line.text for line in container.log.read(tail=5))
    container.machine.os.descriptors.set_limit(container, 1 << 20)
    container.machine.os.descriptors.leak(container, 0.0)
    met(world, 12)
    assert met(world, 10).failed == 0


def test_a_caller_without_ports_fails_at_once_and_recovers():
    world, _ = build("env: [{name: BACK, value: 'back:80'}]", "ghcr.io/acme/web:1", rps=40)
    pods = [(machine.os.namespaces, uid) for machine in world.machines.values() for uid in machine.runtime.sandboxes]
    for namespaces, uid in pods:
        namespaces.set(uid, {"net.ipv4.ip_local_port_range": "32768 33067"})
    met(world, 20)
    texts, seen = {}, []
    for _ in range(8):
        seen.append(met(world, 5))
        texts.update(dict.fromkeys(local_errors(world)))
    assert sum(s.failed for s in seen) > 0.2 * sum(s.sent for s in seen)
    assert list(texts) == ["EADDRNOTAVAIL"]
    for namespaces, uid in pods:
        namespaces.forget(uid)
    met(world, 10)
    assert met(world, 10).failed == 0


def test_a_slow_link_is_slow_in_fine_ticks_too(world):
    load = world.traffic.users["default/people"]
    load.retries = 2
    world.traffic.rewire()
    world.traffic._tense = True
    for container in (server_on(world, "worker-1"), server_on(world, "worker-2")):
        shape = Shaping(delay_ns=300 * MILLISECOND)
        world.network.links.shape(container.sandbox.address, shape)
    world.run_for(SECOND)
    assert world.traffic.is_hot
    assert met(world, 5).latency_ms_p50 > 250


def test_openings_by_sessions():
    assert openings(0.1, 0.0) == 0.1
    assert openings(0.1, 1.0) == 1.0
    assert openings(0.5, 0.5) == pytest.approx(0.75)
    assert openings(0.0, 0.9) == 0.0
    assert toll(0.0, 0.5, 0.0, 0.0, "", SECOND) is None
    one = toll(1.0, 1.0, 0.0, 0.0, "", SECOND)
    assert one.lost == 1.0
    assert mean_toll([(1, one), (3, None)]).lost == 0.25
