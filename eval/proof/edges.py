"""What an application survives: a restart of each of its workloads, and a cut of each of its calls.

Each is tried on a fork of the healthy world, with its users. A restart passes if everything is available again within
some minutes and users are served as before. A cut of the way between a caller and whom it calls passes if their calls
fail while it lasts, and users are served again when it is over.
"""

from __future__ import annotations

from collections.abc import Iterator

from simcluster.api.objects import name_of
from simcluster.engine import SECOND
from simcluster.engine.content import Library
from simcluster.eval.process.steps import workload_of
from simcluster.eval.proof.findings import Finding
from simcluster.faults import registry
from simcluster.faults.restore import restore
from simcluster.faults.survey import changes, survey
from simcluster.faults.target import ImpossibleTarget, ObjectRef
from simcluster.models.machine.names import is_address
from simcluster.models.traffic.cluster.statistics import EdgeStats
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.world import World

#: Kinds whose pods a restart replaces, and where they are kept.
_KINDS = {"Deployment": "deployments.apps", "StatefulSet": "statefulsets.apps", "DaemonSet": "daemonsets.apps"}
#: A rollout may take so long; a cut lasts so long; so long after either users are served again.
ROLLED_NS, CUT_NS, HEALED_NS = 300 * SECOND, 60 * SECOND, 180 * SECOND
#: Over which users are asked, and calls counted.
WINDOW_NS = 20 * SECOND
_CUT = "partial_partition"


def survived(world: World, namespace: str, ratio: float, library: Library | None = None) -> Iterator[Finding]:
    """Restarts of the workloads of a namespace, and cuts of their calls, each on a fork of a healthy world."""
    for kind, resource in _KINDS.items():
        for found in world.api.store.objects(resource, namespace):
            yield _rolled(world.fork(), namespace, f"{kind.lower()}/{name_of(found)}", ratio)
    for ref, host in edges_of(world, namespace):
        yield _cut(world.fork(), namespace, ref, host, ratio, library)


def edges_of(world: World, namespace: str) -> list[tuple[ObjectRef, str]]:
    """Who calls whom of late: the workload of a caller, and the host as its calls name it."""
    now, found = world.sim.now, dict[tuple[ObjectRef, str], None]()
    kept = {name_of(one): kind for kind, resource in _KINDS.items() for one in
            world.api.store.objects(resource, namespace)}  # fmt: skip
    for edge in world.traffic.history.between(now - WINDOW_NS, now):
        workload, host = workload_of(edge.key.pod), edge.key.host
        if not host or is_address(host):
            continue  # a refusal of its own, or a pool that a proxy chooses from: nobody's Service
        if edge.key.namespace == namespace and edge.key.container and workload in kept:
            found[ObjectRef(kind=kept[workload], name=workload), host] = None
    return sorted(found, key=str)


def _rolled(world: World, namespace: str, workload: str, ratio: float) -> Finding:
    name, began = f"it survives a restart of {workload}", world.sim.now
    done = world.kubectl(namespace=namespace).run(f"rollout restart {workload}")
    if done.code:
        return Finding(name, False, done.stderr.strip())
    world.run_for(WINDOW_NS)
    while not world.available(namespace) and world.sim.now - began < ROLLED_NS:
        world.run_for(WINDOW_NS)
    if not world.available(namespace):
        return Finding(name, False, f"not available within {ROLLED_NS // SECOND} s")
    ended, ok = _users(world, began)
    again = _served_again(world, ratio)
    return Finding(name, not again, again or f"{ok} of {ended} requests succeeded meanwhile")


def _cut(world: World, namespace: str, ref: ObjectRef, host: str, ratio: float, library: Library | None) -> Finding:
    name = f"a cut between {ref} and {host} is felt, and over when it is mended"
    spec = registry.load(_CUT, library)
    fault = registry.build(spec, ref, namespace, {**spec.params, "to": [host]})
    before = survey(world)
    try:
        fault.check(world)
    except ImpossibleTarget as error:
        return Finding(name, False, str(error))
    fault.inject(world)
    facts = changes(before, survey(world))
    world.run_for(CUT_NS)
    calls = [edge for edge in world.traffic.history.between(world.sim.now - CUT_NS, world.sim.now)
             if workload_of(edge.key.pod) == ref.name and edge.key.host == host]  # fmt: skip
    failed, sent = _failed(calls), sum(edge.sent for edge in calls)  # integers
    restore(world, facts)
    if not failed:
        return Finding(name, False, f"none of {sent} calls failed")
    again = _served_again(world, ratio)
    return Finding(name, not again, again or f"{failed} of {sent} calls failed")


def _failed(calls: list[EdgeStats]) -> int:
    return sum(sum(edge.errors.values()) for edge in calls)  # integers


def _loads(world: World) -> list[UserLoad]:
    return list(world.traffic.users.values())


def _users(world: World, since_ns: int) -> tuple[int, int]:
    seen = [load.window(since_ns, world.sim.now) for load in _loads(world)]
    return sum(one.ended for one in seen), sum(one.ok for one in seen)  # integers


def _served_again(world: World, ratio: float) -> str:
    """Why users are not served again within the bound; empty when they are."""
    began = world.sim.now
    while True:
        since = world.sim.now
        world.run_for(WINDOW_NS)
        ended, ok = _users(world, since)
        if ended and ok >= ratio * ended:
            return ""
        if world.sim.now - began >= HEALED_NS:
            return f"{HEALED_NS // SECOND} s later {ok} of {ended} requests succeed"
