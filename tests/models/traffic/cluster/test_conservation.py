"""Sent = succeeded + failed + under way, exactly, at every tick: of every client, and of every edge of every service.

Through calm, storms and the switches between them, kills, scale-downs, node deaths, restarts and users who go home.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from simcluster.engine import SECOND
from simcluster.models.apps.callgraph import PORT
from simcluster.models.traffic.cluster.nodes import EdgeKey
from simcluster.session import Sandbox, sandbox

TICK_NS = SECOND // 2


class Watch:
    """Counts what a sandbox's history tells, tick by tick, and compares it with what is under way."""

    def __init__(self, box: Sandbox) -> None:
        self.box = box
        self.seen_ns = box.world.now
        self.edges: dict[EdgeKey, int] = {}
        self.users: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.strategies: set[str] = set()

    def live(self, seconds: float) -> None:
        """Let time pass, and look after every tick."""
        for _ in range(int(seconds * 2)):
            self.box.wait("500ms")
            self.look()

    def look(self) -> None:
        world = self.box.world
        traffic, now = world.traffic, world.now
        self.strategies.add(traffic.strategy)
        for edge in traffic.history.between(self.seen_ns, now):
            assert edge.sent >= 0
            assert edge.ok >= 0
            assert all(count > 0 for count in edge.errors.values())
            left = self.edges.get(edge.key, 0) + edge.sent - edge.ok - sum(edge.errors.values())
            self.edges[edge.key] = left
        open_: dict[EdgeKey, int] = {}
        for key, count in zip(traffic._plan.layout, traffic.accounts.open.tolist(), strict=True):
            assert count >= 0, key
            open_[key] = open_.get(key, 0) + count
        assert {k: n for k, n in self.edges.items() if n} == {k: n for k, n in open_.items() if n}
        for tick in traffic.history.samples(self.seen_ns, now):
            for name, load in tick.detail.loads.items():
                failed = sum(count for _, count in load.failed)
                left = self.users.get(name, 0) + load.requests - load.ok - failed
                assert left == load.open >= 0, name
                assert load.attempts >= 0
                assert sum(part.requests for part in load.latencies) >= min(1, load.ok)
                self.users[name] = left
                self.most[name] = max(self.most.get(name, 0), left)
        for name, load in self.box.loads.items():
            whole = load.window("1h")
            assert whole.in_flight_before == 0
            assert whole.sent == whole.succeeded + whole.failed + whole.in_flight
            assert whole.in_flight == self.users.get(name, 0)
            assert 0.0 <= whole.success_ratio <= 1.0
        self.seen_ns = now


def graph(api: dict[str, Any], call: dict[str, Any], db: dict[str, Any]) -> dict[str, Any]:
    """Two services, the first of which calls the second."""
    step = {"call": {"service": "db", **call}}
    get = {"work": {"law": "exponential", "mean": "4ms"}, "steps": [step]}
    query = {"work": {"law": "exponential", "mean": "10ms"}}
    services = {"api": {"operations": {"get": get}, **api}, "db": {"operations": {"query": query}, **db}}
    return {"name": "pair", "services": services, "load": {"people": {"target": "api", "open": {"rate": 1}}}}


CASES = {
    "patient": (graph({"workers": 8}, {"timeout": "5s"}, {"workers": 1}), {"timeout": "10s"}),
    "retried": (
        graph({"replicas": 2, "workers": 20}, {"timeout": "200ms", "retries": {"attempts": 3}}, {"workers": 1}),
        {"timeout": "1s", "retries": {"attempts": 3, "backoff": {"base": "50ms", "jitter": "full"}}},
    ),
    "refused": (
        graph({"workers": 8, "queue": {"bound": 20}}, {"timeout": "1s"}, {"replicas": 2, "workers": 1}),
        {"timeout": "2s", "deadline": "4s", "retries": {"attempts": 2}, "clients": 3},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_vanishes_and_nothing_appears(case: str) -> None:
    spec, habits = CASES[case]
    box = sandbox(nodes=2, seed=len(case))
    box.deploy(spec)
    watch = Watch(box)
    load = box.load("api", rps=40, **habits)
    watch.live(10)
    load.rps = 400
    watch.live(5)
    load.rps = 40
    watch.live(5)
    box.kubectl("delete pod -l app=db --wait=false")
    watch.live(10)
    box.kubectl("scale deployment/api --replicas=3")
    watch.live(6)
    box.kubectl("scale deployment/api --replicas=1")
    watch.live(6)
    load.rps = 0.0
    watch.live(40)
    assert watch.most["default/api"] > 10
    assert watch.users == {"default/api": 0}
    assert "hot" in watch.strategies


def test_a_node_dies_and_users_go_home() -> None:
    spec, habits = CASES["patient"]
    box = sandbox(nodes=2, seed=4)
    box.deploy({**spec, "services": {**spec["services"], "api": {**spec["services"]["api"], "replicas": 2}}})
    watch = Watch(box)
    box.load("api", rps=30, **habits)
    users = box.load("db", rps=10, timeout="3s").users
    watch.live(10)
    assert "calm_walk" in watch.strategies
    box.world.machines["worker-1"].power.cut()
    watch.live(30)
    box.world.traffic.remove_users(users)
    watch.live(5)
    assert watch.users["default/db"] == 0


def test_users_who_seldom_ask_fail_as_seldom_as_all_others() -> None:
    spec, _ = CASES["patient"]
    box = sandbox(nodes=2, seed=3)
    box.deploy({**spec, "services": {**spec["services"], "api": {**spec["services"]["api"], "workers": 50}}})
    crowd, world = box.load("api", rps=97, timeout="10s"), box.world
    few = [
        world.traffic.add_users(f"few-{n}", "default", "api", PORT, rps=0.4, timeout_ns=10 * SECOND) for n in range(4)
    ]
    box.wait("20s")
    crowd.rps = 150
    box.wait("10s")
    assert world.traffic.strategy == "hot"
    crowd.rps = 20
    box.wait("30s")
    crowd.rps = 92
    box.wait("60s")
    assert crowd.window("3m").failed == 0
    seen = [users.window(0, world.now) for users in few]
    assert sum(each.sent for each in seen) > 100
    assert [each.failed for each in seen] == [0, 0, 0, 0]


@pytest.mark.parametrize("rho", [0.3, 0.7, 0.88])
def test_little_s_law_holds_for_users(rho: float) -> None:
    box = sandbox(nodes=1, seed=2)
    spec = graph({"workers": 1}, {"timeout": "5s"}, {"workers": 1})
    del spec["services"]["api"]["operations"]["get"]["steps"]
    del spec["services"]["db"]
    box.deploy(spec)
    load = box.load("api", rps=250 * rho)
    box.wait("20s")
    inside = []
    for _ in range(240):
        box.wait("500ms")
        inside.append(load.window("1s").in_flight)
    seen = load.window("2m")
    by_law = seen.sent / 120 * seen.mean_ms / 1000
    assert math.fsum(inside) / len(inside) == pytest.approx(by_law, rel=0.15, abs=0.2)
