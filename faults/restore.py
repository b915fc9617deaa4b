"""Gives facts another value: what an experiment does to a fork, by whatever hand it takes.

An API object is changed as its administrator would change it, with the copy that `kubectl apply` keeps in it; a part of
a machine by whoever stands in front of it. Raises `devices.NoKnob` where nobody can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simcluster.api.objects import Json, name_of
from simcluster.faults import stores, ways
from simcluster.faults.deployer import Deployer, redeploy
from simcluster.faults.devices import NoKnob, put
from simcluster.faults.facts import IMAGE, LOAD, ChangedFact, Place, put_at
from simcluster.faults.target import FaultTarget, ObjectRef, resource_of
from simcluster.models.machine.machine import Machine

ADMIN = Deployer(user="kubernetes-admin", manager="kubectl-edit")


def restore(target: FaultTarget, facts: Iterable[ChangedFact]) -> None:
    """Give each fact the value it had before.

    Raises:
        NoKnob: one cannot be given another value; what came before it in the order of places has been.
        ApiError: the API server refuses.
    """
    places: dict[Place, dict[str, Any]] = {}
    for fact in facts:
        places.setdefault(fact.place, {})[fact.path] = fact.before
    for place, values in places.items():
        _put(target, place, values)


def _put(target: FaultTarget, place: Place, values: dict[str, Any]) -> None:
    if place.kind == LOAD:
        for path, rps in values.items():
            target.traffic.users[path[1:].partition("]")[0]].rps = rps or 0.0
    elif place.kind == IMAGE:
        raise NoKnob(f"{place.name} has been published: what it does cannot be changed any more")
    elif place.part == stores.PART:
        stores.put(target, place, values)
    elif place.part in ways.PARTS:
        ways.put(target, place, values)
    elif place.part:
        machine = target.machines.get(place.name)
        if not isinstance(machine, Machine):
            raise NoKnob(f"there is no machine {place.name}")
        put(machine, place.part, values)
    else:
        _put_object(target, place, values)


def _put_object(target: FaultTarget, place: Place, values: dict[str, Any]) -> None:
    entry = resource_of(place.kind, target.api.resources.all)
    if entry is None:
        raise NoKnob(f"there is no kind {place.kind}")
    client = target.client(ADMIN.user, ADMIN.manager)
    live = target.api.store.get(entry.storage, place.namespace, place.name)
    if "" in values:
        if live is not None:
            client.delete(entry.storage, place.namespace, place.name)
        if values[""] is not None:
            client.create(entry.storage, place.namespace, manifest_of(place, entry.api_version, values[""]))
        return
    if live is None:
        raise NoKnob(f"there is no {place} any more")

    def edit(manifest: Json) -> None:
        for path, value in values.items():
            put_at(manifest, path, value)

    redeploy(target, ADMIN, place.namespace, ObjectRef(kind=place.kind, name=place.name), edit)
    for pod in _readers_at_start(target, place):
        client.delete("pods", place.namespace, pod)


def _readers_at_start(target: FaultTarget, place: Place) -> list[str]:
    """Pods that have read a ConfigMap or Secret when they started, and do not look again: by environment or subPath."""
    refs = {"ConfigMap": ("configMapRef", "configMapKeyRef"), "Secret": ("secretRef", "secretKeyRef")}.get(place.kind)
    found = []
    for pod in target.api.store.objects("pods", place.namespace) if refs else ():
        holders = [one for one in pod["spec"].get("volumes") or () if _names(one, place)]
        mounts = {one["name"] for one in holders}
        for container in pod["spec"]["containers"]:
            env = [one.get("valueFrom") or {} for one in container.get("env") or ()]
            said = [one.get(key) or {} for one in (*env, *(container.get("envFrom") or ())) for key in refs or ()]
            parts = [one for one in container.get("volumeMounts") or () if one.get("subPath") and one["name"] in mounts]
            if parts or any(one.get("name") == place.name for one in said):
                found.append(name_of(pod))
                break
    return found


def _names(volume: Mapping[str, Any], place: Place) -> bool:
    source = (volume.get("configMap") or {}).get("name") if place.kind == "ConfigMap" else None
    return place.name in (source, (volume.get("secret") or {}).get("secretName") if place.kind == "Secret" else None)


def manifest_of(place: Place, api_version: str, found: Json) -> Json:
    """An object as it is created: what was decided about it, with its name."""
    meta = {**(found.get("metadata") or {}), "name": place.name}
    if place.namespace:
        meta["namespace"] = place.namespace
    return {"apiVersion": api_version, "kind": place.kind, **found, "metadata": meta}
