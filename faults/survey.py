"""All facts of a cluster at an instant, and what differs between two instants or two clusters.

Stored objects are immutable, so a survey holds references, and comparing looks only into objects that are others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from simcluster.api.objects import ApiObject, controller_of, labels_of, namespace_of
from simcluster.faults import brokers, devices, stores, ways
from simcluster.faults.facts import IMAGE, LOAD, ChangedFact, Place, differences, differing, essence, value_at
from simcluster.faults.target import FaultTarget, resource_of
from simcluster.models.apps.catalog import AppCatalog
from simcluster.models.machine.machine import Machine

#: What comes and goes in a healthy cluster: written by controllers, not by operators.
EPHEMERAL = (
    "pods",
    "replicasets.apps",
    "events",
    "events.events.k8s.io",
    "endpoints",
    "endpointslices.discovery.k8s.io",
    "leases.coordination.k8s.io",
    "controllerrevisions.apps",
)

_CONTROLLERS = ".k8s.io"
#: Parts of workloads that only a running program tells of.
_KEEPERS = (stores.PART, brokers.PART)
#: So much of a value is told of.
_SHOWN = 80

Key = tuple[str, str, str]  # resource, namespace, name


class Survey(NamedTuple):
    """What is so at an instant.

    Attributes:
        objects: stored objects that somebody decided.
        parts: values by path of parts of machines, of stores and brokers, of ways, of released images and of users.
    """

    objects: dict[Key, ApiObject]
    parts: dict[Place, dict[str, Any]]


def survey(target: FaultTarget) -> Survey:
    """The facts of a cluster now. Only reads."""
    store = target.api.store
    objects: dict[Key, ApiObject] = {}
    for resource in store.resources():
        own = resource not in EPHEMERAL
        if own or resource in _BY_HAND:
            for obj in store.objects(resource):
                if own or _BY_HAND[resource](obj):
                    objects[resource, namespace_of(obj), obj["metadata"]["name"]] = obj
    within = {**stores.facts_of(target), **brokers.facts_of(target), **ways.facts_of(target)}
    return Survey(objects, {**_machines(target), **_images(target), **_loads(target), **within})


def _alone(pod: ApiObject) -> bool:
    mirrored = "kubernetes.io/config.mirror" in (pod["metadata"].get("annotations") or {})
    return controller_of(pod) is None and not mirrored


def _kept(endpoint_slice: ApiObject) -> bool:
    """Whether no controller of the cluster keeps it: who keeps one by hand says so in its label."""
    manager = labels_of(endpoint_slice).get("endpointslice.kubernetes.io/managed-by", _CONTROLLERS)
    return not manager.endswith(_CONTROLLERS)


#: Of which an object may yet be somebody's decision, and which.
_BY_HAND = {"pods": _alone, "endpointslices.discovery.k8s.io": _kept}


def _machines(target: FaultTarget) -> dict[Place, dict[str, Any]]:
    found: dict[Place, dict[str, Any]] = {}
    for node, machine in sorted(target.machines.items()):
        if isinstance(machine, Machine):
            found |= {Place("Node", "", node, part): values for part, values in devices.facts_of(machine).items()}
        else:
            found[Place("Node", "", node, "cpu")] = {"stolen_share": machine.stolen_share}
            found |= {
                Place("Node", "", node, f"unit/{unit.name.removesuffix('.service')}"): {"active": unit.active}
                for unit in machine.unit_list()
            }
    return found


def _images(target: FaultTarget) -> dict[Place, dict[str, Any]]:
    """Defects of images that came out since the cluster began."""
    catalog = getattr(target, "catalog", None)
    if not isinstance(catalog, AppCatalog):
        return {}
    return {
        Place(IMAGE, "", f"{repository}:{tag}"): {
            "behaviour": [{"defect": type(one).__name__, **one.model_dump(mode="json")} for one in defects]
        }
        for (repository, tag), defects in catalog.releases.items()
    }


def _loads(target: FaultTarget) -> dict[Place, dict[str, Any]]:
    found: dict[Place, dict[str, Any]] = {}
    for name, users in target.traffic.users.items():
        values = found.setdefault(Place(LOAD, users.namespace, users.service), {})
        values[f"[{name}].rps"] = users.rps
    return found


def changes(before: Survey, after: Survey) -> tuple[ChangedFact, ...]:
    """What differs from one survey to another, objects first, by place and path."""
    found: list[ChangedFact] = []
    for key in sorted({*before.objects, *after.objects}):
        old, new = before.objects.get(key), after.objects.get(key)
        if old is not new:
            present = new if new is not None else old
            assert present is not None, key
            found += differences(Place.of(present), old, new)
    for place in sorted({*before.parts, *after.parts}, key=str):
        sound = devices.SOUND_DISK if place.part.startswith("disk/") else {}
        if place.part in _KEEPERS and not (place in before.parts and place in after.parts):
            continue  # who keeps something and does not run says nothing
        old_values, new_values = before.parts.get(place, sound), after.parts.get(place, sound)
        if old_values != new_values:
            found += differing(place, old_values, new_values)
    return tuple(found)


def value_of(target: FaultTarget, place: Place, path: str) -> Any:
    """What is so at a place now; None if nothing is there."""
    if place.part or place.kind in (IMAGE, LOAD):
        sound = devices.SOUND_DISK if place.part.startswith("disk/") else {}
        return survey(target).parts.get(place, sound).get(path)
    entry = resource_of(place.kind, target.api.resources.all)
    found = None if entry is None else target.api.store.get(entry.storage, place.namespace, place.name)
    if found is None:
        return None
    return value_at(found, path) if path else essence(found)


def standing(target: FaultTarget, changed: Iterable[ChangedFact]) -> str:
    """Why a recorded change still stands: each of its facts is as it was left; empty if one is not, or none is known.

    What a store or a broker keeps cannot be looked at while it does not run, and stands until then.
    """
    parts, why = survey(target).parts, ""
    for fact in changed:
        if fact.place.part in _KEEPERS and fact.place not in parts:
            continue
        if value_of(target, fact.place, fact.path) != fact.after:
            return ""
        why = why or f"{fact.where} of {fact.place.kind}/{fact.place.name} is still {str(fact.after)[:_SHOWN]}"
    return why


def net(records: list[tuple[ChangedFact, ...]]) -> tuple[ChangedFact, ...]:
    """Several records as one: of each fact what was at first and what is at last, if they differ."""
    found: dict[tuple[Place, str], ChangedFact] = {}
    for record in records:
        for fact in record:
            key = (fact.place, fact.path)
            first = found.get(key, fact)
            found[key] = ChangedFact(fact.place, fact.path, first.before, fact.after)
    return tuple(fact for fact in found.values() if fact.before != fact.after)
