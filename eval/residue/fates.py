"""What is to come of things that work now: what somebody has doomed, tied or turned, though nothing of it shows.

Surveys tell what was decided of objects and machines. Whose end has been asked for, who belongs to whom, who may not
go, who cannot be started again and where callers are sent by hand is told here, against the twin.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simcluster.api.objects import ApiObject, labels_of, name_of, namespace_of
from simcluster.eval.examination.services import workload_of
from simcluster.eval.residue.objects import Judgement
from simcluster.faults.facts import Place
from simcluster.faults.survey import EPHEMERAL
from simcluster.models.machine.machine import Machine

if TYPE_CHECKING:
    from simcluster.world import World

#: Who writes EndpointSlices of Services by himself (Kubernetes, "EndpointSlices: Management").
_SLICES, _CONTROLLER = "endpointslices.discovery.k8s.io", "endpointslice-controller.k8s.io"
_MANAGED_BY, _SERVICE = "endpointslice.kubernetes.io/managed-by", "kubernetes.io/service-name"
#: Finalizers that the cluster's own controllers take away again.
_OWN_FINALIZERS = ("foregroundDeletion", "orphan", "batch.kubernetes.io/job-tracking")

Doom = tuple[Place, Judgement]


def dooms(world: World, twin: World) -> Iterator[Doom]:
    """Everything of the kind that is in a world and not in its twin."""
    yield from _ties(world, twin)
    yield from _held(world, twin)
    yield from _led(world, twin)
    for name, machine in sorted(world.machines.items()):
        other = twin.machines.get(name)
        if isinstance(machine, Machine) and isinstance(other, Machine):
            yield from _machine(name, machine, other)


def _ties(world: World, twin: World) -> Iterator[Doom]:
    """Objects that go as soon as another one does, or whose end has been asked for."""
    store, twins = world.api.store, twin.api.store
    for resource in store.resources():
        for obj in store.objects(resource) if resource not in EPHEMERAL else ():
            usual = twins.get(resource, namespace_of(obj), name_of(obj))
            if usual is None or usual is obj:
                continue
            tied = [one for one in _owners(obj) if one not in _owners(usual)]
            if tied:
                yield Place.of(obj), ("availability", f"goes with {tied[0]}, to which it does not belong")
            if obj["metadata"].get("deletionTimestamp") and not usual["metadata"].get("deletionTimestamp"):
                yield Place.of(obj), ("availability", "was deleted, and goes as soon as nothing holds it any more")


def _owners(obj: ApiObject) -> list[str]:
    return [f"{one['kind']}/{one['name']}" for one in obj["metadata"].get("ownerReferences") or ()]


def _held(world: World, twin: World) -> Iterator[Doom]:
    """Pods that cannot go: something that nobody takes away keeps their names."""
    usual = {(namespace_of(pod), workload_of(pod), one) for pod in twin.api.store.objects("pods")
             for one in _finalizers(pod)}  # fmt: skip
    for pod in world.api.store.objects("pods"):
        for one in _finalizers(pod):
            if (namespace_of(pod), workload_of(pod), one) not in usual:
                yield Place.of(pod), ("availability", f"cannot go: it has the finalizer {one}")


def _finalizers(pod: ApiObject) -> list[str]:
    return [one for one in pod["metadata"].get("finalizers") or () if one not in _OWN_FINALIZERS]


def _led(world: World, twin: World) -> Iterator[Doom]:
    """Services whose callers are sent to addresses that no controller wrote."""
    for piece in world.api.store.objects(_SLICES):
        service, manager = labels_of(piece).get(_SERVICE, ""), labels_of(piece).get(_MANAGED_BY, _CONTROLLER)
        known = twin.api.store.get(_SLICES, namespace_of(piece), name_of(piece)) is not None
        if service and manager != _CONTROLLER and not known:
            yield Place.of(piece), ("availability", f"sends callers of {service} where no controller does")


def _machine(name: str, machine: Machine, usual: Machine) -> Iterator[Doom]:
    """Units that cannot be started again, and a shutdown that is to come."""
    masked = [unit.name for unit in usual.unit_list() if unit.masked]
    for unit in machine.unit_list():
        if unit.masked and unit.name not in masked:
            part = f"unit/{unit.name.removesuffix('.service')}"
            yield Place("Node", "", name, part), ("availability", "cannot be started: it is masked")
    if machine.power.scheduled is not None and usual.power.scheduled is None:
        yield Place("Node", "", name, "power"), ("availability", "is to be shut down: somebody has scheduled it")
