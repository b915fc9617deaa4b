"""From the kernel to the users: each fault turns one knob, and all else follows; without it nothing of it is seen."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from simcluster.engine import SECOND, Snapshot
from simcluster.eval.episode.start import Starts
from simcluster.faults import registry
from simcluster.faults.target import ObjectRef
from simcluster.tasks import load
from simcluster.world import World

NAMESPACE = "boutique"
LONG_NS = 75 * SECOND


@pytest.fixture(scope="module")
def calm() -> Snapshot[World]:
    """A healthy shop, as before every incident."""
    return Snapshot(Starts().healthy(load("nic_fail_slow_online_boutique").model_copy(update={"age": 0}), 5))


@pytest.fixture(scope="module")
def spared(calm: Snapshot[World]) -> World:
    """The same shop, as long without a fault."""
    world = calm.restore()
    world.run_for(LONG_NS)
    return world


def pod_of(world: World, deployment: str) -> dict[str, Any]:
    pods = world.api.store.objects("pods", NAMESPACE)
    return max((dict(p) for p in pods if p["metadata"]["labels"].get("app") == deployment), key=_created)


def _created(pod: dict[str, Any]) -> str:
    return str(pod["metadata"]["creationTimestamp"])


def node_of(world: World) -> str:
    return str(pod_of(world, "frontend")["spec"]["nodeName"])


def break_it(
    calm: Snapshot[World], fault_id: str, kind: str, name: str = "", *, lasts_ns: int = LONG_NS, **params: Any
) -> World:
    world = calm.restore()
    ref = ObjectRef(kind=kind, name=name or node_of(world))
    mechanism = registry.build(registry.load(fault_id), ref, NAMESPACE, params)
    mechanism.check(world)
    mechanism.inject(world)
    world.run_for(lasts_ns)
    assert mechanism.still_present(world)
    return world


def lines(world: World, word: str) -> list[str]:
    """What journals and logs say of something."""
    found = [entry.text for machine in world.machines.values() for entry in machine.journal() if word in entry.text]
    for machine in world.machines.values():
        for container in machine.runtime.containers():
            found += [line.text for line in container.log.read(tail=2000) if word in line.text]
    return found


def succeeded(world: World) -> float:
    end = world.sim.now - 2 * SECOND
    return float(world.traffic.users["boutique/frontend"].window(end - 40 * SECOND, end).success_ratio)


def ready(world: World, node: str) -> str:
    found = world.api.store.get("nodes", "", node)
    assert found is not None
    return next(str(c["status"]) for c in found["status"]["conditions"] if c["type"] == "Ready")


def test_a_full_conntrack_table_drops_new_connections(calm: Snapshot[World], spared: World) -> None:
    world = break_it(calm, "conntrack_too_small", "Node", value=400)
    machine = world.machines[node_of(world)]
    assert 375 <= machine.os.conntrack.count <= 400
    assert machine.os.counter("drop") > 0
    assert lines(world, "nf_conntrack: table full, dropping packet")
    assert ready(world, machine.name) == "True"
    assert succeeded(world) < 0.9
    assert not lines(spared, "table full")
    assert spared.machines[machine.name].os.counter("drop") == 0
    assert succeeded(spared) > 0.99


def test_a_bad_interface_makes_tcp_repeat(calm: Snapshot[World], spared: World) -> None:
    world = break_it(calm, "nic_fail_slow", "Node", loss=0.45)
    node = node_of(world)
    assert world.machines[node].nics["eth0"].retransmitted() > 0
    assert world.machines[node].nics["eth0"].counters()["rx_errors"] > 0
    assert ready(world, node) == "True"
    assert succeeded(world) < 0.9
    assert spared.machines[node].nics["eth0"].counters()["rx_errors"] == 0


@pytest.mark.slow
def test_a_drifted_clock_makes_the_kubelet_refuse_a_new_certificate(calm: Snapshot[World], spared: World) -> None:
    world = calm.restore()
    node, drift = node_of(world), Fraction(-410, 1_000_000)
    params = {"drift_ppm": -410.0, "unattended": "4800h"}
    mechanism = registry.build(registry.load("clock_drift"), ObjectRef(kind="Node", name=node), NAMESPACE, params)
    mechanism.inject(world)  # as it would have been from the beginning
    machine, other = world.machines[node], next(m for m in world.machines.values() if m.name != node)
    offset_ns = machine.os.clock.offset_ns()
    assert offset_ns == int(drift * 4800 * 3600 * SECOND)
    world.run_for(LONG_NS)
    assert machine.os.clock.offset_ns() - offset_ns == pytest.approx(float(drift * LONG_NS), abs=1000)
    assert ready(world, node) == "True"  # drifting alone harms nobody
    assert succeeded(world) > 0.99
    lease = world.api.store.get("leases.coordination.k8s.io", "kube-node-lease", node)
    fine = world.api.store.get("leases.coordination.k8s.io", "kube-node-lease", other.name)
    assert lease is not None
    assert fine is not None
    assert lease["spec"]["renewTime"] < fine["spec"]["renewTime"][:13]  # two hours earlier
    assert not lines(world, "x509")

    world.api.renew_certificate()
    world.run_for(LONG_NS)
    refused = lines(world, "x509: certificate has expired or is not yet valid: current time 2026-03-02T07:")
    assert " is before 2026-03-02T0" in refused[0]
    assert lines(world, "Failed to watch *v1.EndpointSlice")  # kube-proxy of that node: its rules stay as they were
    unit = machine.unit("kubelet")
    assert unit is not None
    assert unit.active
    assert ready(world, node) == "Unknown"
    assert succeeded(world) < 0.9
    assert not lines(spared, "x509")
    machine.files.write("/etc/chrony/chrony.conf", other.files.read("/etc/chrony/chrony.conf"))
    machine.control("restart", "chrony")
    world.run_for(LONG_NS)
    assert abs(machine.os.clock.offset_ns()) < SECOND
    assert ready(world, node) == "True"


@pytest.mark.slow
def test_a_leak_ends_in_the_oom_killer(calm: Snapshot[World], spared: World) -> None:
    world = break_it(calm, "memory_leak", "Deployment", "productcatalogservice", tag="v0.10.4", mib=96)
    assert lines(world, "Memory cgroup out of memory: Killed process")
    status = pod_of(world, "productcatalogservice")["status"]["containerStatuses"][0]
    assert status["restartCount"] >= 1
    ended = status["lastState"].get("terminated") or status["state"].get("terminated")
    assert ended["reason"] == "OOMKilled"
    assert ended["exitCode"] == 137
    assert succeeded(world) < succeeded(spared)
    assert not lines(spared, "out of memory")


@pytest.mark.slow
def test_too_few_descriptors_keep_users_waiting(calm: Snapshot[World], spared: World) -> None:
    world = break_it(calm, "descriptor_limit_too_low", "Deployment", "frontend", tag="v0.10.4", nofile=24)
    assert lines(world, "accept4: too many open files")
    status = pod_of(world, "frontend")["status"]["containerStatuses"][0]
    assert status["ready"]
    assert status["restartCount"] == 0
    assert succeeded(world) < 0.9
    assert not lines(spared, "too many open files")


@pytest.mark.slow
def test_a_neighbour_takes_the_cpu_of_the_pods(calm: Snapshot[World], spared: World) -> None:
    params = {"unit": "scan", "description": "Scan", "command": "/usr/bin/scan /", "cores": 4, "weight": 10_000}
    fair = break_it(calm, "neighbour_process", "Node", lasts_ns=45 * SECOND, **params)
    assert 1.5 < fair.machines[node_of(fair)].cpu.granted("host/scan") < 4.0
    assert succeeded(fair) > 0.99  # in system.slice no weight takes from the pods what kubepods.slice has a right to
    world = break_it(calm, "neighbour_process", "Node", lasts_ns=45 * SECOND, **params, slice="-.slice")
    machine = world.machines[node_of(world)]
    assert machine.cpu.granted("host/scan") > 3.0
    top = machine.run(["top", "-b", "-n", "1"])
    assert top is not None
    assert " scan\n" in top.stdout
    assert succeeded(world) < 0.5
    assert succeeded(spared) > 0.99
    machine.run(["pkill", "scan"])
    assert "scan" not in machine.processes


@pytest.mark.slow
def test_a_backlog_that_overflows_drops_connections(calm: Snapshot[World], spared: World) -> None:
    world = calm.restore()
    machine = world.machines[node_of(world)]
    server = next(
        c for c in machine.runtime.containers() if c.spec.pod_name == pod_of(world, "frontend")["metadata"]["name"]
    )
    machine.os.descriptors.set_limit(server, 14)  # it accepts nobody new
    world.traffic.users["boutique/frontend"].rps = 300.0
    assert machine.run(["sysctl", "-w", "net.core.somaxconn=4"]).code == 0
    world.run_for(LONG_NS)
    assert machine.os.counter("TcpExtListenOverflows") > 0
    assert "TcpExtListenDrops" in machine.run(["nstat"]).stdout
    assert lines(world, "Possible SYN flooding on port 8080")
    assert succeeded(world) < 0.9
    assert spared.machines[machine.name].os.counter("TcpExtListenDrops") == 0


def test_attempts_to_connect_to_nobody_are_counted_on_the_callers_node(calm: Snapshot[World]) -> None:
    world = calm.restore()
    world.kubectl(f"scale deployment cartservice -n {NAMESPACE} --replicas=0")
    world.run_for(LONG_NS)
    machine = world.machines[node_of(world)]
    before = machine.os.counter("TcpAttemptFails")
    assert before > 10
    world.kubectl(f"scale deployment cartservice -n {NAMESPACE} --replicas=1")
    world.run_for(LONG_NS)
    mended = machine.os.counter("TcpAttemptFails")
    world.run_for(LONG_NS)
    assert machine.os.counter("TcpAttemptFails") == mended >= before
