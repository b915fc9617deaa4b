"""Laws of latencies, and the hump of those that wait for a timer."""

from __future__ import annotations

import pytest

from simcluster.models.traffic.cluster.distribution import (
    NEVER,
    Component,
    Durations,
    Late,
    Latency,
    mixed,
    mixture_quantiles,
    probability_above,
    quantile,
)

MS = 1_000_000.0
CALM = Latency(20 * MS, (20 * MS) ** 2)  # exponential


def lossy(share: float) -> Latency:
    """Calm, but so many wait 200 ms more."""
    extra = 200 * MS
    mean = CALM.mean + share * extra
    return Latency(mean, CALM.variance + share * (1 - share) * extra * extra, Late(share, extra, extra * extra))


@pytest.mark.parametrize("share", [1e-4, 1e-3, 1e-2, 0.05, 0.2])
def test_rare_delays_leave_the_others_as_they_were(share: float) -> None:
    usual, far = lossy(share).humps()
    assert usual[0] == pytest.approx(1 - share)
    assert usual[1][:2] == pytest.approx(CALM[:2])
    assert far[1].mean == pytest.approx(220 * MS)
    assert far[1].variance == pytest.approx(CALM.variance)
    assert quantile(lossy(share), 0.5 * (1 - share)) == pytest.approx(quantile(CALM, 0.5), rel=0.02)
    assert probability_above(lossy(share), 160 * MS) == pytest.approx(share, rel=0.02, abs=5e-4)


def test_no_quantile_is_shorter_for_more_loss() -> None:
    for p in (0.1, 0.5, 0.9, 0.99, 0.999):
        seen = [quantile(lossy(share), p) for share in (1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.2)]
        assert seen == sorted(seen)
        assert mixture_quantiles([Component(10, lossy(0.01)), Component(90, CALM)], (p,))[0] <= seen[3]


def test_two_lossy_calls_in_turn() -> None:
    both = Late(0.1, 200.0, 50_000.0).together(Late(0.2, 100.0, 10_000.0))
    assert both.share == pytest.approx(1 - 0.9 * 0.8)
    assert both.share * both.mean == pytest.approx(0.1 * 200 + 0.2 * 100)
    assert both.share * both.square == pytest.approx(0.1 * 50_000 + 0.2 * 10_000 + 2 * 20 * 20)
    one = Late(0.1, 200.0, 50_000.0)
    assert one.together(NEVER) == NEVER.together(one) == one
    assert one.thinned(0.5).share == pytest.approx(0.05)
    twice = one.thinned(2.0)
    assert twice.share * twice.mean == pytest.approx(40.0)
    assert twice.share * twice.square == pytest.approx(2 * 0.1 * 50_000 + 2 * 20 * 20)


def test_durations_are_drawn_from_both_humps() -> None:
    drawn = Durations.of(lossy(0.2))
    mean = sum(v * w for v, w in zip(drawn.values, [drawn.shares[0], *(drawn.shares[1:] - drawn.shares[:-1])]))  # noqa: B905
    assert mean == pytest.approx(60 * MS, rel=0.05)
    assert float((drawn.values > 170 * MS).sum()) == pytest.approx(200.0, rel=0.02)


def test_a_way_that_only_delays_what_it_loses() -> None:
    extra, share = 800 * MS, 0.87
    way = Latency(share * extra, share * (1 - share) * extra**2 + share * extra**2, Late(share, extra, 2 * extra**2))
    drawn = [quantile(way, (number + 0.5) / 1000) for number in range(1000)]
    assert sum(took < MS for took in drawn) == pytest.approx(130, abs=10)
    assert sum(drawn) / 1000 == pytest.approx(way.mean, rel=0.02)
    assert sum(took > 5000 * MS for took in drawn) / 1000 == pytest.approx(probability_above(way, 5000 * MS), abs=2e-3)


def test_parts_mixed() -> None:
    law = mixed([(0.3, CALM), (0.1, lossy(0.2))])
    assert law.mean == pytest.approx((0.3 * 20 + 0.1 * 60) / 0.4 * MS)
    assert law.late.share == pytest.approx(0.05)
    assert law.late.mean == pytest.approx(200 * MS)
    assert probability_above(law, 160 * MS) == pytest.approx(0.05, rel=0.05)
