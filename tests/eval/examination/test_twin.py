"""The healthy twin: it lives to the same instant, its users come at the same moments, and it is made once."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from simcluster.eval.episode import start
from simcluster.eval.examination.twin import Twins

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
