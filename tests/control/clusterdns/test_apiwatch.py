"""CoreDNS that may not list what its kubernetes plugin watches."""

from __future__ import annotations

import pytest

from simcluster.control.clusterdns import CoreDns
from simcluster.engine import SECOND
from simcluster.world.world import World

NAME = "kubernetes.default.svc.cluster.local"


@pytest.fixture(scope="module")
def world() -> World:
    """Without the right, and with CoreDNS started anew."""
    world = World(0, workers=1)
    kubectl = world.kubectl(namespace="kube-system")
    assert kubectl.run("delete clusterrolebinding system:coredns").exit_code == 0
    kubectl.run("rollout restart deployment/coredns")
    world.run_for(40 * SECOND)
    return world


def _servers(world: World) -> list[CoreDns]:
    containers = [c for machine in world.machines.values() for c in machine.runtime.containers() if c.running]
    return [container.program for container in containers if isinstance(container.program, CoreDns)]


def test_it_says_why_it_waits_and_is_not_ready(world: World) -> None:
    waiting = next(server for server in _servers(world) if server.watch is not None and not server.watch.synced)
    pods = world.kubectl(namespace="kube-system").run("get pods -l k8s-app=kube-dns").stdout
    assert "0/1     Running" in pods
    name = waiting.container.spec.pod_name
    logs = world.kubectl(namespace="kube-system").run(f"logs {name}").stdout
    assert "[INFO] plugin/kubernetes: waiting for Kubernetes API before starting server" in logs
    assert "[WARNING] plugin/kubernetes: starting server with unsynced Kubernetes API" in logs
    account = 'User "system:serviceaccount:kube-system:coredns"'
    refused = f'services is forbidden: {account} cannot list resource "services" in API group "" at the cluster scope'
    assert f"Failed to watch *v1.Service: failed to list *v1.Service: {refused}" in logs
    assert '[INFO] plugin/ready: Still waiting on: "kubernetes"' in logs


def test_it_knows_no_service_but_the_world_outside(world: World) -> None:
    waiting = next(server for server in _servers(world) if server.watch is not None and not server.watch.synced)
    assert waiting.query(NAME).code == "SERVFAIL"
    assert waiting.query("nobody.example.com").code == "NXDOMAIN"


def test_a_server_that_had_its_lists_goes_on(world: World) -> None:
    before = next(server for server in _servers(world) if server.watch is not None and server.watch.synced)
    assert before.query(NAME).code == "NOERROR"


def test_with_the_right_it_becomes_ready(world: World) -> None:
    repaired = world.fork()
    created = repaired.kubectl().run(
        "create clusterrolebinding dns --clusterrole=system:coredns --serviceaccount=kube-system:coredns"
    )
    assert created.exit_code == 0
    repaired.run_for(70 * SECOND)
    assert all(server.watch is not None and server.watch.synced for server in _servers(repaired))
    assert repaired.available("kube-system")
