"""Intervals that cover, tests that hold their level, and comparisons that find what is there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simcluster.eval.statistics import bootstrap, cohen_kappa, compare, pass_any, pass_every, wilson
from simcluster.eval.statistics.compare import mcnemar


def runs(passed: list[bool], seeds: int = 1) -> list[dict[str, Any]]:
    return [
        {"task": f"t{i // seeds}", "seed": i % seeds, "passed": one, "kind": "even" if i // seeds % 2 == 0 else "odd"}
        for i, one in enumerate(passed)
    ]


def test_wilson_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    for share in (0.02, 0.3, 0.9):
        hits = 0
        for passed in rng.binomial(40, share, 2_000):
            found = wilson(int(passed), 40)
            hits += found.low <= share <= found.high
        assert 0.91 <= hits / 2_000 <= 0.99
    assert wilson(0, 0) == (0.0, 0.0, 1.0)
    assert wilson(0, 20).low == 0.0 < wilson(0, 20).high < 0.2
    with pytest.raises(ValueError, match="3 of 2"):
        wilson(3, 2)


def test_the_bootstrap_draws_tasks_and_not_runs() -> None:
    alike = [[1.0] * 50, [0.0] * 50] * 3
    assert bootstrap(alike).high - bootstrap(alike).low > 0.5  # six tasks, not three hundred runs
    assert bootstrap(alike) == bootstrap(alike)
    assert bootstrap([[0.5]]) == (0.5, 0.5, 0.5)
    with pytest.raises(ValueError, match="value"):
        bootstrap([[1.0], []])


def test_repetitions() -> None:
    assert [pass_any(4, 2, k) for k in (1, 2, 3, 4)] == pytest.approx([0.5, 5 / 6, 1, 1])
    assert [pass_every(4, 2, k) for k in (1, 2, 3, 4)] == pytest.approx([0.5, 1 / 6, 0, 0])
    with pytest.raises(ValueError, match="k is 5"):
        pass_any(4, 2, 5)


def test_mcnemar_keeps_its_level() -> None:
    rng = np.random.default_rng(2)
    wrong = sum(mcnemar(int(n), 12 - int(n)) < 0.05 for n in rng.binomial(12, 0.5, 5_000))
    assert wrong / 5_000 < 0.05
    assert mcnemar(0, 6) < 0.05 < mcnemar(0, 5)


def test_a_real_difference_is_found_and_chance_is_none() -> None:
    same = compare(runs([True, False] * 10), runs([False, True] * 10), lambda r: bool(r["passed"]))[0]
    assert not same.significant
    assert same.verdict().startswith("no difference")
    better = compare(runs([False] * 20), runs([True] * 20), lambda r: bool(r["passed"]), lambda r: [r["kind"]])
    assert [one.group for one in better] == ["", "even", "odd"]
    assert all(one.significant for one in better)
    assert better[0].verdict().startswith("the second is better by 100%")
    assert better[0].difference == (1.0, 1.0, 1.0)
    assert better[0].to_dict()["first"]["value"] == 0.0


def test_only_pairs_are_compared() -> None:
    found = compare(runs([True] * 5), runs([True] * 3), lambda r: bool(r["passed"]))
    assert found[0].pairs == 3
    with pytest.raises(ValueError, match="no task and seed"):
        compare(runs([True]), [], lambda r: True)
    with pytest.raises(ValueError, match="stands twice"):
        compare(runs([True]) * 2, runs([True]), lambda r: True)


def test_kappa() -> None:
    assert cohen_kappa([(True, True), (False, False)]) == 1.0
    assert cohen_kappa([(True, False), (False, True)]) == -1.0
    assert cohen_kappa([(True, True)] * 3) == 1.0
    with pytest.raises(ValueError, match="no pairs"):
        cohen_kappa([])
