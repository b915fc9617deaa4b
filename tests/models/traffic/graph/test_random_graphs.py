"""Graphs made at random run in both engines, and nothing is lost or made on the way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import Result, spec_of

SECONDS = 2
LAWS = st.sampled_from(
    [
        {"law": "exponential", "mean": "2ms"},
        {"law": "deterministic", "mean": "1ms"},
        {"law": "lognormal", "mean": "3ms", "cv": 0.5},
        {"law": "erlang", "mean": "2ms", "stages": 3},
    ]
)
RETRIES = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {"attempts": st.integers(1, 4)},
        optional={
            "backoff": st.just({"base": "5ms", "jitter": "full"}),
            "budget": st.just({"tokens": 5, "per_call": 0.2}),
        },
    ),
)
POLICY = st.fixed_dictionaries(
    {"timeout": st.sampled_from(["10ms", "50ms", "200ms"])},
    optional={"retries": RETRIES, "cancel": st.sampled_from(["no", "queued"]), "propagate": st.booleans()},
)
SERVICE = st.fixed_dictionaries(
    {"replicas": st.integers(1, 3), "workers": st.integers(1, 4)},
    optional={
        "blocking": st.booleans(),
        "queue": st.fixed_dictionaries(
            {"bound": st.integers(0, 50)}, optional={"overflow": st.sampled_from(["reject", "drop"])}
        ),
    },
)


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """A chain or tree of up to four services under an open load, with an event or none."""
    count = draw(st.integers(1, 4))
    services: dict[str, Any] = {}
    for index in range(count):
        below = [{"call": {"service": f"s{k}", **draw(POLICY)}} for k in range(index + 1, min(count, index + 3))]
        steps: list[Any] = [{"parallel": below}] if len(below) > 1 and draw(st.booleans()) else below
        services[f"s{index}"] = {**draw(SERVICE), "operations": {"o": {"work": draw(LAWS), "steps": steps}}}
    factor = draw(st.sampled_from([0.0, 0.2, 1.0]))
    return {
        "run": {"duration": f"{SECONDS}s", "window": "500ms"},
        "services": services,
        "load": {"u": {"target": "s0", "open": {"rate": draw(st.integers(1, 300))}, "call": draw(POLICY)}},
        "events": [{"at": "500ms", "for": "500ms", "capacity": {"service": f"s{count - 1}", "factor": factor}}],
    }


def check(result: Result, graph: dict[str, Any], rounding: float) -> None:
    """Requests that came are answered, failed or inside; nobody succeeds faster than the workers."""
    total = result.load_totals["u"]
    ended = total.ok + sum(total.failed.values())
    assert abs(total.arrivals - ended - total.waiting) <= rounding * (1 + total.arrivals)
    assert total.attempts >= total.arrivals * (1.0 - rounding) - 1
    assert min(total.ok, total.waiting, *total.failed.values()) >= 0
    for name, seen in result.service_totals.items():
        workers = graph["services"][name]["workers"] * graph["services"][name]["replicas"]
        assert seen.served + seen.rejected <= seen.arrivals * (1.0 + rounding) + 1
        assert -1e-6 <= seen.busy <= workers * (1.0 + rounding)
        assert seen.working <= seen.busy * (1.0 + rounding) + 1e-6


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(graphs())
def test_the_exact_engine_keeps_every_request(graph: dict[str, Any]) -> None:
    spec = spec_of(graph)
    result = ExactRun(spec, 1).run()
    check(result, graph, 0.0)
    assert result.to_dict() == ExactRun(spec, 1).run().to_dict()


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(graphs())
def test_the_aggregate_engine_keeps_every_request(graph: dict[str, Any]) -> None:
    check(AggregateRun(spec_of(graph), 1).run(), graph, 0.05)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(graphs())
def test_what_a_graph_prints_is_read_again(graph: dict[str, Any]) -> None:
    spec = spec_of(graph)
    printed = spec.model_dump(by_alias=True, exclude_none=True)
    assert spec_of(printed) == spec


@pytest.mark.parametrize("rate", [50, 150])
def test_goodput_stays_below_capacity(rate: int) -> None:
    graph = {
        "run": {"duration": "10s", "window": "1s"},
        "services": {
            "s0": {"queue": {"bound": 5}, "operations": {"o": {"work": {"law": "exponential", "mean": "10ms"}}}}
        },
        "load": {"u": {"target": "s0", "open": {"rate": rate}}},
    }
    for result in (ExactRun(spec_of(graph), 1).run(), AggregateRun(spec_of(graph), 1).run()):
        assert result.load_totals["u"].ok / 10 <= 100.0 * 1.1
