"""The healthy twin: it lives to the same instant, its users come at the same moments, and it is made once."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster import tasks
from simcluster.engine import SECOND
from simcluster.eval.episode import start
from simcluster.eval.examination.twin import Twins
from simcluster.eval.worlds.healthy import HEALTHY, Healthy
from simcluster.tasks.model import Task
from simcluster.world import World

TASK = "wrong_service_selector_online_boutique"


def test_the_twin_has_the_same_users_and_none_of_the_incident() -> None:
    episode = start(TASK, 3)
    twins, now = Twins(), episode.world.now
    twin = twins.at(episode.task, 3, None, now)
    assert twin.now == now
    seen = [next(iter(world.traffic.users.values())).window(now - 30 * SECOND, now) for world in (episode.world, twin)]
    assert seen[0].sent == seen[1].sent
    assert seen[0].ok < 0.9 * seen[1].ok
    twin.run_for(10 * SECOND)
    assert twins.at(episode.task, 3, None, now).now == now  # a copy: what became of the first does not matter
    later = twins.at(episode.task, 3, None, twin.now)  # goes on from there
    assert later.sim.digest.hex() == twin.sim.digest.hex()
    with pytest.raises(ValueError, match="begins at"):
        Twins().at(episode.task, 3, None, 0)


def test_tasks_of_one_application_share_a_twin() -> None:
    made: list[str] = []

    class Counted(Healthy):
        def of(self, task: Task, *rest: Any, **more: Any) -> World:
            made.append(task.id)
            return HEALTHY.of(task, *rest, **more)

    twins, one, other = (
        Twins(instants=3, worlds=Counted()),
        tasks.load(TASK),
        tasks.load("wrong_image_tag_online_boutique"),
    )
    begun = HEALTHY.of(one, 3, latent=False).now
    for after in (10, 50, 12, 30, 50, 10):
        assert twins.at(one if after % 4 else other, 3, None, begun + after * SECOND).now == begun + after * SECOND
    assert made == [TASK]
    for each in (one, other, one):  # noise spares what an incident touches
        twins.at(each, 3, "default", begun + SECOND)
    assert len(made) == 3
