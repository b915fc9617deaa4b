"""`simcluster learn`: asks when there is somebody to ask, and shows what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simcluster.cli import main

LESSON = """
id: tiny
title: A tiny storm
idea: Four attempts.
question: Does it end?
choices:
  - {text: "Yes.", when: [{figure: share, above: 0.5}]}
  - {text: "No.", when: [{figure: share, below: 0.5}]}
graph:
  run: {duration: 6s, window: 500ms}
  services: {api: {workers: 1, operations: {serve: {work: {law: exponential, mean: 10ms}}}}}
  load: {users: {target: api, open: {rate: 60}, call: {timeout: 300ms, retries: {attempts: 4}}}}
  events: [{at: 1s, for: 1s, capacity: {service: api, factor: 0}}]
runs: {storm: {title: four attempts}}
figures: {share: {of: users.ok, per: users.arrivals, from: 4s}}
picture: [{title: attempts, curves: [{name: four, of: users.attempts}]}]
explanation: [{text: "{share:%} succeed."}]
next: [simcluster learn remedies]
"""


@pytest.fixture
def lesson(tmp_path: Path) -> str:
    path = tmp_path / "tiny.yaml"
    path.write_text(LESSON)
    return str(path)


def test_lessons_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn"]) == 0
    assert "retry_storm" in capsys.readouterr().out
    assert main(["learn", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["id"] == "retry_storm"


def test_without_a_terminal_the_question_is_skipped(lesson: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", lesson]) == 0
    out = capsys.readouterr().out
    assert "the question is skipped" in out
    assert "What happened: 2. No." in out
    assert "simcluster learn remedies" in out


@pytest.mark.parametrize(("answer", "said"), [("2", "Right."), ("1", "You said 1")])
def test_a_prediction_is_judged(lesson: str, answer: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", lesson, "--answer", answer]) == 0
    assert said in capsys.readouterr().out


def test_json_and_the_picture(lesson: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", lesson, "--json", "--answer", "2", "--out", str(tmp_path / "pictures")]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["right"], printed["answer_is_right"]) == ([2], True)
    assert printed["figures"]["share"] < 0.5
    assert (tmp_path / "pictures" / "tiny.svg").read_text().startswith("<svg")


def test_wrong_arguments(lesson: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", lesson, "--answer", "9"]) == 2
    assert "answers 1 to 2" in capsys.readouterr().err
    assert main(["learn", "retry_strom"]) == 2
    assert "retry_storm" in capsys.readouterr().err
