"""What applications log of requests: as many lines as requests, the users' durations, nothing before its time."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from simcluster.engine import MILLISECOND, SECOND, fork
from simcluster.models.apps.openrequests import OpenRequests
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.telemetry.logs import LogLine
from tests.clusters.boutique import place_boutique
from tests.clusters.handmade import HandmadeCluster

STORE = "registry.example.com/storefront/"
GATEWAY, INVENTORY = r"info: GET \S+ 200 (\d+)ms", r"StockController .*: GET \S+ 200 (\d+)ms"
FRONTEND = r'"http.resp.took_ms":(\d+)'


def storefront(rps: float, timeout_ns: int = 10 * SECOND) -> tuple[HandmadeCluster, UserLoad]:
    cluster = HandmadeCluster()
    environments = {
        "inventory": {},
        "reviews": {},
        "catalog": {"INVENTORY_ADDR": "inventory:8080"},
        "gateway": {"CATALOG_ADDR": "catalog:8080", "REVIEWS_ADDR": "reviews:8080"},
    }
    tags = {"inventory": "v5.0.2", "reviews": "v1.0.7", "catalog": "v2.3.0", "gateway": "v2.3.0"}
    for name, env in environments.items():
        cluster.service(name, 8080, ())
        where, limit = ("n2", 1.0) if name == "inventory" else ("n1", None)
        env = {"PORT": "8080", **env}
        cluster.pod(name, f"{STORE}{name}:{tags[name]}", env=env, ports=(8080,), node=where, cpu_limit=limit)
    for name in environments:
        cluster.service(name, 8080, (name,))
    cluster.run(70)  # the inventory's code is compiled
    users = cluster.traffic.add_users("people", "shop", "gateway", rps=rps, mix={"page": 1}, timeout_ns=timeout_ns)
    cluster.run(20)
    return cluster, users


def boutique(rps: float) -> tuple[HandmadeCluster, UserLoad]:
    cluster = HandmadeCluster()
    place_boutique(cluster)
    cluster.run(20)
    users = cluster.traffic.add_users("people", "boutique", "frontend", rps=rps, mix={"product": 1})
    cluster.run(10)
    return cluster, users


def lines(cluster: HandmadeCluster, pod: str, since_ns: int) -> list[LogLine]:
    return cluster.container(pod).log.read(since_ns=since_ns)


def stated(cluster: HandmadeCluster, pod: str, since_ns: int, pattern: str) -> list[tuple[int, int]]:
    """Instant and duration (ms) of every line that states one."""
    found = [(line.t_ns, re.search(pattern, line.text)) for line in lines(cluster, pod, since_ns)]
    return [(t_ns, int(match[1])) for t_ns, match in found if match is not None]


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[int(share * len(values))]


@pytest.mark.parametrize(
    ("case", "rps", "pattern", "entry"),
    [(storefront, 30, GATEWAY, "gateway"), (storefront, 60, GATEWAY, "gateway"), (boutique, 15, FRONTEND, "frontend")],
)
def test_quantiles_of_the_log_are_those_of_the_users(case, rps: float, pattern: str, entry: str) -> None:  # type: ignore[no-untyped-def]
    cluster, users = case(rps)
    since = cluster.sim.now
    cluster.run(90)
    stats = users.window(since, cluster.sim.now)
    took = [ms for _, ms in stated(cluster, entry, since, pattern)]
    assert not cluster.traffic.is_hot
    assert len(took) == pytest.approx(stats.ok, abs=3 + 0.01 * stats.ok)
    # a millisecond is what the line cuts off, another the network's; n observations know p99 to some ten per cent
    for share, tolerance in ((0.5, 0.05), (0.9, 0.07), (0.99, 0.2)):
        assert quantile(took, share) == pytest.approx(stats.latency_ms(share), rel=tolerance, abs=2.0)


def test_a_hot_log_follows_the_queue() -> None:
    cluster, users = storefront(91)
    cluster.run(20)
    since = cluster.sim.now
    cluster.run(60)
    stats = users.window(since, cluster.sim.now)
    took = [ms for _, ms in stated(cluster, "gateway", since, GATEWAY)]
    assert cluster.traffic.is_hot
    assert len(took) == pytest.approx(stats.ok, rel=0.02)
    for share in (0.5, 0.9, 0.99):
        assert quantile(took, share) == pytest.approx(stats.latency_ms(share), rel=0.25)


def test_no_line_of_a_storm_states_more_time_than_has_passed() -> None:
    cluster, users = storefront(60)
    longest = max(ms for _, ms in stated(cluster, "inventory", 0, INVENTORY))
    struck = cluster.sim.now
    cluster.machines["n2"].cores = 0.1
    cluster.run(20)
    found = stated(cluster, "inventory", struck, INVENTORY) + stated(cluster, "gateway", struck, GATEWAY)
    assert max(ms for _, ms in found) > 5_000
    for t_ns, ms in found:
        assert ms <= (t_ns - struck) // MILLISECOND + longest
    errors = [line for line in lines(cluster, "gateway", struck) if " error: " in line.text]
    # four attempts of a second each, or the queue of 200 is full at once
    assert min(line.t_ns for line in errors) - struck > SECOND
    assert users.window(struck, cluster.sim.now).ok < 120


def test_what_was_read_once_is_the_beginning_of_what_is_read_later() -> None:
    cluster, _ = storefront(60)
    cluster.machines["n2"].cores = 0.3
    before: dict[str, list[LogLine]] = {}
    for step in range(12):
        cluster.run(0.7)
        if step == 6:
            cluster.machines["n2"].cores = 64.0
        for pod in ("gateway", "catalog", "inventory"):
            now = cluster.container(pod).log.read()
            assert now[: len(before.get(pod, []))] == before.get(pod, [])
            assert [line.t_ns for line in now] == sorted(line.t_ns for line in now)
            assert now[-1].t_ns <= cluster.sim.now
            assert cluster.container(pod).log.read(tail=7) == now[-7:]
            before[pod] = now


def test_a_log_of_a_busy_server_has_a_line_for_every_request_spread_over_its_ticks() -> None:
    cluster, _ = storefront(60)
    since = cluster.sim.now
    cluster.run(30)
    stamps = [t_ns for t_ns, _ in stated(cluster, "inventory", since, INVENTORY)]
    assert len(stamps) / 30 == pytest.approx(60, rel=0.1)
    phases = np.histogram(np.array(stamps) % (500 * MILLISECOND), bins=10, range=(0, 500 * MILLISECOND))[0]
    assert phases.min() > 0.7 * phases.mean()


def test_a_killed_server_leaves_no_end_of_what_it_was_doing() -> None:
    cluster, _ = storefront(60)
    cluster.machines["n2"].cores = 0.1
    cluster.run(5)
    died = cluster.sim.now
    container = cluster.container("gateway")
    before = container.log.read()
    cluster.remove("gateway")
    cluster.run(10)
    assert container.log.read() == before
    assert before[-1].t_ns <= died


def test_the_past_does_not_depend_on_the_future() -> None:
    cluster, _ = storefront(70)
    cluster.run(3)
    now = cluster.sim.now
    other = fork(cluster)
    other.remove("inventory")
    other.machines["n1"].cores = 0.05
    seen = []
    for each in (cluster, other):
        each.run(12)
        logs = {
            pod: [line for line in each.pods[pod].containers["server"].log.read() if line.t_ns <= now]
            for pod in ("gateway", "catalog", "reviews")
        }
        seen.append(
            (logs, list(each.traffic.history.between(0, now)), each.traffic.users["shop/people"].window(0, now))
        )
    assert seen[0] == seen[1]


def test_requests_that_end_were_there() -> None:
    inside = OpenRequests(0)
    begun, numbers = inside.begin(1, 0, 500, 40, 0)
    which, starts, ends, ended = inside.end(2, 0, 500, np.full(30, 100, dtype=np.int64))
    assert len(which) == len(starts) == 30
    assert set(ended.tolist()) < set(numbers.tolist())
    assert (ends > starts).all()
    assert (ends <= 500).all()
    assert np.median(ends - starts) == pytest.approx(100, abs=5)
    inside.begin(3, 500, 1000, 5, 40)
    _, later, _, _ = inside.end(4, 500, 1000, np.full(100, 700, dtype=np.int64))
    assert len(later) == 15  # no more than are there
    assert len(inside.starts) == 0
    assert set(later.tolist()) > set(begun.tolist()) - set(starts.tolist())


def test_who_is_known_to_be_there_is_kept_and_what_was_rounded_away_is_not() -> None:
    inside = OpenRequests(0)
    inside.begin(1, 0, SECOND, 10, 0)
    inside.forget(20 * SECOND, there=4)  # their callers wait longer than others have been seen to
    assert len(inside.starts) == 4
    inside.keep(1, 20 * SECOND)  # a few more say nothing, if requests may take so long
    assert len(inside.starts) == 4
    inside.keep(1, 20 * SECOND, SECOND)
    assert len(inside.starts) == 1
    inside.forget(20 * SECOND)
    assert not len(inside.starts)
