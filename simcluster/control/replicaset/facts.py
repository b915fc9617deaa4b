"""What a ReplicaSet has to know of its pods, worked out once for every version of a pod.

A sync asks about all pods of its ReplicaSet, and every change of one of them causes a sync: without
a memory that knows which pods have changed, a large ReplicaSet costs the square of its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.api.objects import ApiObject, is_pod_ready, labels_of, uid_of
from simcluster.api.store import Change, Key, Store
from simcluster.control.controllerref.podwatch import controlling_reference
from simcluster.control.labelselector import selector_matches, selector_of
from simcluster.control.pods.creation import pod_template
from simcluster.control.pods.status import is_active
from simcluster.engine import Simulation


class Facts(NamedTuple):
    """One version of a pod, as one generation of a ReplicaSet sees it.

    Attributes:
        pod: the version.
        mine: whether the pod is active and controlled by the ReplicaSet.
        selected: whether the selector matches.
        labelled: whether it carries all labels of the template.
        ready: whether it is Ready.
    """

    pod: ApiObject
    mine: bool
    selected: bool
    labelled: bool
    ready: bool


class Known:
    """The facts of all pods of one ReplicaSet, and how many there are of each.

    Attributes:
        replica_set: the version for which selector and template were read.
        by_key: facts by namespace and name of the pod, in any order.
        others: pods that are not active, not the ReplicaSet's, or not selected.
        labelled, ready: pods of which that is true.
    """

    __slots__ = ("_labels", "_matches", "by_key", "labelled", "others", "ready", "replica_set")

    def __init__(self, replica_set: Mapping[str, Any], pods: Sequence[ApiObject] = ()) -> None:
        self.replica_set = replica_set
        self.by_key: dict[Key, Facts] = {}
        self.others = self.labelled = self.ready = 0
        self._labels: Mapping[str, str] | None = None  # those of the pod that was looked at last
        self._matches = (False, False)
        for pod in pods:
            self.see(pod)

    def _count(self, entry: Facts, sign: int) -> None:
        self.others += 0 if entry.mine and entry.selected else sign
        self.labelled += sign if entry.labelled else 0
        self.ready += sign if entry.ready else 0

    def see(self, pod: ApiObject) -> None:
        """A pod that is new, or another version of one."""
        metadata = pod["metadata"]
        self.forget((metadata["namespace"], metadata["name"]))
        entry = self.by_key[metadata["namespace"], metadata["name"]] = self._look(pod)
        self._count(entry, 1)

    def forget(self, key: Key) -> None:
        """A pod that is none of the ReplicaSet's any more; nothing if it was not known."""
        entry = self.by_key.pop(key, None)
        if entry is not None:
            self._count(entry, -1)

    def in_order(self) -> list[Facts]:
        """The facts by namespace and name."""
        return [self.by_key[key] for key in sorted(self.by_key)]

    def _look(self, pod: ApiObject) -> Facts:
        labels = labels_of(pod)
        if labels is not self._labels:  # pods of one template share them
            wanted = labels_of(pod_template(self.replica_set))
            selected = selector_matches(selector_of(self.replica_set), labels)
            self._labels, self._matches = labels, (selected, wanted.items() <= labels.items())
        owner = controlling_reference(pod)
        mine = owner is not None and owner["uid"] == uid_of(self.replica_set) and is_active(pod)
        return Facts(pod, mine, *self._matches, is_pod_ready(pod))


class FactsByPod:
    """The facts of the pods seen so far; follows the store."""

    def __init__(self, sim: Simulation, store: Store) -> None:
        self.sim = sim
        self.store = store
        self._known: dict[str, Known] = {}  # by uid of the ReplicaSet
        self._changed: dict[str, dict[Key, None]] = {}  # by uid of the ReplicaSet: pods that have changed since
        store.subscribe("pods", self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": {}, "_changed": {}}  # worked out anew when it is asked for

    def notify(self, change: Change) -> None:
        """Called by the store at every write of a pod."""
        self._note(change.object)
        previous = change.previous
        if previous is not None:
            before = previous["metadata"].get("ownerReferences")
            if before is not change.object["metadata"].get("ownerReferences"):
                self._note(previous)

    def _note(self, pod: ApiObject) -> None:
        metadata = pod["metadata"]
        for reference in metadata.get("ownerReferences") or ():
            changed = self._changed.get(reference["uid"])
            if changed is not None:
                changed[metadata["namespace"], metadata["name"]] = None

    def of(self, replica_set: ApiObject) -> Known:
        """The facts of all its pods; stored objects never change, so those of pods that have not changed hold."""
        owner, generation = uid_of(replica_set), replica_set["metadata"].get("generation")
        known = self._known.get(owner)
        if known is None or known.replica_set["metadata"].get("generation") != generation:
            known = self._known[owner] = Known(replica_set, self.store.pods_of(owner))
            self._changed[owner] = {}
            return known
        if self._changed[owner]:
            changed, self._changed[owner] = self._changed[owner], {}
            for namespace, name in changed:
                pod = self.store.get("pods", namespace, name)
                if pod is not None and any(r["uid"] == owner for r in pod["metadata"].get("ownerReferences") or ()):
                    known.see(pod)
                else:
                    known.forget((namespace, name))
        return known

    def forget_owner(self, replica_set: ApiObject) -> None:
        """The ReplicaSet is gone."""
        self._known.pop(uid_of(replica_set), None)
        self._changed.pop(uid_of(replica_set), None)
