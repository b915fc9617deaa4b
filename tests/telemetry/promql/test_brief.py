"""What rules leave out of an evaluation changes no result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simcluster.telemetry.metrics.columns import Columns, Group, counter, labels
from simcluster.telemetry.metrics.store import MetricStore
from simcluster.telemetry.promql.evaluation import DEFAULT, query

CALLS = Columns((counter("calls_total", "Calls.", labels(code="ok"), labels(code="bad")),))
ASKED = (
    'rate(calls_total{code="bad"}[1m]) / ignoring (code) rate(calls_total{code="ok"}[1m]) > 0.1',
    'sum by (pod) (rate(calls_total{code="bad"}[1m])) / sum by (pod) (rate(calls_total[1m])) > 0.1',
    'sum by (pod) (rate(calls_total{code="bad"}[1m])) / (sum by (pod) (rate(calls_total[1m])) > 1) > 0',
    'sum by (pod) (rate(calls_total{code="bad"}[1m])) / sum by (pod) (rate(calls_total[1m])) > bool 0',
    'sum by (pod) (rate(calls_total{code="bad"}[1m])) / sum by (pod) (rate(calls_total[1m])) > -1',
    'sum by (pod) (rate(calls_total{code="bad"}[1m])) / sum by (pod) (rate(calls_total[1m])) < 1',
    'sum by (pod) (rate(calls_total{code="none"}[1m])) / sum by (pod) (rate(calls_total[1m])) > 0.1',
    'calls_total{code="bad"} > 20 and max_over_time(calls_total[1m]) >= 0',
    'calls_total{code="bad"} > 20 unless calls_total > 100',
)


@pytest.mark.parametrize("text", ASKED)
@pytest.mark.parametrize("bad", [(0, 0), (0, 3), (5, 1)])
def test_a_share_of_nothing_is_above_nothing(text: str, bad: tuple[int, int]) -> None:
    store = MetricStore()
    for scrape in range(8):
        shown = {
            Group(CALLS, labels(pod=pod)): CALLS.row((7 * scrape, grows * scrape))
            for pod, grows in zip("ab", bad, strict=True)
        }
        store.take(store.log("pods", ()), 15_000 * scrape, shown)
    whole, brief = (query(store, text, 105_000, replace(DEFAULT, brief=each)) for each in (False, True))
    assert [one.labels for one in brief.series] == [one.labels for one in whole.series]
    for one, other in zip(brief.series, whole.series, strict=True):
        assert np.array_equal(one.values, other.values)
