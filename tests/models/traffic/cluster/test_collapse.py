"""Retry storms on hand-made clusters: they outlive their trigger, and end by the right remedies only."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from simcluster.engine import SECOND, Snapshot, fork
from simcluster.models.apps.behaviour import read_application
from simcluster.models.traffic.cluster.hot import HotTraffic
from simcluster.models.traffic.cluster.users import UserStats
from tests.clusters.handmade import HandmadeCluster

#: mu = 100 requests a second and pod of `db`; who calls it waits 1 s and tries 4 times in all.
APP = """
application: chain
users: {entry: web, rps: 10, mix: {page: 1}}
services:
  web:
    image: {repository: example.com/web, tags: [v1], size: 20M}
    program: web
    protocol: http
    client: http
    ports: [{number: 80}]
    operations:
      page:
        path: /
        work: {law: exponential, mean: 1ms}
        steps: [{call: {env: MID, operation: get, timeout: 5s}}]
  mid:
    image: {repository: example.com/mid, tags: [v1], size: 20M}
    program: mid
    protocol: http
    client: http
    ports: [{number: 80}]
    operations:
      get:
        path: /
        work: {law: exponential, mean: 1ms}
        steps: [{call: {env: DB, operation: query, timeout: 1s, retries: {attempts: 4}}}]
  db:
    image: {repository: example.com/db, tags: [v1], size: 20M}
    program: db
    protocol: http
    ports: [{number: 80}]
    workers: 1
    blocking: false
    queue: {bound: 400}
    operations: {query: {path: /, work: {law: exponential, mean: 10ms}}}
"""
PODS = 2
MU = 100.0 * PODS


def chain(rps: float, seed: int = 0, app: str = APP) -> HandmadeCluster:
    cluster = HandmadeCluster(seed)
    cluster.catalog.add(read_application(Path("chain.yaml"), app))
    for name in ("db", "mid", "web"):
        cluster.service(name, 80, ())
    for number in range(PODS):
        cluster.pod(f"db-{number}", "example.com/db:v1", node="n2")
        cluster.pod(f"mid-{number}", "example.com/mid:v1", env={"DB": "db:80"})
        cluster.pod(f"web-{number}", "example.com/web:v1", env={"MID": "mid:80"})
    for name in ("db", "mid", "web"):
        cluster.service(name, 80, tuple(f"{name}-{n}" for n in range(PODS)))
    cluster.run(2)
    cluster.traffic.add_users("people", "shop", "web", rps=rps)
    cluster.run(20)
    return cluster


def strike(cluster: HandmadeCluster, seconds: float = 10, cores: float = 0.1) -> None:
    """A neighbour takes the CPU of the databases' node for a while."""
    machine = cluster.machines["n2"]
    before, machine.cores = machine.cores, cores
    cluster.run(seconds)
    machine.cores = before


def seen(cluster: HandmadeCluster, seconds: int) -> UserStats:
    return cluster.traffic.users["shop/people"].window(cluster.sim.now - seconds * SECOND, cluster.sim.now)


def storm(cluster: HandmadeCluster) -> HotTraffic:
    """What counts its requests while it is hot."""
    found = cluster.traffic.hot
    assert found is not None
    return found


def calls(cluster: HandmadeCluster, host: str, seconds: int) -> int:
    found = cluster.traffic.history.between(cluster.sim.now - seconds * SECOND, cluster.sim.now)
    return sum(edge.sent for edge in found if edge.key.host == host)


def digest(cluster: HandmadeCluster) -> str:
    """All that traffic remembers, and what it did to the containers."""
    parts = [repr(list(cluster.traffic.history.samples(0, cluster.sim.now)))]
    for container, server in cluster.traffic.servers.items():
        parts.append(repr((container, server.wait, server.container.cpu_ns, server.container.memory_bytes)))
    if cluster.traffic.hot is not None:
        run = cluster.traffic.hot.live.engine
        parts += [repr(a.tobytes()) for a in (run.queues.number, run.callers.flying, run.outcomes.quality)]
    return hashlib.sha256("".join(parts).encode()).hexdigest()


