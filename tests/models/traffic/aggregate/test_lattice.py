"""Laws of waits on a lattice: against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simcluster.models.traffic.aggregate.draws import exponentials, uniforms
from simcluster.models.traffic.aggregate.durations import fine_values
from simcluster.models.traffic.aggregate.lattice import full_waits, general_waits, newest_first
from simcluster.models.traffic.aggregate.stationary import root
from simcluster.models.traffic.graph.laws import Law

MEAN = "1ms"


def _law(kind: str, **keys: float) -> Law:
    return Law.model_validate({"law": kind, "mean": MEAN, **keys})


def _values(law: Law) -> tuple[np.ndarray, np.ndarray]:
    values, weights = fine_values(law)
    return values / float(np.cumsum(values * weights)[-1]), weights


@pytest.mark.parametrize("rho", [0.3, 0.8])
def test_waits_of_exponential_services_are_those_of_theory(rho: float) -> None:
    line = general_waits(*_values(_law("exponential")), rho)
    assert line.below[0] == pytest.approx(1.0 - rho)
    for share in (0.9, 0.99, 0.999):
        at = float(np.interp(share, line.below, line.at))
        assert at == pytest.approx(max(0.0, math.log(rho / (1.0 - share)) / (1.0 - rho)), rel=0.01)


@pytest.mark.parametrize(
    ("law", "second"),
    [
        (_law("deterministic"), 1.0),
        (_law("hyperexponential", cv=3.0), 10.0),
        (_law("lognormal", cv=2.0), 5.0),
    ],
)
def test_mean_waits_are_pollaczeks_and_khinchines(law: Law, second: float) -> None:
    assert general_waits(*_values(law), 0.6).mean == pytest.approx(0.6 * second / 2.0 / 0.4, rel=0.04)


def test_rare_values_keep_the_moments_of_a_heavy_tail() -> None:
    values, weights = _values(_law("lognormal", cv=3.0))
    assert float(np.cumsum(weights)[-1]) == pytest.approx(1.0)
    assert float(np.cumsum(values * values * weights)[-1]) == pytest.approx(10.0, rel=0.06)


def test_a_queue_with_few_places_is_full_as_often_as_the_balance_equations_say() -> None:
    for rho, servers, places, block in ((0.9, 1, 9, 0.05081), (1.2, 1, 9, 0.19259), (1.5, 4, 16, 0.33348)):
        waits, full = full_waits(rho, servers, places, 1.0)
        assert full == pytest.approx(block, rel=1e-3)
        assert len(waits.rarer) == places
    assert full_waits(0.9, 1, 9, 1.0)[0].mean + 1.0 == pytest.approx(4.6466, rel=1e-3)


def test_who_is_served_first_though_he_came_last_waits_as_long_on_average() -> None:
    law = newest_first(0.8, 0.8, 1, 1.0)
    assert law.mean == pytest.approx(4.0, rel=0.01)
    u = (np.arange(20_000) + 0.5) / 20_000
    drawn = law.draw(u, u[::-1] * 0.999, np.roll(u, 7_777))
    assert float(np.cumsum(drawn)[-1]) / len(u) == pytest.approx(4.0, rel=0.1)
    assert float(np.median(drawn)) < float(np.median(exponentials(u))) * 2.0


@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_of_equal_services_who_came_last_waits_for_the_rest_of_one_and_whole_ones(rho: float) -> None:
    law = newest_first(rho, rho, 1, 0.0)
    assert law.mean == pytest.approx(0.5 * rho / (1.0 - rho), rel=1e-6)
    u = (np.arange(20_000) + 0.5) / 20_000
    drawn = law.draw(u, uniforms(np.array([1], dtype=np.uint64), np.arange(20_000, dtype=np.uint64)), u)
    assert float(np.cumsum(drawn)[-1]) / len(u) == pytest.approx(law.mean, rel=0.03)
    # nobody comes while the rest of a service lasts: rho times the mean of exp(-rho R)
    assert float(np.mean((drawn > 0.0) & (drawn < 1.0))) == pytest.approx(1.0 - math.exp(-rho), abs=0.002)


def test_queues_of_mixed_services_lose_their_tails_slowly() -> None:
    gamma, decay = root(0.5, 16.0, mixed=True)
    often = 0.5 * (1.0 + math.sqrt(15.0 / 17.0))
    moment = sum(p * (2.0 * p) / (2.0 * p - decay) for p in (often, 1.0 - often))
    assert 0.5 * (moment - 1.0) == pytest.approx(decay, rel=1e-6)
    assert math.exp(gamma) == pytest.approx(moment)
    assert decay < root(0.5, 16.0)[1]
