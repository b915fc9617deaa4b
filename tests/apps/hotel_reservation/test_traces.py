"""Traces of Hotel Reservation in Jaeger: they agree with what users and programs say, and are lost as real ones are."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from simcluster.engine import SECOND, Snapshot
from simcluster.engine.clock import parse_rfc3339, unix_us
from simcluster.models.traffic.cluster.spanmetrics import BOUNDS_MS, Buckets, SpanMeter
from simcluster.world import World
from tests.apps.hotel_reservation.test_hotel_reservation import kubectl, users

PROXY = "/api/v1/namespaces/hotel-reservation/services/jaeger:16686/proxy/api"


def jaeger(world: World, path: str, **query: Any) -> Any:
    return json.loads(kubectl(world, f"get --raw {PROXY}/{path}?{urlencode(query)}"))["data"]


def tag(span: dict[str, Any], key: str) -> Any:
    return next((each["value"] for each in span["tags"] if each["key"] == key), None)


def roots(world: World, seconds: int) -> list[dict[str, Any]]:
    found = jaeger(world, "traces", service="frontend", limit=9999, start=unix_us(world.now - seconds * SECOND))
    return [span for trace in found for span in trace["spans"] if not span["references"]]


def series(meter: SpanMeter) -> dict[tuple[str, str, str], float]:
    """Spans of clients that failed, by service, name and status."""
    found = {}
    for group, row in meter.samples().items():
        labels = dict(group.labels)
        if labels["span_kind"] == "SPAN_KIND_CLIENT":
            key = labels["service_name"], labels["span_name"], labels["status_code"]
            found[key] = float(np.frombuffer(row)[0])
    return found


@pytest.fixture(scope="module")
def traced(served: Snapshot[World]) -> World:
    world = served.restore()
    world.traffic.exemplars.most_per_second = 8.0
    world.run_for(60 * SECOND)
    return world


def test_healthy_traces_agree_with_what_users_met(traced: World) -> None:
    assert sorted(jaeger(traced, "services")) == [
        "frontend", "geo", "profile", "rate", "recommendation", "reservation", "search", "user",
    ]  # fmt: skip
    edges = {(each["parent"], each["child"]) for each in jaeger(traced, "dependencies")}
    assert {("frontend", "search"), ("search", "geo"), ("search", "rate"), ("frontend", "profile")} <= edges
    found, stats = roots(traced, 50), users(traced, 50)
    took = sorted(span["duration"] / 1000 for span in found)
    assert len(found) > 200
    assert not [span for span in found if tag(span, "error")]
    assert took[len(took) // 2] == pytest.approx(stats.latency_ms_p50, rel=0.12)
    assert took[len(took) * 9 // 10] == pytest.approx(stats.latency_ms(0.9), rel=0.15)
    assert {tag(span, "http.url") for span in found} <= {"/hotels", "/recommendations", "/user", "/reservation"}


def test_one_failing_request_stands_in_traces_metrics_and_logs(traced: World) -> None:
    world = Snapshot(traced).restore()
    kubectl(world, "scale deploy rate --replicas=0")
    world.run_for(20 * SECOND)
    meter, begin = SpanMeter(world.traffic, world.now, Buckets(BOUNDS_MS)), world.now
    world.run_for(30 * SECOND)
    meter.advance(world.now)

    found, stats = roots(world, 28), users(world, 28)
    failed = [span for span in found if tag(span, "http.status_code") == 500]
    assert len(failed) / len(found) == pytest.approx(stats.failed / stats.ended, abs=0.08)

    (trace,) = jaeger(world, f"traces/{failed[0]['traceID']}")
    pod_of = {
        name: next(each["value"] for each in process["tags"] if each["key"] == "hostname")
        for name, process in trace["processes"].items()
    }
    attempts = [span for span in trace["spans"] if span["operationName"] == "/rate.Rate/GetRates"]
    assert len(attempts) >= 2  # what failed was tried again, beside each other in one parent
    assert len({span["references"][0]["spanID"] for span in attempts}) == 1
    assert {tag(span, "response_code") for span in attempts} == {"Unavailable"}
    caller = next(span for span in trace["spans"] if span["spanID"] == attempts[0]["references"][0]["spanID"])
    last = max(span["startTime"] + span["duration"] for span in attempts)
    assert caller["startTime"] + caller["duration"] >= last

    lines = kubectl(world, f"logs {pod_of[caller['processID']]}").splitlines()
    spoken = [line for line in lines if "downstream request failed dependency=rate" in line]
    instants = [unix_us(parse_rfc3339(line.split()[0])) for line in spoken]
    assert any(abs(instant - last) <= 1_500_000 for instant in instants)
    assert "grpc_code=Unavailable" in spoken[-1]
    assert begin < world.now
    assert series(meter)["search", "GetRates", "STATUS_CODE_ERROR"] > 0


def test_a_jaeger_that_is_gone_takes_no_spans_and_answers_nobody(traced: World) -> None:
    world = Snapshot(traced).restore()
    assert len(roots(world, 60)) > 200
    kubectl(world, "delete pod -l io.kompose.service=jaeger --wait=false")
    world.run_for(15 * SECOND)
    assert all(span["startTime"] > unix_us(world.now - 16 * SECOND) for span in roots(world, 600))

    kubectl(world, "scale deploy jaeger --replicas=0")
    world.run_for(20 * SECOND)
    refused = world.kubectl(namespace="hotel-reservation").run(f"get --raw {PROXY}/services")
    assert "no endpoints available" in refused.stderr
    frontend = next(s for s in world.traffic.servers.values() if s.container.spec.pod_name.startswith("frontend"))
    before = frontend.tracer.dropped
    world.run_for(10 * SECOND)
    assert frontend.tracer.dropped > before
    assert users(world, 20).success_ratio > 0.999  # whoever traces does not fail by it
