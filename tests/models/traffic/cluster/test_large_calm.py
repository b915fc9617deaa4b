"""A large calm plan: what is left out, worked out ahead or kept elsewhere is as if it had been done at once."""

from __future__ import annotations

import numpy as np
import pytest

from simcluster.engine import MILLISECOND, SECOND, fork
from simcluster.models.apps.callgraph import application_of
from simcluster.models.traffic.cluster.engine import TICK_NS
from simcluster.models.traffic.cluster.evaluation import evaluate
from simcluster.models.traffic.cluster.margins import Margins
from simcluster.models.traffic.cluster.plain import PERIODS
from simcluster.models.traffic.cluster.queueing import Wait
from simcluster.models.traffic.cluster.reevaluation import Reevaluation
from simcluster.models.traffic.cluster.tension import margin_of
from simcluster.models.traffic.graph import spec_of
from tests.clusters.handmade import HandmadeCluster

PODS = 42


@pytest.fixture(scope="module")
def calm() -> HandmadeCluster:
    """Three services of many pods, one behind the other, under users."""
    call = {"timeout": "1s", "retries": {"attempts": 3}}
    services = {
        name: {
            "replicas": PODS,
            "blocking": False,
            "queue": {"bound": 100},
            "operations": {"op": {"work": "4ms", "steps": [{"call": {"service": behind, **call}}] if behind else []}},
        }
        for name, behind in (("a", "b"), ("b", "c"), ("c", ""))
    }
    load = {"users": {"target": "a", "open": {"rate": 1}}}
    cluster = HandmadeCluster(cores=4.0)
    cluster.catalog.add(application_of(spec_of({"name": "wide", "services": services, "load": load})))
    for name, behind in (("c", ""), ("b", "c"), ("a", "b")):
        cluster.service(name, 8080, ())
        env = {f"{behind.upper()}_ADDR": f"{behind}:8080"} if behind else {}
        for n in range(PODS):
            cluster.pod(f"{name}-{n}", f"registry.example.com/wide/{name}:v1", env=env, node=f"n{1 + n % 2}")
        cluster.service(name, 8080, tuple(f"{name}-{n}" for n in range(PODS)))
    cluster.run(3)
    cluster.traffic.add_users("people", "shop", "a", 8080, rps=300, timeout_ns=10 * SECOND)
    cluster.run(62)
    return cluster


def state(cluster: HandmadeCluster) -> list[tuple[object, ...]]:
    return [
        (s._arrivals, s._work, s._age, s.in_flight, s.wait, s.published, s.container.cpu_ns, s.container.memory_bytes)
        for s in cluster.traffic.servers.values()
    ]


def test_it_is_large_and_calm(calm: HandmadeCluster) -> None:
    traffic = calm.traffic
    assert traffic.strategy == "calm_arrays"
    assert traffic._fleet.averages.held.sum() == 3 * PODS


def test_looking_changes_nothing(calm: HandmadeCluster) -> None:
    seen, unseen = fork(calm), fork(calm)
    for _ in range(20):
        seen.run(3.1)
        state(seen)
        seen = fork(seen)
    for _ in range(20):
        unseen.run(3.1)
    assert state(seen) == state(unseen)


def test_counters_of_cpu_time_never_fall_and_are_never_late(calm: HandmadeCluster) -> None:
    cluster = fork(calm)
    containers = [server.container for server in cluster.traffic.servers.values()]
    began = before = sum(each.cpu_ns for each in containers)
    for _ in range(16):
        cluster.run(2.5)
        now = sum(each.cpu_ns for each in containers)
        assert now >= before + 2.5 * 300 * 3 * 4 * MILLISECOND * 0.7
        before = now
    assert before - began == pytest.approx(40 * 300 * 3 * 4 * MILLISECOND, rel=0.06)
    cluster.network.version += 1  # the next plan takes the counters over
    cluster.run(0.5)
    assert sum(each.cpu_ns for each in containers) >= before


def test_a_leak_goes_on(calm: HandmadeCluster) -> None:
    cluster = fork(calm)
    container = next(iter(cluster.traffic.servers.values())).container
    before = container.memory_bytes
    container.leak(200 << 20)
    cluster.run(30)
    grown = container.memory_bytes - before
    assert grown == pytest.approx(30 * 300 / PODS * 0.004 * (200 << 20), rel=0.3)


def test_periods_ahead_are_those_of_their_ticks(calm: HandmadeCluster) -> None:
    traffic = calm.traffic
    plain = traffic._plain
    assert plain is not None
    expected = plain._expected(traffic._planned, 5 * TICK_NS)
    ahead = plain._work_out(expected, 1000, 5)
    for number in range(PERIODS):
        alone = plain._work_out(expected, 1000 + 5 * number, 5)
        for mine, other in zip(ahead.period(1000 + 5 * number), alone.period(1000 + 5 * number), strict=True):
            assert np.array_equal(mine, other)
    assert not ahead.holds(expected, 1002, 5)
    assert not ahead.holds(expected, 1000 + 5 * PERIODS, 5)
    assert not ahead.holds([2.0 * each for each in expected], 1000, 5)


def test_only_what_can_have_changed_is_worked_out_again(calm: HandmadeCluster) -> None:
    cluster = fork(calm)
    plan = cluster.traffic._plan
    evaluate(plan)
    again = Reevaluation(plan)
    for row, refused in ((100, 0.0), (50, 0.25), (3, 0.0)):
        plan.servers[row].wait = Wait(3e7 * row, 1e15, 0.0)
        plan.servers[row].rejected = refused
        plan.servers[row].published += 1
    partly = again.again(plan)
    outcome = [(node.ok, node.latency, node.failures, node.stay_ns) for node in plan.nodes]
    wholly = evaluate(plan)
    assert outcome == [(node.ok, node.latency, node.failures, node.stay_ns) for node in plan.nodes]
    assert [partly[n] for n in range(len(plan.edges))] == [wholly[n] for n in range(len(plan.edges))]


def test_the_smallest_margin_is_that_of_the_edges(calm: HandmadeCluster) -> None:
    cluster = fork(calm)
    traffic = cluster.traffic
    plan = traffic._plan
    found = Margins(plan, traffic._fragile).smallest(plan, traffic._fleet)
    assert found == min(margin_of(plan, plan.edges[edge], TICK_NS) for edge in traffic._fragile)
    assert 1.0 < found < 1e6


def test_a_death_is_noticed_and_settled(calm: HandmadeCluster) -> None:
    cluster = fork(calm)
    cluster.run(7)
    victim = next(iter(cluster.traffic.servers.values()))
    used = victim.container.cpu_ns
    victim.container.kill()
    assert victim.container.cpu_ns >= used
    cluster.run(3)
    assert victim.container.cpu_ns >= used
    assert victim not in cluster.traffic._plan.servers
