"""What an application survives: a restart of each of its workloads, and a cut of each of its calls.

Each is tried on a fork of the healthy world, with its users. A restart passes if everything is available again within
some minutes and users are served as before. A cut of the way between a caller and whom it calls passes if none of their
calls succeeds while it lasts, they fail in the end (the way stays cut until the first has waited in vain for as long as
its caller does), and users are served again when it is over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simcluster.api.objects import name_of
from simcluster.engine import SECOND
from simcluster.engine.content import Library
from simcluster.eval.process.steps import workload_of
from simcluster.eval.proof.findings import Finding
from simcluster.faults import registry
from simcluster.faults.restore import restore
from simcluster.faults.survey import changes, survey
from simcluster.faults.target import ImpossibleTarget, ObjectRef
from simcluster.models.machine.names import is_address, is_loopback
from simcluster.models.traffic.cluster.statistics import EdgeStats
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.world import World

#: Kinds whose pods a restart replaces, and where they are kept.
_KINDS = {"Deployment": "deployments.apps", "StatefulSet": "statefulsets.apps", "DaemonSet": "daemonsets.apps"}
#: A rollout may take so long; a cut lasts so long; so long after either users are served again.
ROLLED_NS, CUT_NS, HEALED_NS = 300 * SECOND, 60 * SECOND, 180 * SECOND
#: A cut lasts longer, but no longer than this, if no call has failed: callers wait as long as their time-outs say.
PATIENCE_NS = 300 * SECOND
#: So long into a cut nobody is answered any more who asked before it.
ANSWERED_NS = 5 * SECOND
#: Over which users are asked, and calls counted.
WINDOW_NS = 20 * SECOND
_CUT = "partial_partition"


def survived(world: World, namespace: str, ratio: float, library: Library | None = None) -> Iterator[Finding]:
    """Restarts of the workloads of a namespace, and cuts of their calls, each on a fork of a healthy world."""
    for kind, resource in _KINDS.items():
        for found in world.api.store.objects(resource, namespace):
            yield _rolled(world.fork(), namespace, f"{kind.lower()}/{name_of(found)}", ratio)
    for way in ways_of(world, namespace):
        yield _cut(world.fork(), namespace, way, ratio, library)


class Way(NamedTuple):
    """Who calls whom: the workload of a caller, the other side as a fault names it, and the hosts of the calls."""

    caller: ObjectRef
    to: str
    hosts: tuple[str, ...]


def ways_of(world: World, namespace: str) -> list[Way]:
    """Over which ways calls went of late, whether callers knew the other side by a name or by its address.

    Left out: what a process asks of its own pod, replicas of one workload among themselves, and pools that a proxy
    chooses from.
    """
    now, found = world.sim.now, dict[tuple[ObjectRef, str], dict[str, None]]()
    kept = {name_of(one): kind for kind, resource in _KINDS.items() for one in
            world.api.store.objects(resource, namespace)}  # fmt: skip
    owners = _owners(world, namespace, kept)
    for edge in world.traffic.history.between(now - WINDOW_NS, now):
        key, workload = edge.key, workload_of(edge.key.pod)
        to = owners.get(key.host, "") if is_address(key.host) else "" if is_loopback(key.host) else key.host
        if not to or key.namespace != namespace or not key.container or workload not in kept:
            continue
        caller = ObjectRef(kind=kept[workload], name=workload)
        if to != str(caller):
            found.setdefault((caller, to), {})[key.host] = None
    return [Way(*way, tuple(hosts)) for way, hosts in sorted(found.items(), key=_named)]


def _named(found: tuple[tuple[ObjectRef, str], dict[str, None]]) -> str:
    return str(found[0])


def _owners(world: World, namespace: str, kept: dict[str, str]) -> dict[str, str]:
    """Whose an address is: a Service's, or of a pod its workload's, as a fault names them."""
    store, found = world.api.store, dict[str, str]()
    for pod in store.objects("pods", namespace):
        workload = workload_of(name_of(pod))
        if workload in kept:
            found[str((pod.get("status") or {}).get("podIP") or "")] = f"{kept[workload]}/{workload}"
    for service in store.objects("services", namespace):
        found[str(service["spec"].get("clusterIP") or "")] = f"Service/{name_of(service)}"
    return found


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


def _cut(world: World, namespace: str, way: Way, ratio: float, library: Library | None) -> Finding:
    name = f"a cut between {way.caller} and {way.to} is felt, and over when it is mended"
    spec = registry.load(_CUT, library)
    fault = registry.build(spec, way.caller, namespace, {**spec.params, "to": [way.to]})
    before, began = survey(world), world.sim.now
    try:
        fault.check(world)
    except ImpossibleTarget as error:
        return Finding(name, False, str(error))
    fault.inject(world)
    facts = changes(before, survey(world))
    world.run_for(CUT_NS)
    while not (failed := _failed(_calls(world, way, began))) and world.sim.now - began < PATIENCE_NS:
        world.run_for(WINDOW_NS)
    sent = sum(edge.sent for edge in _calls(world, way, began))  # integers
    passed = sum(edge.ok for edge in _calls(world, way, began + ANSWERED_NS))  # integers
    restore(world, facts)
    if passed or not failed:
        text = f"{passed} of {sent} calls succeeded" if passed else f"none of {sent} calls failed"
        return Finding(name, False, f"{text} within {(world.sim.now - began) // SECOND} s")
    again = _served_again(world, ratio)
    return Finding(name, not again, again or f"{failed} of {sent} calls failed")


def _calls(world: World, way: Way, since_ns: int) -> list[EdgeStats]:
    """What happened on a way since an instant."""
    found = world.traffic.history.between(since_ns, world.sim.now)
    return [one for one in found if workload_of(one.key.pod) == way.caller.name and one.key.host in way.hosts]


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
