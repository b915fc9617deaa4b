"""Forks share the nodes and edges of a plan until one of them works the plan out anew."""

from __future__ import annotations

import pickle

import pytest

from simcluster.engine import SECOND, Snapshot, fork
from simcluster.models.apps.callgraph import application_of
from simcluster.models.traffic.cluster.evaluation import evaluate
from simcluster.models.traffic.graph import spec_of
from tests.clusters.handmade import HandmadeCluster


def pair() -> HandmadeCluster:
    """A front that calls a back; users of a third of the back's capacity."""
    back = {"operations": {"op": {"work": {"law": "exponential", "mean": "10ms"}}}, "queue": {"bound": 300}}
    call = {"call": {"service": "back", "timeout": "500ms", "retries": {"attempts": 3}}}
    front = {"operations": {"op": {"work": "100us", "steps": [call]}}}
    load = {"u": {"target": "front", "open": {"rate": 1}}}
    spec = spec_of({"name": "pair", "services": {"front": front, "back": back}, "load": load})
    cluster = HandmadeCluster()
    cluster.catalog.add(application_of(spec))
    for name in spec.services:
        cluster.service(name, 8080, ())
        cluster.pod(f"{name}-0", f"registry.example.com/pair/{name}:v1", env={"BACK_ADDR": "back:8080"})
        cluster.service(name, 8080, (f"{name}-0",))
    cluster.run(3)
    cluster.traffic.add_users("people", "shop", "front", rps=30, timeout_ns=2 * SECOND)
    cluster.run(5)
    return cluster


@pytest.fixture(scope="module")
def calm() -> Snapshot[HandmadeCluster]:
    return Snapshot(pair())


def figures(cluster: HandmadeCluster) -> list[tuple[float, float, float]]:
    """What every edge of the plan comes to."""
    return [(edge.ok, edge.reached, edge.latency.mean) for edge in cluster.traffic._plan.edges]


def test_who_changes_the_plan_changes_his_own(calm: Snapshot[HandmadeCluster]) -> None:
    one = calm.restore()
    other = fork(one)
    assert one.traffic._plan.edges is other.traffic._plan.edges
    before = figures(other)
    one.traffic.schedule_rate(one.traffic.users["shop/people"], 400.0, SECOND)
    one.run(8)
    assert one.traffic.is_hot
    assert figures(one) != before
    assert not other.traffic.is_hot
    assert figures(other) == before
    back = [server for server in one.traffic._plan.servers if server.container.spec.pod_name == "back-0"]
    assert back == [one.traffic.servers[back[0].container.container_id]]


def test_the_past_of_others_does_not_matter(calm: Snapshot[HandmadeCluster]) -> None:
    """A fork of a fork, of a pickle, and of a world that has been forked go the same way."""
    first = calm.restore()
    second = pickle.loads(pickle.dumps(fork(first)))
    fork(first)
    third = fork(fork(first))
    for cluster in (first, second, third):
        cluster.traffic.schedule_rate(cluster.traffic.users["shop/people"], 300.0, SECOND, 2 * SECOND)
        cluster.run(8)
    assert figures(first) == figures(second) == figures(third)
    rows = [c.traffic.users["shop/people"].window(0, c.sim.now) for c in (first, second, third)]
    assert rows[0] == rows[1] == rows[2]


def test_evaluating_twice_is_evaluating_once(calm: Snapshot[HandmadeCluster]) -> None:
    cluster = calm.restore()
    kept = fork(cluster)
    evaluate(cluster.traffic._plan)
    seen = figures(cluster)
    evaluate(cluster.traffic._plan)
    assert figures(cluster) == seen
    assert kept.traffic._plan.edges is not cluster.traffic._plan.edges
