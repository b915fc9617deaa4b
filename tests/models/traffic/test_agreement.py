"""`exact` and `aggregate` on families of policies; the statistics by which they are compared."""

from __future__ import annotations

import math

import pytest

from simcluster.models.traffic.graph import spec_of
from simcluster.testing.agreement import FAMILIES, Family, Share, Stationary, compare, measured
from simcluster.testing.agreement.measure import Outcome
from simcluster.testing.agreement.report import is_agreement
from simcluster.testing.agreement.statistics import fisher, half_width, mantel_haenszel, two_sided

#: Cells that take little time, as they come in their families.
SAMPLE = {"retries": "10 services a timeout, load 0.3, 0.05 s", "networks and processors": "loss 0.01, 0.7"}


def test_every_cell_is_a_graph_and_has_a_name_of_its_own() -> None:
    assert len(FAMILIES) >= 15
    for name, make in FAMILIES.items():
        cells = make()
        assert len(cells) >= 8, name
        assert len({cell.name for cell in cells}) == len(cells), name
        for cell in cells:
            assert bool(cell.graph.get("events")) is cell.collapse, cell.name
            spec_of(cell.graph)


def test_statistics_of_shares() -> None:
    assert fisher(5, 10, 5, 10) == 1.0
    assert fisher(0, 10, 10, 10) == pytest.approx(2 / math.comb(20, 10))
    assert two_sided(2.575829) == pytest.approx(0.01, rel=1e-4)
    assert mantel_haenszel([(0, 10, 0, 10), (10, 10, 10, 10)]) == 1.0
    # one cell says little, many of the same lean say much; opposite ones cancel out
    assert mantel_haenszel([(3, 10, 6, 10)]) > 0.05
    assert mantel_haenszel([(3, 10, 6, 10)] * 8) < 0.001
    assert mantel_haenszel([(3, 10, 6, 10), (6, 10, 3, 10)]) == 1.0


def test_interval_of_a_ratio() -> None:
    # two samples of 5: standard errors of 1 %, 8 degrees of freedom, Student's 3.355 at 99 %
    sample = [1.0 + 0.01 * math.sqrt(5.0) * x for x in (-math.sqrt(2.0), 0.0, 0.0, 0.0, math.sqrt(2.0))]
    assert half_width(sample, sample) == pytest.approx(3.355 * math.sqrt(2.0) * 0.01, rel=0.01)
    assert half_width([1.0], [1.0]) == math.inf


def lopsided(engine: str, graph: object, seed: int) -> Outcome:
    """A runner: `exact` always collapses, `aggregate` in one run of ten, and is a fifth slower."""
    latency = 1.0 if engine == "exact" else 1.2
    figures = {"mean": latency, "p50": 1.0, "p90": 1.0, "p99": 1.0, "attempts": 1.0, "failed": 0.0}
    return Outcome(engine == "exact" or seed % 10 == 0, 0.5, figures)


def test_what_differs_is_seen() -> None:
    share = compare(FAMILIES["cancellation"]()[0], run=lopsided)
    assert isinstance(share, Share)
    assert (share.exact, share.exact_runs, share.aggregate, share.aggregate_runs) == (100, 100, 10, 100)
    assert share.differs
    still = compare(FAMILIES["queues"]()[0], run=lopsided)
    assert isinstance(still, Stationary)
    assert still.calm
    assert set(still.wrong) == {"mean"}
    found = Family("made up", (share, still))
    assert (found.differ, found.worst("mean")) == ([share, still], pytest.approx(0.2))
    assert not is_agreement([found])
    assert not is_agreement([Family("leaning", (Share("a", 30, 100, 42, 100),) * 4)])
    assert is_agreement([Family("alike", (Share("a", 4, 10, 5, 10),) * 4)])


@pytest.mark.parametrize("family", SAMPLE)
def test_a_sample_of_the_cells_agrees(family: str) -> None:
    cell = next(cell for cell in FAMILIES[family]() if cell.name == SAMPLE[family])
    found = compare(cell, 4, 4)
    assert not found.differs, found.described()


@pytest.mark.slow(sample=0)  # minutes for each family
@pytest.mark.parametrize("family", FAMILIES)
def test_families_agree(family: str) -> None:
    found = measured(family, 10, 10)
    assert is_agreement([found]), [cell.described() for cell in found.differ]
