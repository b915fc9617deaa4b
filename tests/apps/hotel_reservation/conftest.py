"""One Hotel Reservation for all files of this folder."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND, Snapshot
from simcluster.world import World

NAMESPACE = "hotel-reservation"


@pytest.fixture(scope="session")
def served() -> Snapshot[World]:
    """A healthy application with 100 requests a second, caches filled."""
    world = World(workers=3)
    world.deploy("hotel-reservation", NAMESPACE)
    for _ in range(60):
        world.run_for(SECOND)
        if world.available(NAMESPACE):
            break
    world.run_for(10 * SECOND)
    world.add_users(NAMESPACE, "frontend", 100)
    world.run_for(40 * SECOND)
    return Snapshot(world)
