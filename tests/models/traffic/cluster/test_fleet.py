"""Many servers at once are accounted as each of them would be alone; few and slow requests are no trouble."""

from __future__ import annotations

import numpy as np
import pytest

from simcluster.engine import SECOND
from simcluster.models.apps.callgraph import application_of
from simcluster.models.traffic.cluster.distribution import NEVER, Late, Latency
from simcluster.models.traffic.cluster.fleet import Arrived, Fleet, Seen
from simcluster.models.traffic.cluster.server import Observed, Server
from simcluster.models.traffic.cluster.statistics import Containers, Latencies, PodRecord, PodTable
from simcluster.models.traffic.graph import spec_of
from tests.clusters.handmade import HandmadeCluster

TICK_NS = SECOND // 2
PODS = 6


def cluster_of(mean: str = "10ms", retries: int = 1) -> HandmadeCluster:
    """A service of several pods."""
    call = {"timeout": "10000s", "retries": {"attempts": retries}}
    web = {"replicas": PODS, "blocking": False, "queue": {"bound": 100}, "operations": {"op": {"work": mean}}}
    steps = [{"call": {"service": "web", **call}}]
    door = {"replicas": 1, "blocking": False, "operations": {"op": {"work": "1ms", "steps": steps}}}
    load = {"users": {"target": "door", "open": {"rate": 1}}}
    spec = spec_of({"name": "plain", "services": {"web": web, "door": door}, "load": load})
    cluster = HandmadeCluster(cores=1.0)
    cluster.catalog.add(application_of(spec))
    cluster.service("web", 8080, ())
    for n in range(PODS):
        cluster.pod(f"web-{n}", "registry.example.com/plain/web:v1", node=f"n{1 + n % 2}")
    cluster.service("web", 8080, tuple(f"web-{n}" for n in range(PODS)))
    cluster.pod("door-0", "registry.example.com/plain/door:v1", env={"WEB_ADDR": "web:8080"}, node="n1")
    cluster.service("door", 8080, ("door-0",))
    cluster.run(3)
    return cluster


def servers_of(cluster: HandmadeCluster) -> list[Server]:
    return [s for s in cluster.traffic.servers.values() if s.container.spec.pod_name.startswith("web")]


def state(server: Server) -> tuple[float, ...]:
    """Averages, what is published, and what the container used."""
    own = (server._arrivals, server._offered, server._work, server._square, server._age, server.in_flight)
    used = (server.container.cpu_ns, server.container.memory_bytes, server.container.throttled_ns)
    return (*own, server.wait.mean_ns, server.rejected, float(server.backlog_ns), *map(float, used))


COME = [
    [(40, 40e7, 30.0), (42, 42e7, 31.0), (3, 3e7, 1.0), (0.0, 0.0, 0.0), (55, 55e7, 60.0), (80, 80e7, 90.0)],
    [(45, 45e7, 33.0), (12, 12e7, 8.0), (90, 90e7, 99.0), (1, 1e7, 1.0), (55, 55e7, 60.0), (10, 10e7, 9.0)],
]


def test_arrivals_are_accounted_as_one_by_one() -> None:
    alone, together = (servers_of(cluster_of()) for _ in range(2))
    fleet = Fleet(together)
    fleet.meter()
    for ticks, come in ((1, COME[0]), (2, COME[1]), (5, COME[0])):
        work = [w for _, w, _ in come]
        square = [c * 2e14 for c, _, _ in come]
        busy = [b * 1e7 for _, _, b in come]
        for server, (count, cost, _), q, b in zip(alone, come, square, busy, strict=True):
            if count:
                server.advance(ticks * TICK_NS, int(count), int(cost), q, b, 0, ticks)
            else:
                server.settle(ticks * TICK_NS, ticks)
        fleet.averages.add(np.array(work) / 2.0)
        together[0].container.read_meter()  # half of it is known before all is accounted
        charged = fleet.averages.accounted(np.arange(PODS))
        given = (np.array([c for c, _, _ in come]), np.array(work), np.array(square), np.array(busy))
        fleet.advance(TICK_NS, np.arange(PODS), Arrived(np.full(PODS, ticks), *given, charged), 0.9)
        for one, other in zip(alone, together, strict=True):
            assert state(other) == pytest.approx(state(one), rel=1e-12)


def test_observations_are_accounted_as_one_by_one() -> None:
    alone, together = (servers_of(cluster_of()) for _ in range(2))
    fleet = Fleet(together)
    for number in range(4):
        rows = [
            Observed(40.0 + n, 38.0 + n * number, 2.0 * (n == 4), 38e7 + n, 5.0 * n * number, 0.8, 5e7 * n * number)
            for n in range(PODS)
        ]
        for server, row in zip(alone, rows, strict=True):
            server.observe(5 * TICK_NS, row, 5)
        columns = np.array([tuple(row) for row in rows]).T
        fleet.observe(5 * TICK_NS, Seen(*columns), np.arange(PODS), 5, 0.9)
        for one, other in zip(alone, together, strict=True):
            mine, theirs = state(other), state(one)
            assert mine[:6] + mine[8:] == pytest.approx(theirs[:6] + theirs[8:], rel=0.03)
            assert mine[6] == pytest.approx(theirs[6], rel=0.05, abs=4e4)  # changes nobody notices are not published


def test_cores_follow_limits_speed_and_neighbours() -> None:
    cluster = cluster_of()
    fleet = Fleet(list(cluster.traffic.servers.values()))
    expected = [server.container.cpu_cores() for server in fleet.servers]
    assert fleet.cores().tolist() == expected
    cluster.machines["n2"].cores = 0.3
    assert fleet.cores().tolist() == [server.container.cpu_cores() for server in fleet.servers] != expected


def test_few_long_requests_at_half_of_the_cpu_stay_calm() -> None:
    cluster = cluster_of(mean="1500ms", retries=3)
    cluster.traffic.add_users("people", "shop", "door", rps=2.0, timeout_ns=20_000 * SECOND)  # a third a second each
    hot = 0
    for _ in range(6):
        cluster.run(20)
        hot += cluster.traffic.is_hot
    assert hot == 0
    believed = sum(server.arrivals_per_s(TICK_NS) for server in servers_of(cluster))
    assert believed == pytest.approx(2.0, rel=0.25)  # of some hundred remembered requests at each
    cluster.traffic.users["shop/people"].rps = 12.0  # three times what they serve
    cluster.run(30)
    assert cluster.traffic.is_hot


def test_records_are_compact_and_complete() -> None:
    columns = (([3, 4], "q"), ([0.5, 1.0], "d"), ([0, 9], "q"))
    table = PodTable(Containers(["a", "b"]), *(np.array(numbers, kind).tobytes() for numbers, kind in columns))
    assert list(table.records()) == [PodRecord("a", 3, 0.5, 0), PodRecord("b", 4, 1.0, 9)]
    latencies = Latencies([1.0, 2.0], [0.5, 0.25])
    assert list(latencies) == [Latency(1.0, 0.5), Latency(2.0, 0.25)]
    assert latencies[1].variance == 0.25
    assert latencies == Latencies.of(list(latencies))
    lossy = Latencies.of([Latency(1.0, 0.5), Latency(2.0, 0.25, Late(0.01, 200.0, 50_000.0))])
    assert list(lossy) == [lossy[0], lossy[1]]
    assert (lossy[0].late, lossy[1].late) == (NEVER, Late(0.01, 200.0, 50_000.0))
    assert lossy != latencies
