"""Measures what telemetry costs: CPU beside a world without it, range queries, memory of an hour and of a fork.

All of it is on: scrapes of every exporter, rules, Alertmanager, logs and traces. Worlds with and without take turns, a
simulated minute each, so that a machine's other work meets both.
"""

from __future__ import annotations

import gc
import multiprocessing
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

from simcluster.apps.cases import Users
from simcluster.engine import SECOND, fork
from simcluster.eval.bench.bench import Measurement, measure_world
from simcluster.eval.bench.soak import resident_bytes
from simcluster.eval.bench.traffic import SERVICES as SERVICES_OF_TREE
from simcluster.eval.bench.traffic import measure_large, settled
from simcluster.eval.bench.treeworld import USUAL_RATE, tree_spec
from simcluster.eval.worlds.healthy import HEALTHY, Place
from simcluster.models.apps.callgraph import application_of, as_yaml, manifests_of
from simcluster.telemetry.promql.evaluation import query_range
from simcluster.world import World

#: Applications with the users of their tasks, and simulated minutes that are compared after as many of warming up.
APPS = (
    ("Online Boutique", Place("online-boutique", "boutique", Users(entry="frontend", rps=30.0))),
    ("Hotel Reservation", Place("hotel-reservation", "hotel-reservation", Users(entry="frontend", rps=100.0))),
)
MINUTES, WARM_UP = 15, 3
#: What is promised: CPU with telemetry over without, milliseconds of a query, megabytes of an hour, per cent of a fork.
MOST_RATIO, MOST_QUERY_MS, MOST_MB, MOST_FORK = 1.25, 50.0, 200.0, 5.0
#: Some 300 series of Online Boutique, and how they are asked for over 30 minutes every 15 s.
_SERIES = 'duration_milliseconds_bucket{le=~"2|4|6|8|10|50|100|200"}'
QUERIES = {
    "plain": _SERIES,
    "rate": f"rate({_SERIES}[2m])",
    "sum of rates": f"sum by (service_name) (rate({_SERIES}[2m]))",
}
HALF_HOUR_S, STEP_MS, REPEATS = 1800, 15_000, 9
#: The large application: services, pods of each, requests a second.
SERVICES, REPLICAS, RATE = 40, 2, 1000.0


def measure_telemetry(progress: Callable[[str], None] | None = None) -> list[Measurement]:
    """All figures of telemetry; some minutes."""
    tell = progress or _silent
    found = [_ratio(name, place, tell) for name, place in APPS]
    return [*found, *_promises(tell), *_queries(tell), *_memory(tell)]


def _silent(_: str) -> None:
    """Nobody wants to know."""


def _ratio(name: str, place: Place, tell: Callable[[str], None]) -> Measurement:
    tell(f"{name} without telemetry and with all of it")
    worlds = [HEALTHY.deployed(place._replace(observed=on), 0) for on in (False, True)]
    spent: tuple[list[float], list[float]] = ([], [])
    for minute in range(WARM_UP + MINUTES):
        for world, kept in zip(worlds, spent, strict=True):
            took = _spent(world, 60)
            if minute >= WARM_UP:
                kept.append(took)
    without, beside = (statistics.median(each) for each in spent)
    ratio = round(beside / without, 2)
    each = tuple(round(b / a, 2) for a, b in zip(*spent, strict=True))
    return Measurement(
        f"{name}: CPU time with telemetry over without", "x", ratio, each, f"<= {MOST_RATIO:g}", ratio <= MOST_RATIO
    )


def _promises(tell: Callable[[str], None]) -> list[Measurement]:
    """What is promised of worlds without telemetry, of worlds with it: a quarter slower at the most."""
    world = HEALTHY.deployed(APPS[0][1], 0)
    world.run_for(WARM_UP * 60 * SECOND)
    found = measure_world(world, REPEATS // 3, tell, MOST_RATIO)
    del world
    found += measure_large(*settled(SERVICES_OF_TREE, USUAL_RATE, tell, observed=True), tell, MOST_RATIO)
    return [replace(one, name=f"with telemetry: {one.name}") for one in found]


def _spent(world: World, seconds: int) -> float:
    gc.collect()
    began = time.process_time()
    world.run_for(seconds * SECOND)
    return time.process_time() - began


def _queries(tell: Callable[[str], None]) -> list[Measurement]:
    tell("range queries over half an hour of Online Boutique")
    world = HEALTHY.deployed(APPS[0][1], 0)
    world.run_for((HALF_HOUR_S + 120) * SECOND)
    store = world.series
    assert store is not None
    end = max(log.last_ms for log in store.logs.values())
    begin, found = end - 1000 * HALF_HOUR_S, []
    count = len(query_range(store, _SERIES, begin, end, STEP_MS).series)
    for name, text in QUERIES.items():
        times = []
        for _ in range(REPEATS):
            began = time.process_time()
            query_range(store, text, begin, end, STEP_MS)
            times.append(round(1000 * (time.process_time() - began), 1))
        median = statistics.median(times)
        what = f"range query, 30 minutes of {count} series, {name}"
        bound = f"< {MOST_QUERY_MS:g}"
        found.append(Measurement(what, "ms", median, tuple(times), bound, median < MOST_QUERY_MS))
    return found


def _memory(tell: Callable[[str], None]) -> list[Measurement]:
    """In a process of its own: in this one what earlier worlds have left would hold what the hour brings."""
    tell(f"an hour of an application of {SERVICES} services")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        grown, kept, share = pool.submit(memory_of_an_hour).result()
    name = f"an hour of {SERVICES} services with telemetry"
    return [
        Measurement(f"{name}: memory", "MB", round(grown, 1), (), f"< {MOST_MB:g}", grown < MOST_MB),
        Measurement(f"{name}: of it numbers of series", "MB", round(kept, 1), ()),
        Measurement(f"{name}: memory of a fork", "%", round(share, 2), (), f"< {MOST_FORK:g}", share < MOST_FORK),
    ]


def memory_of_an_hour() -> tuple[float, float, float]:
    """By how many MB the large application's hour makes the process grow, how many of them are numbers of series
    (0 without a store of series), and by how many per cent a fork does then.
    """
    world = large_world()
    world.run_for(120 * SECOND)
    gc.collect()
    before = resident_bytes()
    world.run_for(3600 * SECOND)
    gc.collect()
    after = resident_bytes()
    other = fork(world)
    share = 100.0 * (resident_bytes() - after) / after
    del other
    kept = 0.0 if world.series is None else world.series.size_bytes / 1e6
    return (after - before) / 1e6, kept, share


def large_world() -> World:
    """A cluster with telemetry that runs a tree of services, and its users."""
    world = World(workers=6)
    spec = tree_spec(SERVICES, REPLICAS, RATE)
    world.catalog.add(application_of(spec))
    world.catalog.publish(world.registry)
    world.observe()
    world.apply(as_yaml(manifests_of(spec)))
    world.run_for(60 * SECOND)
    world.traffic.add_users("people", "default", "s0", 8080, rps=RATE)
    return world
