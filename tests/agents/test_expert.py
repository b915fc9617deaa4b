"""The expert's diagnosis is what it saw: another fault gives another answer, and none gives none."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster import tasks
from simcluster.agents import expert
from simcluster.agents.expert import Expert, ReferenceStep
from simcluster.engine import SECOND, Snapshot
from simcluster.eval.episode.start import Starts
from simcluster.eval.judge import judge
from simcluster.eval.oracles.baseline import Baseline
from simcluster.faults.incident import Incident
from simcluster.session.clock import Clock
from simcluster.session.live import Live
from simcluster.tasks.model import Task, resolve
from simcluster.world import World

#: Tasks of one application whose causes all page with the same words.
TASKS = (
    "conntrack_full_online_boutique",
    "nic_fail_slow_online_boutique",
    "descriptors_exhausted_online_boutique",
    "pid_exhaustion_online_boutique",
)
STARTS = Starts(keep=2)


class Called(Live):
    """Somebody who was paged, whatever has happened."""

    def __init__(self, world: World, alert: str) -> None:
        super().__init__(world, Clock())
        self.alert = alert
        self.answers: list[Any] = []

    def diagnose(self, answer: str | dict[str, object]) -> None:
        """Keep it."""
        self.answers.append(answer)


def healthy(task_id: str) -> Snapshot[tuple[World, Task]]:
    task = tasks.load(task_id)
    world = STARTS.healthy(task, 3)
    return Snapshot((world, resolve(task, world)))


def alert(task: Task) -> str:
    return f"[FIRING] EntrySuccessLow {task.namespace}/{task.users.entry} since now: 80.0 % of 1800 requests succeeded"


def investigate(world: World, task: Task) -> Called:
    session = Called(world, alert(task))
    Expert([ReferenceStep(wait="1s")]).run(session)
    return session


@pytest.mark.slow
@pytest.mark.parametrize("task_id", TASKS)
def test_it_names_the_fault_that_is_there_and_no_other(task_id: str) -> None:
    world, task = healthy(task_id).restore()
    inventory = Baseline.take(world, task.namespace).inventory()
    Incident(world, task.namespace, task.incident).start()
    world.run_for(150 * SECOND)
    session = investigate(world, task)
    assert len(session.answers) == 1
    assert judge(session.answers[0], task.truth, inventory).passed
    for other in TASKS:
        if other != task_id:
            assert not judge(session.answers[0], resolve(tasks.load(other), world).truth, inventory).passed, other


@pytest.mark.slow
@pytest.mark.parametrize("task_id", ["nic_fail_slow_online_boutique", "disk_fail_slow_hotel_reservation"])
def test_where_nothing_is_wrong_it_says_and_touches_nothing(task_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expert, "ROUNDS_MAX", 3)
    world, task = healthy(task_id).restore()
    session = investigate(world, task)
    assert session.answers == []
    written = [command.text for command in session.commands if command.text.startswith(("rollout", "delete", "scale"))]
    assert written == []
