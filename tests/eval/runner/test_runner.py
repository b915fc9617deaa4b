"""Agents that crash, loop, spend everything or take the process with them: outcomes, not accidents."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simcluster.eval.episode import replay
from simcluster.eval.runner import Plan, RunDirectory, evaluate
from simcluster.session import log as replay_log

#: A calm task: what is tested here is the runner.
TASK = "wrong_image_tag_online_boutique"

BAD_AGENTS = """
import os

class Base:
    name = "bad"

class Crash(Base):
    def run(self, session):
        session.kubectl("get pods -A")
        raise RuntimeError("my own mistake")

class Loop(Base):
    def run(self, session):
        while True:
            pass

class Spend(Base):
    def run(self, session):
        while True:
            session.kubectl("version")

class Exit(Base):
    def run(self, session):
        os._exit(7)

class Peek(Base):
    def run(self, session):
        names = [name for name in dir(session) if not name.startswith("_")]
        assert sorted(names) == ["alert", "diagnose", "kubectl", "node", "wait"], names
"""


@pytest.fixture
def bad_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bad_agents.py").write_text(BAD_AGENTS)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.slow
@pytest.mark.usefixtures("bad_agents")
def test_what_agents_do_wrong_is_an_outcome_of_their_run(tmp_path: Path) -> None:
    names = ("Crash", "Loop", "Spend", "Exit", "Peek")
    plan = Plan((TASK,), tuple(f"bad_agents:{name}" for name in names), wall_limit_s=15.0)
    records = evaluate(plan, RunDirectory(tmp_path / "out", plan), jobs=2)
    outcomes = {record["agent"].partition(":")[2]: record["outcome"] for record in records}
    assert outcomes == {"Crash": "agent_error", "Loop": "timeout", "Spend": "budget", "Exit": "killed", "Peek": "done"}
    assert "my own mistake" in records[0]["error"]
    assert not any(record["passed"] for record in records)
    assert records[0]["trajectory"]["passed"] in (True, False)
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == 5


@pytest.mark.slow
def test_a_recorded_run_replays_to_the_same_answers(tmp_path: Path) -> None:
    plan = Plan((TASK,), ("runbook",), (3,))
    (record,) = evaluate(plan, RunDirectory(tmp_path, plan), jobs=1)
    (path,) = (tmp_path / "runs").glob("*.log.jsonl")
    header, commands, digest = replay_log.read(path)
    assert (header["agent"], header["seed"], digest) == ("runbook", 3, record["digest"])
    assert {"python", "numpy", "simpy"} <= set(header["versions"])
    assert len(commands) == record["commands"]
    assert replay(path).differences == ()


@pytest.mark.slow
def test_a_killed_evaluation_goes_on_where_it_was(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "simcluster",
        "eval",
        TASK,
        "--agent",
        "noop",
        "--agent",
        "expert",
    ]
    command += ["--agent", "runbook", "--jobs", "1", "--json", "--out", str(tmp_path / "out")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
    )
    results = tmp_path / "out" / "results.jsonl"
    deadline = time.monotonic() + 60
    while not (results.exists() and results.read_text().count("\n")):
        assert time.monotonic() < deadline
        assert running.poll() is None
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    before = results.read_text().rpartition("\n")[0].splitlines()  # a last line may be cut off
    finished = subprocess.run([*command, "--resume"], env=environment, capture_output=True, text=True, check=True)
    after = results.read_text().splitlines()
    assert after[: len(before)] == before
    shown = json.loads(finished.stdout)
    assert [run["agent"] for run in shown["runs"]] == ["noop", "expert", "runbook"]
    assert sorted(shown["summary"]) == ["expert", "noop", "runbook"]
