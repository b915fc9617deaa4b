"""Gives facts another value: what an experiment does to a fork, by whatever hand it takes.

An API object is changed as its administrator would change it, with the copy that `kubectl apply` keeps in it; a part of
a machine by whoever stands in front of it. Raises `devices.NoKnob` where nobody can.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, name_of, namespace_of, thaw
from simcluster.api.resources import Resource
from simcluster.engine import SECOND
from simcluster.faults import brokers, stores, ways
from simcluster.faults.deployer import Deployer, redeploy
from simcluster.faults.devices import NoKnob, put
from simcluster.faults.facts import IMAGE, LOAD, ChangedFact, Place, essence, put_at
from simcluster.faults.readers import ON_ADMISSION, readers_at_start
from simcluster.faults.target import FaultTarget, ObjectRef, resource_of
from simcluster.models.machine.machine import Machine

#: HTTP 422: the API server does not take a change.
UNPROCESSABLE = 422
#: The API server hears of changed webhooks by a watch; a second and more is enough.
ADMISSION_KNOWS_NS = 2 * SECOND
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
    elif place.part == brokers.PART:
        brokers.put(target, place, values)
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
        _replace(client, entry, place, live, values[""])
        if place.kind in ON_ADMISSION:
            target.sim.after(ADMISSION_KNOWS_NS, Renewal(target, place).renew)
        return
    if live is None:
        raise NoKnob(f"there is no {place} any more")

    def edit(manifest: Json) -> None:
        for path, value in values.items():
            put_at(manifest, path, value)

    try:
        redeploy(target, ADMIN, place.namespace, ObjectRef(kind=place.kind, name=place.name), edit)
    except ApiError as error:
        if error.code != UNPROCESSABLE:
            raise
        made = thaw(essence(live))  # what cannot be changed is made anew
        edit(made)
        _replace(client, entry, place, live, made)
    Renewal(target, place).renew()


class Renewal:
    """Pods that a change of an object does not reach are made anew."""

    def __init__(self, target: FaultTarget, place: Place) -> None:
        self._target = target
        self._place = place

    def renew(self) -> None:
        """Delete them: their owners make others."""
        client = self._target.client(ADMIN.user, ADMIN.manager)
        for pod in readers_at_start(self._target.api.store, self._place):
            client.delete("pods", namespace_of(pod), name_of(pod))


def _replace(client: Client, entry: Resource, place: Place, live: ApiObject | None, wanted: Json | None) -> None:
    if live is not None:
        if live["metadata"].get("finalizers"):  # nobody waits for who holds it
            patch = {"metadata": {"finalizers": None}}
            client.patch(entry.storage, place.namespace, place.name, patch, kind="merge")
        client.delete(entry.storage, place.namespace, place.name, propagation="Background")
    if wanted is not None:
        client.create(entry.storage, place.namespace, manifest_of(place, entry.api_version, wanted))


def manifest_of(place: Place, api_version: str, found: Json) -> Json:
    """An object as it is created: what was decided about it, with its name."""
    kept = {key: value for key, value in (found.get("metadata") or {}).items() if key != "finalizers"}
    meta = {**kept, "name": place.name}
    if place.namespace:
        meta["namespace"] = place.namespace
    return {"apiVersion": api_version, "kind": place.kind, **found, "metadata": meta}
