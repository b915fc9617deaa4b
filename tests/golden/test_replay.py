"""The golden harness against a small folder of its own, and against the recordings of a real cluster."""

from __future__ import annotations

import json
import shutil
from functools import cache, partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from simcluster.testing.golden import Transcripts, Verdict, replay
from simcluster.testing.golden.__main__ import main
from simcluster.testing.golden.sockets import SocketShell
from simcluster.testing.recordings import recordings

OWN = Path(__file__).parent / "data"
#: Share of the recorded outputs that must be reproduced. Two real runs agree on about 88 %.
FLOOR = 0.86
#: The first commands, which wait for nothing: what the fast suite replays.
SAMPLE = 46


def test_own_folder(tmp_path: Path) -> None:
    found = list(replay(Transcripts(OWN), tmp_path))
    assert [f"{c.name}\n{c.diff}" for c in found if not c.verdict.reproduced] == []
    assert (tmp_path / "011_no-forward.rc").read_text() == "7\n"
    assert not (tmp_path / "003_apply.err").exists()


def test_report_as_json(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, [str(OWN), "--out", str(tmp_path), "--json", "--last", "3"])
    report = json.loads(result.stdout)
    assert [command["name"] for command in report["commands"]] == ["001_nodes", "002_dry-run", "003_apply"]
    assert report["totals"]["different"] == 0


@pytest.mark.parametrize("last", [SAMPLE, pytest.param(0, marks=pytest.mark.slow(sample=0))], ids=["sample", "whole"])
def test_recordings(tmp_path: Path, last: int) -> None:
    found = [
        c
        for c in replay(Transcripts(recordings() / "kubectl"), tmp_path, last=last)
        if c.verdict is not Verdict.MISSING
    ]
    different = [c.name for c in found if not c.verdict.reproduced]
    assert 1 - len(different) / len(found) >= FLOOR, different


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on this machine")
def test_a_real_kubectl_over_tls_prints_what_was_recorded(tmp_path: Path) -> None:
    shell = partial(SocketShell, kubectl=real_kubectl())
    found = list(replay(Transcripts(recordings() / "kubectl"), tmp_path, last=SAMPLE, make_shell=shell))
    recorded = [c for c in found if c.verdict is not Verdict.MISSING]
    assert len(recorded) > 20
    assert [f"{c.name}\n{c.diff}" for c in recorded if not c.verdict.reproduced and c.name != "001_version"] == []


def real_kubectl() -> Path:
    """The version of the recordings, where several are installed."""
    found = Path(str(shutil.which("kubectl"))).resolve()
    recorded = found.with_name("kubectl.1.32")
    return recorded if recorded.exists() else found


@cache
def transcripts_of_own_folder() -> Transcripts:
    return Transcripts(OWN)


def test_steps() -> None:
    steps = {step.name: step for step in transcripts_of_own_folder().steps}
    assert (steps["top"].number, steps["top"].stem, steps["top"].limit) == (14, "014_top", 60)
    assert steps["SETUP-metrics-server"].setup
    assert transcripts_of_own_folder().expected(steps["SETUP-metrics-server"]) is None
    assert steps["deployment"].limit == 45