@pytest.fixture(scope="module")
def collapsed() -> Snapshot[HandmadeCluster]:
    cluster = chain(0.6 * MU)
    strike(cluster)
    cluster.run(30)
    return Snapshot(cluster)


def test_a_healthy_chain_at_six_tenths_is_calm() -> None:
    cluster = chain(0.6 * MU)
    cluster.run(40)

    stats = seen(cluster, 40)

    assert not cluster.traffic.is_hot
    assert stats.ok > 0.999 * stats.sent
    assert calls(cluster, "db", 40) == pytest.approx(stats.sent, rel=0.01)


def test_the_storm_outlives_its_trigger_with_four_attempts_a_request(collapsed: Snapshot[HandmadeCluster]) -> None:
    cluster = collapsed.restore()
    cluster.run(60)

    stats = seen(cluster, 40)

    assert cluster.traffic.is_hot
    assert stats.ok < 0.05 * stats.sent
    assert calls(cluster, "db", 40) / stats.sent == pytest.approx(4.0, rel=0.03)
    assert calls(cluster, "mid", 40) == pytest.approx(stats.sent, rel=0.03)
    assert stats.errors.keys() <= {"5xx", "timeout"}
    queues = [q for t, q in cluster.traffic.history.queues(cluster.sim.now - SECOND, cluster.sim.now)]
    assert max(q.waiting for q in queues if "db" in q.container_id) > 100  # mu T = 100 in front of it: all too late


def test_a_short_trigger_is_forgotten() -> None:
    cluster = chain(0.6 * MU)
    strike(cluster, 0.5)
    cluster.run(60)

    assert not cluster.traffic.is_hot
    assert seen(cluster, 20).ok > 0.99 * seen(cluster, 20).sent


def test_shedding_ends_it_only_below_mu_over_n(collapsed: Snapshot[HandmadeCluster]) -> None:
    goodput = {}
    for share in (0.32, 0.18):  # mu/4 = 0.25 mu
        cluster = collapsed.restore()
        cluster.traffic.users["shop/people"].rps = share * MU
        cluster.run(60)
        stats = seen(cluster, 20)
        goodput[share] = stats.ok / stats.sent

    assert goodput[0.32] < 0.2
    assert goodput[0.18] > 0.98


def test_users_who_come_back_after_the_shedding_are_served(collapsed: Snapshot[HandmadeCluster]) -> None:
    cluster = collapsed.restore()
    users = cluster.traffic.users["shop/people"]
    users.rps = 0.1 * MU
    cluster.run(40)
    users.rps = 0.6 * MU
    cluster.run(30)

    assert seen(cluster, 20).ok > 0.99 * seen(cluster, 20).sent
    assert not cluster.traffic.is_hot


def test_restarting_one_pod_does_not_end_it_restarting_all_at_once_does(collapsed: Snapshot[HandmadeCluster]) -> None:
    one, all_ = collapsed.restore(), collapsed.restore()
    one.remove("db-0")
    one.pod("db-2", "example.com/db:v1", node="n2")
    one.service("db", 80, ("db-1", "db-2"))
    for name in ("web", "mid", "db"):
        for number in range(PODS):
            all_.remove(f"{name}-{number}")
    for number in range(PODS):
        all_.pod(f"db-{number + 5}", "example.com/db:v1", node="n2")
        all_.pod(f"mid-{number + 5}", "example.com/mid:v1", env={"DB": "db:80"})
        all_.pod(f"web-{number + 5}", "example.com/web:v1", env={"MID": "mid:80"})
    all_.run(2)
    for name in ("db", "mid", "web"):
        all_.service(name, 80, tuple(f"{name}-{n + 5}" for n in range(PODS)))
    for cluster in (one, all_):
        cluster.run(60)

    assert seen(one, 20).ok < 0.1 * seen(one, 20).sent
    assert seen(all_, 20).ok > 0.99 * seen(all_, 20).sent


