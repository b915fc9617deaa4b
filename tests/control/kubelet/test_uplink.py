"""A node's link and clock: partitions and wrong clocks become NotReady, and watches catch up afterwards."""

import pytest

from simcluster.api.objects import condition
from simcluster.engine import MINUTE, SECOND
from simcluster.engine.clock import DAY
from simcluster.models.machine.network import ServiceKey
from simcluster.world import World

POD = """apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeName: worker-1
  containers: [{name: c, image: "docker.io/library/nginx:1.27"}]
"""


@pytest.fixture(scope="module")
def booted():
    return World(0, workers=2, addons=False)


def ready(world, node="worker-1"):
    return condition(world.api.store.get("nodes", "", node), "Ready")["status"]


def log(world, program="kubelet"):
    return "\n".join(line.text for line in world.machines["worker-1"].log if line.identifier == program)


def test_a_cut_link_silences_the_node_and_its_watches(booted):
    world = booted.fork()
    world.apply(POD)
    world.run_for(20 * SECOND)
    run = world.machines["worker-1"].runtime.containers()[0]
    world.machines["worker-1"].nics["eth0"].cut()
    world.run_for(70 * SECOND)
    assert ready(world) == "Unknown"
    assert "dial tcp 172.18.0.2:6443: i/o timeout" in log(world)
    assert "i/o timeout" in world.kubectl().run("logs web").stderr
    world.kubectl().run("delete pod web --wait=false")
    world.run_for(MINUTE)
    assert run.running
    world.machines["worker-1"].nics["eth0"].repair()
    world.run_for(MINUTE)
    assert ready(world) == "True"
    assert not run.running


def test_a_partition_between_nodes_does_the_same_and_a_lossy_link_does_not(booted):
    world = booted.fork()
    world.network.links.partition("rack", ["worker-1"], ["control-plane"])
    world.machines["worker-2"].nics["eth0"].degrade(loss=0.05, bandwidth_bps=150_000_000)
    world.run_for(70 * SECOND)
    assert (ready(world), ready(world, "worker-2")) == ("Unknown", "True")


def test_a_wrong_clock_spoils_new_connections_only(booted):
    world = booted.fork()
    node = world.machines["worker-1"]
    node.control("stop", "chrony")
    node.os.clock.step(400 * DAY)
    world.run_for(70 * SECOND)
    assert ready(world) == "True"
    node.control("restart", "kubelet")
    world.run_for(70 * SECOND)
    assert ready(world) == "Unknown"
    assert "x509: certificate has expired or is not yet valid: current time" in log(world)
    node.control("start", "chrony")
    world.run_for(30 * SECOND)
    assert ready(world) == "True"


def test_without_any_of_it_none_of_its_lines_appear(booted):
    world = booted.fork()
    world.run_for(2 * MINUTE)
    assert "timeout" not in log(world)
    assert not log(world, "kernel")


WEB = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeName: worker-2
      containers: [{name: c, image: "docker.io/library/nginx:1.27", ports: [{containerPort: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, clusterIP: 10.96.0.77, ports: [{port: 80}]}
"""


def test_rules_of_a_cut_off_node_are_stale_until_it_is_back(booted):
    world = booted.fork()
    world.apply(WEB)
    world.run_for(20 * SECOND)
    key = ServiceKey("10.96.0.77", 80)
    before = world.network.rules_of("worker-1", key)
    assert before == world.network.rules_of("worker-2", key) != ()
    world.network.links.partition("rack", ["worker-1"], ["control-plane"])
    world.kubectl().run("delete pod -l app=web --grace-period=1 --wait=false")
    world.run_for(20 * SECOND)
    after = world.network.rules_of("worker-2", key)
    assert after not in (before, ())
    assert world.network.rules_of("worker-1", key) == before  # a pod that is gone
    assert [world.network.connect(backend) for backend in before] == ["timeout"]
    assert [world.network.connect(backend) for backend in after] == ["ok"]
    world.network.links.heal("rack")
    world.run_for(5 * SECOND)
    assert world.network.rules_of("worker-1", key) == after
