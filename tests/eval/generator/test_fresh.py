"""Incidents that nobody wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster import tasks
from simcluster.eval.episode.start import STARTS
from simcluster.eval.generator.drawing import member
from simcluster.eval.generator.suite import Fresh, text_of


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


def test_an_incident_is_the_same_for_a_seed_another_if_it_is_taken_and_pages_as_its_file_says(tmp_path: Path) -> None:
    first = member(7, 0)
    assert first == member(7, 0)
    path = tmp_path / f"{first.task.id}.yaml"
    path.write_text(text_of(first.task))
    loaded = tasks.load(str(path))
    assert loaded.truth == first.task.truth
    assert (loaded.age, loaded.noise, loaded.incident) == (first.task.age, first.task.noise, first.task.incident)
    assert STARTS.start(loaded, 0).alert
