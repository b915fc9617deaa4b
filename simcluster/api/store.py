"""The API store: every version of every object, in one order, as etcd keeps them.

The store knows keys, versions, indexes and watches. What a create or a delete *means*
(uid, generation, finalizers, admission) is the business of `registry`.
"""

from __future__ import annotations

import marshal
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from simcluster.api.objects import ApiObject, Json, labels_of, name_of
from simcluster.engine import AppendLog, FlatDict, FlatList, Simulation


class Change(NamedTuple):
    """One committed write."""

    kind: str  # ADDED, MODIFIED or DELETED
    resource: str  # plural[.group]
    object: ApiObject  # after the write; on DELETED the last state, with the new resourceVersion
    previous: ApiObject | None
    version: int


class Subscriber(Protocol):
    """Somebody who is notified of every change of a resource, synchronously, at commit."""

    def notify(self, change: Change) -> None:
        """Take the change. Must not write to the API from within: schedule a timer."""


Key = tuple[str, str]  # namespace, name
#: Version of marshal's format for bytes in which equal objects are equal (the order of insertion counts).
#: Version 2 has no references to shared parts, so the bytes depend on the values alone, on every
#: supported Python; it is four times faster than text.
_CANONICAL = 2


class Store:
    """Objects by resource (`pods`, `deployments.apps`, ...), namespace and name."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.version = 0
        self.history: AppendLog[Change] = AppendLog(block=256, keep_blocks=64)
        self._objects: dict[str, dict[Key, ApiObject]] = {}
        self._spaces: dict[tuple[str, str], dict[str, ApiObject]] = {}
        self._pods_of_node: dict[str, dict[Key, ApiObject]] = {}
        self._owned: dict[str, tuple[tuple[str, str, str], ...]] = FlatDict()  # uid -> sorted
        # uid of the owner -> sorted keys of its pods, and the pods in that order
        self._pods_of_owner: dict[str, tuple[list[Key], list[ApiObject]]] = {}
        self._subscribers: dict[tuple[str, str], list[Subscriber]] = {}  # (resource, node or "")
        self._changed: dict[str, int] = {}  # resource -> version of its last change
        # (resource, namespace or "") -> sorted keys, since somebody asked and until one comes or goes
        self._order: dict[tuple[str, str], list[Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_order": {}}

    # Reading.

    def get(self, resource: str, namespace: str, name: str) -> ApiObject | None:
        """The object, or None."""
        found = self._objects.get(resource)
        return None if found is None else found.get((namespace, name))

    def objects(self, resource: str, namespace: str = "") -> list[ApiObject]:
        """Objects sorted by namespace and name; of one namespace if given."""
        found: dict[Any, ApiObject] | None
        found = self._spaces.get((resource, namespace)) if namespace else self._objects.get(resource)
        if not found:
            return []
        order = self._order.get((resource, namespace))
        if order is None:
            order = self._order[resource, namespace] = sorted(found)
        return [found[key] for key in order]

    def pods_on(self, node: str) -> list[ApiObject]:
        """Pods with `spec.nodeName` equal to `node`, sorted."""
        found = self._pods_of_node.get(node, {})
        return [found[key] for key in sorted(found)]

    def owned_by(self, uid: str) -> list[tuple[str, str, str]]:
        """(resource, namespace, name) of the objects with an owner reference to `uid`."""
        return list(self._owned.get(uid, ()))

    def pods_of(self, uid: str) -> list[ApiObject]:
        """Pods with an owner reference to `uid`, sorted."""
        found = self._pods_of_owner.get(uid)
        return list(found[1]) if found is not None else []

    def resources(self) -> list[str]:
        """Resources of which there are or were objects, sorted."""
        return sorted(self._objects)

    def count_pods_on(self, node: str) -> int:
        """How many pods have `spec.nodeName` equal to `node`."""
        return len(self._pods_of_node.get(node, ()))

    def count(self, resource: str) -> int:
        """How many objects of the resource there are."""
        return len(self._objects.get(resource, {}))

    def changed_at(self, resource: str) -> int:
        """Version of the last change of any object of the resource; 0 if there was none."""
        return self._changed.get(resource, 0)

    def count_all(self, resources: Sequence[str]) -> int:
        """How many objects of several resources there are."""
        objects = self._objects
        return sum([len(objects[resource]) for resource in resources if resource in objects])  # integers

    def changes_since(self, version: int) -> Iterator[Change] | None:
        """Changes after `version`, oldest first; None if they are no longer all kept."""
        if version < self.version - len(self.history):
            return None
        # Versions are consecutive: the change with version v stands at position v - 1.
        return self.history.since(version)

    @property
    def oldest_version(self) -> int:
        """The oldest version from which changes are still kept."""
        return self.version - len(self.history)

    # Writing.

    def put(self, resource: str, obj: Json) -> ApiObject:
        """Store a new version of the object. The store owns `obj` from here on."""
        metadata = obj["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        key = (namespace, name)
        objects = self._objects.get(resource)
        if objects is None:
            objects = self._objects[resource] = FlatDict()
        previous = objects.get(key)
        self.version = version = self.version + 1
        metadata["resourceVersion"] = str(version)
        stored = objects[key] = ApiObject(obj)
        written = _written(obj, previous)
        space = self._spaces.get((resource, namespace))
        if space is None:
            space = self._spaces[resource, namespace] = FlatDict()
        space[name] = stored
        if previous is None:
            self._order.pop((resource, ""), None)
            self._order.pop((resource, namespace), None)
        self._index(resource, key, previous, stored)
        kind = "ADDED" if previous is None else "MODIFIED"
        self._commit(Change(kind, resource, stored, previous, version), written)
        return stored

    def remove(self, resource: str, namespace: str, name: str) -> ApiObject:
        """Remove the object; returns its last state with the version of the removal."""
        key = (namespace, name)
        previous = self._objects[resource].pop(key)
        space = self._spaces[resource, namespace]
        del space[name]
        if not space:
            del self._spaces[resource, namespace]
        self._order.pop((resource, ""), None)
        self._order.pop((resource, namespace), None)
        self._index(resource, key, previous, None)
        self.version += 1
        last = ApiObject({**previous, "metadata": {**previous["metadata"], "resourceVersion": str(self.version)}})
        self._commit(Change("DELETED", resource, last, previous, self.version), marshal.dumps(dict(last), _CANONICAL))
        return last

    def skip(self, versions: int) -> None:
        """As if so many versions had been written that changed nothing which still stands, and compacted since."""
        self.version += versions
        self.history.skip(versions)

    def subscribe(self, resource: str, subscriber: Subscriber, *, node: str = "") -> None:
        """Tell `subscriber` of every later change of the resource; of pods on `node` or of that node only, if given."""
        self._subscribers.setdefault((resource, node), []).append(subscriber)

    def unsubscribe(self, resource: str, subscriber: Subscriber, *, node: str = "") -> None:
        """Stop telling `subscriber`; `node` as it subscribed."""
        self._subscribers[resource, node].remove(subscriber)

    def interpose(self, wrap: Callable[[Subscriber], Subscriber]) -> None:
        """Replace every subscriber there is by what `wrap` makes of it."""
        for key, subscribers in self._subscribers.items():
            self._subscribers[key] = [wrap(subscriber) for subscriber in subscribers]

    def drop(self, owner: object) -> None:
        """Stop telling every subscriber whose `sim` is `owner`: its process has ended."""
        for key, subscribers in self._subscribers.items():
            self._subscribers[key] = [s for s in subscribers if getattr(s, "sim", None) is not owner]

    # Inside.

    def _commit(self, change: Change, written: bytes) -> None:
        self.history.append(change)
        self._changed[change.resource] = change.version
        self.sim.record("api", f"{change.kind} {change.resource} ".encode() + written)
        for subscriber in self._subscribers.get((change.resource, ""), ()):
            subscriber.notify(change)
        if change.resource == "pods":
            node = change.object["spec"].get("nodeName")
            for subscriber in self._subscribers.get(("pods", node), ()) if node else ():
                subscriber.notify(change)
        elif change.resource == "nodes":
            for subscriber in self._subscribers.get(("nodes", name_of(change.object)), ()):
                subscriber.notify(change)

    def _index(self, resource: str, key: Key, previous: ApiObject | None, obj: ApiObject | None) -> None:
        """Bring the indexes from one version of an object to the next (None: it does not exist)."""
        if resource == "pods":
            self._index_node(key, previous, obj)
        before = previous["metadata"].get("ownerReferences") if previous is not None else None
        after = obj["metadata"].get("ownerReferences") if obj is not None else None
        if before is not after and before != after:
            entry = (resource, *key)
            for reference in before or ():
                self._disown(reference["uid"], entry)
            for reference in after or ():
                owned = self._owned.get(reference["uid"], ())
                position = bisect_left(owned, entry)
                if position == len(owned) or owned[position] != entry:
                    self._owned[reference["uid"]] = (*owned[:position], entry, *owned[position:])
        if resource == "pods" and obj is not None:
            for reference in after or ():
                keys, pods = self._pods_of_owner.setdefault(reference["uid"], (FlatList(), FlatList()))
                position = bisect_left(keys, key)
                if position < len(keys) and keys[position] == key:
                    pods[position] = obj
                else:
                    keys.insert(position, key)
                    pods.insert(position, obj)

    def _disown(self, uid: str, entry: tuple[str, str, str]) -> None:
        owned = self._owned.get(uid, ())
        position = bisect_left(owned, entry)
        if position == len(owned) or owned[position] != entry:
            return  # two references to one owner
        self._owned[uid] = owned[:position] + owned[position + 1 :]
        if len(owned) == 1:
            del self._owned[uid]
        if entry[0] == "pods":
            keys, pods = self._pods_of_owner[uid]
            position = bisect_left(keys, entry[1:])
            del keys[position], pods[position]
            if not keys:
                del self._pods_of_owner[uid]

    def _index_node(self, key: Key, previous: ApiObject | None, obj: ApiObject | None) -> None:
        before = previous["spec"].get("nodeName") if previous is not None else None
        after = obj["spec"].get("nodeName") if obj is not None else None
        if before and before != after:
            self._pods_of_node.get(before, {}).pop(key, None)
        if after and obj is not None:
            self._pods_of_node.setdefault(after, FlatDict())[key] = obj


def _written(obj: Json, previous: ApiObject | None) -> bytes:
    """What a write has made of an object, in bytes: all of a new one, else what is not as it was."""
    if previous is None:
        return marshal.dumps(obj, _CANONICAL)
    changed, gone = _difference(obj, previous)
    metadata, before = obj["metadata"], previous["metadata"]
    changed["metadata"], gone_of_metadata = _difference(metadata, before)
    entries = changed["metadata"].get("managedFields")
    if entries is not None:
        known = before.get("managedFields") or ()
        changed["metadata"]["managedFields"] = [entry for entry in entries if entry not in known]
    place = (metadata.get("namespace", ""), metadata["name"])
    return marshal.dumps((place, changed, gone, gone_of_metadata), _CANONICAL)


def _difference(new: Json, old: Mapping[str, Any]) -> tuple[Json, list[str]]:
    """Parts that are new or different, and names of those that are gone."""
    changed = {key: part for key, part in new.items() if key not in old or (part is not old[key] and part != old[key])}
    gone = [key for key in old if key not in new]
    return changed, gone


def matches_labels(obj: ApiObject, wanted: dict[str, str]) -> bool:
    """Whether the object carries every label of `wanted` (`matchLabels`, Service selectors)."""
    labels = labels_of(obj)
    return all(labels.get(key) == value for key, value in wanted.items())
