"""Measures what the traffic of a large application costs, the whole cluster around it included.

The application is a tree of 140 services in 420 pods under 3,000 requests a second (`treeworld`):
calm, and collapsed after a spike, with the accelerator and without it. Ratios compare worlds that were measured
in turns in the same run.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from simcluster.engine import SECOND, Snapshot
from simcluster.eval.bench.bench import Measurement
from simcluster.eval.bench.callgraphs import measure_callgraphs
from simcluster.eval.bench.singlequeue import measure_queue
from simcluster.eval.bench.treeworld import USUAL_RATE, tree_world
from simcluster.models.traffic.aggregate import fast
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.world import World

SERVICES = 140
#: Other sizes, in services of three pods, and other rates at the same utilisation.
SMALLER = (33, 66)
RATES = (3.0, 30_000.0)
#: Simulated seconds of a measurement; repeats from the same snapshot.
CALM_S, OTHER_S, COLLAPSED_S, REPEATS, FORKS = 1800, 600, 120, 3, 9
#: The spike that ends in collapse: so many times the rate, for so long; measured after the rest of a minute.
SPIKE, SPIKE_S = 4.0, 20
#: What is promised in a calm world, collapsed without the accelerator and with it, of a fork, of rates and sizes.
LEAST_CALM, LEAST_COLLAPSED, LEAST_ACCELERATED = 1000.0, 100.0, 300.0
MOST_FORK_MS, MOST_RATE, MOST_SLOPE = 100.0, 1.5, 1.25


def measure_traffic(progress: Callable[[str], None] | None = None) -> list[Measurement]:
    """All figures of traffic."""
    tell = progress or _silent
    world, users = settled(SERVICES, USUAL_RATE, tell)
    pods, usual = len(world.traffic.servers), Snapshot(world)
    found = measure_large(world, users, tell)
    del world, users
    found += [*_rates(usual, tell), *_sizes(usual, pods, tell)]
    return [*found, *measure_callgraphs(tell), *measure_queue(tell)]


def measure_large(world: World, users: UserLoad, tell: Callable[[str], None], slack: float = 1.0) -> list[Measurement]:
    """A settled world calm and collapsed, which it is then; `slack`: so much slower it may be than is promised."""
    pods = len(world.traffic.servers)
    calm = _speeds({"calm": Snapshot(world)}, CALM_S, tell)["calm"]
    found = [_speed(f"{pods} pods at {USUAL_RATE:g} requests/s, calm", calm, LEAST_CALM / slack)]
    return [*found, *_collapsed(world, users, tell, slack)]


def settled(
    services: int, rate: float, tell: Callable[[str], None], *, observed: bool = False
) -> tuple[World, UserLoad]:
    """A world whose users have been there for two minutes; times scale with the rate, so that utilisations do not."""
    tell(f"{services} services at {rate:g} requests a second")
    world, users = tree_world(services, rate=rate, pace=rate / USUAL_RATE, observed=observed)
    world.run_for(120 * SECOND)
    return world, users


def _silent(_: str) -> None:
    """Nobody wants to know."""


def _speeds(
    worlds: dict[str, Snapshot[World]], seconds: int, tell: Callable[[str], None]
) -> dict[str, tuple[float, ...]]:
    """Simulated seconds a second of every world, several times from the same instant, one after the other."""
    found: dict[str, list[float]] = {what: [] for what in worlds}
    for repeat in range(REPEATS):
        for what, snapshot in worlds.items():
            tell(f"{what}: {seconds} simulated seconds, repeat {repeat + 1} of {REPEATS}")
            world = snapshot.restore()
            gc.collect()
            began = time.process_time()
            world.run_for(seconds * SECOND)
            found[what].append(round(seconds / (time.process_time() - began), 1))
    return {what: tuple(speeds) for what, speeds in found.items()}


def _costs(
    worlds: dict[str, Snapshot[World]], tell: Callable[[str], None]
) -> tuple[dict[str, float], dict[str, tuple[float, ...]]]:
    """CPU seconds of a simulated second of every world, and the speeds they come from."""
    speeds = _speeds(worlds, OTHER_S, tell)
    return {what: 1.0 / statistics.median(each) for what, each in speeds.items()}, speeds


def _speed(name: str, speeds: tuple[float, ...], least: float) -> Measurement:
    median = statistics.median(speeds)
    return Measurement(name, "simulated s / s", median, speeds, f">= {least:g}", median >= least)


@contextmanager
def _accelerator(switch: str) -> Iterator[None]:
    """Run with the accelerator (`on`) or without it (`off`)."""
    before = os.environ.get(fast.SWITCH)
    os.environ[fast.SWITCH] = switch
    try:
        fast.kernels()  # the compiler's time is not the world's
        yield
    finally:
        if before is None:
            del os.environ[fast.SWITCH]
        else:
            os.environ[fast.SWITCH] = before


def _collapsed(world: World, users: UserLoad, tell: Callable[[str], None], slack: float) -> list[Measurement]:
    """Speed and fork of the collapsed world; the share of requests that fail says that it is."""
    pods = len(world.traffic.servers)
    world.traffic.schedule_rate(users, SPIKE * users.rps, after_ns=SECOND, lasts_ns=SPIKE_S * SECOND)
    tell("a spike, and what it leaves behind")
    world.run_for(60 * SECOND)
    snapshot, begin = Snapshot(world), world.sim.now
    world.run_for(30 * SECOND)
    seen = users.window(begin, world.sim.now)
    failing = round(seen.failed / max(1, seen.ended), 3)
    found = [
        Measurement(f"{pods} pods after a spike: share of requests that fail", "", failing, (), "> 0.5", failing > 0.5)
    ]
    name = f"{pods} pods at {USUAL_RATE:g} requests/s, collapsed"
    modes = [("off", ", NumPy alone", LEAST_COLLAPSED)]
    if fast.is_installed():
        modes.append(("on", ", accelerator", LEAST_ACCELERATED))
    for switch, words, least in modes:
        with _accelerator(switch):
            speeds = _speeds({f"collapsed{words}": snapshot}, COLLAPSED_S, tell)
        found.append(_speed(name + words, next(iter(speeds.values())), least / slack))
    forks = tuple(round(1000 * _forked(world), 1) for _ in range(FORKS))
    median, most = statistics.median(forks), MOST_FORK_MS * slack
    return [*found, Measurement(f"{pods} pods, collapsed: fork", "ms", median, forks, f"< {most:g}", median < most)]


def _forked(world: World) -> float:
    gc.collect()
    began = time.process_time()
    world.fork()
    return time.process_time() - began


def _rates(usual: Snapshot[World], tell: Callable[[str], None]) -> list[Measurement]:
    """Cost of the slowest and the fastest users, against each other."""
    worlds = {f"{rate:g} requests/s": Snapshot(settled(SERVICES, rate, tell)[0]) for rate in RATES}
    costs, speeds = _costs({f"{USUAL_RATE:g} requests/s": usual, **worlds}, tell)
    ratio = round(max(costs.values()) / min(costs.values()), 2)
    name = f"cost of {', '.join(costs)}: dearest over cheapest"
    medians = tuple(statistics.median(each) for each in speeds.values())
    return [Measurement(name, "x", ratio, medians, f"<= {MOST_RATE:g}", ratio <= MOST_RATE)]


def _sizes(usual: Snapshot[World], pods: int, tell: Callable[[str], None]) -> list[Measurement]:
    """Cost of a pod, in worlds of several sizes."""
    worlds, sizes = {}, []
    for services in SMALLER:
        world, _ = settled(services, USUAL_RATE, tell)
        sizes.append(len(world.traffic.servers))
        worlds[f"{sizes[-1]} pods"] = Snapshot(world)
        del world
    costs, _ = _costs({**worlds, f"{pods} pods": usual}, tell)
    found = []
    each = [cost / number for cost, number in zip(costs.values(), [*sizes, pods], strict=True)]
    for number, cost in zip([*sizes, pods], each, strict=True):
        ratio = cost / each[0]
        bound = "" if number == sizes[0] else f"<= {MOST_SLOPE:g} x {1e6 * each[0]:.2f}"
        name = f"{number} pods, calm: time of a pod and simulated second"
        found.append(Measurement(name, "us", round(1e6 * cost, 2), (), bound, ratio <= MOST_SLOPE))
    return found
