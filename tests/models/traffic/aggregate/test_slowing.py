"""Workers that slow down so much that ticks resolve their services: who is in service then is still there."""

from __future__ import annotations

import math

import pytest

from simcluster.engine import SECOND
from simcluster.models.traffic.aggregate.run import AggregateRun
from simcluster.testing.agreement.graphs import single, slowed
from simcluster.testing.agreement.measure import spec_of

WORK = {"law": "lognormal", "mean": "20ms", "cv": 0.6}
SEEDS = 120


@pytest.mark.parametrize(
    ("load", "there"),
    # M/M/4: utilisation times four in service; those who wait by Erlang's C, times (1 + cv^2) / 2 (Allen-Cunneen)
    [(0.35, 1.42), (0.65, 3.03), (0.75, 4.04)],
)
def test_who_is_in_service_when_workers_slow_down_keeps_its_worker(load: float, there: float) -> None:
    graph = single(200 * load, WORK, "300ms", 5, workers=4, seconds=4, events=[slowed(2, 0.4)])
    found = []
    for seed in range(SEEDS):
        run = AggregateRun(spec_of(graph), seed)
        while run.tick * run.tick_ns < 2 * SECOND:
            run.step(2 * SECOND // run.tick_ns)
        run.step(run.tick + 1)
        found.append(float(run.queues.number[0] - run.queues.arrived[0]))
    assert math.fsum(found) / SEEDS == pytest.approx(there, rel=0.12)
