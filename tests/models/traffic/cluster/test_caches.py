"""Caches and messages of applications in a cluster: as in bare graphs, while calm and in storms."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.engine import SECOND, Snapshot, fork
from simcluster.models.apps.callgraph import PORT, REPOSITORY, application_of, enter
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import GraphSpec, spec_of
from simcluster.models.traffic.graph.service import variable_of
from tests.clusters.handmade import HandmadeCluster
from tests.clusters.spannotes import SpanNotes, servers

#: A database of 60 queries a second behind a cache that hits nine times in ten.
LOOK_ASIDE: dict[str, Any] = {
    "name": "aside",
    "run": {"duration": "10m"},
    "services": {
        "app": {
            "workers": None,
            "replicas": 2,
            "caches": {"items": {"keys": 2000, "popularity": "uniform", "capacity": 1800}},
            "operations": {
                "read": {
                    "steps": [{"cached": {"cache": "items", "miss": [{"call": {"service": "db", "timeout": "1s"}}]}}]
                }
            },
        },
        "db": {
            "workers": 4,
            "queue": {"bound": 120},
            "operations": {"query": {"work": {"law": "exponential", "mean": "66.7ms"}}},
        },
    },
    "load": {"users": {"target": "app", "open": {"rate": 300}, "call": {"timeout": "5s"}}},
}


def placed(graph: dict[str, Any], rate: float | None = None) -> HandmadeCluster:
    """A graph whose pods all run, and its loads."""
    data = {**graph, "load": {**graph["load"]}}
    if rate is not None:
        data["load"]["users"] = {**graph["load"]["users"], "open": {"rate": rate}}
    spec = spec_of(data)
    cluster = HandmadeCluster()
    cluster.catalog.add(application_of(spec))
    pods = pods_of(spec)
    for name in spec.services:
        cluster.service(name, PORT, ())
    env = {variable_of(name): f"{name}:{PORT}" for name in spec.services}
    for name, names in pods.items():
        for pod in names:
            cluster.pod(pod, f"{REPOSITORY}/{spec.name}/{name}:v1", env=env)
        cluster.service(name, PORT, names)
    cluster.run(3)
    enter(cluster.traffic, spec, "shop")
    cluster.run(20)
    return cluster


def pods_of(spec: GraphSpec) -> dict[str, tuple[str, ...]]:
    return {name: tuple(f"{name}-{n}" for n in range(service.replicas)) for name, service in spec.services.items()}


def calls(cluster: HandmadeCluster, host: str, seconds: float) -> tuple[float, float]:
    """Calls a second to a host, and the share that was answered."""
    found = list(cluster.traffic.history.between(cluster.sim.now - int(seconds * SECOND), cluster.sim.now))
    sent = sum(edge.sent for edge in found if edge.key.host == host)
    return sent / seconds, sum(edge.ok for edge in found if edge.key.host == host) / max(1, sent)


def served(cluster: HandmadeCluster, seconds: int) -> float:
    """Share of the users' requests that succeeded."""
    stats = cluster.traffic.users["shop/users"].window(cluster.sim.now - seconds * SECOND, cluster.sim.now)
    return stats.success_ratio


def hit_rate(cluster: HandmadeCluster) -> float:
    caches = cluster.traffic.caches
    return caches.hit_rate(caches.find("shop", "app", "items"))


@pytest.fixture(scope="module")
def calm() -> Snapshot[HandmadeCluster]:
    return Snapshot(placed(LOOK_ASIDE))


def test_a_calm_cache_keeps_nine_requests_in_ten_from_the_database(calm: Snapshot[HandmadeCluster]) -> None:
    cluster = calm.restore()
    cluster.run(30)

    rate, answered = calls(cluster, "db", 30)
    assert not cluster.traffic.is_hot
    assert hit_rate(cluster) == pytest.approx(0.9, abs=0.01)
    assert rate == pytest.approx(30, rel=0.1)
    assert answered == pytest.approx(1.0, abs=0.01)  # but for those under way at the end
    assert served(cluster, 30) == 1.0
    notes = SpanNotes(cluster.traffic)
    cluster.run(20)
    visits = [len(servers(spans)) for spans in notes.whole()[:-20]]
    assert set(visits) == {1, 2}
    assert visits.count(2) / len(visits) == pytest.approx(0.1, abs=0.06)


