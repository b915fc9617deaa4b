"""Described services: retries, deadlines, degradation, counts, protocols."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster.engine import SECOND
from simcluster.models.apps.behaviour import read_application
from simcluster.models.traffic.cluster.statistics import EdgeStats
from tests.clusters.handmade import HandmadeCluster

WEB = """\
application: tiny
users: {{entry: web, rps: 10, mix: {{page: 1}}}}
services:
  web:
    image: {{repository: example.com/web, tags: [v1], size: 20M}}
    program: web
    protocol: http
    client: {client}
    ports: [{{number: 80}}]
    operations:
      page:
        path: /
        work: {{law: exponential, mean: 1ms}}
        steps: [{{call: {{env: API_ADDR, operation: get, {call}}}}}]
  api:
    image: {{repository: example.com/api, tags: [v1], size: 20M}}
    program: api
    protocol: grpc
    ports: [{{number: 9000}}]
    operations:
      other: {{work: {{law: exponential, mean: 1ms}}}}
      get: {{work: {{law: exponential, mean: 1ms}}, steps: [{{wait: {{law: lognormal, mean: 20ms, cv: 0.5}}}}]}}
"""


def tiny(call: str = "timeout: 1s", client: str = "go-grpc", rps: float = 100) -> HandmadeCluster:
    cluster = HandmadeCluster()
    cluster.catalog.add(read_application(Path("tiny.yaml"), WEB.format(call=call, client=client)))
    cluster.service("api", 9000, ())
    cluster.pod("web", "example.com/web:v1", env={"API_ADDR": "api:9000"})
    cluster.service("web", 80, ("web",))
    for name in ("api-1", "api-2"):
        cluster.pod(name, "example.com/api:v1", node="n2")
    cluster.service("api", 9000, ("api-1", "api-2"))
    cluster.run(2)
    cluster.traffic.add_users("people", "shop", "web", rps=rps)
    cluster.run(30)
    return cluster


def edges(cluster: HandmadeCluster, caller: str, seconds: int = 20) -> list[EdgeStats]:
    start = cluster.sim.now - seconds * SECOND
    return [e for e in cluster.traffic.history.between(start, cluster.sim.now) if e.key.pod == caller]


def sums(found: list[EdgeStats]) -> tuple[int, int]:
    return sum(e.sent for e in found), sum(e.ok for e in found)


def test_the_callee_serves_the_operation_that_was_asked_for() -> None:
    cluster = tiny()

    [key] = dict.fromkeys(e.key.operation for e in edges(cluster, "web"))
    summary = cluster.traffic.history.summary(edges(cluster, "web"))
    assert key == "get"
    assert summary.latency_ms_mean == pytest.approx(21.3, rel=0.05)
    assert summary.ok == summary.sent


@pytest.mark.parametrize(("count", "calls"), [("0.25", 0.25), ("3", 3.0), ("1.5", 1.5)])
def test_a_request_makes_as_many_calls_as_it_is_said_to(count: str, calls: float) -> None:
    cluster = tiny(f"times: {count}")

    asked, _ = sums(edges(cluster, "people"))
    made, _ = sums(edges(cluster, "web"))
    assert made / asked == pytest.approx(calls, rel=0.08)


def test_a_deadline_shorter_than_the_answer_fails_most_calls() -> None:
    cluster = tiny("timeout: 10ms")

    made, ok = sums(edges(cluster, "web"))
    assert ok < 0.2 * made
    assert {kind for e in edges(cluster, "web") for kind in e.errors} == {"deadline"}
    assert {kind for e in edges(cluster, "people") for kind in e.errors} == {"5xx"}


@pytest.mark.parametrize("retries", [1, 3])
def test_retries_multiply_the_calls_of_a_failing_backend(retries: int) -> None:
    cluster = tiny(f"retries: {{attempts: {1 + retries}}}, timeout: 1s")
    cluster.service("api", 9000, ())
    cluster.run(20)

    asked, _ = sums(edges(cluster, "people", 15))
    made, ok = sums(edges(cluster, "web", 15))
    assert (made, ok) == (asked * (1 + retries), 0)


def test_retries_save_requests_from_one_dead_backend_of_two() -> None:
    cluster = tiny("retries: {attempts: 4}, timeout: 100ms")
    cluster.remove("api-2")
    cluster.run(20)

    asked, ok = sums(edges(cluster, "people", 15))
    made, _ = sums(edges(cluster, "web", 15))
    # Half of the attempts fail: success 1 - f^4, attempts (1 - f^4) / (1 - f), with f = 0.5.
    assert ok / asked == pytest.approx(0.9375, abs=0.03)
    assert made / asked == pytest.approx(1.875, rel=0.06)


def test_a_degraded_call_costs_time_but_no_request() -> None:
    cluster = tiny("timeout: 200ms, required: false")
    for name in ("api-1", "api-2"):
        cluster.remove(name)
    cluster.run(20)

    asked, ok = sums(edges(cluster, "people", 15))
    summary = cluster.traffic.history.summary(edges(cluster, "people", 15))
    assert ok == pytest.approx(asked, abs=15)  # those of 200 ms under way at the begin and at the end
    assert summary.latency_ms_mean == pytest.approx(201, rel=0.05)


def test_speaking_http_to_a_grpc_server_fails() -> None:
    cluster = tiny(client="http")

    assert {kind for e in edges(cluster, "web") for kind in e.errors} == {"protocol"}
    assert sums(edges(cluster, "people"))[1] == 0


def test_users_choose_operations_by_the_mix_of_the_description_or_their_own() -> None:
    cluster = tiny()
    cluster.traffic.add_users("probers", "shop", "api", rps=50, mix={"other": 3, "get": 1})
    cluster.run(40)

    found = edges(cluster, "probers", 30)
    share = sums([e for e in found if e.key.operation == "other"])[0] / sums(found)[0]
    assert share == pytest.approx(0.75, abs=0.05)
