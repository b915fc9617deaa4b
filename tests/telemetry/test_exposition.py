"""The text format of Prometheus, as Go's client library writes it."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from simcluster.telemetry.exposition import Family, instant, seconds, text

UP = Family("up", "gauge", "Whether it is.", (((), 1),))


def test_families_and_samples_are_sorted_and_empty_families_are_left_out() -> None:
    calls = Family("calls_total", "counter", "Calls.", (((("code", "500"),), 2), ((("code", "200"),), 30)))
    assert text([UP, Family("none", "gauge", "Nothing.", ()), calls]) == (
        "# HELP calls_total Calls.\n# TYPE calls_total counter\n"
        'calls_total{code="200"} 30\ncalls_total{code="500"} 2\n'
        "# HELP up Whether it is.\n# TYPE up gauge\nup 1\n"
    )


def test_values_of_labels_are_escaped() -> None:
    labels = (("l", 'x\\y"z\n'),)
    assert text([Family("a", "gauge", "A.", ((labels, 0),))]).splitlines()[-1] == r'a{l="x\\y\"z\n"} 0'


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        *((0, "0"), (-2.5, "-2.5"), (999_999, "999999"), (1_000_000, "1e+06"), (1_732_000_000, "1.732e+09")),
        *((0.0001, "0.0001"), (0.00001, "1e-05"), (1772442001.5, "1.7724420015e+09")),
    ],
)
def test_numbers_are_printed_as_go_prints_them(value: float, shown: str) -> None:
    assert text([Family("a", "gauge", "A.", (((), value),))]).splitlines()[-1] == f"a {shown}"


def test_times_are_in_seconds() -> None:
    assert seconds(1_500_000_000) == 1.5
    assert instant(3 * SECOND + SECOND // 2) - instant(0) == 3.5
