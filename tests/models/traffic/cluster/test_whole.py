"""Parts of calls become whole ones: totals are kept, and nothing fails that the engine did not let fail."""

from __future__ import annotations

import numpy as np
import pytest

from simcluster.engine.streams import uniforms_at
from simcluster.models.traffic.cluster.whole import BESIDE, Wholes

NOBODY = np.zeros(1)
SURE = np.zeros(1, dtype=bool)


def counted(begun: float, well: float, timeout: float = 0.0, error: float = 0.0) -> np.ndarray:
    return np.array([[begun], [well], [timeout], [0.0], [error], [0.0], [begun]])


@pytest.mark.parametrize("share", [0.0, 0.01, 0.4, 1.0])
def test_seldom_calls_end_as_the_engine_says(share: float) -> None:
    wholes, there = Wholes(["a"], [0]), np.zeros(1, dtype=np.int64)
    begun = well = errors = 0
    total = 0.0
    draws = uniforms_at(np.arange(4000, dtype=np.uint64), 7)
    for draw in draws.tolist():
        part = 0.5 * draw
        total += part
        found = wholes.settle(there, counted(part, (1 - share) * part, error=share * part), NOBODY, NOBODY, SURE)
        assert found.failed[0, 0] == found.failed[1, 0] == found.failed[3, 0] == 0
        begun, well = begun + int(found.begun[0]), well + int(found.well[0])
        errors += int(found.failed[2, 0])
        there = found.left
        assert begun == well + errors + there[0]
        assert 0 <= there[0] <= 1
    assert begun == int(total + 1e-6)
    assert abs(errors - share * total) <= 2
    assert abs(well - (1 - share) * total) <= 2


def test_answers_that_are_not_judged_count_at_once_and_only_once() -> None:
    wholes, there = Wholes(["a"], [0]), np.zeros(1, dtype=np.int64)
    first = wholes.settle(there, counted(10, 0), np.array([8.0]), np.array([2.0]), SURE)
    assert (first.well[0], first.left[0]) == (8, 2)
    second = wholes.settle(first.left, counted(0, 9, timeout=1), NOBODY, NOBODY, SURE)
    assert (second.well[0], second.failed[0, 0], second.left[0]) == (1, 1, 0)


def test_what_is_gone_without_a_word_ends_as_others_do() -> None:
    there = np.array([5, 5])
    found = Wholes(["a", "b"], [0, 0]).settle(
        there, np.zeros((BESIDE + 1, 2)), np.zeros(2), np.array([1.0, 1.0]), np.array([False, True])
    )
    assert found.well.tolist() == [4, 0]
    assert found.failed[0].tolist() == [0, 4]


def test_rests_go_on_over_new_places() -> None:
    wholes = Wholes(["a", "b"], [0, 0])
    none = np.zeros(2)
    row = np.zeros((BESIDE + 1, 2))
    row[0], row[1] = (0.6, 0.9), (0.6, 0.9)
    wholes.settle(np.zeros(2, dtype=np.int64), row, none, none, none > 1)
    wholes.rewire(["b", "c"])
    row[:, 0], row[:, 1] = row[:, 1], 0.5
    row[2:] = 0.0
    found = wholes.settle(np.zeros(2, dtype=np.int64), row, none, none, none > 1)
    assert found.begun.tolist() == [1, 0]
    assert found.well.tolist() == [1, 0]
