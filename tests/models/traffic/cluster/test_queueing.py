"""Closed forms of one queue, against theory and against the engine."""

from __future__ import annotations

import math

import pytest

from simcluster.engine import MILLISECOND
from simcluster.models.traffic.cluster.distribution import (
    Component,
    Latency,
    mixture_quantiles,
    normal_cdf,
    probability_above,
    quantile,
)
from simcluster.models.traffic.cluster.queueing import Demand, quota_wait, service_time, thread_wait


@pytest.mark.parametrize("utilisation", [0.1, 0.5, 0.8, 0.9])
def test_one_server_waits_as_in_m_m_1(utilisation: float) -> None:
    wait = thread_wait(Demand(utilisation, 10.0, 1.0), 1)

    assert wait.mean_ns == pytest.approx(10.0 * utilisation / (1.0 - utilisation))
    # W: a share rho waits, for an exponential time
    assert wait.variance == pytest.approx(wait.mean_ns * wait.mean_ns * (2.0 / utilisation - 1.0))


@pytest.mark.parametrize(("cv2", "ratio"), [(0.0, 2.0), (1.0, 4.0), (4.0, 10.0)])
def test_variable_costs_wait_as_pollaczek_and_khinchine_say(cv2: float, ratio: float) -> None:
    assert thread_wait(Demand(0.8, 1.0, cv2), 1).mean_ns == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("servers", "utilisation", "sojourn"), [(4, 0.8, 1.7455), (4, 0.95, 5.4571), (8, 0.9, 1.8769), (16, 0.9, 1.3696)]
)
def test_several_servers_wait_as_in_m_m_c(servers: int, utilisation: float, sojourn: float) -> None:
    wait = thread_wait(Demand(utilisation * servers, 1.0, 1.0), servers)

    assert 1.0 + wait.mean_ns == pytest.approx(sojourn, rel=1e-4)


def test_a_quota_costs_nothing_while_the_load_is_far_below_it() -> None:
    wait = quota_wait(Demand(0.01, 0.2 * MILLISECOND, 1.0), 0.2)

    assert wait.mean_ns < 1.0


def test_a_quota_far_below_the_cost_is_a_slow_server() -> None:
    # 50 ms of CPU under 0.01 cores (1 ms in 100): an M/M/1 queue of speed 0.01.
    wait = quota_wait(Demand(0.005, 50.0 * MILLISECOND, 1.0), 0.01)

    assert wait.mean_ns == pytest.approx(0.5 / 0.5 * 5000 * MILLISECOND, rel=0.02)


def test_a_long_request_sleeps_through_the_rest_of_each_period() -> None:
    assert service_time(25 * MILLISECOND, 0.1) == pytest.approx(205 * MILLISECOND)
    assert service_time(25 * MILLISECOND, None) == 25 * MILLISECOND
    assert service_time(2 * MILLISECOND, 0.1) == 2 * MILLISECOND


def test_the_normal_distribution_function() -> None:
    for z in (-3.0, -1.0, 0.0, 0.5, 2.0):
        assert normal_cdf(z) == pytest.approx(0.5 * (1.0 + math.erf(z / math.sqrt(2.0))), abs=1e-7)


def test_quantile_and_tail_are_inverse() -> None:
    latency = Latency(20e6, 15e6**2)

    for p in (0.5, 0.9, 0.99):
        assert probability_above(latency, quantile(latency, p)) == pytest.approx(1.0 - p, abs=1e-6)


def test_a_mixture_of_two_lies_between_them() -> None:
    fast, slow = Latency(1e6, 1e10), Latency(100e6, 1e14)

    p50, p95 = mixture_quantiles([Component(900, fast), Component(100, slow)], (0.5, 0.95))

    assert p50 == pytest.approx(1e6, rel=0.3)
    assert p95 == pytest.approx(100e6, rel=0.3)
    assert mixture_quantiles([], (0.5,)) == [0.0]
