"""Graphs that never come to rest end where their run's limits are, and say so."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.eval.validation.context import run_graph
from simcluster.models.traffic.exact import loop, storm
from simcluster.models.traffic.graph import spec_of

WORK = {"law": "exponential", "mean": "10ms"}


def saturated(run: dict[str, Any], queue: dict[str, Any], call: dict[str, Any]) -> dict[str, Any]:
    """A hundred times the capacity, for an hour."""
    return {
        "run": {"duration": "1h", **run},
        "services": {"s": {"queue": queue, "operations": {"o": {"work": WORK}}}},
        "load": {"u": {"target": "s", "open": {"rate": 10_000}, "call": call}},
    }


BACKOFF = {"attempts": 1000, "backoff": {"base": "1ms", "max": "1ms"}}


@pytest.mark.parametrize(
    ("engine", "run", "queue", "call", "words"),
    [
        ("exact", {"requests": 1000}, {}, {"timeout": "100ms", "retries": {"attempts": 1000}}, "requests inside"),
        ("exact", {"requests": 1000}, {}, {"timeout": "1h", "retries": BACKOFF}, "requests inside"),
        ("exact", {"events": 20_000}, {"bound": 10}, {"timeout": "100ms", "retries": BACKOFF}, "20000 events"),
        ("aggregate", {"events": 20_000}, {"bound": 10}, {"timeout": "100us", "retries": BACKOFF}, "fine ticks"),
    ],
)
def test_a_saturated_hour_ends_early_and_says_why(
    engine: str, run: dict[str, Any], queue: dict[str, Any], call: dict[str, Any], words: str
) -> None:
    result = run_graph(engine, spec_of(saturated(run, queue, call)), 1)
    assert words in result.stopped
    assert 0 < result.end_ns < 3600 * 10**9


@pytest.mark.parametrize("service", [{}, {"balancer": "round_robin", "replicas": 2}], ids=["one queue", "general"])
def test_time_outs_of_answered_attempts_are_forgotten_without_a_trace(
    service: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = saturated({"duration": "30s", "window": "10s"}, {"bound": 2}, {"timeout": "50s", "retries": BACKOFF})
    graph["load"]["u"]["call"]["retries"] = {"attempts": 2}
    graph["load"]["u"]["open"]["rate"] = 200
    graph["services"]["s"].update(service)
    whole = run_graph("exact", spec_of(graph), 1).to_dict()
    monkeypatch.setattr(loop, "_ROOMY", 50)
    monkeypatch.setattr(loop, "_CHUNK", 100)
    monkeypatch.setattr(storm, "_CROWD", 50)
    assert run_graph("exact", spec_of(graph), 1).to_dict() == whole