def test_an_end_that_refused_is_forgotten_with_it_also_when_pods_change(collapsed: Snapshot[HandmadeCluster]) -> None:
    cluster = collapsed.restore()
    cluster.pod("deaf", "example.com/deaf:v1", node="n2", ports=(81,))
    cluster.service("db", 80, ("db-0", "db-1", "deaf"))
    cluster.run(3)
    assert storm(cluster).live.engine.cuts.refused_share.max() == pytest.approx(1 / 3)
    cluster.remove("deaf")
    cluster.remove("db-0")
    cluster.pod("db-2", "example.com/db:v1", node="n2")
    cluster.service("db", 80, ("db-1", "db-2"))
    cluster.run(3)

    assert not storm(cluster).live.engine.cuts.refused_share.any()


def test_a_killed_pod_loses_its_queue_and_its_callers_hear_of_it(collapsed: Snapshot[HandmadeCluster]) -> None:
    cluster = collapsed.restore()
    before = storm(cluster).live.waiting("id-db-0")
    cluster.remove("db-0")
    cluster.pod("db-2", "example.com/db:v1", node="n2")
    cluster.service("db", 80, ("db-1", "db-2"))
    cluster.run(1)

    errors = [e.errors for e in cluster.traffic.history.between(cluster.sim.now - SECOND, cluster.sim.now)]

    assert before > 100
    assert storm(cluster).live.waiting("id-db-2") < 0.75 * before
    assert any("5xx" in e or "reset" in e for e in errors)
    assert "id-db-0" not in storm(cluster).live.engine.layout.pod_names


def test_a_probe_of_a_saturated_pod_times_out(collapsed: Snapshot[HandmadeCluster]) -> None:
    cluster = collapsed.restore()
    server = cluster.traffic.servers["id-db-0"]

    assert server.delay_ns(500_000) > SECOND
    assert cluster.traffic.servers["id-web-0"].delay_ns(500_000) < SECOND
    assert cluster.traffic.try_request("n1", "shop", "db", 80).delay_ns > SECOND


def test_cpu_is_used_up_by_requests_nobody_waits_for(collapsed: Snapshot[HandmadeCluster]) -> None:
    cluster = collapsed.restore()
    before = cluster.container("db-0").cpu_ns
    cluster.run(20)

    assert (cluster.container("db-0").cpu_ns - before) / (20 * SECOND) == pytest.approx(1.0, rel=0.05)


def test_a_fork_of_a_collapse_has_the_same_future(collapsed: Snapshot[HandmadeCluster]) -> None:
    cluster = collapsed.restore()
    twin = fork(cluster)
    for each in (cluster, twin):
        each.run(3.3)
        each.remove("mid-0")
        each.service("mid", 80, ("mid-1",))
        each.run(10)

    assert list(cluster.traffic.history.between(0, cluster.sim.now)) == list(
        twin.traffic.history.between(0, twin.sim.now)
    )
    assert digest(cluster) == digest(twin)


def test_looking_changes_nothing_while_collapsed(collapsed: Snapshot[HandmadeCluster]) -> None:
    plain, watched = collapsed.restore(), collapsed.restore()
    for cluster in (plain, watched):
        for _ in range(5):
            cluster.run(1.3)
            if cluster is watched:
                seen(cluster, 5)
                cluster.traffic.try_request("n1", "shop", "web", 80)
                cluster.container("mid-0").log.read(tail=5)

    assert digest(plain) == digest(watched)


