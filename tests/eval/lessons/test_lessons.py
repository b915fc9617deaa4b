"""Lessons: what is told is measured, and a wrong file is refused with the right word."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster.engine.content import ContentError, Library, UnknownName
from simcluster.eval.lessons import ids, load, teach
from simcluster.eval.lessons.formula import WrongFormula, names_in, value_of
from simcluster.eval.lessons.story import Story
from simcluster.eval.lessons.taught import worded
from simcluster.eval.lessons.terminal import drawn

TINY = """
id: tiny
title: A tiny storm
idea: Four attempts.
question: Does it end?
choices:
  - {text: "Yes.", when: [{figure: share, above: 0.5}]}
  - {text: "No.", when: [{figure: share, below: 0.5}]}
graph:
  run: {duration: 8s, window: 500ms}
  services: {api: {workers: 1, operations: {serve: {work: {law: exponential, mean: 10ms}}}}}
  load: {users: {target: api, open: {rate: 60}, call: {timeout: 300ms, retries: {attempts: 4}}}}
  events: [{at: 2s, for: 1s, capacity: {service: api, factor: 0}}]
runs:
  storm: {title: four attempts}
  once: {title: one attempt, changes: {load.users.call.retries: null}}
figures:
  capacity: {know: capacity api}
  attempts: {know: attempts users}
  threshold: {formula: capacity / attempts}
  share: {of: users.ok, per: users.arrivals, from: 5s}
  once: {run: once, of: users.ok, per: users.arrivals, from: 5s}
picture:
  - title: attempts
    curves: [{name: four, of: users.attempts}, {name: one, run: once, of: users.attempts}]
explanation:
  - {text: "Threshold {threshold} a second; {share:%} succeed."}
  - {text: "Without retries {once:%}.", when: [{figure: once, above: 0.9}]}
  - {text: "never shown", when: [{figure: once, below: -1}]}
next: [simcluster learn]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "tiny.yaml"
    path.write_text(text)
    return path


def test_a_lesson_is_taught_by_its_own_numbers(tmp_path: Path) -> None:
    progress: list[str] = []

    taught = teach(load(str(written(tmp_path, TINY))), progress.append)

    assert progress == ["four attempts", "one attempt"]
    assert taught.figures["threshold"] == 25.0
    assert taught.right == (1,)
    assert taught.figures["share"] < 0.2
    assert taught.explanation[0].startswith("Threshold 25 a second")
    assert [text.partition(" ")[0] for text in taught.explanation] == ["Threshold", "Without"]
    assert taught.svg().startswith("<svg")
    assert "2 s capacity x 0" in drawn(taught.panels())
    assert taught.to_dict()["right"] == [2]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("figure: share, above", "figure: shares, above", "did you mean share"),
        ("run: once, of: users.ok", "run: onc, of: users.ok", "did you mean once"),
        ("{threshold} a second", "{treshold} a second", "did you mean threshold"),
        ("capacity / attempts", "capacity ** attempts", "holds more than numbers"),
        ("formula: capacity / attempts", "formula: capacity / tries", "unknown figure 'tries'"),
        ("title: A tiny storm", "titel: A tiny storm", "did you mean 'title'"),
        ("id: tiny", "id: small", "must be the file's name"),
        (
            "of: users.ok, per: users.arrivals, from: 5s}\n  once",
            "of: users.ok, know: rate users}\n  once",
            "exactly one",
        ),
        ("question: Does it end?", "question: Does it end?\ntask: x", "either a graph or a task"),
    ],
)
def test_a_wrong_lesson_is_refused(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in TINY
    with pytest.raises(ContentError, match=complaint):
        load(str(written(tmp_path, TINY.replace(old, new, 1))))


def test_an_unknown_series_or_fact_is_named(tmp_path: Path) -> None:
    for old, new in (("of: users.attempts}, {", "of: users.tries}, {"), ("know: capacity api", "know: capacity web")):
        with pytest.raises(UnknownName):
            teach(load(str(written(tmp_path, TINY.replace(old, new, 1))))).panels()


def test_a_lesson_of_a_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "lessons").mkdir()
    written(tmp_path / "lessons", TINY)
    library = Library((tmp_path,))

    assert ids(library)[-1] == "tiny"
    assert load("tiny", library).title == "A tiny storm"
    with pytest.raises(UnknownName, match="did you mean"):
        load("tinny", library)


def test_every_lesson_of_the_package_can_be_read() -> None:
    assert ids()[:4] == ["retry_storm", "metastable_load_spike", "metastable_capacity", "remedies"]


#: Which answer is right with the seed of the file.
RIGHT = {
    "retry_storm": 3,
    "fail_stop": 2,
    "fail_slow": 2,
    "sector_errors": 2,
    "collapse_in_a_cluster": 3,
    "metastable_load_spike": 2,
    "metastable_capacity": 3,
    "remedies": 1,
    "queue_in_a_cluster": 3,
}


@pytest.mark.parametrize(
    "lesson_id", ["retry_storm", *(pytest.param(one, marks=pytest.mark.slow(sample=0)) for one in [*RIGHT][1:])]
)
def test_a_lesson_of_the_package_comes_out_as_theory_has_it(lesson_id: str) -> None:
    taught = teach(load(lesson_id))

    assert taught.right == (RIGHT[lesson_id] - 1,)
    assert len(taught.explanation) >= 3


def test_formulas() -> None:
    assert value_of("-(a - 3) * 2 / b", {"a": 1.0, "b": 4.0}) == 1.0
    assert value_of("1 / a", {"a": 0.0}) == 0.0
    assert names_in("a + b") == ["a", "b"]
    for wrong in ("a +", "f(a)", "a.b", "'a'", "a if a else b"):
        with pytest.raises(WrongFormula):
            names_in(wrong)


def test_numbers_are_worded_shortly() -> None:
    assert (
        worded("{a} {b} {c:%} {d:.1f}", {"a": 12345.6, "b": 0.12345, "c": 0.996, "d": 2.0}) == "12,346 0.123 100 % 2.0"
    )


def test_the_mean_of_nothing_is_nothing() -> None:
    story = Story("x", 1.0, {"a": [1.0, 2.0, 3.0]}, began_s=-1.0)

    assert story.mean("a", None, None) == 2.0
    assert story.mean("a", 0.0, 2.0) == 2.5
    assert story.mean("a", 5.0, 9.0) == 0.0
