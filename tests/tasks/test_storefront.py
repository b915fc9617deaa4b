"""The three tasks of overload that feeds itself: who reads the signs ends it, who restarts does not."""

from __future__ import annotations

import pytest

from simcluster.agents import registry
from simcluster.engine import SECOND
from simcluster.eval.episode.start import start

TASKS = ("retry_storm_storefront", "metastable_capacity_storefront", "metastable_load_spike_storefront")


@pytest.mark.slow
@pytest.mark.parametrize("task_id", TASKS)
def test_the_runbook_ends_it_and_the_restarter_does_not(task_id: str) -> None:
    episode = start(task_id, 5)
    other = episode.fork()

    registry.create("runbook").run(episode)
    registry.create("restarter").run(other)

    assert episode.report.passed, episode.report.to_dict()
    other.world.run_for(20 * SECOND)
    users = next(iter(other.world.traffic.users.values())).window(other.world.now - 20 * SECOND, other.world.now)
    assert users.ok < 0.5 * users.sent
