"""Commands that play an incident: run, shell, eval."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from simcluster.cli import main
from tests import kiosk
from tests.eval.llm.recorded import YES, recorded

TASK = "wrong_service_selector_online_boutique"
FIX = 'kubectl patch svc cartservice -n boutique --type=merge -p \'{"spec":{"selector":{"version":null}}}\''


def test_run_prints_the_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", kiosk.TASK, *kiosk.OPTIONS, "--agent", "expert", "--json", "--out", str(tmp_path)]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["passed"], record["outcome"], record["agent"]) == (True, "done", "expert")
    assert {"task", "seed", "diagnosis", "mitigation", "trajectory", "digest", "seconds"} <= set(record)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{kiosk.TASK}.expert.0.log.jsonl",
        f"{kiosk.TASK}.expert.0.trajectory.jsonl",
        f"{kiosk.TASK}.expert.0.transcript.jsonl",
    ]


def test_run_explains_and_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with recorded(YES) as judge:
        options = ["--judge", "llm:a-model", "--judge-url", judge.url, "--judge-price", "1", "10"]
        assert main(["run", TASK, "--agent", "runbook", "--watch", *options]) == 0
    shown = capsys.readouterr()
    assert "a-model: diagnosis passed, 9 of 9 (1 requests, $0.0030)" in shown.out
    assert "mitigation: passed" in shown.out
    assert "patch service cartservice" in shown.err


def type_in(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(line + "\n" for line in lines)))


def test_shell_solves_an_incident(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    type_in(
        monkeypatch,
        "alert",
        "fork before",
        FIX,
        "back",
        "k get endpoints cartservice -n boutique",
        "kubctl get pods",
        "ssh worker-1 hostname",
        FIX,
        "wait 30s",
        "diagnose Service cartservice has a selector version=v2 that no pod carries, so it has no endpoints",
        "finish",
    )
    assert main(["shell", TASK]) == 0
    shown = capsys.readouterr().out
    assert "HTTPProbeFailure boutique/frontend" in shown
    assert "cartservice   <none>" in shown
    assert "did you mean kubectl" in shown
    assert "worker-1" in shown
    assert "mitigation: passed" in shown


def test_shell_tells_that_nothing_was_solved(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    type_in(monkeypatch, "back", "wait soon", "finish")
    assert main(["shell", TASK]) == 1
    shown = capsys.readouterr()
    assert "nothing is remembered" in shown.out
    assert "invalid duration" in shown.out
    assert "not solved" in shown.err


def test_eval_prints_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["eval", kiosk.TASK, *kiosk.OPTIONS, "--agent", "expert", "--agent", "noop", "--jobs", "1"]
    arguments += ["--out", str(tmp_path / "o")]
    assert main([*arguments, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [run["passed"] for run in shown["runs"]] == [True, False]
    assert shown["summary"]["expert"]["pass_rate"] == 1.0
    assert main([*arguments]) == 2
    assert main([*arguments, "--resume"]) == 0
    assert main(["score", str(tmp_path / "o"), "--json"]) == 0
    capsys.readouterr()
