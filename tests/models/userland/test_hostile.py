"""Hostile command lines: none hangs, floods or raises, in any face."""

from __future__ import annotations

import time

import pytest

from simcluster.models.userland.escapes import raw
from simcluster.models.userland.face import ASH, BASH
from simcluster.models.userland.outcome import ROOM
from tests.models.userland.fixture import run
from tests.models.userland.hostile import LINES

FACES = {"bash": BASH, "ash": ASH}
#: Seconds of this machine's processor that one line may take.
LONGEST_S = 4.0


def test_there_are_enough() -> None:
    assert len(LINES) * len(FACES) > 500


@pytest.mark.slow(sample=60)
@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("number", range(len(LINES)))
def test_a_hostile_line_is_bounded(number: int, face: str) -> None:
    line = raw(LINES[number]).decode("utf-8", "replace").replace("\0", "")
    begun = time.process_time()
    said = run(line, FACES[face])
    assert time.process_time() - begun < LONGEST_S
    assert len(said.stdout) + len(said.stderr) <= 4 * ROOM


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("a=x; while :; do a=$a$a; done", 137, "Killed\n"),
        ("printf '%1000000000d' 1", 137, "Killed\n"),
        ("timeout 1 sh -c 'while :; do :; done'", 124, ""),
        ("yes | head -1", 0, ""),
        ("f() { f; }; f", 139, "Segmentation fault\n"),
        (":(){ :|:& };:; wait", 0, "bash: line 1: fork: retry: Resource temporarily unavailable\n"),
    ],
)
def test_what_is_printed_of_an_end(line: str, code: int, said: str) -> None:
    outcome = run(line, BASH)
    assert outcome.code == code
    assert outcome.stderr.endswith(said)
