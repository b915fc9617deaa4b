"""Incidents that nobody wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster import tasks
from simcluster.engine.clock import DAY
from simcluster.eval.generator.suite import Fresh, text_of
from simcluster.eval.proof.pairs import Pair, task_of, worse
from simcluster.faults.target import ObjectRef


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fresh:7", "write fresh:SEED:N, such as fresh:7:20"),
        ("fresh:x:3", "write fresh:SEED:N"),
        ("fresh:7:0", "the nearest that fits is fresh:7:1"),
        ("fresh:7:9000", "the nearest that fits is fresh:7:500"),
    ],
)
def test_a_set_that_cannot_be_is_refused_with_the_nearest_that_can(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Fresh.parse(text)


def test_an_incident_without_a_written_fix_stands_in_its_file_alone(tmp_path: Path) -> None:
    pair = Pair("resource_request_too_large", ObjectRef(kind="Deployment", name="catalog"), {})
    made = task_of("storefront", pair).model_copy(update={"id": "fresh-7-000", "noise": "light", "age": 30 * DAY})
    path = tmp_path / f"{made.id}.yaml"
    path.write_text(text_of(made))
    loaded = tasks.load(str(path))
    assert (loaded.truth, loaded.age, loaded.noise) == (made.truth, 30 * DAY, "light")
    assert (loaded.incident, loaded.reference_fixes) == (made.incident, ())


def test_a_pair_becomes_worse_as_its_fault_says_and_others_do_not() -> None:
    ref = ObjectRef(kind="Deployment", name="catalog")
    limits = [one.params["limit"] for one in worse(Pair("cpu_limit_too_low", ref, {"limit": "90m"}), 2)]
    assert limits == ["22m", "9.4m", "4m"]
    assert worse(Pair("missing_service", ref, {}), 2) == []
