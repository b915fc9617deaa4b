"""Measures the speed of a loaded world in wall-clock time.

The world of the measurements is Online Boutique with users at 30 requests a second, a minute
after they came. Every repeat starts from the same snapshot; the median counts, because a
machine's other work only ever makes a repeat slower.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simcluster.engine import SECOND, Snapshot
from simcluster.world import World

APPLICATION, NAMESPACE, ENTRY = "online-boutique", "boutique", "frontend"
REQUESTS_PER_S = 30.0
SIMULATED_S = 600
WARM_UP_S = 180
FORKS = 20
#: What is promised: simulated seconds a second, and milliseconds of a fork.
LEAST_SPEED, MOST_FORK_MS = 300.0, 20.0


@dataclass(frozen=True)
class Measurement:
    """One figure, with what must hold for it.

    Attributes:
        name, unit: what was measured.
        value: the median of the repeats.
        repeats: all of them.
        bound: the figure that is promised on two cores; "" if none is.
        holds: whether the promise is kept here.
    """

    name: str
    unit: str
    value: float
    repeats: tuple[float, ...]
    bound: str = ""
    holds: bool = True

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "name": self.name,
            "unit": self.unit,
            "value": self.value,
            "repeats": list(self.repeats),
            "bound": self.bound,
            "holds": self.holds,
        }


def measure(repeats: int = 3, seed: int = 0, progress: Callable[[str], None] | None = None) -> list[Measurement]:
    """All measurements.

    Args:
        repeats: of the long ones, at least 1.
        seed: of the world.
        progress: is told what is measured now.
    """
    tell = progress or _silent
    tell("booting a cluster")
    boot_s, world = _timed(_boot(seed))
    tell("deploying Online Boutique and sending users")
    deploy_s, _ = _timed(_deploy(world))
    found = [
        Measurement("boot an empty cluster", "s", round(boot_s, 3), (boot_s,)),
        Measurement(f"deploy Online Boutique and serve for {WARM_UP_S} s", "s", round(deploy_s, 3), (deploy_s,)),
    ]
    tell("forking")
    return [*found, _reads(world), *measure_world(world, repeats, tell)]


def measure_world(world: World, repeats: int, tell: Callable[[str], None], slack: float = 1.0) -> list[Measurement]:
    """Forks and speed of a loaded world; `slack`: so much slower it may be than is promised."""
    return [_forks(world, slack), _speed(Snapshot(world), repeats, tell, slack)]


def _silent(_: str) -> None:
    """Nobody wants to know."""


def _boot(seed: int) -> Callable[[], World]:
    def boot() -> World:
        return World(seed)

    return boot


def _deploy(world: World) -> Callable[[], None]:
    def deploy() -> None:
        world.deploy(APPLICATION, NAMESPACE)
        world.add_users(NAMESPACE, ENTRY, REQUESTS_PER_S)
        world.run_for(WARM_UP_S * SECOND)

    return deploy


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def _forks(world: World, slack: float) -> Measurement:
    times = tuple(round(1000 * _timed(world.fork)[0], 3) for _ in range(FORKS))
    median = round(statistics.median(times), 3)
    most = MOST_FORK_MS * slack
    return Measurement("fork the loaded world", "ms", median, times, f"< {most:g} ms", median < most)


def _reads(world: World) -> Measurement:
    kubectl = world.kubectl()
    times = tuple(round(1000 * _timed(_command(kubectl, f"get pods -n {NAMESPACE}"))[0], 3) for _ in range(FORKS))
    return Measurement("kubectl get pods", "ms", round(statistics.median(times), 3), times)


def _command(kubectl: Any, text: str) -> Callable[[], Any]:
    def run() -> Any:
        return kubectl.run(text)

    return run


def _speed(snapshot: Snapshot[World], repeats: int, tell: Callable[[str], None], slack: float) -> Measurement:
    speeds = []
    for number in range(max(1, repeats)):
        tell(f"ten simulated minutes at {REQUESTS_PER_S:g} requests a second, repeat {number + 1} of {repeats}")
        world = snapshot.restore()
        spent_s, _ = _timed(_minutes(world))
        speeds.append(round(SIMULATED_S / spent_s, 1))
    median, least = statistics.median(speeds), LEAST_SPEED / slack
    name = f"{SIMULATED_S // 60} simulated minutes of Online Boutique at {REQUESTS_PER_S:g} requests a second"
    return Measurement(name, "simulated s / s", median, tuple(speeds), f">= {least:g}", median >= least)


def _minutes(world: World) -> Callable[[], None]:
    def run() -> None:
        world.run_for(SIMULATED_S * SECOND)

    return run
