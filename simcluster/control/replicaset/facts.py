"""What a ReplicaSet has to know of its pods, worked out once for every version of a pod.

A sync looks at all pods of its ReplicaSet, and every change of one of them causes a sync:
without a memory a large ReplicaSet costs the square of its size.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Any, NamedTuple

from simcluster.api.objects import ApiObject, controller_of, is_pod_ready, labels_of, uid_of
from simcluster.control.labelselector import selector_matches, selector_of
from simcluster.control.replicaset.pods import is_active


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
        generation: of the ReplicaSet.
        pods, facts: in the same order.
        others: pods that are not active, not the ReplicaSet's, or not selected.
        labelled, ready: pods of which that is true.
    """

    __slots__ = ("facts", "generation", "labelled", "others", "pods", "ready")

    def __init__(self, generation: int, pods: list[ApiObject], facts: list[Facts]) -> None:
        self.generation = generation
        self.pods = pods
        self.facts = facts
        self.others = self.labelled = self.ready = 0
        for entry in facts:
            self._count(entry, 1)

    def _count(self, entry: Facts, sign: int) -> None:
        self.others += 0 if entry.mine and entry.selected else sign
        self.labelled += sign if entry.labelled else 0
        self.ready += sign if entry.ready else 0

    def replace(self, position: int, entry: Facts) -> None:
        """Another version of one of the pods."""
        self._count(self.facts[position], -1)
        self.pods[position], self.facts[position] = entry.pod, entry
        self._count(entry, 1)


class FactsByPod:
    """The facts of the pods seen so far."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}  # by uid of the ReplicaSet

    def of_all(self, replica_set: Mapping[str, Any], pods: list[ApiObject]) -> Known:
        """The facts of all its pods, in their order; stored objects never change, so the version is the object."""
        owner, generation = uid_of(replica_set), replica_set["metadata"].get("generation", 0)
        known = self._known.get(owner)
        if known is None or known.generation != generation:
            known = Known(generation, list(pods), [_look(replica_set, pod) for pod in pods])
        elif len(known.pods) == len(pods):
            new = [position for position, same in enumerate(map(is_, pods, known.pods)) if not same]
            for position in new:
                known.replace(position, _look(replica_set, pods[position]))
        else:
            by_uid = {uid_of(facts.pod): facts for facts in known.facts}
            found = []
            for pod in pods:
                facts = by_uid.get(uid_of(pod))
                found.append(facts if facts is not None and facts.pod is pod else _look(replica_set, pod))
            known = Known(generation, list(pods), found)
        self._known[owner] = known
        return known

    def forget_owner(self, replica_set: ApiObject) -> None:
        """The ReplicaSet is gone."""
        self._known.pop(uid_of(replica_set), None)


def _look(replica_set: Mapping[str, Any], pod: ApiObject) -> Facts:
    spec, labels = replica_set["spec"], labels_of(pod)
    wanted = labels_of(spec["template"]) if "metadata" in spec["template"] else {}
    return Facts(
        pod,
        is_active(pod) and (controller_of(pod) or {}).get("uid") == uid_of(replica_set),
        selector_matches(selector_of(replica_set), labels),
        wanted.items() <= labels.items(),
        is_pod_ready(pod),
    )
