"""What is missing for which feature."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from simcluster.cli.features import FEATURES
from simcluster.cli.group import group

ROOT = Path(__file__).resolve().parents[2]


def asked(*words: str) -> Any:
    return CliRunner().invoke(group, ["doctor", *words], standalone_mode=False)


def test_what_is_there_works_and_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    found = json.loads(asked("--json").stdout)
    features = {one["feature"]: one for one in found["features"]}
    assert features["simulation"]["works"]
    missing = features["environments of Gymnasium"]
    assert (missing["works"], missing["lacks"], missing["mend"]) == (
        *(False, "gymnasium"),
        "pip install 'simcluster[gym]'",
    )
    assert set(found["versions"]) == {"python", "simcluster", "numpy", "simpy", "numba"}


def test_only_the_core_decides_the_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert "missing a real kubectl" in asked().stdout
    before = asked().return_value
    monkeypatch.setitem(sys.modules, "crossplane", None)
    monkeypatch.setitem(sys.modules, "simpy", None)
    assert (before, asked().return_value) == (0, 1)


def test_every_extra_that_is_named_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {one.extra for one in FEATURES} - {""} <= set(extras)
