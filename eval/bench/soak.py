"""A day in the life of Online Boutique: disturbances, and a change every few minutes. Does it stay as small and quick?

Memory is what the process holds after a collection at the end of each simulated hour; both it and the speed of an
hour are compared with those of the sixth, when histories and caches have filled.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from simcluster.engine.clock import HOUR, MINUTE
from simcluster.eval.bench.bench import APPLICATION, ENTRY, NAMESPACE, REQUESTS_PER_S, Measurement
from simcluster.noise.plan import NoisePlan, load
from simcluster.world import World

#: A change after so much simulated time, and how many services take their turn.
EVERY_NS = 4 * MINUTE
#: The hour with which later ones are compared, and how much more memory they may need.
SETTLED_HOUR, GROWTH_MAX = 6, 1.05
#: Speed of the last quarter over that of the quarter after the settled hour, at least.
DRIFT_MIN = 0.9
#: What is done to one service after the other; at its end a turn has left nothing behind.
_CHANGES = (
    "set env deployment/{service} RELEASE={number}",
    "scale deployment/{service} --replicas=3",
    "create configmap notes-{service} --from-literal=text={number}",
    "rollout restart deployment/{service}",
    "create job once-{service} --image=busybox -- sleep 20",
    "annotate service/{service} reviewed-at={number} --overwrite",
    "delete pod -l app={service} --wait=false",
    "delete job once-{service}",
    "scale deployment/{service} --replicas=1",
    "delete configmap notes-{service}",
)


def measure_soak(hours: int, seed: int, tell: Callable[[str], None]) -> list[Measurement]:
    """Let a world live for so many simulated hours.

    Args:
        hours: at least seven.
        tell: is told of every hour.
    """
    world = World(seed)
    world.deploy(APPLICATION, NAMESPACE)
    world.add_users(NAMESPACE, ENTRY, REQUESTS_PER_S)
    NoisePlan(world, load("default"), NAMESPACE).start()
    services = sorted(obj["metadata"]["name"] for obj in world.api.store.objects("deployments.apps", NAMESPACE))
    kubectl, begun_ns, number = world.kubectl(), world.sim.now, 0
    sizes, speeds = [], []
    for hour in range(1, hours + 1):
        started = time.process_time()
        while world.sim.now < begun_ns + hour * HOUR:
            kubectl.run(f"{_change(number, services)} -n {NAMESPACE}")
            number += 1
            world.run_for(EVERY_NS)
        speeds.append(HOUR / 1e9 / (time.process_time() - started))
        gc.collect()
        sizes.append(resident_bytes() / (1 << 20))
        tell(f"hour {hour}: {sizes[-1]:.0f} MiB, {speeds[-1]:.0f} simulated seconds a second, {number} changes")
    settled = sizes[SETTLED_HOUR - 1]
    growth = max(sizes[SETTLED_HOUR:]) / settled
    quarter = max(1, (hours - SETTLED_HOUR) // 4)
    drift = statistics.median(speeds[-quarter:]) / statistics.median(speeds[SETTLED_HOUR : SETTLED_HOUR + quarter])
    return [
        Measurement(f"memory after {hours} hours, most over that of hour {SETTLED_HOUR}", "ratio", round(growth, 3),
                    tuple(sizes), f"<= {GROWTH_MAX}", growth <= GROWTH_MAX),
        Measurement("speed of the last hours over that of the hours after the sixth", "ratio", round(drift, 3),
                    tuple(speeds), f">= {DRIFT_MIN}", drift >= DRIFT_MIN),
    ]  # fmt: skip


def _change(number: int, services: list[str]) -> str:
    turn, step = divmod(number, len(_CHANGES))
    return _CHANGES[step].format(service=services[turn % len(services)], number=number)


def resident_bytes() -> int:
    """What the process holds in memory, from /proc."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
