"""Measures how the simulation's cost grows with the cluster: 30 pods on every node.

Bare nodes without add-ons; Deployments of 300 replicas are applied at once. Pods scheduled a second
count until every pod has a node; what the kubelets do meanwhile is part of the cost, and the larger the
cluster, the more of a pod's life it is. How cost grows with size is therefore told of the whole life, until
every pod is Ready, which is the same work for every pod. Every size is measured in a process of its own,
so that its memory is its own.
"""

from __future__ import annotations

import gc
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from simcluster.engine import SECOND
from simcluster.eval.bench.bench import Measurement
from simcluster.world.world import World, default_nodes

PODS_A_NODE = 30
REPLICAS = 300
#: Nodes and repeats of the measurement of a small cluster's start.
SMALL_NODES, SMALL_REPEATS = 4, 7
#: What is promised: pods a second, milliseconds, and how much more a pod may cost in the largest cluster.
LEAST_PODS_PER_S, MOST_BOOT_MS, MOST_GROWTH = 250.0, 100.0, 1.25
#: Simulated time after which a cluster that does not schedule its pods is given up.
LIMIT_S = 3600

_DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: load-{number}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: load-{number}}}}}
  template:
    metadata: {{labels: {{app: load-{number}}}}}
    spec:
      containers: [{{name: main, image: nginx, resources: {{requests: {{cpu: 50m, memory: 32Mi}}}}}}]
"""


@dataclass(frozen=True)
class Load:
    """What one size cost.

    Attributes:
        nodes, pods: how many there were, without the control plane's node.
        boot_s: CPU time of the cluster's start.
        spent_s: CPU time until every pod had a node.
        ready_s: CPU time until every pod was Ready, from the same beginning.
        memory_bytes: growth of the process until every pod was Ready.
    """

    nodes: int
    pods: int
    boot_s: float
    spent_s: float
    ready_s: float
    memory_bytes: int

    @property
    def pods_per_s(self) -> float:
        """Pods scheduled a second of CPU time."""
        return self.pods / self.spent_s


def measure_scale(
    sizes: Sequence[int], seed: int = 0, progress: Callable[[str], None] | None = None
) -> list[Measurement]:
    """Figures of every size (worker nodes), in order of size.

    Args:
        sizes: numbers of nodes.
        seed: of the worlds.
        progress: is told what is measured now.
    """
    if progress is not None:
        progress(f"starting clusters of {SMALL_NODES} nodes")
    found = [boot_small(seed)]
    loads: list[Load] = []
    for size in sorted(sizes):
        if progress is not None:
            progress(f"{size} nodes, {size * PODS_A_NODE} pods{_before(loads)}")
        loads.append(_apart(size, seed))
        found += _figures(loads[-1], loads[0])
    return found


def _before(loads: Sequence[Load]) -> str:
    """What is known already, for those who wait."""
    return "".join(f"; {one.nodes} nodes: {one.pods_per_s:.0f} pods/s" for one in loads)


def boot_small(seed: int = 0) -> Measurement:
    """CPU time until a cluster of 4 nodes is Ready, its system pods running, in milliseconds.

    The first start of a process, which reads what all worlds share, is not among the repeats.
    """
    World(seed, workers=SMALL_NODES - 1)
    times = []
    for repeat in range(SMALL_REPEATS):
        gc.collect()
        began = time.process_time()
        World(seed + repeat, workers=SMALL_NODES - 1)
        times.append(round(1000 * (time.process_time() - began), 1))
    median = statistics.median(times)
    name = f"{SMALL_NODES} nodes Ready, system pods running"
    return Measurement(name, "ms", median, tuple(times), f"< {MOST_BOOT_MS:g} ms", median < MOST_BOOT_MS)


def load(size: int, seed: int = 0) -> Load:
    """Boot a cluster of `size` workers and schedule 30 pods for each of them.

    Raises:
        TimeoutError: after an hour of simulated time some pods have no node.
    """
    gc.collect()
    began = time.process_time()
    world = World(seed, nodes=default_nodes(size), addons=False)
    boot_s = time.process_time() - began
    world.run_for(5 * SECOND)
    pods, before = size * PODS_A_NODE, _resident_bytes()
    began = time.process_time()
    for number, first in enumerate(range(0, pods, REPLICAS)):
        world.apply(_DEPLOYMENT.format(number=number, replicas=min(REPLICAS, pods - first)))
    _run_until(world, pods, _bound, "have a node")
    spent_s = time.process_time() - began
    _run_until(world, pods, _ready, "are ready")
    return Load(size, pods, boot_s, spent_s, time.process_time() - began, _resident_bytes() - before)


def _run_until(world: World, pods: int, count: Callable[[World], int], what: str) -> None:
    """Let time pass until so many pods are counted. Raises TimeoutError."""
    limit_ns = world.sim.now + LIMIT_S * SECOND
    while count(world) < pods:
        if world.sim.now > limit_ns:
            raise TimeoutError(f"{count(world)} of {pods} pods {what} after {LIMIT_S} simulated seconds")
        world.run_for(SECOND)


def _apart(size: int, seed: int) -> Load:
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(load, size, seed).result()


def _bound(world: World) -> int:
    store = world.api.store
    return sum(store.count_pods_on(node) for node in world.machines)


def _ready(world: World) -> int:
    sets = world.api.store.objects("replicasets.apps")
    return sum((entry.get("status") or {}).get("readyReplicas", 0) for entry in sets)


def _resident_bytes() -> int:
    """Memory of this process; where /proc is missing, the most it ever had."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _figures(one: Load, smallest: Load) -> list[Measurement]:
    head = f"{one.nodes} nodes, {one.pods} pods: "
    speed = round(one.pods_per_s, 1)
    figures = [
        Measurement(f"{head}boot", "ms/node", round(1000 * one.boot_s / (one.nodes + 1), 2), ()),
        Measurement(
            f"{head}scheduled", "pods/s", speed, (), f"> {LEAST_PODS_PER_S:g}", one.pods_per_s > LEAST_PODS_PER_S
        ),
    ]
    figures.append(Measurement(f"{head}ready", "pods/s", round(one.pods / one.ready_s, 1), ()))
    costs = (
        ("time until Ready", "ms/pod", 1000 * one.ready_s / one.pods, 1000 * smallest.ready_s / smallest.pods),
        ("memory", "KiB/pod", one.memory_bytes / one.pods / 1024, smallest.memory_bytes / smallest.pods / 1024),
    )
    for name, unit, cost, least in costs:
        bound = "" if one is smallest else f"<= {MOST_GROWTH:g} x {least:.2f}"
        holds = one is smallest or cost <= MOST_GROWTH * least
        figures.append(Measurement(head + name, unit, round(cost, 2), (), bound, holds))
    return figures
