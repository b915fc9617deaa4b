"""The suite of another collection's types: how many there are, in which order, and what an instance is."""

from __future__ import annotations

from collections import Counter

import pytest

from simcluster.eval.generator import collection
from simcluster.eval.generator.collection import TYPES, WHOLE, Collection, numbered
from simcluster.eval.generator.suite import text_of
from simcluster.eval.proof.pairs import healthy
from simcluster.faults import registry


def test_it_has_as_many_instances_as_the_data_set_and_every_type_is_a_fault() -> None:
    assert WHOLE == 656
    assert Counter(one.app for one in TYPES for _ in range(one.cases)) == {"online-boutique": 452, "train-ticket": 204}
    assert len({one.label for one in TYPES}) == 49
    for one in TYPES:
        assert registry.load(one.label).id


def test_every_type_comes_once_before_any_comes_again() -> None:
    order = numbered(WHOLE)
    assert len(set(order)) == WHOLE
    assert [number for _, number in order[: len(TYPES)]] == [0] * len(TYPES)
    assert numbered(60) == order[:60]


@pytest.mark.parametrize("text", ["cloudopsbench:0", "cloudopsbench:657", "cloudopsbench:x", "cloudopsbench:"])
def test_a_wrong_size_names_the_right_ones(text: str) -> None:
    with pytest.raises(ValueError, match="with N from 1 to 656"):
        Collection.parse(text)


def test_an_instance_is_a_task_that_asks_as_the_data_set_does(tmp_path) -> None:
    kind = next(one for one in TYPES if one.label == "pvc_capacity_mismatch")
    known = collection._Known(collection._components(kind, None), healthy(kind.app, 0, None)[1])
    first, second = (collection._instance(kind, number, known, None) for number in (0, 1))
    assert (first.id, second.id) == tuple(f"cloudopsbench-boutique-pvc-capacity-mismatch-{n:02d}" for n in (1, 2))
    assert first.ticket is not None
    assert first.ticket.text == "Partial Service Unreachability."
    assert "PersistentVolumeClaim/" in text_of(first)
    assert first.truth.component.startswith("PersistentVolumeClaim/")
