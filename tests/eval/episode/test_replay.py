"""A replay log is the proof that an episode can be lived again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import simcluster
from simcluster import tasks
from simcluster.engine import SECOND
from simcluster.eval.episode import Episode, Finished, replay
from simcluster.eval.runner.execute import agent_for
from simcluster.session.clock import Budget
from simcluster.surface.protocols import BudgetExceeded
from tests import kiosk


def lived(episode: Episode, agent: str, path: Path) -> Episode:
    """An episode that an agent has finished, with its log."""
    agent_for(agent, episode).run(episode)
    episode.finish()
    episode.write_log(path)
    return episode


@pytest.mark.slow(first="wrong_service_selector_online_boutique")
@pytest.mark.parametrize("task", tasks.ids())
def test_the_log_gives_the_same_answers(task: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    episode = lived(simcluster.start(task, seed=3), "runbook", path)
    again = replay(path)
    assert again.differences == ()
    assert again.live.digest == episode.digest


def test_a_changed_answer_is_found(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lived(kiosk.started(), "noop", path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    first = next(line for line in lines if line["kind"] == "command")
    first["answer"] = "0" * 16
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert any("was answered differently" in text for text in replay(path, kiosk.LIBRARY).differences)


def test_an_episode_that_its_budget_ended_repeats_with_its_grade(tmp_path: Path) -> None:
    episode, path = kiosk.started(), tmp_path / "run.jsonl"
    episode.inbox.budget = Budget(commands=20, time="90s")
    episode.kubectl("get pods -A")
    assert episode.node("worker-1").sh("sleep 100000").exit_code == 130
    with pytest.raises(BudgetExceeded):
        episode.kubectl("get pods -A")
    episode.diagnose({"component": "Node/\u2028", "values": [1, 2.5, "\u2029"]})
    episode.finish()
    episode.write_log(path, "budget")
    again = replay(path, kiosk.LIBRARY)
    assert again.differences == ()
    assert isinstance(again.live, Episode)
    assert again.live.report.to_dict() == episode.report.to_dict()


def test_an_episode_that_was_given_up_repeats_without_a_grade(tmp_path: Path) -> None:
    episode, path = kiosk.started(), tmp_path / "run.jsonl"
    episode.kubectl("get pods -A")
    episode.world.run_for(12 * SECOND)
    episode.write_log(path, "timeout")
    again = replay(path, kiosk.LIBRARY)
    assert again.differences == ()
    assert isinstance(again.live, Episode)
    assert not again.live.finished
    assert again.live.world.sim.now == episode.world.sim.now


def test_a_sandbox_is_replayed_too(tmp_path: Path) -> None:
    box, path = simcluster.sandbox(nodes=1, seed=2), tmp_path / "run.jsonl"
    box.kubectl("create deployment web --image=acme/web:1 --port=80")
    box.kubectl("expose deployment web")
    box.load("web", 3)
    box.wait("30s")
    box.write_log(path)
    again = replay(path)
    assert (again.differences, again.live.digest) == ((), box.digest)
    path.write_text('{"kind": "header", "seed": 0}\n')
    with pytest.raises(ValueError, match="the header of the log lacks 'task'"):
        replay(path)


def test_a_diagnosis_is_kept_as_it_was_submitted() -> None:
    episode = kiosk.started()
    answer = {"component": "Service/a", "scope": ["a"]}
    episode.diagnose(answer)
    answer["scope"] = ["b"]
    for wrong in (("a",), None, 3, ["a"], {"scope": ("a",)}, {"x": float("nan")}, "\ud800"):
        with pytest.raises(ValueError, match=r"diagnosis|component is missing|unknown field x"):
            episode.diagnose(wrong)  # type: ignore[arg-type]
    assert episode.inbox.executor.submission == {"component": "Service/a", "scope": ["a"]}
    assert len(episode.commands) == 1


def test_a_broken_log_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"kind": "header", "task": "x", "seed": 0, "noise": null}\n{"kind": \n')
    with pytest.raises(ValueError, match=r"run\.jsonl:2: no JSON"):
        replay(path)


def test_a_graded_episode_takes_no_more_commands() -> None:
    episode = kiosk.started()
    report = episode.finish()
    assert episode.report is report
    with pytest.raises(Finished):
        episode.kubectl("get pods")


def test_the_budget_ends_commands_and_time() -> None:
    episode = kiosk.started()
    episode.inbox.budget = Budget(commands=2, time="60s")
    episode.kubectl("get pods")
    with pytest.raises(BudgetExceeded, match="60s of simulated time"):
        episode.wait("2m")
    with pytest.raises(BudgetExceeded):
        episode.kubectl("get pods")


def test_commands_cost_what_the_policy_says() -> None:
    episode = kiosk.started()
    spent = []
    for command in ("get pods", "label node worker-1 a=b", "exec deploy/kiosk -n kiosk -- env"):
        before = episode.world.sim.now
        episode.kubectl(command)
        spent.append((episode.world.sim.now - before) / 1e9)
    assert spent == [0.5, 1.0, 2.0]
    assert episode.node("nowhere").sh("ls").exit_code == 255
