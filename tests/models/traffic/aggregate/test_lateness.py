"""Who is late in wide ticks: as many as the stationary law says, as counts that come in groups."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.aggregate.lateness import grouped
from simcluster.models.traffic.aggregate.rows import late_of
from simcluster.models.traffic.graph import GraphSpec, spec_of


def queue(rho: float, patience: float, seconds: int, *, attempts: int = 1) -> GraphSpec:
    """An M/M/1 queue of 10 ms at a utilisation, whose callers wait for so many services."""
    call = {"timeout": f"{10 * patience:g}ms", "retries": {"attempts": attempts}}
    return spec_of(
        {
            "run": {"duration": f"{seconds}s", "window": "1s", "warmup": "0s"},
            "services": {"q": {"operations": {"op": {"work": {"law": "exponential", "mean": "10ms"}}}}},
            "load": {"users": {"target": "q", "open": {"rate": 100.0 * rho}, "call": call}},
        }
    )


@pytest.mark.parametrize(("rho", "patience"), [(0.3, 7.0), (0.5, 10.0), (0.65, 15.0)])
def test_as_many_are_late_as_in_theory(rho: float, patience: float) -> None:
    run = AggregateRun(queue(rho, patience, 1200), 5)
    result = run.run()
    assert run.used["wide"] > 0.9 * run.ticks
    late = [window.attempts_failed["timeout"] for window in result.load["users"]]
    mean = math.exp(-(1.0 - rho) * patience) * 100.0 * rho
    spread = 2.0 / (1.0 - rho) ** 2 - 1.0  # variance over mean of Poisson groups of 1/(1 - rho)^2
    assert np.mean(late) == pytest.approx(mean, abs=3.5 * math.sqrt(mean * spread / len(late)))
    assert 0.6 * spread < np.var(late) / np.mean(late) < 1.6 * spread
    total = result.load_totals["users"]
    assert total.attempts == total.ok + total.attempts_failed["timeout"] + total.waiting


def test_groups_have_their_law() -> None:
    u = (np.arange(4000) + 0.5) / 4000
    counts = np.array([grouped(1.5, 0.75, float(each)) for each in u])
    assert counts.mean() == pytest.approx(1.5 * 4.0, rel=0.01)
    assert counts.var() == pytest.approx(6.0 * (2.0 * 4.0 - 1.0), rel=0.03)
    assert (counts == 0).mean() == pytest.approx(math.exp(-1.5), abs=1e-3)


def test_where_wide_ticks_are_possible_nothing_is_leapt_over() -> None:
    run = AggregateRun(queue(0.4, 15.0, 120, attempts=3), 1)
    run.run()
    assert run.used["leap"] == 0
    assert run.used["wide"] > 0.8 * run.ticks
    assert run.used["fine"] > 100  # queues that grew towards the timeout were followed


def test_what_is_good_in_a_later_window_was_late_in_none_after_it() -> None:
    # answered less those that count as good in the same second: both scatter, and the good ones come later
    others = np.array([[40, 0], [3, 5], [-4, -2], [2, 3], [5, 0], [-3, -9]])
    assert late_of(others).tolist() == [[40, 0], [3, 5], [0, 0], [0, 1], [3, 0], [0, 0]]
    assert late_of(others[:0]).tolist() == []
