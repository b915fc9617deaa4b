"""Impatience of any law, shedding by delay, and small token buckets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.aggregate.lattice import impatient_waits
from simcluster.models.traffic.aggregate.patience import Patience, with_patience
from simcluster.models.traffic.aggregate.tokens import BucketLaw, refused_share
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import GraphSpec, spec_of
from simcluster.models.traffic.graph.laws import Law

EXPONENTIAL = {"law": "exponential", "mean": "5ms"}


def queue(rate: float, call: dict[str, Any], seconds: int = 20, **service: Any) -> GraphSpec:
    described = {"operations": {"serve": {"work": EXPONENTIAL}}, **service}
    run = {"duration": f"{seconds}s", "window": "2s", "warmup": "2s"}
    return spec_of(
        {
            "run": run,
            "services": {"server": described},
            "load": {"users": {"target": "server", "open": {"rate": rate}, "call": call}},
        }
    )


@pytest.mark.parametrize(("rho", "servers", "mean"), [(0.8, 1, 4.0), (0.9, 4, 1.969)])
def test_boundless_patience_is_an_ordinary_queue(rho: float, servers: int, mean: float) -> None:
    assert impatient_waits(rho, servers, 1.0, (500.0,)).mean == pytest.approx(mean, rel=0.01)


def test_waits_beyond_capacity_stay_near_the_longest_patience() -> None:
    line = impatient_waits(1.3, 1, 1.0, (10.0,))
    # below the limit the density grows with exp(0.3 w), beyond it falls with exp(-w)
    at = np.interp((8.0, 10.0), line.at, line.below)
    assert at[0] == pytest.approx((1.0 + 1.3 / 0.3 * (np.exp(2.4) - 1.0)) / (1.0 + 1.3 / 0.3 * (np.exp(3.0) - 1.0)
                                  + 1.3 * np.exp(3.0)), rel=0.02)  # fmt: skip


def test_of_a_fixed_patience_the_oldest_leave() -> None:
    patience = Patience(Law.model_validate({"mean": "10ms"}), 1_000_000)
    assert [patience.stays(age) for age in (9.0, 11.0)] == [1.0, 0.0]
    assert patience.leaves(5.0) == 0.0
    assert patience.leaves(12.0) == pytest.approx(0.1)


def test_the_earlier_of_patience_and_timeout_counts() -> None:
    law = {"law": "uniform", "low": "0s", "high": "100ms"}
    spec = queue(100, {"patience": law, "timeout": "50ms"})
    policy = with_patience(spec).load["users"].call
    assert policy.timeout is None
    assert policy.patience is not None
    assert policy.patience.mean_ns == pytest.approx(37.5e6, rel=0.01)
    assert with_patience(queue(100, {"timeout": "50ms"})).load["users"].call.timeout == 50_000_000


@pytest.mark.parametrize(
    "call",
    [
        {"patience": {"law": "exponential", "mean": "40ms"}, "cancel": "queued"},
        {"patience": {"law": "uniform", "low": "10ms", "high": "90ms"}, "timeout": "60ms", "cancel": "queued"},
    ],
)
def test_quantiles_at_full_load_with_impatience_are_those_of_exact(call: dict[str, Any]) -> None:
    spec = queue(200, call, 16)
    ours = AggregateRun(spec, 1).run().load_totals["users"]
    others = ExactRun(spec, 1).run().load_totals["users"]
    assert ours.ok / ours.arrivals == pytest.approx(others.ok / others.arrivals, abs=0.08)
    for share in (0.9, 0.99):
        assert ours.latency.quantile(share) == pytest.approx(others.latency.quantile(share), rel=0.15)


@pytest.mark.parametrize("rho", [0.9, 1.2])
def test_quantiles_under_a_longest_delay_are_those_of_exact(rho: float) -> None:
    spec = queue(200 * rho, {"timeout": "2s"}, 16, shed={"max_delay": "50ms"})
    ours = AggregateRun(spec, 1).run().load_totals["users"]
    others = ExactRun(spec, 1).run().load_totals["users"]
    assert ours.ok / ours.arrivals == pytest.approx(others.ok / others.arrivals, abs=0.02)
    for share in (0.5, 0.9, 0.99):
        assert ours.latency.quantile(share) == pytest.approx(others.latency.quantile(share), rel=0.12)


def test_a_bucket_of_one_token_is_a_server_without_places() -> None:
    for rho in (0.3, 0.6, 1.5):
        assert refused_share(rho, 1.0) == pytest.approx(rho / (1.0 + rho), rel=1e-6)
    assert refused_share(2.0, 20.0) == pytest.approx(0.5, rel=1e-3)
    law = BucketLaw(5.0)
    assert law.share(np.array([0.0, 10.0])).tolist() == pytest.approx([0.0, 0.9])


def test_a_small_bucket_refuses_as_often_as_in_exact_at_ticks_in_which_it_fills_often() -> None:
    retries = {"attempts": 5, "backoff": {"base": "50ms", "jitter": "full"}}
    spec = queue(120, {"timeout": "1s", "retries": retries}, 20, rate_limit={"rate": 200, "burst": 1})
    run = AggregateRun(spec, 1)
    assert run.tick_ns >= 50_000_000
    ours, others = run.run().load_totals["users"], ExactRun(spec, 1).run().load_totals["users"]
    assert ours.attempts / ours.arrivals == pytest.approx(others.attempts / others.arrivals, rel=0.07)
    assert ours.ok / ours.arrivals == pytest.approx(others.ok / others.arrivals, abs=0.03)
