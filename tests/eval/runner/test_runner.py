"""The runner: what agents are handed and print, what outlives what, and that nothing which was graded is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simcluster.cli import main
from simcluster.eval.episode import replay
from simcluster.eval.runner import RunDirectory, evaluate, runner
from simcluster.eval.runner.plan import Record
from simcluster.session import log as replay_log
from tests.kiosk import LIBRARY, OPTIONS, TASK, plan

#: How long what has to happen may take where much else runs.
PATIENCE_S = 600.0

AGENTS = """
import os, signal, subprocess
from pathlib import Path

class Base:
    name = "base"

class Peek(Base):
    def run(self, session):
        names = [name for name in dir(session) if not name.startswith("_")]
        assert sorted(names) == ["alert", "diagnose", "kubectl", "node", "sh", "think", "wait"], names
        assert session.alert
        assert session.kubectl("get nodes").stdout
        assert session.node("worker-1").sh("uname").stdout == "Linux\\n"
        try:
            session.wait("soon")
        except ValueError as wrong:
            assert str(wrong) == 'time: invalid duration "soon"'
        else:
            raise AssertionError
        session.diagnose({"component": "Deployment/kiosk"})

class Print(Base):
    def run(self, session):
        print("} printed")
        os.write(1, b"} written")

class StopWorker(Base):
    def run(self, session):
        worker = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1]
        os.kill(int(worker), signal.SIGSTOP)

class Stay(Base):
    def run(self, session):
        session.kubectl("version")
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        Path(os.environ["PIDS"]).write_text(f"{child.pid} {os.getpid()} {os.getppid()}")
        while True:
            signal.pause()
"""


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_agents.py").write_text(AGENTS)
    monkeypatch.syspath_prepend(str(tmp_path))


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "simcluster", *arguments, *OPTIONS]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more}


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
def test_an_agent_is_handed_a_session_and_nothing_else(tmp_path: Path) -> None:
    peek = plan("some_agents:Peek")
    with RunDirectory(tmp_path / "out", peek) as directory:
        (record,) = evaluate(peek, directory, jobs=1)
    assert (record["outcome"], record["error"], record["commands"]) == ("done", "", 3)


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
def test_a_worker_that_does_not_come_back_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "GRACE_S", -4.0)  # given up before its agent would be
    both = plan("some_agents:StopWorker", "noop", wall_limit_s=8.0)

    def patient(_record: Record) -> None:
        monkeypatch.setattr(runner, "GRACE_S", PATIENCE_S)

    with RunDirectory(tmp_path / "out", both) as directory:
        stopped, noop = evaluate(both, directory, 1, patient)
    assert (stopped["outcome"], stopped["passed"], noop["outcome"]) == ("error", False, "done")
    assert "the worker did not come back within" in stopped["error"]


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
def test_what_an_agent_prints_is_no_result(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for verb in ("run", "eval"):
        main([verb, TASK, *OPTIONS, "--agent", "some_agents:Print", "--json", "--out", str(tmp_path / verb)])
        said = capfd.readouterr()
        shown = json.loads(said.out)
        record = shown["runs"][0] if verb == "eval" else shown
        assert record["outcome"] == "done"
        assert ("} printed" in said.err) == (verb == "run")
    (kept,) = (tmp_path / "eval" / "runs").glob("*.output.txt")
    assert kept.read_text() == "} printed\n} written"


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda number: number.name)
def test_nothing_outlives_an_evaluation(number: signal.Signals, tmp_path: Path) -> None:
    pids, out = tmp_path / "pids", tmp_path / "out"
    arguments = command("eval", TASK, "--agent", "some_agents:Stay", "--jobs", "1", "--out", str(out))
    evaluation = subprocess.Popen(arguments, env=environment(PIDS=str(pids)), stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE_S
    while not (pids.exists() and pids.read_text().count(" ") == 2):
        assert time.monotonic() < deadline
        assert evaluation.poll() is None
        time.sleep(0.02)
    below = [int(pid) for pid in pids.read_text().split()]
    worker = int(Path(f"/proc/{below[-1]}/stat").read_text().rpartition(")")[2].split()[1])
    evaluation.send_signal(number)
    assert evaluation.wait(PATIENCE_S) == (-number if number == signal.SIGKILL else 130)
    while any(map(running, [*below, worker])):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    RunDirectory(out, plan("some_agents:Stay"), resume=True).close()  # the lock is gone too


@pytest.mark.slow
def test_a_full_disk_takes_the_files_and_not_the_grade(tmp_path: Path) -> None:
    """No file may grow over 1 KiB."""
    arguments = command("eval", TASK, "--agent", "noop", "--jobs", "1", "--json", "--out", str(tmp_path / "out"))
    limited = ["bash", "-c", 'ulimit -f 1; exec "$@"', "bash", *arguments]
    done = subprocess.run(limited, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    (record,) = json.loads(done.stdout)["runs"]
    assert record["digest"]
    assert record["mitigation"]["passed"] is False
    assert "could not be written" in record["error"]
    assert "not all results could be written" in done.stderr
    assert (tmp_path / "out" / "results.jsonl").read_text() == ""


@pytest.mark.slow
def test_a_recorded_run_replays_to_the_same_answers(tmp_path: Path) -> None:
    once = plan("runbook", seeds=(3,))
    with RunDirectory(tmp_path, once) as directory:
        (record,) = evaluate(once, directory, jobs=1)
    (path,) = (tmp_path / "runs").glob("*.log.jsonl")
    log = replay_log.read(path)
    assert (log.header["agent"], log.header["seed"]) == ("runbook", 3)
    assert {"python", "numpy", "simpy"} <= set(log.header["versions"])
    assert len(log.commands) == record["commands"]
    assert log.end is not None
    assert log.end.digest == record["digest"] != ""
    assert replay(path, LIBRARY).differences == ()


@pytest.mark.slow
def test_a_killed_evaluation_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["eval", TASK, "--agent", "noop", "--agent", "expert"]
    arguments += ["--jobs", "1", "--json", "--out", str(tmp_path / "out")]
    evaluation = subprocess.Popen(
        command(*arguments),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    )
    results = tmp_path / "out" / "results.jsonl"
    deadline = time.monotonic() + PATIENCE_S
    while not (results.exists() and results.read_text().count("\n")):
        assert time.monotonic() < deadline
        assert evaluation.poll() is None
        time.sleep(0.02)
    os.killpg(evaluation.pid, signal.SIGKILL)
    evaluation.wait()
    before = results.read_text().rpartition("\n")[0].splitlines()  # a last line may be cut off
    main([*arguments, *OPTIONS, "--resume"])
    after = results.read_text().splitlines()
    assert after[: len(before)] == before
    shown = json.loads(capsys.readouterr().out)
    assert [run["agent"] for run in shown["runs"]] == ["noop", "expert"]
    assert sorted(shown["summary"]) == ["expert", "noop"]
