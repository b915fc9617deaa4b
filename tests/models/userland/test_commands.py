"""Commands whose answers were recorded from bash with GNU tools and from BusyBox (`record.py`)."""

from __future__ import annotations

import gzip
import json

import pytest

from simcluster.models.userland.face import ASH, BASH
from tests.models.userland.fixture import HERE, LISTS, run

ANSWERS = {
    (chosen, line): found
    for chosen in LISTS
    for line, found in json.loads(
        gzip.decompress((HERE / f"{chosen}.json.gz").read_bytes()).decode("utf-8", "surrogatepass")
    ).items()
}
FACES = {"bash": BASH, "ash": ASH}
#: Lines whose answers differ, with the reason: see DIFFERENT.txt.
DIFFERENT = {
    (face, line)
    for row in (HERE / "different.txt").read_text().splitlines()
    if row and row[0] != "#"
    for face, _, line in [row.partition(" ")]
}


def answers(chosen: str, line: str, face: str) -> bool:
    """Whether what is printed and the status are the recorded ones; folders are read in another order."""
    said = run(line.replace("⏎", "\n"), FACES[face], chosen)
    out, _, code = ANSWERS[chosen, line][face]
    unordered = "find " in line or "grep -r" in line
    same = sorted(said.stdout.split("\n")) == sorted(out.split("\n")) if unordered else said.stdout == out
    return same and said.code == code


def test_there_are_enough() -> None:
    assert sum(len(found) for found in ANSWERS.values()) - len(DIFFERENT) > 1800


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("chosen", LISTS)
def test_answers_are_the_recorded_ones(chosen: str, face: str) -> None:
    wrong = [
        line
        for name, line in ANSWERS
        if name == chosen
        and face in ANSWERS[name, line]
        and (face, line) not in DIFFERENT
        and not answers(name, line, face)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("face", FACES)
def test_what_is_said_to_differ_does(face: str) -> None:
    assert not [
        line
        for name, line in ANSWERS
        if (face, line) in DIFFERENT and face in ANSWERS[name, line] and answers(name, line, face)
    ]
