"""A call that is refused ends the request that needed it, however few requests come and however fine the ticks are."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.aggregate.live import LiveTraffic
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import spec_of

QUICK = {"law": "exponential", "mean": "1ms"}
GRAPH: dict[str, Any] = {
    "name": "pair",
    "run": {"duration": "120s", "warmup": "60s", "window": "10s"},
    "services": {
        "web": {
            "blocking": False,
            "operations": {"get": {"work": QUICK, "steps": [{"call": {"service": "store", "timeout": "20s"}}]}},
        },
        "store": {
            "workers": 1,
            "queue": {"bound": 50},
            "operations": {"read": {"work": {"law": "exponential", "mean": "50ms"}}},
        },
    },
    "load": {"users": {"target": "web", "open": {"rate": 36}, "call": {"timeout": "10s"}}},
}


@pytest.mark.parametrize("tick_ms", [5, 50])
def test_as_many_requests_fail_as_calls_are_refused(tick_ms: int) -> None:
    live = LiveTraffic(spec_of(GRAPH), 1, tick_ms * MILLISECOND, {"web": ["w"], "store": ["s"]}, prompt=True)
    arrivals = refused = errors = timeouts = 0.0
    for second in range(1, 26):
        live.advance(second * SECOND)
        counted = live.tally()
        if second > 10:
            users = counted.loads["users"]
            arrivals, refused = arrivals + users.arrivals, refused + float(counted.pods[2, 1])
            errors, timeouts = errors + users.failed["error"], timeouts + users.failed["timeout"]
    assert refused > 0.3 * arrivals  # 36 come a second, 20 are served
    assert errors == pytest.approx(refused, rel=0.05)
    assert timeouts < 5


def test_an_error_from_a_full_queue_far_below_is_as_early_as_the_refusal() -> None:
    services = {
        "web": {
            "blocking": False,
            "operations": {"get": {"work": QUICK, "steps": [{"call": {"service": "search", "timeout": "30s"}}]}},
        },
        "search": {
            "blocking": False,
            "operations": {"near": {"work": QUICK, "steps": [{"call": {"service": "store", "timeout": "30s"}}]}},
        },
        "store": {**GRAPH["services"]["store"], "queue": {"bound": 300}},  # who is served has waited 15 s
    }
    spec = spec_of({**GRAPH, "services": services})
    errors, ended = {}, {}
    for engine in (ExactRun, AggregateRun):
        totals = [engine(spec, seed).run().load_totals["users"] for seed in (1, 2, 3)]
        errors[engine] = sum(one.failed["error"] for one in totals)  # integers
        ended[engine] = sum(one.arrivals for one in totals)  # integers
    assert errors[ExactRun] > 0.3 * ended[ExactRun]
    assert errors[AggregateRun] == pytest.approx(errors[ExactRun], rel=0.15)  # three deviations of chance
