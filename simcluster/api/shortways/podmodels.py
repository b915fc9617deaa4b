"""Models of pods: the first pod of a template is admitted in full, the next ones are copies of it.

What admission, defaults and validation make of a pod follows from its template, from its namespace and
from a few kinds of objects that rarely change. As long as none of them has changed, the next pod of the
same template differs from the one before in its name, uid, times and the name of its token volume alone,
which are drawn as ever. Everything else is shared by the copies, and is never changed.

There are no models where quotas count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from simcluster.api.admission.service_account import VOLUME_PREFIX
from simcluster.api.objects import ApiObject, Json
from simcluster.api.registry.identity import Identities
from simcluster.api.store import Store

PODS = "pods"
#: Kinds of objects that decide what a pod of a template looks like, and whether it is let in.
_DECISIVE = (
    *("namespaces", "serviceaccounts", "limitranges", "resourcequotas"),
    *("priorityclasses.scheduling.k8s.io", "runtimeclasses.node.k8s.io"),
)
#: Templates whose last pod is remembered; the oldest go first.
_KEPT = 512


class Model(NamedTuple):
    """The first pod of a template.

    Attributes:
        template, manager: whose pod it is.
        facts: versions of what decided about it.
        volume: name of its token volume; empty if it has none of its own.
    """

    template: Mapping[str, Any]
    manager: str
    facts: tuple[int, ...]
    pod: ApiObject
    volume: str


class PodModels:
    """The models of the templates of which pods were made lately."""

    def __init__(self, store: Store, identities: Identities) -> None:
        self._store = store
        self._identities = identities
        self._models: dict[str, Model] = {}  # by uid of the owner
        self._entries: tuple[str, Json, list[Json]] = ("", {}, [])  # managed fields of the last copy

    def __getstate__(self) -> dict[str, Any]:
        return PodModels(self._store, self._identities).__dict__

    def remember(self, owner: Mapping[str, Any], manager: str, pod: ApiObject) -> None:
        """Take a pod that was just created of the owner's template as the model of the next ones."""
        space, template, metadata = pod["metadata"]["namespace"], owner["spec"]["template"], pod["metadata"]
        account = self._store.get("serviceaccounts", space, pod["spec"].get("serviceAccountName", ""))
        if account is None or self._store.objects("resourcequotas", space) or len(metadata["managedFields"]) != 1:
            return
        given = [volume["name"] for volume in template["spec"].get("volumes") or ()]
        own = [volume["name"] for volume in pod["spec"].get("volumes") or () if volume["name"] not in given]
        if len(own) > 1 or any(not name.startswith(VOLUME_PREFIX) for name in own):
            return
        if len(self._models) >= _KEPT:
            del self._models[next(iter(self._models))]
        self._models[owner["metadata"]["uid"]] = Model(template, manager, self._facts(), pod, own[0] if own else "")

    def of(self, owner: Mapping[str, Any], manager: str) -> Model | None:
        """The model of the owner's template, if nothing has changed that decides what its pods look like."""
        model = self._models.get(owner["metadata"]["uid"])
        if model is None or model.template is not owner["spec"]["template"] or model.manager != manager:
            return None
        return model if model.facts == self._facts() else None

    def copied(self, model: Model, now: str) -> Json:
        """The next pod of a model, under a name of its own; `now` is the instant as objects carry it."""
        pod, metadata, identities = model.pod, model.pod["metadata"], self._identities
        space, prefix, spec = metadata["namespace"], metadata["generateName"], pod["spec"]
        if model.volume:
            suffix = identities.suffix((PODS, space, f"{prefix}/{VOLUME_PREFIX}"))
            spec = _with_volume(spec, model.volume, VOLUME_PREFIX + suffix)
        name = identities.name(PODS, space, prefix)
        fresh = {
            **metadata,
            "name": name,
            "uid": identities.uid(PODS, space, name),
            "creationTimestamp": now,
            "managedFields": self._managed(metadata["managedFields"][0], now),
        }
        return {**pod, "metadata": fresh, "spec": spec}

    def _managed(self, entry: Json, now: str) -> list[Json]:
        """The managed fields of a copy: copies of one second share them."""
        known, fields, entries = self._entries
        if known != now or fields is not entry["fieldsV1"]:
            entries = [{**entry, "time": now}]
            self._entries = (now, entry["fieldsV1"], entries)
        return entries

    def _facts(self) -> tuple[int, ...]:
        return tuple(map(self._store.changed_at, _DECISIVE))


def _with_volume(spec: Json, old: str, new: str) -> Json:
    """A pod's spec with its token volume, and the mounts of it, under another name."""
    changed = dict(spec)
    changed["volumes"] = [{**volume, "name": new} if volume["name"] == old else volume for volume in spec["volumes"]]
    for group in ("initContainers", "containers"):
        if spec.get(group):
            changed[group] = [_with_mount(container, old, new) for container in spec[group]]
    return changed


def _with_mount(container: Json, old: str, new: str) -> Json:
    mounts = container.get("volumeMounts") or ()
    if all(mount["name"] != old for mount in mounts):
        return container
    return {**container, "volumeMounts": [{**m, "name": new} if m["name"] == old else m for m in mounts]}
