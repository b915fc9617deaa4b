"""How requests fall on the replicas of a balancer that draws: what one gets more another gets less."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.layout import Layout
from simcluster.models.traffic.aggregate.run import AggregateRun
from simcluster.models.traffic.aggregate.splits import Splits
from simcluster.testing.agreement.graphs import single
from simcluster.testing.agreement.measure import spec_of

Array = NDArray[np.float64]
WORK = {"law": "exponential", "mean": "10ms"}
TICKS = 4000


def layout_of(balancer: str, replicas: int) -> Layout:
    return AggregateRun(spec_of(single(200.0, WORK, "1s", 1, replicas=replicas, balancer=balancer)), 0).layout


def fallen(layout: Layout, evenly: Array) -> Array:
    """What the pods of the only service get, a row for each tick."""
    splits, draws = Splits(layout), np.random.default_rng(1)
    (level,) = [level for level, lanes in enumerate(layout.level_lanes) if lanes.stop - lanes.start > 1]
    rows = []
    for come in evenly:
        pods = layout.lane_pod[layout.level_lanes[level]]
        got = splits.fallen(level, np.full(len(pods), come / len(pods)), draws.standard_normal(layout.pods))
        rows.append(got[np.argsort(pods)])
    return np.array(rows)


@pytest.mark.parametrize("replicas", [2, 4])
def test_replicas_are_drawn_as_the_multinomial_law_has_it(replicas: int) -> None:
    many = 60.0
    got = fallen(layout_of("random", replicas), np.full(TICKS, many))
    assert got.sum(axis=1) == pytest.approx(np.full(TICKS, many))
    covariance, part = np.cov(got.T), 1.0 / replicas
    assert np.diag(covariance) == pytest.approx(np.full(replicas, many * part * (1.0 - part)), rel=0.1)
    others = covariance[~np.eye(replicas, dtype=bool)]
    assert others == pytest.approx(np.full(len(others), -many * part * part), rel=0.25)


def test_what_a_tick_has_too_few_requests_for_comes_in_the_ticks_after_it() -> None:
    few, window = 0.5, 200
    got = fallen(layout_of("random", 4), np.full(TICKS, few))
    assert got.min() >= 0.0
    assert got.sum(axis=1) == pytest.approx(np.full(TICKS, few))
    windows = got.reshape(TICKS // window, window, 4).sum(axis=1)
    assert windows.var(axis=0).mean() == pytest.approx(few * window * 0.25 * 0.75, rel=0.3)


def test_who_takes_turns_gets_them_evenly() -> None:
    assert fallen(layout_of("round_robin", 4), np.full(5, 7.0)) == pytest.approx(np.full((5, 4), 1.75))
