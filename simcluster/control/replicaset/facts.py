"""What a ReplicaSet has to know of its pods, worked out once for every version of a pod.

A sync looks at all pods of its ReplicaSet, and every change of one of them causes a sync:
without a memory a large ReplicaSet costs the square of its size.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Any, NamedTuple

from simcluster.api.objects import ApiObject, controller_of, is_pod_ready, labels_of, uid_of
from simcluster.control.labelselector import selector_matches
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


class FactsByPod:
    """The facts of the pods seen so far."""

    def __init__(self) -> None:
        # uid of the ReplicaSet -> its generation, and the facts found last, in the order of its pods
        self._known: dict[str, tuple[int, list[ApiObject], list[Facts]]] = {}

    def of_all(self, replica_set: Mapping[str, Any], pods: list[ApiObject]) -> list[Facts]:
        """The facts of all its pods, in their order; stored objects never change, so the version is the object."""
        owner, generation = uid_of(replica_set), replica_set["metadata"].get("generation", 0)
        known = self._known.get(owner)
        if known is None or known[0] != generation:
            found = [_look(replica_set, pod) for pod in pods]
        elif len(known[1]) == len(pods):
            found = list(known[2])
            for position, same in enumerate(map(is_, pods, known[1])):
                if not same:
                    found[position] = _look(replica_set, pods[position])
        else:
            by_uid = {uid_of(facts.pod): facts for facts in known[2]}
            found = []
            for pod in pods:
                facts = by_uid.get(uid_of(pod))
                found.append(facts if facts is not None and facts.pod is pod else _look(replica_set, pod))
        self._known[owner] = (generation, list(pods), found)
        return found

    def forget_owner(self, replica_set: ApiObject) -> None:
        """The ReplicaSet is gone."""
        self._known.pop(uid_of(replica_set), None)


def _look(replica_set: Mapping[str, Any], pod: ApiObject) -> Facts:
    spec, labels = replica_set["spec"], labels_of(pod)
    wanted = labels_of(spec["template"]) if "metadata" in spec["template"] else {}
    return Facts(
        pod,
        is_active(pod) and (controller_of(pod) or {}).get("uid") == uid_of(replica_set),
        selector_matches(spec.get("selector"), labels),
        wanted.items() <= labels.items(),
        is_pod_ready(pod),
    )
