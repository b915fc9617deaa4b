"""Every counter of every node through every task: an incident, its repair, a reboot, and what a copy counts."""

from __future__ import annotations

import pytest

from simcluster import tasks
from simcluster.engine import SECOND
from simcluster.eval.episode.episode import Episode
from simcluster.eval.episode.start import Starts
from simcluster.eval.worlds.steps import perform
from simcluster.tasks.model import resolve
from tests.clusters.counting import Watch, counters

#: A drive that loses sectors: with most of what is counted.
SAMPLE = ("latent_sector_errors_hotel_reservation",)
STARTS = Starts(keep=2)


def watched_through(task_id: str) -> list[Watch]:
    """Play a task from before its incident to after a reboot; every node's watch."""
    world = STARTS.healthy(tasks.load(task_id), 0)
    watches = [Watch(machine) for machine in world.machines.values()]
    episode = Episode(world, resolve(tasks.load(task_id), world), 0, None, None)
    episode.begin()
    world.run_for(12 * SECOND + 345_678_901)
    look(watches)
    world.run_for(episode.incident.last_at_ns)
    look(watches)
    limit = world.sim.now + 300 * SECOND
    while not episode.pager.alerts.firing and world.sim.now < limit:
        world.run_for(5 * SECOND)
    look(watches)
    twin = episode.fork().world
    twin.run_for(7 * SECOND)
    world.run_for(7 * SECOND)
    name = list(world.machines)[-1]
    assert counters(twin.machines[name]) == counters(world.machines[name])
    episode.paged()
    for step in episode.task.reference_fixes[0]:
        perform(episode, step)
    look(watches)
    world.machines[name].power.shut_down(reboot=True)
    world.run_for(20 * SECOND)
    look(watches)
    world.run_for(180 * SECOND)
    look(watches)
    return watches


def look(watches: list[Watch]) -> None:
    for watch in watches:
        watch.look()


@pytest.mark.parametrize("task_id", SAMPLE)
def test_no_counter_runs_backwards_in_a_task(task_id: str) -> None:
    watches = watched_through(task_id)
    assert all(watch.looks >= 5 for watch in watches)
    assert max(len(watch.grown) for watch in watches) > 200


@pytest.mark.slow(sample=0)  # the one above has most of what is counted
@pytest.mark.parametrize("task_id", [name for name in tasks.ids() if name not in SAMPLE])
def test_no_counter_runs_backwards_in_any_other_task(task_id: str) -> None:
    assert sum(watch.watched for watch in watched_through(task_id)) > 2000
