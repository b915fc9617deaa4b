"""What requests that walk know of the past: speeds, refusals, and which law their queues had at their time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.aggregate.refusals import Refusals
from simcluster.models.traffic.aggregate.speeds import Speeds
from simcluster.models.traffic.graph import GraphSpec, spec_of
from simcluster.testing.agreement.graphs import fork_join


def storm(
    events: list[dict[str, Any]], *, rate: float = 250, seconds: int = 24, attempts: int = 2, **service: Any
) -> GraphSpec:
    described = {"workers": 10, "queue": {"bound": 200}, "operations": {"op": {"work": "20ms"}}, **service}
    call = {"timeout": "100ms", "retries": {"attempts": attempts}}
    return spec_of(
        {
            "run": {"duration": f"{seconds}s", "window": "1s"},
            "services": {"server": described},
            "load": {"users": {"target": "server", "open": {"rate": rate}, "call": call}},
            "events": events,
        }
    )


def test_work_takes_as_long_as_the_pod_was_slow_then() -> None:
    queues = AggregateRun(storm([]), 0).queues
    speeds = Speeds(queues)
    for tick in range(10):
        queues.factor[:] = 0.5 if 4 <= tick < 8 else 1.0
        speeds.note(tick, queues)
    pod, work = np.zeros(4, dtype=np.int64), np.full(4, 2.0)
    lasts = speeds.lasts(pod, np.array([0.0, 3.0, 4.0, 8.0]), work, np.zeros(4))
    assert lasts.tolist() == pytest.approx([2.0, 3.0, 4.0, 2.0])


def test_refusals_are_those_of_the_instant() -> None:
    refusals = Refusals(8)
    assert refusals.at(0, np.array([1.0])) is None
    for tick, share in ((0, 0.0), (1, 0.5), (2, 0.25)):
        refusals.note(tick, np.array([share]))
    refusals.note(5, np.array([0.0]))
    found = refusals.at(0, np.array([0.5, 1.5, 2.9, 4.0, 5.0]))
    assert found is not None
    assert found.tolist() == [0.0, 0.5, 0.25, 0.0, 0.0]


def test_a_trigger_does_not_slow_the_requests_before_it() -> None:
    event = {"at": "8s", "for": "500ms", "capacity": {"service": "server", "factor": 0.3}}
    result = AggregateRun(storm([event], rate=150), 1).run()
    before = result.between("users", 0, 8_000_000_000)
    assert before.latency.quantile(0.9) == pytest.approx(20e6, rel=0.02)


def test_after_a_spike_latencies_are_the_usual_ones_again() -> None:
    event = {"at": "8s", "for": "1s", "load": {"name": "users", "factor": 2.5}}
    result = AggregateRun(storm([event], seconds=14, attempts=1), 1).run()
    late = result.between("users", 11_000_000_000, 14_000_000_000)
    assert late.latency.quantile(0.9) == pytest.approx(20e6, rel=0.05)


def test_leaps_show_the_latencies_of_their_time() -> None:
    work = {"law": "lognormal", "mean": "20ms", "cv": 0.5}
    spec = storm([], rate=500, seconds=14, workers=30, queue={}, operations={"op": {"work": work}})
    run = AggregateRun(spec.model_copy(deep=True), 1)
    result = run.run()
    late = result.between("users", 8_000_000_000, 14_000_000_000)
    assert late.latency.quantile(0.5) == pytest.approx(17.9e6, rel=0.05)
    assert late.latency.quantile(0.99) == pytest.approx(53.6e6, rel=0.1)


def test_messages_that_an_outage_held_up_may_find_a_full_queue() -> None:
    work = {"op": {"work": "2ms"}}
    event = {"at": "3s", "for": "500ms", "outage": {"from": "users", "to": "server"}}
    result = AggregateRun(storm([event], rate=800, seconds=8, workers=1, replicas=2, operations=work), 1).run()
    late = result.between("users", 5_000_000_000, 8_000_000_000)
    assert late.attempts < 2.2 * late.arrivals
    assert late.ok >= 0


def test_a_queue_that_was_just_run_empty_is_no_picture_of_the_future() -> None:
    work = {"law": "exponential", "mean": "20ms"}
    event = {"at": "3s", "for": "2s", "capacity": {"service": "server", "factor": 0.1}}
    spec = storm([event], rate=60, seconds=20, workers=4, queue={}, operations={"op": {"work": work}})
    for seed in (0, 1):
        result = AggregateRun(spec, seed).run()
        late = result.between("users", 12_000_000_000, 20_000_000_000)
        assert late.ok > 0.97 * late.arrivals


def test_side_by_side_where_attempts_of_one_arm_are_in_vain_from_some_instant_on() -> None:
    run = AggregateRun(spec_of(fork_join(2, 0.5)), 1)
    while run.tick < 40:
        run.step()
    walker = run.sampler._walker
    root, arm = (next(e.index for e in run.graph.edges if (e.caller < 0) is outside) for outside in (True, False))
    walker.calm, walker.beneath = None, run.wide.waits
    walker.vain[arm] = 30.0
    took, good = walker.call(root, np.linspace(20.0, 39.0, 40))
    assert len(took) == len(good) == 40
    assert good[:10].any()
    assert not good[-5:].any()