@pytest.mark.parametrize("seeds", [("1", "2")])
def test_hash_seeds_do_not_matter(seeds: tuple[str, ...]) -> None:
    code = (
        "import importlib.util as u; s = u.spec_from_file_location('t', FILE); m = u.module_from_spec(s)\n"
        "s.loader.exec_module(m); c = m.chain(120.0); m.strike(c, 6); c.run(6); print(c.traffic.is_hot, m.digest(c))"
    ).replace("FILE", repr(__file__))
    found = {}
    for seed in seeds:
        environment = {"PYTHONHASHSEED": seed, "PATH": ""}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        found[done.stdout] = None

    assert len(found) == 1
    assert next(iter(found)).startswith("True")


def test_a_spike_of_users_ends_by_itself() -> None:
    cluster = chain(0.2 * MU)
    users = cluster.traffic.users["shop/people"]
    cluster.traffic.schedule_rate(users, 0.5 * MU, 5 * SECOND, 5 * SECOND)
    rates = []
    for _ in range(3):
        cluster.run(4.9)
        rates.append(users.rps)

    assert rates == [0.2 * MU, 0.5 * MU, 0.2 * MU]


def test_users_who_come_during_a_storm_are_in_it(collapsed: Snapshot[HandmadeCluster]) -> None:
    cluster = collapsed.restore()
    others = cluster.traffic.add_users("others", "shop", "web", rps=0.0)
    closed = cluster.traffic.add_users("waiting", "shop", "web", rps=5.0, concurrency=10)
    cluster.run(5)
    others.rps = 10.0
    closed.rps = 6.0
    cluster.run(30)

    stats = others.window(cluster.sim.now - 20 * SECOND, cluster.sim.now)
    assert stats.sent == pytest.approx(200, rel=0.3)
    assert stats.ok < 0.1 * stats.sent
    assert 0 < closed.window(cluster.sim.now - 20 * SECOND, cluster.sim.now).sent < 120


def test_a_server_without_a_queue_refuses_what_it_cannot_serve() -> None:
    cluster = HandmadeCluster(nodes=1, cores=1.0)
    app = APP.replace("queue: {bound: 400}", "queue: {bound: 0}")
    cluster.catalog.add(read_application(Path("chain.yaml"), app))
    cluster.service("db", 80, ())
    cluster.pod("db-0", "example.com/db:v1")
    cluster.service("db", 80, ("db-0",))
    cluster.run(2)
    users = cluster.traffic.add_users("people", "shop", "db", rps=300.0)
    cluster.run(30)
    stats = users.window(cluster.sim.now - 10 * SECOND, cluster.sim.now)
    assert 0.2 * stats.sent < stats.ok < 0.5 * stats.sent


def test_a_store_behind_a_cut_way_serves_nobody_though_its_callers_are_patient() -> None:
    """Who asks gives up before the call to the store does: nobody has told him that it hangs."""
    cluster = chain(20.0, app=APP.replace("timeout: 1s, retries: {attempts: 4}", "timeout: 8s"))
    cluster.traffic.users["shop/people"].rps = 0.6 * MU
    strike(cluster, 2)  # queues are followed from now on
    ends = [[cluster.pods[f"{name}-{number}"].address for number in range(PODS)] for name in ("mid", "db")]
    cluster.network.links.partition("cut", *ends)
    cluster.run(1)
    began = cluster.sim.now
    cluster.run(15)
    assert cluster.traffic.strategy == "hot"
    ok = dict.fromkeys(("web", "mid", "db"), 0)
    failed = dict(ok)
    for edge in cluster.traffic.history.between(began, cluster.sim.now):
        ok[edge.key.host] += edge.ok
        failed[edge.key.host] += sum(edge.errors.values())
    assert ok == {"web": 0, "mid": 0, "db": 0}
    assert min(failed.values()) > 500
    assert (seen(cluster, 15).ok, seen(cluster, 1).ok) == (0, 0)
    cluster.network.links.heal("cut")
    cluster.run(20)
    assert seen(cluster, 5).ok > 0.95 * seen(cluster, 5).ended > 100
