"""Transcripts: files of commands with all that they print, so that a test compares whole answers.

A line that begins with `$ ` is a command, one with `> ` something that the test does in between (`> wait 60`). Under
a command stand its standard output (`| `), its standard error (`! `) and its exit status (`= 2`) unless it is 0; `~`
at the end of the last line says that no newline follows. `pytest --repin` writes the answers anew: read
the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from simcluster.models.userland.outcome import Outcome

Run = Callable[[str], Outcome | None]
#: What a test can do between commands: name -> function of the words after it.
Verbs = Mapping[str, Callable[..., object]]


def check(request: pytest.FixtureRequest, path: Path, run: Run, verbs: Verbs) -> None:
    """Do what the transcript says and compare all that is said."""
    written = path.read_text()
    found = "".join(_said(written, run, verbs))
    if request.config.getoption("--repin"):
        path.write_text(found)
    assert found.splitlines() == written.splitlines()


def _said(written: str, run: Run, verbs: Verbs) -> Iterator[str]:
    for line in written.splitlines():
        if line.startswith("$ "):
            yield f"{line}\n"
            yield from _answer(run(line[2:].replace("\\n", "\n")))
        elif line.startswith("> "):
            yield f"{line}\n"
            name, *words = line[2:].split()
            verbs[name](*words)
        elif line[:1] in ("#", ""):
            yield f"{line}\n"


def _answer(result: Outcome | None) -> Iterator[str]:
    if result is None:
        yield "= no such program\n"
        return
    for mark, text in (("|", result.stdout), ("!", result.stderr)):
        lines = text.split("\n")
        for number, line in enumerate(lines[:-1] if text.endswith("\n") or not text else lines, 1):
            ends = "" if text.endswith("\n") or number < len(lines) else "~"
            yield f"{mark} {line}{ends}".rstrip(" ") + "\n"
    if result.code:
        yield f"= {result.code}\n"
