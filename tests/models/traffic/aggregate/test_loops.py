"""Loops and layers: errors through layers, caches, heaps, contention, and bounds under a flood."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.graph import Result, spec_of


def exponential(mean: str) -> dict[str, str]:
    return {"law": "exponential", "mean": mean}


def users(rate: float, **call: Any) -> dict[str, Any]:
    return {"users": {"target": "api", "open": {"rate": rate}, **({"call": call} if call else {})}}


def served(result: Result, begin_s: float, end_s: float) -> float:
    window = result.between("users", int(begin_s * 1e9), int(end_s * 1e9))
    return window.ok / max(1, window.arrivals)


def test_errors_multiply_through_layers_without_timeouts() -> None:
    def calls(service: str) -> dict[str, Any]:
        step = {"call": {"service": service, "retries": {"attempts": 3}}}
        return {"workers": None, "operations": {"o": {"steps": [step]}}}

    bottom = {"workers": None, "operations": {"o": {"work": "10ms", "failure": 1.0}}}
    graph = {
        "run": {"duration": "5s", "window": "1s"},
        "services": {"api": calls("middle"), "middle": calls("bottom"), "bottom": bottom},
        "load": {
            "users": {
                "target": "api",
                "open": {"stages": [{"for": "3s", "rate": 20}, {"for": "2s", "rate": 0}]},
                "call": {"retries": {"attempts": 3}},
            }
        },
    }
    result = AggregateRun(spec_of(graph), 1).run()
    assert result.load_totals["users"].ok == 0
    attempts = result.service_totals["bottom"].arrivals / result.load_totals["users"].arrivals
    assert attempts == pytest.approx(27, rel=0.01)


def test_a_full_short_queue_goes_on_serving_under_a_flood() -> None:
    graph = {
        "run": {"duration": "7s", "window": "500ms"},
        "services": {
            "api": {
                "queue": {"bound": 30, "overflow": "drop"},
                "operations": {"o": {"work": exponential("1ms")}},
            }
        },
        "load": users(700, timeout="50ms", retries={"attempts": 31}),
        "events": [{"at": "500ms", "for": "1s", "load": {"name": "users", "factor": 20.0}}],
    }
    result = AggregateRun(spec_of(graph), 0).run()
    assert result.services["api"][2].served == pytest.approx(500, rel=0.1)
    assert served(result, 6, 7) > 0.98


@pytest.mark.parametrize(("peak", "share"), [(40, 1.0), (80, 0.0)])
def test_who_slows_down_with_what_is_inside_does_not_come_back_from_a_spike(peak: int, share: float) -> None:
    """1 s and a hundredth for everybody inside, timeout 3 s: beyond 180 inside all are late, and each comes thrice."""
    stages = [{"for": "10s", "rate": 40}, {"for": "8s", "rate": peak}, {"for": "40s", "rate": 40}]
    call = {"timeout": "3s", "retries": {"attempts": 3}}
    graph = {
        "run": {"duration": "58s", "window": "1s"},
        "services": {"api": {"workers": None, "operations": {"o": {"work": "1010ms", "contention": "10ms"}}}},
        "load": {"users": {"target": "api", "open": {"stages": stages}, "call": call}},
    }
    assert served(AggregateRun(spec_of(graph), 1).run(), 40, 55) == pytest.approx(share, abs=0.1)


def test_a_heap_full_of_waiting_jobs_is_collected_all_the_time() -> None:
    heap = {
        "size": "256Mi", "base": "42Mi", "running": "512Ki", "waiting": 230, "allocation": "1Mi",
        "pause_per_byte": 8.6,
    }  # fmt: skip
    stages = [{"for": "100s", "rate": 200}, {"for": "80s", "rate": 300}, {"for": "120s", "rate": 200}]
    graph = {
        "run": {"duration": "300s", "window": "10s"},
        "services": {"api": {"workers": 100, "heap": heap, "operations": {"o": {"steps": [{"wait": "100ms"}]}}}},
        "load": {"users": {"target": "api", "open": {"stages": stages}}},
    }
    rows = AggregateRun(spec_of(graph), 1).run().services["api"]
    assert rows[8].queue_end < 100
    assert sum(row.pause_ns for row in rows[4:10]) / 60e9 == pytest.approx(0.48, abs=0.1)  # integers
    assert rows[-1].queue_end > rows[17].queue_end > 1000
    assert sum(row.pause_ns for row in rows[24:30]) / 60e9 > 0.8  # integers


def test_a_wiped_cache_stays_empty_if_its_database_is_overrun() -> None:
    """Only who is answered in time fills it: about as many as are served within the first timeout."""
    cache = {"keys": 3000, "popularity": "uniform", "capacity": 2700, "eviction": "random", "fill": "success"}
    step = {"cached": {"cache": "items", "miss": [{"call": {"service": "db", "timeout": "1s"}}]}}
    graph = {
        "run": {"duration": "20s", "window": "1s"},
        "services": {
            "api": {"workers": None, "caches": {"items": cache}, "operations": {"read": {"steps": [step]}}},
            "db": {"operations": {"query": {"work": exponential("3333us")}}},
        },
        "load": users(2700),
        "events": [{"at": "5s", "flush": {"service": "api", "cache": "items"}}],
    }
    result = AggregateRun(spec_of(graph), 1).run()
    assert served(result, 1, 5) > 0.98
    assert served(result, 5, 6) < 0.3
    assert served(result, 12, 20) == pytest.approx(0.12, abs=0.05)
