"""Every page of `docs/add` is followed to the letter, in a copy of the checkout.

A line that ends with `` `PATH`: `` above a block is a file to make; `` In `PATH`, below `LINE`: `` and
`` In `PATH`, above `LINE`: `` put the block next to the one line that contains LINE. A `console` block holds commands
after `$ ` and below each what its output contains, in this order; `...` stands for lines that are not shown. There is
no other kind of block, and every command ends with status 0.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Of pages that prove or grade whole tasks, half a minute each, the quickest is followed, of the others so many; all
#: with `--whole`.
LONG, QUICKEST, FOLLOWED = ("task", "fault", "check", "agent"), "[agent]", 2
PAGES = sorted((ROOT / "docs" / "add").glob("*.md"))
DRAWN = {page: {"first": QUICKEST} if page.stem in LONG else {"sample": FOLLOWED} for page in PAGES}
NOT_COPIED = (".git", ".venv*", ".*_cache", ".hypothesis", "build", "dist", "runs", "*.egg-info", "recordings")

BLOCK = re.compile(r"(?P<above>[^\n]*)\n\n?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`(?P<path>[^`]+)`:$")
BESIDE = re.compile(r"In `(?P<path>[^`]+)`, (?P<where>below|above) `(?P<line>[^`]+)`:$")

#: What a reader's shell finds after `pip install`; the suite may run where nothing is installed.
COMMANDS = {"python": "", "simcluster": "-m simcluster", "pytest": "-m pytest -p no:cacheprovider", "pip": "-m pip"}


class Step(NamedTuple):
    """One block of a page with the line above it."""

    above: str
    language: str
    text: str


def steps(page: Path) -> Iterator[Step]:
    text = page.read_text()
    found = list(BLOCK.finditer(text))
    assert text.count("\n```") == 2 * len(found), f"{page.name} has a block that is not understood"
    for match in found:
        yield Step(match["above"], match["language"], match["text"])


def place(step: Step, tree: Path) -> None:
    """Make or change the file that the line above the block names."""
    beside = BESIDE.search(step.above)
    if beside is None:
        named = FILE.search(step.above)
        assert named is not None, f"nothing says which file this is: {step}"
        path = tree / named["path"]
        assert not path.exists(), f"{named['path']} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step.text)
        return
    path = tree / beside["path"]
    lines = path.read_text().splitlines(keepends=True)
    (at,) = [number for number, line in enumerate(lines) if beside["line"] in line]
    lines.insert(at + (beside["where"] == "below"), step.text)
    path.write_text("".join(lines))


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a block (a `\\` at the end of a line goes on) with the lines of output shown below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        end = next(number for number, line in enumerate(lines, 1) if not line.endswith("\\"))
        yield "\n".join(lines[:end]), [line for line in lines[end:] if line.strip() not in ("", "...")]


def enter(command: str, shown: list[str], tree: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["bash", "-c", command], cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, f"$ {command}\n{output}"
    rest = " ".join(output.split())
    for line in shown:
        _, found, rest = rest.partition(" ".join(line.split()))
        assert found, f"$ {command}\ndoes not print {line!r} there, but\n{output}"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT, tmp_path / "tree", symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED)))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A reader's: the commands by their names, `pip` installs without the network into a place of its own."""
    programs, target = tmp_path / "bin", tmp_path / "installed"
    programs.mkdir()
    for name, words in COMMANDS.items():
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
        script.chmod(0o755)
    pip = {"TARGET": str(target), "UPGRADE": "1", "NO_DEPS": "1", "NO_BUILD_ISOLATION": "0", "QUIET": "1"}
    return {
        **os.environ,
        **{f"PIP_{name}": value for name, value in pip.items()},
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": f"{target}{os.pathsep}{tmp_path / 'tree'}",
        "COLUMNS": "200",
    }


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow(**drawn)) for page, drawn in DRAWN.items()],
    ids=lambda page: page.stem,
)
def test_the_page_does_what_it_says(page: Path, tree: Path, environment: dict[str, str]) -> None:
    for step in steps(page):
        if step.language == "console":
            for command, shown in commands(step.text):
                enter(command, shown, tree, environment)
        else:
            place(step, tree)


def test_there_is_a_page_for_everything_that_is_added() -> None:
    assert {page.stem for page in PAGES} == {
        "agent", "application", "check", "controller", "fault", "noise", "operator", "task",
    }  # fmt: skip


def test_a_page_that_lies_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.txt").write_text("one\ntwo\n")
    environment = dict(os.environ)
    enter("cat there.txt", ["one", "two"], tmp_path, environment)
    for command, shown in (("cat there.txt", ["two", "one"]), ("cat there.txt", ["three"]), ("false", [])):
        with pytest.raises(AssertionError):
            enter(command, shown, tmp_path, environment)
    place(Step("In `there.txt`, below `one`:", "text", "and a half\n"), tmp_path)
    assert (tmp_path / "there.txt").read_text() == "one\nand a half\ntwo\n"
    for above in ("`there.txt`:", "a block about nothing"):
        with pytest.raises(AssertionError):
            place(Step(above, "text", ""), tmp_path)
