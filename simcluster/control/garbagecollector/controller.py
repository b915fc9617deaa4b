"""The garbage collector.

Deletes objects whose owners are all gone (background), finishes foreground deletions once
the blocking dependents are gone, and takes owner references off for orphan deletions.
The graph of owners is the store's own index; nothing is kept here.
Source: kubernetes pkg/controller/garbagecollector/garbagecollector.go.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.errors import ApiError
from simcluster.api.events import EventRecorder
from simcluster.api.objects import ApiObject, Json, is_terminating, name_of, namespace_of, thaw, uid_of
from simcluster.api.registry.deletion import FOREGROUND, ORPHAN
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.engine import SECOND, Simulation

#: How often new kinds of resources are looked for (gcController.Sync in kube-controller-manager).
RESYNC_NS = 30 * SECOND

#: Never collected (DefaultIgnoredResources).
_IGNORED = ("events",)


def finalizers_of(obj: ApiObject) -> list[str]:
    """`metadata.finalizers`, a private copy."""
    return list(obj["metadata"].get("finalizers") or ())


def references_of(obj: ApiObject) -> list[dict[str, Any]]:
    """`metadata.ownerReferences`. Do not change it."""
    return obj["metadata"].get("ownerReferences") or []


def deletes_dependents(obj: ApiObject) -> bool:
    """Whether a foreground deletion of the object is under way."""
    return is_terminating(obj) and FOREGROUND in finalizers_of(obj)


def _concerns(change: Change) -> bool:
    """Whether a change can matter: a new object, one that goes, or one with other owners."""
    if change.kind != "MODIFIED" or change.previous is None or is_terminating(change.object):
        return True
    return references_of(change.previous) != references_of(change.object)


class GarbageCollector(Controller):
    """Work-queue keys are `resource/namespace/name`."""

    name = "generic-garbage-collector"
    workers = 20

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.recorder = EventRecorder(sim, self.client, "garbage-collector-controller")
        self._watched: dict[str, None] = {}
        self._watch_new_resources()
        sim.every(RESYNC_NS, self._watch_new_resources)

    def _watch_new_resources(self) -> None:
        for resource in self.api.resources.all:
            if resource.storage in _IGNORED or resource.storage in self._watched or "delete" not in resource.verbs:
                continue
            self._watched[resource.storage] = None
            self.watch(resource.storage, self._on_change, _concerns)

    # Watches.

    def _on_change(self, change: Change) -> None:
        obj = change.object
        if change.kind == "DELETED":
            for key in self.client.cache.owned_by(uid_of(obj)):
                self._enqueue(*key)
            for reference in references_of(obj):
                self._enqueue_owner(reference, namespace_of(obj))
            return
        if is_terminating(obj):
            if FOREGROUND in finalizers_of(obj) or ORPHAN in finalizers_of(obj):
                self._enqueue(change.resource, namespace_of(obj), name_of(obj))
            return
        if change.previous is not None and references_of(change.previous) == references_of(obj):
            return
        self._report_foreign_owner(obj)
        if any(not self._is_observed(reference, namespace_of(obj)) for reference in references_of(obj)):
            self._enqueue(change.resource, namespace_of(obj), name_of(obj))
        if change.previous is not None:
            for reference in references_of(change.previous):
                self._enqueue_owner(reference, namespace_of(obj))

    def _enqueue(self, resource: str, namespace: str, name: str) -> None:
        self.queue.add(f"{resource}/{namespace}/{name}")

    def _enqueue_owner(self, reference: dict[str, Any], namespace: str) -> None:
        """A dependent has gone: an owner that waits for it may be finished."""
        owner = self._owner(reference, namespace)
        if owner is not None and deletes_dependents(owner[1]):
            self._enqueue(owner[0], namespace_of(owner[1]), name_of(owner[1]))

    def _owner(self, reference: dict[str, Any], namespace: str) -> tuple[str, ApiObject] | None:
        """(resource, owner) that the reference means, or None if there is none (any more)."""
        group, _, version = reference["apiVersion"].rpartition("/")
        entry = self.api.resources.by_kind.get((group, version, reference["kind"]))
        if entry is None:
            return None
        found = self.client.cache.get(entry.storage, namespace if entry.namespaced else "", reference["name"])
        return (entry.storage, found) if found is not None and uid_of(found) == reference["uid"] else None

    def _is_observed(self, reference: dict[str, Any], namespace: str) -> bool:
        """Whether the owner is there and a watch will tell of its end.

        The dependents of any other owner are looked at again and again, as the real collector does with
        the "virtual node" of an owner that none of its monitors has seen.
        """
        owner = self._owner(reference, namespace)
        return owner is not None and owner[0] in self._watched

    def _knows_kind(self, reference: dict[str, Any]) -> bool:
        group, _, version = reference["apiVersion"].rpartition("/")
        return (group, version, reference["kind"]) in self.api.resources.by_kind

    def _report_foreign_owner(self, obj: ApiObject) -> None:
        """Warn of an owner that lives in another namespace (reportInvalidNamespaceOwnerRef)."""
        here = namespace_of(obj)
        for reference in references_of(obj):
            if self._owner(reference, here) is not None:
                continue
            known = self._by_uid(reference)
            if known is None or namespace_of(known) in ("", here):
                continue
            kind, name, uid = f"{reference['apiVersion']}/{reference['kind']}", reference["name"], reference["uid"]
            what = f"[{kind}, namespace: {here}, name: {name}, uid: {uid}]"
            message = f'ownerRef {what} does not exist in namespace "{here}"'
            self.recorder.event(obj, "Warning", "OwnerRefInvalidNamespace", message)
            return

    def _by_uid(self, reference: dict[str, Any]) -> ApiObject | None:
        """The object of the reference's kind and uid, wherever it lives."""
        group, _, version = reference["apiVersion"].rpartition("/")
        entry = self.api.resources.by_kind.get((group, version, reference["kind"]))
        if entry is None:
            return None
        found = self.client.cache.objects(entry.storage)
        return next((obj for obj in found if uid_of(obj) == reference["uid"]), None)

    def _is_impossible(self, reference: dict[str, Any], namespace: str) -> bool:
        """Whether a cluster-scoped object names a namespaced owner: nothing is ever decided of it."""
        group, _, version = reference["apiVersion"].rpartition("/")
        entry = self.api.resources.by_kind.get((group, version, reference["kind"]))
        return entry is not None and entry.namespaced and not namespace

    # Collecting.

    def sync(self, namespace: str, name: str) -> None:
        """Look at one object; `namespace` is its resource, `name` is `namespace/name`."""
        resource = namespace
        namespace, _, name = name.partition("/")
        obj = self.client.cache.get(resource, namespace, name)
        if obj is None:
            return
        try:
            if is_terminating(obj):
                self._go_on_deleting(resource, obj)
            elif self._can_judge(obj):
                self._delete_if_ownerless(resource, obj)
        except ApiError as error:
            if error.code not in (404, 409):
                raise
            if self._is_there(resource, obj):
                raise
        else:
            if not is_terminating(obj) and not self._is_settled(obj) and self._is_there(resource, obj):
                raise ApiError(409, "Conflict", "an owner has not been observed yet", {})  # look again, with back-off

    def _can_judge(self, obj: ApiObject) -> bool:
        """Whether every owner is of a kind that is served: of any other one nothing can be said."""
        here = namespace_of(obj)
        return all(self._knows_kind(entry) and not self._is_impossible(entry, here) for entry in references_of(obj))

    def _is_settled(self, obj: ApiObject) -> bool:
        here = namespace_of(obj)
        if any(self._is_impossible(reference, here) for reference in references_of(obj)):
            return True  # errNamespacedOwnerOfClusterScopedObject: no retry helps
        return all(self._is_observed(reference, namespace_of(obj)) for reference in references_of(obj))

    def _is_there(self, resource: str, obj: ApiObject) -> bool:
        current = self.client.cache.get(resource, namespace_of(obj), name_of(obj))
        return current is not None and uid_of(current) == uid_of(obj)

    def _go_on_deleting(self, resource: str, obj: ApiObject) -> None:
        if ORPHAN in finalizers_of(obj):
            for key in self.client.cache.owned_by(uid_of(obj)):
                self._drop_references(*key, [uid_of(obj)])
            self._drop_finalizer(resource, obj, ORPHAN)
        elif FOREGROUND in finalizers_of(obj):
            self._delete_dependents(resource, obj)

    def _delete_dependents(self, resource: str, obj: ApiObject) -> None:
        """Ask for every dependent's deletion; finish when none is left that blocks."""
        blocked = False
        for kind, namespace, name in self.client.cache.owned_by(uid_of(obj)):
            dependent = self.client.cache.get(kind, namespace, name)
            if dependent is None:
                continue
            reference = next(entry for entry in references_of(dependent) if entry["uid"] == uid_of(obj))
            blocked = blocked or bool(reference.get("blockOwnerDeletion"))
            if not is_terminating(dependent):
                self._enqueue(kind, namespace, name)
        if not blocked:
            self._drop_finalizer(resource, obj, FOREGROUND)

    def _delete_if_ownerless(self, resource: str, obj: ApiObject) -> None:
        references = references_of(obj)
        if not references:
            return
        gone: list[str] = []
        waiting: list[str] = []
        solid = False
        for reference in references:
            owner = self._owner(reference, namespace_of(obj))
            if owner is not None:
                if deletes_dependents(owner[1]):
                    waiting.append(reference["uid"])
                else:
                    solid = True
            else:
                gone.append(reference["uid"])
        if solid:
            if gone or waiting:
                self._drop_references(resource, namespace_of(obj), name_of(obj), [*gone, *waiting])
            return
        has_dependents = bool(self.client.cache.owned_by(uid_of(obj)))
        policy = "Foreground" if waiting and has_dependents else "Background"
        if ORPHAN in finalizers_of(obj):
            policy = "Orphan"
        elif FOREGROUND in finalizers_of(obj):
            policy = "Foreground"
        self.client.delete(resource, namespace_of(obj), name_of(obj), uid=uid_of(obj), propagation=policy)

    def _drop_references(self, resource: str, namespace: str, name: str, uids: list[str]) -> None:
        obj = self.client.cache.get(resource, namespace, name)
        if obj is None:
            return
        kept = [thaw(entry) for entry in references_of(obj) if entry["uid"] not in uids]
        if len(kept) == len(references_of(obj)):
            return
        patch: Json = {"metadata": {"uid": uid_of(obj), "ownerReferences": kept or None}}
        self.client.patch(resource, namespace, name, patch, kind="merge")

    def _drop_finalizer(self, resource: str, obj: ApiObject, finalizer: str) -> None:
        kept = [entry for entry in finalizers_of(obj) if entry != finalizer]
        patch: Json = {"metadata": {"resourceVersion": obj["metadata"]["resourceVersion"], "finalizers": kept or None}}
        self.client.patch(resource, namespace_of(obj), name_of(obj), patch, kind="merge")
