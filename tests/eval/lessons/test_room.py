"""Lessons on machines that fail: what the drives, pods and users of a whole cluster did, from before the fault on."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster.engine.content import ContentError
from simcluster.eval.lessons import load, teach
from simcluster.eval.lessons.room import LEVELS

TINY = """
id: tiny
title: Two blocks
idea: Nobody reads them.
question: Does the drive know?
choices:
  - {text: "Yes.", when: [{figure: before, above: 0.5}]}
  - {text: "When somebody reads.", when: [{figure: before, below: 0.5}, {figure: after, above: 0.5}]}
room: latent_sector_errors_hotel_reservation
runs:
  bad: {title: two blocks, watch: 50s}
figures:
  bad: {of: drive.bad, from: 2s}
  before: {of: drive.known, to: 30s}
  after: {of: drive.known, from: 46s}
  alone: {know: reads a second}
picture:
  - title: known
    curves: [{name: known, of: drive.known}]
explanation:
  - {text: "{bad} blocks"}
"""


def written(folder: Path, text: str) -> str:
    (folder / "tiny.yaml").write_text(text)
    return str(folder / "tiny.yaml")


def test_a_room_is_watched_from_before_the_fault_on(tmp_path: Path) -> None:
    taught = teach(load(written(tmp_path, TINY)))

    story = taught.stories["bad"]
    assert story.began_s == -30.0
    assert set(story.series) == {*LEVELS, "users.arrivals", "users.ok"}
    assert len({len(values) for values in story.series.values()}) == 1
    assert story.marks == ((0.0, "latent sector errors"), (30.0, "new pod of mongodb-rate"), (60.0, "new pod of rate"))
    assert taught.right == (1,)
    assert taught.explanation == ("2 blocks",)
    assert 100.0 < taught.figures["alone"] < 250.0
    assert story.mean("users.ok", -30.0, 0.0) == pytest.approx(100.0, rel=0.1)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("room: latent", "task: latent", None),
        ("title: two blocks, watch", "title: two blocks, changes: {a: 1}, watch", "steps and a time to watch"),
        ("room: latent_sector_errors_hotel_reservation", "idea2: x", "did you mean 'idea'"),
    ],
)
def test_what_is_wrong_in_a_room_is_said(tmp_path: Path, old: str, new: str, complaint: str | None) -> None:
    path = written(tmp_path, TINY.replace(old, new))
    if complaint is None:
        assert load(path).task
        return
    with pytest.raises(ContentError, match=complaint):
        load(path)


def test_a_run_of_a_task_is_not_calm(tmp_path: Path) -> None:
    text = TINY.replace("room: latent", "task: latent").replace("watch: 50s", "watch: 50s, calm: true")
    with pytest.raises(ContentError, match="only runs of a room"):
        load(written(tmp_path, text))


def test_the_lessons_on_hardware_can_be_read() -> None:
    rooms = [load(name) for name in ("fail_stop", "fail_slow", "sector_errors")]
    assert [lesson.order for lesson in rooms] == [60, 70, 80]
    for lesson in rooms:
        for figure in lesson.figures.values():
            assert not figure.of or figure.of in (*LEVELS, "users.arrivals", "users.ok"), (lesson.id, figure.of)
