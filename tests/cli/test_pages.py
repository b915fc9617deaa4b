"""What the command line tells about itself and about mistakes: every page, pinned whole."""

from __future__ import annotations

import pytest

from simcluster.cli import main
from simcluster.cli.group import COMMANDS
from tests.pins import Pins

LINES = [
    [],
    ["--help"],
    ["evall"],
    ["nonsense"],
    *([command, "--help"] for command in sorted(COMMANDS)),
    ["list"],
    ["list", "task"],
    ["run"],
    ["run", "nothing"],
    ["score"],
    ["score", "/nothing"],
    ["check", "/nothing.yaml"],
    ["eval", "--jobs", "0"],
    ["eval", "--seeds", "x"],
    ["traffic", "/nothing.yaml"],
    ["traffic", "nothing"],
    ["shell", "nothing"],
    ["kubectl", "nothing"],
    ["learn", "nothing"],
    ["validate", "nothing"],
]


def test_pages_and_mistakes(pins: Pins, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    told = []
    for line in LINES:
        status = main(line)
        shown = capsys.readouterr()
        told += [f"> simcluster {' '.join(line)}", *shown.out.splitlines()]
        told += [*(f"! {text[:70]}" for text in shown.err.splitlines()), f"exit {status}"]
    pins.hold("pages.txt", told)
