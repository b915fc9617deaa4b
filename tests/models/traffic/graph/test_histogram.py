"""Bins of equal ratio."""

from __future__ import annotations

import pytest

from simcluster.engine import Stream
from simcluster.models.traffic.graph.histogram import Histogram, edges


def test_quantiles_within_half_a_percent() -> None:
    stream = Stream(7)
    values = sorted(int(stream.exponential(1e7)) for _ in range(20_000))
    histogram = Histogram()
    histogram.add_all(values)
    for share in (0.1, 0.5, 0.9, 0.99, 0.999):
        exact = values[int(share * len(values)) - 1]
        assert histogram.quantile(share) == pytest.approx(exact, rel=0.008)
    assert histogram.mean == sum(values) / len(values)
    assert histogram.maximum == values[-1]


def test_one_by_one_is_the_same_as_at_once() -> None:
    values = [0, 1, 2, 3, 127, 128, 129, 10**6, 10**9, 10**12] * 10
    one, all_at_once = Histogram(), Histogram()
    for value in values:
        one.add(value)
    all_at_once.add_all(values)
    assert one.bins == all_at_once.bins
    assert (one.count, one.total, one.maximum) == (all_at_once.count, all_at_once.total, all_at_once.maximum)


def test_values_lie_in_their_bins() -> None:
    for value in (1, 2, 3, 5, 1000, 123_456_789):
        histogram = Histogram()
        histogram.add(value)
        low, high = edges(next(iter(histogram.bins)))
        assert low <= value < high


def test_zero_has_its_own_bin() -> None:
    histogram = Histogram()
    histogram.add_all([0] * 30 + [10] * 10)
    assert histogram.share_above(0.0) == 0.25
    assert histogram.quantile(0.5) == 0.0
    assert Histogram().quantile(0.5) == 0.0
    merged = Histogram()
    merged.merge(histogram)
    assert merged.bins == histogram.bins
