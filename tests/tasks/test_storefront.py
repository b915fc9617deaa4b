"""The three tasks of overload that feeds itself: who reads the signs ends it, who restarts does not."""

from __future__ import annotations

import pytest

from simcluster.agents import registry
from simcluster.engine import SECOND
from simcluster.eval.episode import Episode, start

TASKS = ("retry_storm_storefront", "metastable_capacity_storefront", "metastable_load_spike_storefront")


@pytest.mark.slow(sample=0)  # that a storm outlives its trigger and a restart, `world/test_storm.py` says
@pytest.mark.parametrize("task_id", TASKS)
def test_the_runbook_ends_it_and_the_restarter_does_not(task_id: str) -> None:
    episode = start(task_id, 5)
    other = episode.fork()

    registry.create("runbook").run(episode)
    registry.create("restarter").run(other)

    ended, lasting = _share(episode), _share(other)
    assert ended > 0.99
    assert lasting < 0.5


def _share(episode: Episode) -> float:
    """Of the requests of the next 20 s, those that succeed; whether that is a repair `check` and `eval` examine."""
    world = episode.world
    world.run_for(20 * SECOND)
    users = next(iter(world.traffic.users.values())).window(world.now - 20 * SECOND, world.now)
    return users.ok / users.sent
