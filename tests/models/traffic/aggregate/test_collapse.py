"""Retry storms: tipping, collapse, recovery, and what prevents them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.graph import GraphSpec, Result, spec_of


def storm(
    rate: float,
    trigger_s: float,
    *,
    mu: float = 1000.0,
    timeout: str = "50ms",
    attempts: int = 31,
    factor: float = 0.1,
    duration_s: float = 4.0,
    events: tuple[Any, ...] = (),
    **service: Any,
) -> GraphSpec:
    """One server, a capacity trigger, clients that time out and try again."""
    trigger = {
        "at": "1s",
        "for": f"{max(1, int(trigger_s * 1e6))}us",
        "capacity": {"service": "server", "factor": factor},
    }
    work = {"law": "exponential", "mean": f"{int(1e9 / mu)}ns"}
    return spec_of(
        {
            "run": {"duration": f"{int(duration_s * 1000)}ms", "window": "500ms"},
            "services": {"server": {"queue": {"bound": 5000}, "operations": {"serve": {"work": work}}, **service}},
            "load": {
                "users": {
                    "target": "server",
                    "open": {"rate": rate},
                    "call": {"timeout": timeout, "retries": {"attempts": attempts}},
                }
            },
            "events": [*([trigger] if trigger_s > 0 else []), *events],
        }
    )


def goodput(result: Result, begin_s: float, end_s: float) -> float:
    window = result.between("users", int(begin_s * 1e9), int(end_s * 1e9))
    return window.ok / max(1, window.arrivals)


def test_storm_multiplies_attempts_and_survives_its_trigger() -> None:
    result = AggregateRun(storm(600, 0.25, duration_s=4), 1).run()
    late = result.between("users", 3_000_000_000, 4_000_000_000)
    assert goodput(result, 0, 1) > 0.99
    assert late.ok == 0
    assert late.attempts / late.arrivals == pytest.approx(31, rel=0.05)


@pytest.mark.parametrize(("rate", "recovers"), [(20.0, True), (45.0, False)])
def test_recovery_needs_load_below_capacity_through_attempts(rate: float, recovers: bool) -> None:
    # mu/n = 1000/31 = 32.3 requests a second; a queue of 300 keeps the drain short
    shed = {"at": "3s", "rate": {"name": "users", "rate": rate}}
    spec = storm(600, 0.25, duration_s=7, events=(shed,), queue={"bound": 300})
    result = AggregateRun(spec, 3).run()
    assert (goodput(result, 6, 7) > 0.5) is recovers


@pytest.mark.parametrize(("rho", "d50"), [(0.25, 0.18), (0.7, 0.065)])
def test_critical_trigger_duration(rho: float, d50: float) -> None:
    # far enough from the edge that one run each is sure; row R6 of the validation measures the edge itself
    short = AggregateRun(storm(1000 * rho, 0.5 * d50, duration_s=3), 0).run()
    long = AggregateRun(storm(1000 * rho, 1.9 * d50, duration_s=3), 0).run()
    assert goodput(short, 2, 3) > 0.5
    assert goodput(long, 2, 3) < 0.5


def test_short_queue_never_holds_stale_work() -> None:
    # 20 places are served in 20 ms, long before the timeout of 50 ms
    result = AggregateRun(storm(600, 0.5, duration_s=3, queue={"bound": 20}), 2).run()
    assert goodput(result, 2, 3) > 0.98


@pytest.mark.parametrize(("bound", "recovers"), [(35, True), (150, False)])
def test_bound_of_the_queue_decides(bound: int, recovers: bool) -> None:
    # HotOS'25: one thread, 10 a second, timeout 5 s, 5 retries; load 5, 15, 5; threshold mu T = 50
    spec = spec_of(
        {
            "run": {"duration": "600s", "window": "10s"},
            "services": {
                "server": {
                    "queue": {"bound": bound, "overflow": "drop"},
                    "operations": {"serve": {"work": {"law": "exponential", "mean": "100ms"}}},
                }
            },
            "load": {
                "users": {
                    "target": "server",
                    "open": {
                        "stages": [{"for": "60s", "rate": 5}, {"for": "120s", "rate": 15}, {"for": "420s", "rate": 5}]
                    },
                    "call": {"timeout": "5s", "retries": {"attempts": 6}},
                }
            },
        }
    )
    result = AggregateRun(spec, 5).run()
    assert goodput(result, 0, 60) > 0.95
    assert (goodput(result, 500, 600) > 0.5) is recovers
    if not recovers:
        late = result.between("users", 400_000_000_000, 600_000_000_000)
        assert late.attempts / 200 == pytest.approx(30, rel=0.1)


@pytest.mark.parametrize(("rate", "recovers"), [(350, True), (700, False)])
def test_cancelled_work_is_not_served(rate: float, recovers: bool) -> None:
    # what is served waited nearly as long as its timeout: only a share mu/lambda of that is still in time
    spec = storm(rate, 0.3, duration_s=4)
    call = spec.load["users"].call.model_copy(update={"cancel": "queued"})
    cancelling = spec.model_copy(update={"load": {"users": spec.load["users"].model_copy(update={"call": call})}})
    assert goodput(AggregateRun(spec, 1).run(), 3, 4) < 0.1
    assert (goodput(AggregateRun(cancelling, 1).run(), 3, 4) > 0.9) is recovers


def test_what_a_storm_with_cancellation_still_serves() -> None:
    # M/M/1+D: of all attempts mu/lambda are served, of those mu/lambda in time; x = lambda/mu solves
    # x = rho (1 - (1 - x^-2)^6) x^2, at 1.2 x is 6.8
    call = {"timeout": "100ms", "retries": {"attempts": 6}, "cancel": "queued"}
    load = {"users": {"target": "server", "open": {"rate": 600}, "call": call}}
    work = {"law": "exponential", "mean": "2ms"}
    spec = spec_of(
        {
            "run": {"duration": "20s", "warmup": "5s"},
            "services": {"server": {"queue": {"bound": 5000}, "operations": {"serve": {"work": work}}}},
            "load": load,
        }
    )
    total = AggregateRun(spec, 1).run().load_totals["users"]
    assert total.attempts / total.arrivals == pytest.approx(6.8 / 1.2, rel=0.02)
    assert total.ok / total.attempts == pytest.approx(1 / 6.8**2, rel=0.1)


def test_last_in_first_out_keeps_serving() -> None:
    result = AggregateRun(storm(600, 0.3, duration_s=4, queue={"discipline": "lifo"}), 1).run()
    assert goodput(result, 2.5, 4) > 0.3


@pytest.mark.parametrize(("rho", "tips"), [(0.4, False), (0.95, True)])
def test_small_servers_tip_without_a_trigger(rho: float, tips: bool) -> None:
    run = AggregateRun(storm(100 * rho, 0, mu=100, timeout="200ms", attempts=3, duration_s=40), 1)
    while run.tick < run.ticks and run.queues.number[0] < 300:
        run.step()
    assert (run.tick < run.ticks) is tips


def test_short_queues_tip_over_by_themselves() -> None:
    """Ten services a timeout, three attempts, half the capacity: of `exact` runs 29 of 100 collapse in 6 s."""
    tipped = 0
    for seed in range(4):
        run = AggregateRun(storm(125, 0, mu=250, timeout="40ms", attempts=3, duration_s=8), seed)
        while run.tick < run.ticks and run.queues.number[0] < 100:
            run.step()
        tipped += run.tick < run.ticks
    assert tipped >= 1


def test_how_often_a_wait_grows_beyond_a_timeout() -> None:
    run = AggregateRun(storm(200, 0, mu=400, timeout="40ms", attempts=2, duration_s=1), 1)
    while run.tick < 64:
        run.step()
    found = run.wide._excursions
    # M/M/1 crosses level n upwards mu (1 - rho) rho^n times a second; at a wait of T 1 + rho mu T are inside
    level = float(found.level[0])
    assert level == pytest.approx(1 + 0.5 * 400 * 0.0375, rel=0.03)
    assert found.total * 1e9 / run.tick_ns == pytest.approx(200 * 0.5**level, rel=0.01)
    begun = [after for tick in range(0, 40_000, 1000) if (after := found.first(tick, 1000)) is not None]
    assert len(begun) == pytest.approx(40 * (1 - math.exp(-1000 * found.total)), abs=8)
    assert all(1 <= after <= 1000 for after in begun)
    assert found.pod(64) == 0


@pytest.mark.slow(sample=0)  # 16 runs of 600 s
def test_tips_by_itself_as_often_as_requests_do() -> None:
    """Single requests collapse within 600 s with probability 0.04 at rho 0.5 and 1 at 0.7; a fluid never does."""
    counts = []
    for rho in (0.5, 0.7):
        collapsed = 0
        for seed in range(8):
            run = AggregateRun(storm(100 * rho, 0, mu=100, timeout="200ms", attempts=3, duration_s=600), seed)
            while run.tick < run.ticks and run.queues.number[0] < 1000:
                run.step()
            collapsed += run.tick < run.ticks
        counts.append(collapsed)
    assert counts[0] <= 3
    assert counts[1] >= 6
