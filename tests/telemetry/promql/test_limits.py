"""No query takes long or much: what would is refused, in Prometheus' words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from simcluster.telemetry.promql.context import TOO_MANY_SAMPLES, QueryError
from simcluster.telemetry.promql.evaluation import query, query_range
from simcluster.telemetry.promql.storage import Matcher, SeriesData

SCRAPES, SERIES = 2_000, 2_500
TIMES = np.arange(SCRAPES, dtype=np.int64) * 15_000
VALUES = np.arange(SCRAPES, dtype=np.float64)
END = int(TIMES[-1])


class Many:
    """Many series of the same samples."""

    def select(self, matchers: Sequence[Matcher], from_ms: int, to_ms: int) -> list[SeriesData]:
        inside = slice(*np.searchsorted(TIMES, [from_ms, to_ms + 1]).tolist())
        return [
            SeriesData((("__name__", "x_total"), ("pod", f"p{k}")), TIMES[inside], VALUES[inside])
            for k in range(SERIES)
        ]


@pytest.mark.parametrize(
    ("text", "span_ms", "step_ms"),
    [
        ("x_total", END, 3_000),
        ("rate(x_total[5m])", END, 15_000),
        ("sum_over_time(x_total[8h])", 600_000, 60_000),
        ("quantile_over_time(0.5, x_total[4h])", 900_000, 15_000),
        ("max_over_time(x_total[8h:1s])", 0, 1_000),
        ('count_values by (pod) ("v", x_total)', 3_600_000, 15_000),
        ("stddev_over_time(rate(x_total[1h])[1h:1m])", 3_600_000, 15_000),
        ("x_total * on(pod) x_total * on(pod) x_total", 20_000_000, 15_000),
    ],
)
def test_what_costs_too_much_is_refused(text: str, span_ms: int, step_ms: int) -> None:
    with pytest.raises(QueryError, match=TOO_MANY_SAMPLES):
        query_range(Many(), text, END - span_ms, END, step_ms)


def test_a_subquery_without_end_is_refused() -> None:
    with pytest.raises(QueryError, match=TOO_MANY_SAMPLES):
        query(Many(), "max_over_time(vector(1)[100y:1ms])", END)


def test_what_an_operator_asks_is_not() -> None:
    found = query_range(Many(), "sum(rate(x_total[5m]))", END - 1_800_000, END, 15_000)
    assert len(found.series[0].times) == 121
