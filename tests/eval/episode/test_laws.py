"""The laws every task obeys: equal digests everywhere, true forks, reads that change nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

import pytest

import simcluster
from simcluster import tasks
from simcluster.engine import SECOND, Streams
from simcluster.eval.episode import Episode
from simcluster.eval.runner.execute import agent_for
from simcluster.surface.protocols import BudgetExceeded
from tests import kiosk

TASKS = tasks.ids()
READS = (
    "get all -A -o wide",
    "get events -A",
    "get pods -A -o yaml",
    "describe nodes",
    "describe pods -n boutique",
    "top pods -A",
    "top nodes",
    "logs deployment/frontend -n boutique --tail=50",
)
#: The digest of an episode under an agent, printed by another process.
PROGRAM = """
import sys
from tests.eval.episode.test_laws import digest
print(digest(sys.argv[1]))
"""


def digest(task: str) -> str:
    """That of an episode which an agent has worked in."""
    episode = simcluster.start(task, seed=5, noise="default")
    agent_for("runbook", episode).run(episode)
    return episode.digest


def read_everything(episode: Episode) -> None:
    """Look at everything, past the clock policy: no command is charged."""
    kubectl = episode.world.kubectl()
    for command in READS:
        kubectl.run(command)
    episode.world.fork()


@pytest.mark.slow(sample=0)  # `make digests` asks the same of ten tasks
@pytest.mark.parametrize("task", TASKS)
def test_a_process_with_another_hash_seed_gives_the_same_digest(task: str) -> None:
    hash_seed = "1" if os.environ.get("PYTHONHASHSEED") == "12345" else "12345"
    path = os.pathsep.join(sys.path)
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path, "SIMCLUSTER_CACHE": "0"}
    command = [sys.executable, "-c", PROGRAM, task]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == digest(task)


@pytest.mark.slow(first="wrong_service_selector_online_boutique")
@pytest.mark.parametrize("task", TASKS)
def test_a_fork_at_a_random_instant_has_the_same_future(task: str) -> None:
    episode = simcluster.start(task, seed=3)
    episode.world.run_for(Streams(1).stream("test", task).uniform_ns(0, 120 * SECOND))
    twin = episode.fork()
    for each in (episode, twin):
        with suppress(BudgetExceeded):  # of a task that it does not solve
            agent_for("expert", each).run(each)
        each.finish()
    assert episode.digest == twin.digest
    assert episode.report.to_dict() == twin.report.to_dict()


@pytest.mark.slow(first="wrong_service_selector_online_boutique")
@pytest.mark.parametrize("task", TASKS)
def test_reading_changes_nothing(task: str) -> None:
    episode = simcluster.start(task, seed=3)
    looked_at = episode.fork()
    for _ in range(4):
        read_everything(looked_at)
        for each in (episode, looked_at):
            each.world.run_for(20 * SECOND + 1234567)
    assert episode.digest == looked_at.digest
    assert episode.kubectl("get pods -A -o json") == looked_at.kubectl("get pods -A -o json")


def test_more_draws_from_another_stream_move_nothing() -> None:
    episode = simcluster.start("wrong_service_selector_online_boutique", seed=3)
    twin = episode.fork()
    stranger = twin.world.sim.stream("nobody", "else")
    for each in (episode, twin):
        for _ in range(6):
            stranger.uniform()
            each.world.run_for(10 * SECOND)
    assert episode.digest == twin.digest


def test_seeds_tell_worlds_apart() -> None:
    first, second = (kiosk.started(seed) for seed in (0, 1))
    assert first.digest != second.digest
