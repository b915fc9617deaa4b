"""The tick engine on hand-made clusters: conservation, failures, routes, load."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND, fork
from simcluster.models.traffic.cluster.users import UserLoad, UserStats
from tests.clusters.handmade import HandmadeCluster

IMAGE = "registry.example.com/shop/any"


def shop(seed: int = 0, **front: float) -> HandmadeCluster:
    """`front` calls `back`; nobody described either."""
    cluster = HandmadeCluster(seed)
    cluster.service("front", 80, ())
    cluster.service("back", 80, ())
    cluster.pod("back-1", IMAGE, ports=(80,), node="n2")
    cluster.pod("front-1", IMAGE, ports=(80,), env={"BACK": "back:80"}, cpu_limit=front.get("cpu_limit"))
    cluster.service("front", 80, ("front-1",))
    cluster.service("back", 80, ("back-1",))
    cluster.run(5)
    return cluster


def last(cluster: HandmadeCluster, users: UserLoad, seconds: int) -> UserStats:
    return users.window(cluster.sim.now - seconds * SECOND, cluster.sim.now)


def test_users_are_served_and_everything_sent_is_accounted_for() -> None:
    cluster = shop()
    users = cluster.traffic.add_users("people", "shop", "front", rps=40)
    cluster.run(60)

    stats = last(cluster, users, 60)

    assert stats.sent == pytest.approx(2400, rel=0.1)
    assert (stats.ok + stats.in_flight, stats.failed, stats.errors) == (stats.sent, 0, {})
    edges = list(cluster.traffic.history.between(0, cluster.sim.now))
    inner = sum(e.sent for e in edges if e.key.host == "back")
    assert inner == stats.sent
    assert 0 < stats.latency_ms_p50 < stats.latency_ms_p95 < stats.latency_ms_p99 < 50


def test_cpu_follows_the_load() -> None:
    cluster = shop()
    cluster.traffic.add_users("people", "shop", "front", rps=50)
    cluster.run(5)
    before = cluster.container("back-1").cpu_ns
    cluster.run(60)

    cores = (cluster.container("back-1").cpu_ns - before) / (60 * SECOND)

    assert cores == pytest.approx(50 * 0.002 + 0.001, rel=0.1)  # 2 ms a request, and idle


def test_requests_of_one_server_wait_as_in_a_queue() -> None:
    cluster = HandmadeCluster(nodes=1, cores=1.0)
    cluster.service("one", 80, ())
    cluster.pod("one-1", IMAGE, ports=(80,))
    cluster.service("one", 80, ("one-1",))
    users = cluster.traffic.add_users("people", "shop", "one", rps=400)  # 2 ms each: utilisation 0.8
    cluster.run(60)

    edges = list(cluster.traffic.history.between(20 * SECOND, cluster.sim.now))
    mean_ms = cluster.traffic.history.summary(edges).latency_ms_mean

    assert mean_ms == pytest.approx(2.0 / (1.0 - 0.801) + 0.06, rel=0.15)
    assert last(cluster, users, 30).failed == 0


@pytest.mark.parametrize("replicas", [2, 5])
def test_backends_share_the_load(replicas: int) -> None:
    cluster = HandmadeCluster()
    names = tuple(f"web-{i}" for i in range(replicas))
    for index, name in enumerate(names):
        cluster.pod(name, IMAGE, ports=(8080,), node=f"n{index % 2 + 1}")
    cluster.service("web", 80, names, target=8080)
    cluster.run(1)
    cluster.traffic.add_users("people", "shop", "web", rps=100)
    before = {name: cluster.container(name).cpu_ns for name in names}
    cluster.run(60)

    for name in names:
        work = cluster.container(name).cpu_ns - before[name] - 60 * SECOND // 1000
        assert work / 2_000_000 == pytest.approx(6000 / replicas, rel=0.1)


def test_a_service_without_endpoints_refuses() -> None:
    cluster = shop()
    users = cluster.traffic.add_users("people", "shop", "front", rps=20)
    cluster.service("front", 80, ())
    cluster.run(10)

    stats = last(cluster, users, 10)

    assert stats.ok == 0
    assert stats.errors == {"refused": stats.sent}


def test_what_is_missing_behind_comes_back_as_an_error_of_the_front() -> None:
    cluster = shop()
    users = cluster.traffic.add_users("people", "shop", "front", rps=20)
    cluster.service("back", 80, ())
    cluster.run(10)

    stats = last(cluster, users, 9)

    assert stats.ok == 0
    assert stats.errors == {"5xx": stats.sent}
    inner = [
        e
        for e in cluster.traffic.history.between(cluster.sim.now - 5 * SECOND, cluster.sim.now)
        if e.key.pod == "front-1"
    ]
    assert all(e.errors == {"refused": e.sent} for e in inner)


def test_a_name_that_is_gone_does_not_resolve() -> None:
    cluster = shop()
    users = cluster.traffic.add_users("people", "shop", "front", rps=20)
    cluster.network.set_name("front.shop.svc.cluster.local", None)
    cluster.run(10)

    assert last(cluster, users, 9).errors.keys() == {"no such host"}
    assert cluster.traffic.try_request("n1", "shop", "front", 80).outcome == "no such host"


def test_a_stale_rule_sends_part_of_the_requests_to_a_dead_pod() -> None:
    cluster = shop()
    cluster.pod("front-2", IMAGE, ports=(80,))
    cluster.service("front", 80, ("front-1", "front-2"))
    users = cluster.traffic.add_users("people", "shop", "front", rps=40)
    cluster.run(2)
    cluster.remove("front-2")
    cluster.run(20)

    stats = last(cluster, users, 19)

    assert stats.errors.keys() == {"timeout"}
    assert stats.success_ratio == pytest.approx(0.65, abs=0.08)  # of the first ten seconds no failure is known yet
    assert stats.in_flight_before + stats.sent == stats.ok + stats.failed + stats.in_flight


def test_a_process_that_does_not_listen_there_refuses() -> None:
    cluster = shop()
    users = cluster.traffic.add_users("people", "shop", "front", rps=20)
    cluster.service("front", 80, ("front-1",), target=8081)
    cluster.run(10)

    assert last(cluster, users, 9).errors.keys() == {"refused"}
    assert cluster.traffic.try_request("n1", "shop", "front", 80).outcome == "refused"


def test_a_cpu_limit_far_too_low_collapses_the_service_and_its_caller() -> None:
    cluster = shop()
    users = cluster.traffic.add_users("people", "shop", "front", rps=30)
    cluster.run(10)
    cluster.remove("back-1")
    cluster.pod("back-2", IMAGE, ports=(80,), cpu_limit=0.02)
    cluster.run(12)  # 100 ms of start-up work at 0.02 cores
    cluster.service("back", 80, ("back-2",))
    cluster.run(60)

    stats = last(cluster, users, 30)

    assert stats.ok < 0.1 * stats.sent
    assert stats.errors.keys() <= {"5xx", "timeout"}
    back = cluster.container("back-2")
    assert back.throttled_ns > 0.9 * 60 * SECOND
    probe = cluster.traffic.try_request("n1", "shop", "back", 80)
    assert probe.delay_ns > 3 * SECOND


def test_too_much_load_is_felt_and_goes_away_with_it() -> None:
    cluster = HandmadeCluster(nodes=1, cores=1.0)
    cluster.pod("one-1", IMAGE, ports=(80,))
    cluster.service("one", 80, ("one-1",))
    cluster.run(2)
    users = cluster.traffic.add_users("people", "shop", "one", rps=100)
    cluster.run(10)
    users.rps = 1500.0
    cluster.run(30)
    overloaded = last(cluster, users, 10)
    users.rps = 100.0
    cluster.run(60)

    assert overloaded.ok < 0.75 * overloaded.sent
    assert overloaded.errors.keys() <= {"timeout", "reset"}
    assert last(cluster, users, 20).failed == 0


def test_users_who_wait_for_their_answers_ask_less_of_a_slow_service() -> None:
    cluster = HandmadeCluster(nodes=1, cores=0.05)
    cluster.pod("slow-1", IMAGE, ports=(80,))
    cluster.service("slow", 80, ("slow-1",))
    cluster.run(10)
    users = cluster.traffic.add_users("people", "shop", "slow", rps=50, concurrency=20)
    cluster.run(120)

    stats = last(cluster, users, 60)

    assert stats.sent / 60 < 32  # 24 a second is all it can do
    assert stats.ok > 0.5 * stats.sent


def test_two_servers_that_name_each_other_do_not_call_for_ever() -> None:
    cluster = HandmadeCluster()
    cluster.service("a", 80, ())
    cluster.service("b", 80, ())
    cluster.pod("a-1", IMAGE, ports=(80,), env={"B": "http://b:80/x", "SELF": "a:80"})
    cluster.pod("b-1", IMAGE, ports=(80,), env={"A": "http://a"})
    cluster.service("a", 80, ("a-1",))
    cluster.service("b", 80, ("b-1",))
    users = cluster.traffic.add_users("people", "shop", "a", rps=10)
    cluster.run(20)

    stats = last(cluster, users, 10)

    assert stats.ok == stats.sent > 0


def test_equal_seeds_give_equal_days_and_a_fork_has_the_same_future() -> None:
    first, second = shop(3), shop(3)
    for cluster in (first, second):
        cluster.traffic.add_users("people", "shop", "front", rps=33)
        cluster.run(7)
    twin = fork(first)
    for cluster in (first, second, twin):
        cluster.service("back", 80, ())
        cluster.run(10)
        cluster.service("back", 80, ("back-1",))
        cluster.run(20)

    seen = [
        (
            list(c.traffic.history.between(0, c.sim.now)),
            c.container("front-1").cpu_ns,
            c.container("front-1").log.read(),
        )
        for c in (first, second, twin)
    ]
    assert seen[0] == seen[1] == seen[2]
    assert shop(4).traffic is not None


def test_looking_changes_nothing() -> None:
    plain, watched = shop(5), shop(5)
    for cluster in (plain, watched):
        users = cluster.traffic.add_users("people", "shop", "front", rps=33)
        for _ in range(10):
            cluster.run(1.3)
            if cluster is watched:
                users.window(0, cluster.sim.now)
                cluster.traffic.try_request("n1", "shop", "front", 80)
                cluster.container("front-1").log.read(tail=5)
    before = [list(c.traffic.history.between(0, c.sim.now)) for c in (plain, watched)]

    assert before[0] == before[1]
    assert plain.container("back-1").cpu_ns == watched.container("back-1").cpu_ns


def test_more_users_move_no_draw_of_the_others() -> None:
    alone, crowd = shop(6), shop(6)
    for cluster in (alone, crowd):
        cluster.traffic.add_users("people", "shop", "front", rps=20)
    crowd.traffic.add_users("others", "shop", "back", rps=5)
    counts = []
    for cluster in (alone, crowd):
        cluster.run(20)
        counts.append([e.sent for e in cluster.traffic.history.between(0, cluster.sim.now) if e.key.pod == "people"])

    assert counts[0] == counts[1]


def test_names_of_users_are_unique() -> None:
    cluster = shop()
    load = cluster.traffic.add_users("people", "shop", "front", rps=20)

    with pytest.raises(ValueError, match="users shop/people exist already"):
        cluster.traffic.add_users("people", "shop", "front")
    cluster.traffic.remove_users(load)
    cluster.run(2)
    assert last(cluster, load, 1).sent == 0
