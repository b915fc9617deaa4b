"""Measures what the traffic of a large application costs, the whole cluster around it included.

The application is a tree of 140 services in 420 pods under 3,000 requests a second (`treeworld`):
calm, and collapsed after a spike. Ratios compare worlds that were measured in the same run.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

from simcluster.engine import SECOND, Snapshot
from simcluster.eval.bench.bench import Measurement
from simcluster.eval.bench.singlequeue import measure_queue
from simcluster.eval.bench.treeworld import USUAL_RATE, tree_world
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.world import World

SERVICES = 140
#: Other sizes, in services of three pods, and other rates at the same utilisation.
SMALLER = (33, 66)
RATES = (3.0, 30_000.0)
#: Simulated seconds of a measurement; repeats from the same snapshot.
CALM_S, OTHER_S, COLLAPSED_S, REPEATS, FORKS = 1800, 600, 120, 3, 7
#: The spike that ends in collapse: so many times the rate, for so long; measured after the rest of a minute.
SPIKE, SPIKE_S = 4.0, 20
#: What is promised without an accelerator, and with one in a calm world.
LEAST_CALM, LEAST_COLLAPSED, MOST_FORK_MS, MOST_RATE, MOST_SLOPE = 1000.0, 100.0, 100.0, 1.5, 1.25


def measure_traffic(progress: Callable[[str], None] | None = None) -> list[Measurement]:
    """All figures of traffic."""
    tell = progress or _silent
    world, users = settled(SERVICES, USUAL_RATE, tell)
    pods = len(world.traffic.servers)
    snapshot = Snapshot(world)
    calm = _speeds(snapshot, CALM_S, "calm", tell)
    base = 1.0 / statistics.median(_speeds(snapshot, OTHER_S, f"{pods} pods", tell))
    found = [
        _speed(f"{pods} pods at {USUAL_RATE:g} requests/s, calm", calm, LEAST_CALM),
        *_collapsed(world, users, pods, tell),
    ]
    del world, users, snapshot
    found += _rates(base, tell)
    found += _sizes(base, pods, tell)
    return found + measure_queue(tell)


def settled(services: int, rate: float, tell: Callable[[str], None]) -> tuple[World, UserLoad]:
    """A world whose users have been there for two minutes; times scale with the rate, so that utilisations do not."""
    tell(f"{services} services at {rate:g} requests a second")
    world, users = tree_world(services, rate=rate, pace=rate / USUAL_RATE)
    world.run_for(120 * SECOND)
    return world, users


def _silent(_: str) -> None:
    """Nobody wants to know."""


def _speeds(snapshot: Snapshot[World], seconds: int, what: str, tell: Callable[[str], None]) -> tuple[float, ...]:
    """Simulated seconds a second, several times from the same instant."""
    found = []
    for repeat in range(REPEATS):
        tell(f"{what}: {seconds} simulated seconds, repeat {repeat + 1} of {REPEATS}")
        world = snapshot.restore()
        gc.collect()
        began = time.process_time()
        world.run_for(seconds * SECOND)
        found.append(round(seconds / (time.process_time() - began), 1))
    return tuple(found)


def _speed(name: str, speeds: tuple[float, ...], least: float) -> Measurement:
    median = statistics.median(speeds)
    return Measurement(name, "simulated s / s", median, speeds, f">= {least:g}", median >= least)


def _collapsed(world: World, users: UserLoad, pods: int, tell: Callable[[str], None]) -> list[Measurement]:
    """Speed and fork of the collapsed world; the share of requests that fail says that it is."""
    world.traffic.schedule_rate(users, SPIKE * users.rps, after_ns=SECOND, lasts_ns=SPIKE_S * SECOND)
    tell("a spike, and what it leaves behind")
    world.run_for(60 * SECOND)
    snapshot, begin = Snapshot(world), world.sim.now
    speeds = _speeds(snapshot, COLLAPSED_S, "collapsed", tell)
    world.run_for(30 * SECOND)
    seen = users.window(begin, world.sim.now)
    forks = tuple(round(1000 * _forked(world), 1) for _ in range(FORKS))
    median, failing = statistics.median(forks), round(seen.failed / max(1, seen.sent), 3)
    return [
        Measurement(f"{pods} pods after a spike: share of requests that fail", "", failing, (), "> 0.5", failing > 0.5),
        _speed(f"{pods} pods at {USUAL_RATE:g} requests/s, collapsed", speeds, LEAST_COLLAPSED),
        Measurement(f"{pods} pods, collapsed: fork", "ms", median, forks, f"< {MOST_FORK_MS:g}", median < MOST_FORK_MS),
    ]


def _forked(world: World) -> float:
    gc.collect()
    began = time.process_time()
    world.fork()
    return time.process_time() - began


def _rates(base: float, tell: Callable[[str], None]) -> list[Measurement]:
    """Cost of the slowest and the fastest users, against each other."""
    costs = {}
    for rate in RATES:
        world, _ = settled(SERVICES, rate, tell)
        costs[rate] = 1.0 / statistics.median(_speeds(Snapshot(world), OTHER_S, f"{rate:g} requests/s", tell))
    ratio = round(max(base, *costs.values()) / min(base, *costs.values()), 2)
    name = f"cost of {RATES[-1]:g}, {USUAL_RATE:g} and {RATES[0]:g} requests/s: dearest over cheapest"
    return [Measurement(name, "x", ratio, (), f"<= {MOST_RATE:g}", ratio <= MOST_RATE)]


def _sizes(base: float, pods: int, tell: Callable[[str], None]) -> list[Measurement]:
    """Cost of a pod, in worlds of several sizes."""
    found, each = [], {}
    for services in SMALLER:
        world, _ = settled(services, USUAL_RATE, tell)
        here = len(world.traffic.servers)
        each[here] = 1.0 / statistics.median(_speeds(Snapshot(world), OTHER_S, f"{here} pods", tell)) / here
    each[pods] = base / pods
    least = next(iter(each.values()))
    for number, cost in each.items():
        ratio = cost / least
        bound = "" if cost is least else f"<= {MOST_SLOPE:g} x {1e6 * least:.2f}"
        name = f"{number} pods, calm: time of a pod and simulated second"
        found.append(Measurement(name, "us", round(1e6 * cost, 2), (), bound, ratio <= MOST_SLOPE))
    return found
