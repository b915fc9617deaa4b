"""Hostile agents, more of them at once than there are cores to be had: every run is recorded once and truthfully."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from simcluster.eval.episode import replay
from simcluster.eval.runner import RunDirectory, evaluate
from tests.kiosk import LIBRARY, TASK, plan

HERE = Path(__file__).parent
#: Without `--whole`, every so many-th agent; then fewer workers, each of which makes the start and the twin for itself.
SAMPLE, JOBS_WHOLE, JOBS = 3, 8, 2


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the agents."""
    (tmp_path / "pids").mkdir()
    monkeypatch.setenv("HOSTILE_HOME", str(Path.cwd()))
    monkeypatch.setenv("HOSTILE_PIDS", str(tmp_path / "pids"))
    monkeypatch.syspath_prepend(str(HERE))
    spec = importlib.util.spec_from_file_location("hostile_agents", HERE / "hostile_agents.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outcome_of(kind: Any, records: dict[str, Any]) -> tuple[str, bool, int]:
    record = records[f"hostile_agents:{kind.__name__}"]
    commands = record["commands"] if kind.commands >= 0 else -1
    return record["outcome"], kind.ends[1] in record["error"], commands


def same_when_replayed(folder: Path, name: str) -> bool:
    """Whether the run's log leads to the same answers and digest, whatever ended it."""
    return replay(folder / "runs" / f"{TASK}.hostile_agents-{name}.0.log.jsonl", LIBRARY).same


@pytest.mark.slow
def test_every_hostile_run_is_recorded_once_and_truthfully(
    hostile: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    assert len(hostile.ENDING) >= 25
    whole = bool(request.config.getoption("--whole"))
    ending = hostile.ENDING if whole else hostile.ENDING[::SAMPLE]
    chosen = {kind.__name__ for kind in ending}
    names = [f"hostile_agents:{name}" for name in sorted(chosen)]
    all_of_them = plan(*names, "hostile_import:Quiet", memory_mib=1024)
    all_of_them.check()
    jobs = JOBS_WHOLE if whole else JOBS
    with RunDirectory(tmp_path / "out", all_of_them) as directory:
        records = {record["agent"]: record for record in evaluate(all_of_them, directory, jobs=jobs)}
        assert Counter(record["agent"] for record in directory.records) == dict.fromkeys(all_of_them.agents, 1)
    found = {kind.__name__: outcome_of(kind, records) for kind in ending}
    errors = {name: records[f"hostile_agents:{name}"]["error"] for name in found}
    assert found == {kind.__name__: (kind.ends[0], True, kind.commands) for kind in ending}, errors
    assert not [name for name, record in records.items() if record["passed"]]
    assert [name for name, record in records.items() if not record["digest"]] == [
        f"hostile_agents:{name}" for name in chosen if name == "KillWorker"
    ]
    calm = [kind.__name__ for kind in ending if kind.ends[0] == "done" and kind.commands == 2]
    assert len({records[f"hostile_agents:{name}"]["digest"] for name in calm}) == 1
    for kind in ending:
        path = tmp_path / "out" / "runs" / f"{TASK}.hostile_agents-{kind.__name__}.0.output.txt"
        if kind.prints:
            assert path.read_text() == kind.prints
    assert records["hostile_import:Quiet"]["outcome"] == "done"
    for name in chosen & {"Exit", "Interrupt", "KillItself", "OddDiagnoses", "Spend"}:
        assert same_when_replayed(tmp_path / "out", name), name
    left = [pid for file in (tmp_path / "pids").iterdir() for pid in file.read_text().split()]
    assert len(left) == 22 if whole else left
    assert not [pid for pid in left if Path(f"/proc/{pid}").exists()]


@pytest.mark.slow
def test_what_does_not_end_is_ended(hostile: Any, tmp_path: Path) -> None:
    endless = plan(*(f"hostile_agents:{kind.__name__}" for kind in hostile.ENDLESS), wall_limit_s=4.0)
    with RunDirectory(tmp_path / "out", endless) as directory:
        records = {record["agent"]: record for record in evaluate(endless, directory, jobs=len(endless.agents))}
    for kind in hostile.ENDLESS:
        assert outcome_of(kind, records)[:2] == ("timeout", True)
        assert records[f"hostile_agents:{kind.__name__}"]["digest"]
    assert not [name for name, record in records.items() if record["passed"]]
    assert same_when_replayed(tmp_path / "out", "Loop")
