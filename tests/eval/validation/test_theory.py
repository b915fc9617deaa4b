"""Closed forms against figures computed elsewhere."""

from __future__ import annotations

import pytest

from simcluster.eval.validation import theory


@pytest.mark.parametrize(
    ("servers", "rho", "sojourn", "wait"),
    [(4, 0.8, 1.7455, 0.5964), (4, 0.95, 5.4571, 0.8914), (8, 0.9, 1.8769, 0.7015), (16, 0.9, 1.3696, 0.5913)],
)
def test_erlang_c(servers: int, rho: float, sojourn: float, wait: float) -> None:
    assert theory.erlang_c(servers * rho, servers) == pytest.approx(wait, abs=1e-4)
    assert theory.mmc_sojourn(servers * rho, 1.0, servers) == pytest.approx(sojourn, abs=1e-4)


def test_single_servers() -> None:
    assert theory.mmc_quantile(0.8, 1.0, 1, 0.99) == pytest.approx(23.03, abs=0.005)
    assert [theory.mg1_wait(0.8, 1.0, c) for c in (0.0, 1.0, 4.0)] == pytest.approx([2.0, 4.0, 10.0])


@pytest.mark.parametrize(("servers", "rho"), [(1, 0.5), (2, 0.5), (4, 0.8), (8, 0.95)])
def test_quantiles_of_several_servers_have_the_mean(servers: int, rho: float) -> None:
    found = [theory.mmc_quantile(servers * rho, 1.0, servers, (k + 0.5) / 2000) for k in range(2000)]
    assert sum(found) / 2000 == pytest.approx(theory.mmc_sojourn(servers * rho, 1.0, servers), rel=0.003)


@pytest.mark.parametrize(
    ("case", "blocked", "sojourn"),
    [
        ((0.9, 1, 10), 0.05081, 4.6466),
        ((1.2, 1, 10), 0.19259, 6.9261),
        ((3.6, 4, 20), 0.01680, 2.1950),
        ((6.0, 4, 20), 0.33348, 4.5031),
    ],
)
def test_loss(case: tuple[float, int, int], blocked: float, sojourn: float) -> None:
    rate, servers, places = case
    found = theory.mmck(rate, 1.0, servers, places)
    assert found.blocked == pytest.approx(blocked, abs=1e-5)
    assert found.sojourn == pytest.approx(sojourn, abs=1e-4)


@pytest.mark.parametrize(
    ("case", "wait", "abandon"),
    [((10.0, 10, 0.5), 0.6197, 0.1039), ((12.0, 10, 0.5), 0.8504, 0.1957), ((10.0, 10, 2.0), 0.4656, 0.1460)],
)
def test_impatience(case: tuple[float, int, float], wait: float, abandon: float) -> None:
    rate, servers, theta = case
    found = theory.erlang_a(rate, 1.0, servers, theta)
    assert found.wait == pytest.approx(wait, abs=1e-4)
    assert found.abandon == pytest.approx(abandon, abs=1e-4)


def test_retries() -> None:
    assert theory.retry_success(0.5, 3) == pytest.approx((0.9375, 1.875))


@pytest.mark.parametrize(("rho", "known"), [(0.15, 0.334), (0.25, 0.180), (0.35, 0.121), (0.7, 0.065), (0.8, 0.057)])
def test_critical_duration_is_near_the_exact_one(rho: float, known: float) -> None:
    assert theory.critical_duration(rho, 0.05, 0.1) == pytest.approx(known, rel=0.21)


def test_without_bursts_the_order_of_a_pool_does_not_matter() -> None:
    times = (0.03, 0.01)
    mru, lru = (theory.pool_shares({1: 50.0}, times, 3, reuse) for reuse in ("mru", "lru"))
    assert mru == pytest.approx(lru, abs=1e-9)
    sorted_by_bursts = theory.pool_shares({1: 50.0, 6: 2.0}, times, 3, "mru")
    assert sorted_by_bursts[0] > mru[0] + 0.05
