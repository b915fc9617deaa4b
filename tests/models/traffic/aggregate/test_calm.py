"""Wide ticks, waits from theory, leaps over steady storms, pools, and what is refused."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from simcluster.models.traffic.aggregate import AggregateRun
from simcluster.models.traffic.aggregate.live import LiveTraffic
from simcluster.models.traffic.aggregate.state import Options
from simcluster.models.traffic.aggregate.waits import Station, wait_of
from simcluster.models.traffic.graph import GraphSpec, spec_of

SECOND = 1_000_000_000


def exponential(mean: str) -> dict[str, str]:
    return {"law": "exponential", "mean": mean}


def queue(rate: float, *, call: dict[str, Any] | None = None, seconds: int = 60, **service: Any) -> GraphSpec:
    described = {"operations": {"serve": {"work": exponential("2ms")}}, **service}
    load = {"target": "server", "open": {"rate": rate}, "call": {"timeout": "400ms", **(call or {})}}
    return spec_of(
        {
            "run": {"duration": f"{seconds}s", "warmup": "2s", "window": "2s"},
            "services": {"server": described},
            "load": {"users": load},
        }
    )


@pytest.mark.parametrize("rate", [150.0, 250.0, 350.0, 425.0])
def test_calm_queue_has_the_quantiles_of_theory_in_few_steps(rate: float) -> None:
    run = AggregateRun(queue(rate), 3)
    steps = 0
    while run.tick < run.ticks:
        run.step()
        steps += 1
    latency = run.result().load_totals["users"].latency
    assert steps < 100
    for share in (0.5, 0.9, 0.99):
        assert latency.quantile(share) / 1e9 == pytest.approx(-math.log(1.0 - share) / (500.0 - rate), rel=0.07)


@pytest.mark.parametrize(
    ("station", "mean"),
    [
        (Station(0.8, 1, 1.0, 6.0), 4.0),
        (Station(0.8, 1, 0.0, 1.0), 2.0),
        (Station(0.8, 2, 1.0, 6.0), 1.7778),
        (Station(0.5, 1, 4.0, 60.0), 2.5),
    ],
)
def test_mean_waits_are_those_of_theory(station: Station, mean: float) -> None:
    assert wait_of(station).mean == pytest.approx(mean, rel=1e-3)


def test_steady_storm_is_leapt_over_and_counts_the_same() -> None:
    storm = queue(700, call={"retries": {"attempts": 3}}, seconds=40, queue={"bound": 2000})
    leaping, plain = AggregateRun(storm, 1), AggregateRun(storm, 1, options=Options(strategies=("fine",)))
    steps = 0
    while leaping.tick < leaping.ticks:
        leaping.step()
        steps += 1
    assert steps < 0.8 * leaping.ticks
    ours, theirs = (run.run().between("users", 20 * SECOND, 40 * SECOND) for run in (leaping, plain))
    assert leaping.used["leap"] > 0 == sum(plain.used.values()) - plain.used["fine"]
    assert ours.attempts == pytest.approx(theirs.attempts, rel=0.03)
    assert ours.ok == pytest.approx(theirs.ok, rel=0.03, abs=20)


def test_connections_bound_what_the_callee_sees() -> None:
    spec = queue(700, call={"pool": {"size": 3}}, seconds=20, workers=50)
    total = AggregateRun(spec, 1).run()
    assert list(total.services) == ["server"]
    assert total.service_totals["server"].busy <= 3.05


def test_hedges_are_counted_as_attempts() -> None:
    total = AggregateRun(queue(100, call={"hedge": {"after": "5ms"}}, seconds=6), 1).run().load_totals["users"]
    # of M/M/1 with 500 - 100 a second a share of exp(-2) is not answered after 5 ms, less than e^-1.9 with the hedges
    assert total.attempts / total.arrivals == pytest.approx(1.0 + math.exp(-2.0), abs=0.08)


def live(replicas: int) -> tuple[GraphSpec, dict[str, list[str]]]:
    return queue(300, replicas=replicas), {"server": [f"server-{i}" for i in range(replicas)]}


def test_live_traffic_follows_its_pods() -> None:
    traffic = LiveTraffic(live(2)[0], 1, 20_000_000, live(2)[1], 10 * SECOND)
    traffic.advance(20 * SECOND)
    taken = traffic.take()
    assert taken.loads["users"].ok == pytest.approx(3000, rel=0.1)
    assert taken.pods["server-0"].cpu_s == pytest.approx(3.0, rel=0.15)
    traffic.set_pod("server-0", speed=0.01)
    traffic.advance(21 * SECOND)
    held = traffic.waiting("server-0")
    assert held > 50
    traffic.rebuild(*live(3))
    assert traffic.waiting("server-0") == held
    twin = pickle.loads(pickle.dumps(traffic))
    traffic.advance(30 * SECOND)
    twin.advance(30 * SECOND)
    assert np.array_equal(traffic.engine.queues.number, twin.engine.queues.number)
    traffic.set_edge("users", "server", refused=1.0)
    traffic.take()
    traffic.advance(40 * SECOND)
    assert traffic.take().loads["users"].ok < 100
