"""The run directory: nothing that was finished is lost, nothing half-written is believed."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from simcluster.eval.isolation.ending import Ending
from simcluster.eval.report import evaluation_object, scoreboard, summarize
from simcluster.eval.runner.execute import record_of
from simcluster.eval.runner.plan import Plan, PlanError, Run
from simcluster.eval.runner.records import RESULTS, RunDirectory, RunDirectoryError, read_results

PLAN = Plan(("t1", "t2"), ("noop", "expert"), (0, 1))


def record(run: Run, passed: bool = True, outcome: str = "done") -> dict[str, Any]:
    grade = {"passed": passed}
    report = {
        "passed": passed,
        "diagnosis": grade,
        "mitigation": grade,
        "trajectory": grade,
        "digest": "d",
        "commands": 3,
    }
    return record_of(run, None, Ending(outcome), 1.5, report)


def test_runs_that_share_a_start_stand_together() -> None:
    starts = [run.start for run in PLAN.runs()]
    assert len(starts) == 8
    assert starts[::2] == starts[1::2] == [("t1", 0), ("t2", 0), ("t1", 1), ("t2", 1)]


def test_results_survive_and_are_skipped(tmp_path: Path) -> None:
    first = RunDirectory(tmp_path / "a", PLAN)
    runs = PLAN.runs()
    first.add(record(runs[0]))
    first.add(record(runs[3], passed=False))
    first.close()
    again = RunDirectory(tmp_path / "a", PLAN, resume=True)
    assert list(again.finished()) == [runs[0], runs[3]]
    assert again.finished()[runs[3]]["passed"] is False


def test_a_line_cut_off_in_the_middle_is_dropped_and_mended(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path, PLAN)
    runs = PLAN.runs()
    directory.add(record(runs[0]))
    with (tmp_path / RESULTS).open("a") as file:
        file.write('{"task": "t1", "agent": "ex')
    directory.close()
    resumed = RunDirectory(tmp_path, PLAN, resume=True)
    assert list(resumed.finished()) == [runs[0]]
    resumed.add(record(runs[1]))
    assert [r["agent"] for r in read_results(tmp_path)] == ["noop", "expert"]


def test_damage_elsewhere_is_an_error(tmp_path: Path) -> None:
    (tmp_path / RESULTS).write_text("no json\n" + json.dumps(record(PLAN.runs()[0])) + "\n")
    with pytest.raises(RunDirectoryError, match=r"results.jsonl:1: no JSON object"):
        read_results(tmp_path)


def test_a_folder_with_results_is_not_overwritten(tmp_path: Path) -> None:
    with RunDirectory(tmp_path, PLAN) as directory:
        directory.add(record(PLAN.runs()[0]))
    with pytest.raises(RunDirectoryError, match="--resume"):
        RunDirectory(tmp_path, PLAN)
    with pytest.raises(RunDirectoryError, match="noise"):
        RunDirectory(tmp_path, Plan(("t1",), ("noop",), noise="default"), resume=True)


def test_a_folder_has_one_evaluation_at_a_time(tmp_path: Path) -> None:
    with RunDirectory(tmp_path, PLAN), pytest.raises(RunDirectoryError, match="another evaluation runs in"):
        RunDirectory(tmp_path, PLAN, resume=True)
    RunDirectory(tmp_path, PLAN, resume=True).close()


def test_a_folder_that_cannot_be_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunDirectoryError, match="cannot hold an evaluation"):
        RunDirectory(tmp_path / "file" / "out", PLAN)


def test_what_cannot_be_written_is_written_with_the_next_result(tmp_path: Path) -> None:
    runs = PLAN.runs()
    with RunDirectory(tmp_path, PLAN) as directory:
        directory.add(record(runs[0]))
        whole = (tmp_path / RESULTS).read_bytes()
        with file_size_limit(len(whole) + 20):
            directory.add(record(runs[1]))
            assert "File too large" in directory.write() or "bytes could be written" in directory.write()
        assert (tmp_path / RESULTS).read_bytes() == whole
        assert list(directory.finished()) == runs[:2]
        directory.add(record(runs[2]))
        assert directory.write() == ""
    assert [found["agent"] for found in read_results(tmp_path)] == ["noop", "expert", "noop"]


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """As on a full disk: no file may grow over so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan"), float("inf")])
def test_a_wall_limit_is_a_time(limit: float) -> None:
    with pytest.raises(PlanError, match="wall limit"):
        Plan((), ("noop",), wall_limit_s=limit).check()


def test_agents_that_are_not_there_are_found_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some_agents.py").write_text("print('imported')\nclass There:\n    pass\n")
    (tmp_path / "broken_agents.py").write_text("import not_installed\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    Plan((), ("some_agents:There", "broken_agents:Any", "noop")).check()  # what is broken is found by running it
    for agent, what in (
        ("nowhere:Agent", "No module named 'nowhere'"),
        ("some_agents.inner:Agent", "No module named 'some_agents.inner'"),
        ("some_agents:Absent", "module 'some_agents' has no 'Absent'"),
    ):
        with pytest.raises(PlanError, match=what):
            Plan((), (agent,)).check()
    assert "some_agents" not in sys.modules


def test_a_run_without_report_fails_in_everything() -> None:
    killed = record_of(Run("t", "a", 0), None, Ending("timeout", "took long"), 9.0, None)
    assert (killed["passed"], killed["outcome"], killed["mitigation"]["passed"]) == (False, "timeout", False)


def test_summary_counts_by_agent() -> None:
    runs = PLAN.runs()
    records = [record(runs[0], passed=False), record(runs[1]), record(runs[2], passed=False, outcome="budget")]
    summary = summarize(records)
    assert (summary["noop"]["runs"], summary["noop"]["passed"], summary["expert"]["pass_rate"]) == (2, 0, 1.0)
    assert summary["noop"]["outcomes"] == {"done": 1, "budget": 1}
    assert list(evaluation_object(records)) == ["runs", "summary"]
    assert scoreboard(records).row_count == 8
