"""Online Boutique's figures beside recorded ones."""

from __future__ import annotations

from simcluster.testing.healthy import Figure, measured
from simcluster.testing.healthy.__main__ import WANTED


def test_four_of_five_figures_are_as_recorded() -> None:
    found = measured(minutes=1)
    assert len(found) == 99
    wrong = [f"{one.service} {one.metric} {one.value:g}" for one in found if not one.is_as_recorded]
    assert len(wrong) <= (1.0 - WANTED) * len(found), wrong


def test_a_figure_is_judged_by_both_ends() -> None:
    assert not Figure("a", "rps", 0.69, 1.0, 1.0).is_as_recorded
    assert Figure("a", "rps", 0.7, 1.0, 1.0).is_as_recorded
    assert Figure("a", "rps", 1.3, 1.0, 1.0).is_as_recorded
    assert not Figure("a", "rps", 1.31, 1.0, 1.0).is_as_recorded
    assert Figure("a", "success", 1.0, 1.0, 0.95).is_as_recorded