def test_a_flush_overloads_the_database_for_good(calm: Snapshot[HandmadeCluster]) -> None:
    cluster = calm.restore()
    cluster.traffic.flush_cache("shop", "app", "items")
    cluster.run(30)

    rate, answered = calls(cluster, "db", 10)
    assert cluster.traffic.is_hot
    assert rate > 3 * 60
    assert answered < 0.1
    assert hit_rate(cluster) < 0.3
    run = {"duration": "50s", "window": "10s"}
    events = [{"at": "20s", "flush": {"service": "app", "cache": "items"}}]
    exact = ExactRun(spec_of({**LOOK_ASIDE, "run": run, "events": events}), 1).run()
    last = exact.load["users"][-1]
    assert served(cluster, 10) == pytest.approx(last.ok / last.arrivals, abs=0.1)


def test_a_database_that_carries_the_load_alone_fills_the_cache_again() -> None:
    cluster = placed(LOOK_ASIDE, 50)
    cluster.traffic.flush_cache("shop", "app", "items")
    assert hit_rate(cluster) == 0.0
    cluster.run(60)

    assert hit_rate(cluster) > 0.6
    assert served(cluster, 30) > 0.99


def test_less_load_ends_the_storm_and_a_fork_goes_the_same_way(calm: Snapshot[HandmadeCluster]) -> None:
    cluster = calm.restore()
    cluster.traffic.flush_cache("shop", "app", "items")
    cluster.run(20)
    twin = fork(cluster)
    for each in (cluster, twin):
        each.traffic.users["shop/users"].rps = 40.0
        each.run(30)

    assert served(cluster, 10) > 0.99
    assert hit_rate(cluster) == hit_rate(twin) > 0.3
    assert calls(cluster, "db", 20) == calls(twin, "db", 20)


def test_a_new_pod_brings_an_empty_cache_if_it_is_its_own() -> None:
    graph = {**LOOK_ASIDE, "services": {**LOOK_ASIDE["services"]}}
    app = graph["services"]["app"]
    graph["services"]["app"] = {**app, "caches": {"items": {**app["caches"]["items"], "shared": False}}}
    cluster = placed(graph, 50)
    before = hit_rate(cluster)
    cluster.remove("app-1")
    env = {variable_of("db"): f"db:{PORT}"}
    cluster.pod("app-2", f"{REPOSITORY}/aside/app:v1", env=env)
    cluster.service("app", PORT, ("app-0", "app-2"))
    cluster.run(1)

    assert hit_rate(cluster) == pytest.approx(before / 2, abs=0.05)


EXPONENTIAL = {"law": "exponential", "mean": "5ms"}
MAIL: dict[str, Any] = {
    "name": "mail",
    "services": {
        "shop": {
            "workers": None,
            "operations": {"buy": {"work": "1ms", "steps": [{"send": {"service": "post"}}]}},
        },
        "post": {
            "queue": {"bound": 100},
            "operations": {"mail": {"work": EXPONENTIAL, "steps": [{"send": {"service": "log"}}]}},
        },
        "log": {
            "workers": 4,
            "operations": {"note": {"work": "1ms"}, "tell": {"work": "1ms", "steps": [{"send": {"service": "shop"}}]}},
        },
    },
    "load": {"users": {"target": "shop", "open": {"rate": 100}, "call": {"timeout": "1s"}}},
}  # fmt: skip


def test_messages_are_delivered_and_nobody_waits_for_them() -> None:
    cluster = placed(MAIL)
    cluster.run(30)

    for host in ("post", "log"):
        assert calls(cluster, host, 30)[0] == pytest.approx(100, rel=0.08)
    stats = cluster.traffic.users["shop/users"].window(cluster.sim.now - 30 * SECOND, cluster.sim.now)
    assert stats.latency_ms_p50 < 2.0
    assert served(cluster, 30) == 1.0


def test_messages_that_nobody_takes_are_lost_without_a_word() -> None:
    cluster = placed(MAIL)
    cluster.traffic.users["shop/users"].rps = 400.0
    cluster.run(20)

    assert cluster.traffic.is_hot
    assert served(cluster, 10) > 0.999
    assert calls(cluster, "post", 10)[0] == pytest.approx(400, rel=0.05)
    assert calls(cluster, "log", 10)[0] == pytest.approx(200, rel=0.1)
    cluster.remove("post-0")
    cluster.run(10)
    assert served(cluster, 5) > 0.98  # answers of a leap are means, requests are drawn


def test_circles_of_messages_go_on() -> None:
    branch = {"probability": 0.5, "steps": [{"send": {"service": "log", "operation": "tell"}}]}
    post = {**MAIL["services"]["post"], "operations": {"mail": {"work": "1ms", "steps": [{"choose": [branch]}]}}}
    cluster = placed({**MAIL, "services": {**MAIL["services"], "post": post}})
    cluster.run(30)

    # shop -> post -> (half) log -> shop: every order makes two messages to the post in all
    assert calls(cluster, "post", 25)[0] == pytest.approx(200, rel=0.08)
    assert calls(cluster, "log", 25)[0] == pytest.approx(100, rel=0.1)
