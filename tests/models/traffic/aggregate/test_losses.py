"""Short queues, stacks, batches, and what was judged before: against closed forms, and causes before effects."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.aggregate.lattice import batch_waits
from simcluster.models.traffic.aggregate.losses import Losses
from simcluster.models.traffic.graph import spec_of
from simcluster.testing.agreement.graphs import called, exponential, single


def _erlang_b(servers: int, load: float) -> float:
    blocking = 1.0
    for k in range(1, servers + 1):
        blocking = load * blocking / (k + load * blocking)
    return blocking


def _shares(servers: float, places: float, scv: float, rho: float, rate: float = 1000.0) -> float:
    losses = Losses(np.array([servers]), np.array([places]), np.array([scv]))
    losses.prepare(np.array([rate]))
    return float(losses.shares(slice(None), np.array([rho * rate]), np.array([rate]))[0])


@pytest.mark.parametrize(("servers", "rho"), [(1, 0.6), (4, 0.9), (20, 1.2)])
@pytest.mark.parametrize("scv", [0.0, 1.0, 4.0])
def test_without_places_erlang_b_says_who_is_refused(servers: int, rho: float, scv: float) -> None:
    assert _shares(servers, 0, scv, rho) == pytest.approx(_erlang_b(servers, servers * rho), rel=2e-4)


@pytest.mark.parametrize("rho", [0.5, 1.0, 2.0])
def test_with_places_one_server_refuses_as_the_geometric_law_says(rho: float) -> None:
    expected = 1.0 / 11.0 if rho == 1.0 else (1.0 - rho) * rho**10 / (1.0 - rho**11)
    assert _shares(1, 9, 1.0, rho) == pytest.approx(expected, rel=2e-3)


def test_queues_that_remember_for_longer_than_some_ticks_are_followed() -> None:
    assert _shares(1, 9, 1.0, 0.9, rate=1.0) == -1.0
    assert _shares(1, 400, 1.0, 0.9, rate=50.0) == -1.0


@pytest.mark.parametrize(("workers", "places", "rho"), [(4, 0, 0.9), (1, 3, 1.2)])
def test_a_run_refuses_so_many(workers: int, places: int, rho: float) -> None:
    rate = 100 * rho * workers
    graph = single(rate, 10, "5s", seconds=100, warmup_s=10, workers=workers, queue={"bound": places})
    total = AggregateRun(spec_of(graph), 3).run().load_totals["users"]
    expected = _erlang_b(4, 3.6) if places == 0 else (1.0 - rho) * rho**4 / (1.0 - rho**5)
    assert total.failed["rejected"] / total.arrivals == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize("size", [1, 2, 6])
@pytest.mark.parametrize("rho", [0.5, 0.8])
def test_who_comes_in_a_batch_waits_for_it(size: int, rho: float) -> None:
    law = batch_waits(rho, 1, (0.0,) * (size - 1) + (1.0,), 1.0)
    assert law.mean == pytest.approx((rho + 0.5 * (size - 1)) / (1.0 - rho), rel=1e-3)
    last = law.draw_at(size, *np.random.default_rng(1).uniform(size=(3, 100_000)))
    assert float(last.mean()) == pytest.approx(law.mean + 0.5 * (size - 1), rel=0.05)


def test_a_stack_beyond_capacity_lets_hardly_anybody_wait_in_vain() -> None:
    stack = {"bound": 500, "discipline": "lifo"}
    graph = single(550, exponential(2), "200ms", 2, seconds=40, warmup_s=8, queue=stack)
    total = AggregateRun(spec_of(graph), 1).run().load_totals["users"]
    assert total.attempts_failed["timeout"] / total.arrivals < 0.08  # `exact`: 0.04
    assert total.ok / total.arrivals == pytest.approx(1.0 / 1.1, rel=0.06)


def _two(required: bool) -> dict[str, object]:
    steps = [called("below", timeout="150ms", required=required)]
    work = {"work": exponential(1)}
    return {
        "run": {"duration": "6s", "window": "500ms"},
        "services": {
            "above": {"blocking": False, "operations": {"get": {**work, "steps": steps}}},
            "below": {"operations": {"get": work}},
        },
        "load": {"users": {"target": "above", "open": {"rate": 200}, "call": {"timeout": "2s"}}},
        "events": [{"at": "3s", "for": "1s", "capacity": {"service": "below", "factor": 0.02}}],
    }


def test_who_was_answered_before_a_fault_is_not_failed_by_it() -> None:
    rows = AggregateRun(spec_of(_two(required=True)), 2).run().load["users"]
    early, late = rows[1:5], rows[6:8]
    assert sum(row.ok for row in early) == pytest.approx(sum(row.arrivals for row in early), rel=0.05)
    assert sum(row.ok for row in late) < 0.4 * sum(row.arrivals for row in late)


def test_a_call_that_need_not_succeed_holds_its_caller_up() -> None:
    patient = _two(required=False)
    hasty = {**patient, "load": {"users": {"target": "above", "open": {"rate": 200}, "call": {"timeout": "100ms"}}}}
    served = [AggregateRun(spec_of(graph), 2).run().load["users"] for graph in (patient, hasty)]
    ok = [sum(row.ok for row in rows[6:8]) / sum(row.arrivals for row in rows[6:8]) for rows in served]
    assert ok[0] > 0.8
    assert ok[1] < 0.4


def test_who_is_admitted_to_a_full_queue_finds_it_as_after_a_departure() -> None:
    """M/M/1/60 with three times what is served: 59 - j are found with the chance 2/3 (1/3)^j."""
    services = {
        f"s{number}": {"queue": {"bound": 59}, "operations": {"o": {"work": exponential(100)}}} for number in range(24)
    }
    graph = {
        "run": {"duration": "400s", "warmup": "60s", "window": "20s"},
        "services": services,
        "load": {"users": {"mix": dict.fromkeys(services, 1), "open": {"rate": 24 * 30}, "call": {"timeout": "5s"}}},
    }
    good = AggregateRun(spec_of(graph), 1).run().load_totals["users"].ok / 340.0 / 24.0
    in_time = sum(2.0 / 3.0 ** (j + 1) * _erlang_below(60 - j, 50.0) for j in range(20))
    assert good == pytest.approx(10.0 * in_time, rel=0.08)


def _erlang_below(stages: int, x: float) -> float:
    """P(a sum of exponential times of mean 1 is below x)."""
    term = rest = math.exp(-x)
    for number in range(1, stages):
        term *= x / number
        rest += term
    return 1.0 - rest


def test_who_is_late_follows_from_the_whole_law_of_the_network() -> None:
    graph = {
        "network": {"law": "exponential", "mean": "20ms"},
        "run": {"duration": "40s", "warmup": "2s", "window": "2s"},
        "services": {"s": {"workers": None, "operations": {"o": {"work": "10ms"}}}},
        "load": {"users": {"target": "s", "open": {"rate": 500}, "call": {"timeout": "100ms"}}},
    }
    total = AggregateRun(spec_of(graph), 1).run().load_totals["users"]
    assert total.failed["timeout"] / total.arrivals == pytest.approx(5.5 * math.exp(-4.5), rel=0.1)
