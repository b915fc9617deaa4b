"""A large application for measurements: a tree of services, each calling two more half of the time.

At another pace everything that is a duration in the application is scaled alike, so that
utilisations and the share of late requests stay what they were.
"""

from __future__ import annotations

from typing import Any

from simcluster.engine import SECOND
from simcluster.models.apps.callgraph import application_of, as_yaml, manifests_of
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.models.traffic.graph import GraphSpec, spec_of
from simcluster.world import World
from simcluster.world.world import CONTROL_PLANE, NodeSpec

#: Utilisation of the upper pods, the longest work of a request in nanoseconds, and the rate at which it holds.
UTILISATION, LONGEST_NS, USUAL_RATE = 0.5, 2_000_000, 3000.0
#: How long a call and a user wait for an answer at the usual rate.
CALL_NS, USER_NS = 1 * SECOND, 10 * SECOND


def tree_spec(
    services: int = 140, replicas: int = 3, rate: float = USUAL_RATE, attempts: int = 4, pace: float = 1.0
) -> GraphSpec:
    """Services `s0` (the root) to `sN`; calls time out after 1 s and are tried `attempts` times.

    Args:
        rate: requests a second of the users.
        pace: all durations are divided by it.
    """
    described: dict[str, Any] = {}
    for number in range(services):
        depth = (number + 1).bit_length() - 1
        work = min(UTILISATION * 1e9 * 4**depth * replicas / rate / 2**depth, LONGEST_NS / pace)
        calls = [
            {"choose": [{"probability": 0.5, "steps": [{"call": _call(child, attempts, pace)}]}]}
            for child in (2 * number + 1, 2 * number + 2)
            if child < services
        ]
        described[f"s{number}"] = {
            "replicas": replicas,
            "blocking": False,
            "queue": {"bound": max(100, int(4e9 / pace / work))},
            "operations": {"op": {"work": {"law": "exponential", "mean": f"{int(work)}ns"}, "steps": calls}},
        }
    load = {"users": {"target": "s0", "open": {"rate": rate}, "call": {"timeout": f"{int(USER_NS / pace)}ns"}}}
    return spec_of({"name": "tree", "services": described, "load": load})


def tree_world(
    services: int = 140,
    replicas: int = 3,
    rate: float = USUAL_RATE,
    nodes: int = 14,
    pace: float = 1.0,
    *,
    observed: bool = False,
) -> tuple[World, UserLoad]:
    """A cluster that runs the tree on nodes of 16 cores, and its users, who begin at once; `observed`: by telemetry."""
    workers = (NodeSpec(f"worker-{i + 1}", cpu=16, memory=64 << 30) for i in range(nodes))
    world = World(nodes=(NodeSpec(CONTROL_PLANE, control_plane=True), *workers))
    spec = tree_spec(services, replicas, rate, pace=pace)
    world.catalog.add(application_of(spec))
    world.catalog.publish(world.registry)
    if observed:
        world.observe()
    world.apply(as_yaml(manifests_of(spec)))
    world.run_for(60 * SECOND)
    users = world.traffic.add_users("people", "default", "s0", 8080, rps=rate, timeout_ns=int(USER_NS / pace))
    return world, users


def _call(child: int, attempts: int, pace: float) -> dict[str, Any]:
    return {"service": f"s{child}", "timeout": f"{int(CALL_NS / pace)}ns", "retries": {"attempts": attempts}}
