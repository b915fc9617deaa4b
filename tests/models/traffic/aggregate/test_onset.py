"""The first moments of a trigger: who is inside when a pod slows down, who comes, who is served at both speeds.

Theory is Lindley's recursion of M/M/1 with a server whose speed changes, by simulation of its own.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from simcluster.models.traffic.aggregate.paces import Paces
from simcluster.models.traffic.aggregate.run import AggregateRun
from simcluster.testing.agreement.graphs import single, slowed
from simcluster.testing.agreement.measure import spec_of

RATE, SERVICE, TIMEOUT, SLOW = 125.0, 0.004, 0.1, 0.1
SEEDS = 200


def _failed(trigger: float, cohorts: list[tuple[float, float]]) -> list[float]:
    """How many time out of those who come between these instants (s) after an M/M/1 slows down for so long."""
    draws, runs, before, after = np.random.default_rng(3), 1500, 0.2, 0.3
    failed = [0] * len(cohorts)
    for _ in range(runs):
        come = np.cumsum(draws.exponential(1.0 / RATE, int(2 * RATE * (before + after)))) - before
        work, free = draws.exponential(SERVICE, len(come)), -before
        for at, each in zip(come[come < after].tolist(), work.tolist(), strict=False):
            begun = max(at, free)
            free = _ended(begun, each, trigger)
            if free - at > TIMEOUT:
                for i, (low, high) in enumerate(cohorts):
                    failed[i] += low <= at < high
    return [count / runs for count in failed]


def _ended(begun: float, work: float, trigger: float) -> float:
    """When work of so many seconds ends that begins at an instant."""
    for until, speed in ((0.0, 1.0), (trigger, SLOW), (math.inf, 1.0)):
        if begun < until:
            if work <= (until - begun) * speed:
                return begun + work / speed
            work, begun = work - (until - begun) * speed, until
    raise AssertionError


def _run(trigger: float) -> AggregateRun:
    graph = single(RATE, 4, "100ms", 1, seconds=1, events=[slowed(0.4, trigger)])
    graph["run"]["window"] = "20ms"
    return AggregateRun(spec_of(graph), 0)


def _windows(trigger: float) -> list[float]:
    """How many requests fail in each 20 ms, on average."""
    spec, sums = _run(trigger).spec, np.zeros(50)
    for seed in range(SEEDS):
        (load,) = AggregateRun(spec, seed).run().load.values()
        sums += [sum(window.failed.values()) for window in load]  # integers
    return [float(each) for each in sums / SEEDS]


def test_who_comes_at_a_trigger_waits_for_all_who_are_there() -> None:
    found = _windows(0.4)  # a window's requests fail 100 ms later
    inside, *expected = _failed(0.4, [(-1.0, 0.0), (0.0, 0.02), (0.02, 0.04), (0.04, 0.06)])
    assert found[25:28] == [pytest.approx(each, rel=0.18) for each in expected]
    assert sum(found[:25]) == pytest.approx(inside, rel=0.4)


def test_whose_service_ends_after_a_short_trigger_was_slowed_down_by_it_all_the_same() -> None:
    assert sum(_windows(0.1)) == pytest.approx(_failed(0.1, [(-1.0, 1.0)])[0], rel=0.3)


def test_the_speed_of_a_service_is_the_mean_one_since_it_began() -> None:
    paces, lanes, fast, slow = Paces(np.ones(2), 40), np.array([0, 1]), np.array([1.0, 1.0]), np.array([0.1, 1.0])
    for tick in range(62):
        paces.note(tick, slow if 10 <= tick < 20 else fast)
        if tick == 25:
            found = paces.since(tick, lanes, np.array([[5.0, 12.5, 20.0, 25.0], [5.0, 12.5, 20.0, 25.0]]))
            assert found[0].tolist() == pytest.approx([11.0 / 20.0, 5.75 / 12.5, 1.0, 1.0])
            assert found[1].tolist() == pytest.approx([1.0] * 4)
    assert not len(paces.done)  # nobody is judged any more who began before tick 20
