"""Plans of many containers: several ticks at once, flows as arrays, the same physics."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND, Snapshot, fork
from simcluster.models.apps.callgraph import application_of
from simcluster.models.traffic.graph import spec_of
from tests.clusters.handmade import HandmadeCluster

SERVICES, PODS = 31, 5
CALL = {"timeout": "1s", "retries": {"attempts": 4}}


def forest() -> HandmadeCluster:
    """A front door that calls thirty services, each with a fifth of its requests."""
    leaf = {"replicas": PODS, "blocking": False, "queue": {"bound": 400}}
    work = {"law": "exponential", "mean": "10ms"}
    services = {f"leaf{n}": {**leaf, "operations": {"op": {"work": work}}} for n in range(SERVICES - 1)}
    calls = [{"choose": [{"probability": 0.2, "steps": [{"call": {"service": n, **CALL}}]}]} for n in services]
    door = {"replicas": PODS, "workers": 8, "blocking": False}
    services["door"] = {**door, "operations": {"op": {"work": "100us", "steps": calls}}}
    load = {"users": {"target": "door", "open": {"rate": 1}}}
    spec = spec_of({"name": "forest", "services": services, "load": load})
    cluster = HandmadeCluster()
    cluster.catalog.add(application_of(spec))
    for name in spec.services:
        cluster.service(name, 8080, ())
    env = {f"LEAF{n}_ADDR": f"leaf{n}:8080" for n in range(SERVICES - 1)}
    for name in spec.services:
        pods = tuple(f"{name}-{n}" for n in range(PODS))
        for pod in pods:
            node = "n2" if name == "leaf0" else "n1"
            cluster.pod(pod, f"registry.example.com/forest/{name}:v1", env=env if name == "door" else {}, node=node)
        cluster.service(name, 8080, pods)
    cluster.run(3)
    cluster.traffic.add_users("people", "shop", "door", rps=1000)
    cluster.run(30)
    return cluster


@pytest.fixture(scope="module")
def calm() -> Snapshot[HandmadeCluster]:
    return Snapshot(forest())


def test_nothing_is_lost_and_cpu_follows(calm: Snapshot[HandmadeCluster]) -> None:
    cluster = calm.restore()
    before = {name: cluster.container(f"leaf3-{name}").cpu_ns for name in range(PODS)}
    start = cluster.sim.now
    cluster.run(60)

    stats = cluster.traffic.users["shop/people"].window(start, cluster.sim.now)
    calls = sum(e.sent for e in cluster.traffic.history.between(start, cluster.sim.now) if e.key.host == "leaf3")
    work = sum(cluster.container(f"leaf3-{name}").cpu_ns - used for name, used in before.items())

    assert not cluster.traffic.is_hot
    assert stats.in_flight_before + stats.sent == stats.ok + stats.in_flight
    assert stats.sent == pytest.approx(60_000, rel=0.02)
    assert calls == pytest.approx(12_000, rel=0.05)
    assert work / 1e9 == pytest.approx(12_000 * 0.010, rel=0.1)


def test_a_storm_in_one_of_thirty_services_outlives_its_trigger(calm: Snapshot[HandmadeCluster]) -> None:
    cluster = calm.restore()
    cluster.machines["n2"].cores = 0.1
    cluster.run(10)
    cluster.machines["n2"].cores = 64.0
    cluster.traffic.users["shop/people"].rps = 1500.0
    cluster.run(40)

    end = cluster.sim.now
    edges = [e for e in cluster.traffic.history.between(end - 20 * SECOND, end) if not e.key.pod.startswith("people")]
    sick = [e for e in edges if e.key.host == "leaf0"]
    others = [e for e in edges if e.key.host == "leaf5"]

    assert cluster.traffic.is_hot
    assert sum(e.ok for e in sick) < 0.1 * sum(e.sent for e in sick)
    assert sum(e.sent for e in sick) / sum(e.sent for e in others) > 3.0
    assert sum(e.ok for e in others) > 0.95 * sum(e.sent for e in others)


def test_forks_and_looks_change_nothing(calm: Snapshot[HandmadeCluster]) -> None:
    cluster = calm.restore()
    cluster.run(1.2)
    twin = fork(cluster)
    twin.traffic.users["shop/people"].window(0, twin.sim.now)
    for each in (cluster, twin):
        each.run(20)

    assert list(cluster.traffic.history.samples(0, 1 << 62)) == list(twin.traffic.history.samples(0, 1 << 62))
    assert cluster.container("leaf1-0").cpu_ns == twin.container("leaf1-0").cpu_ns
