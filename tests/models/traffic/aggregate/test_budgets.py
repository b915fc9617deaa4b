"""Budgets of retries: every caller has its own, as the exact engine counts them one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.aggregate.budgets import MOST, Budgets
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import GraphSpec, spec_of


def failing(clients: int, failure: float) -> GraphSpec:
    """Brooker's simulation of retries: clients with buckets of five tokens."""
    budget = {"tokens": 5, "per_call": 0.1}
    call = {"retries": {"attempts": 50, "budget": budget}}
    return spec_of(
        {
            "network": {"law": "exponential", "mean": "10ms"},
            "run": {"duration": "20s", "window": "20s"},
            "services": {"s": {"workers": None, "operations": {"o": {"work": "5ms", "failure": failure}}}},
            "load": {"users": {"target": "s", "clients": clients, "open": {"rate": 300}, "call": call}},
        }
    )


#: With a few calls of each client it matters that he who retried is the one who will again.
@pytest.mark.parametrize(("clients", "failure", "within"), [(1, 0.1, 0.012), (30, 0.1, 0.012), (2000, 0.5, 0.04)])
def test_as_many_retries_are_paid_for_as_clients_can_pay(clients: int, failure: float, within: float) -> None:
    ours, theirs = (
        engine(failing(clients, failure), 1).run().load_totals["users"] for engine in (AggregateRun, ExactRun)
    )
    assert ours.attempts / ours.arrivals == pytest.approx(theirs.attempts / theirs.arrivals, rel=within)
    assert ours.ok / ours.arrivals == pytest.approx(theirs.ok / theirs.arrivals, abs=1.5 * within)


def edges(**budget: Any) -> Budgets:
    call = {"retries": {"attempts": 3, "budget": {"tokens": 4, **budget}}}
    service = {"workers": None, "operations": {"o": {"work": "5ms"}}}
    load = {"target": "s", "clients": 500, "open": {"rate": 3}, "call": call}
    run = AggregateRun(spec_of({"services": {"s": service}, "load": {"users": load}}), 1)
    return run.callers.budgets


def test_what_is_paid_for_is_taken_on_average_and_no_bucket_overflows() -> None:
    budgets = edges(per_call=0.5, cost=1.5)
    account = budgets._accounts[0]
    assert len(account.tokens) == MOST
    paid = 0.0
    for tick in range(400):
        paid += 600.0 * float(budgets.afford(tick, 2, np.array([600.0]), late=False)[0])
        budgets.end()
        budgets.called(np.array([300.0]))
        assert (account.tokens >= 0.0).all()
        assert (account.tokens <= 4.0 + 0.5 * 300.0 / 500.0 + 1e-9).all()
    earned = 400 * 300 * 0.5 / 1.5 + 500 * (4.0 - math.fsum(account.tokens.tolist()) / MOST) / 1.5
    assert paid == pytest.approx(earned, rel=0.02)
    assert budgets.paid[0] < 0.4


def test_a_retry_after_a_time_out_may_cost_more_and_successes_bring_tokens() -> None:
    dear, cheap = edges(timeout_cost=4.0), edges(timeout_cost=4.0)
    shares = [dear.afford(1, 0, np.array([800.0]), late=True)[0], cheap.afford(1, 2, np.array([800.0]), late=False)[0]]
    assert shares[0] < 0.6 < 0.95 < shares[1]
    before = cheap._accounts[0].tokens.copy()
    cheap.succeeded(np.array([100.0]))
    assert (cheap._accounts[0].tokens == before).all()  # nothing is said of successes
    earning = edges(per_success=1.0)
    earning.afford(1, 2, np.array([800.0]), late=False)
    before = earning._accounts[0].tokens.copy()
    earning.succeeded(np.array([100.0]))
    assert earning._accounts[0].tokens == pytest.approx(before + 0.2)
