"""What a ReplicaSet has to know of its pods, worked out once for every version of a pod.

A sync looks at all pods of its ReplicaSet, and every change of one of them causes a sync:
without a memory a large ReplicaSet costs the square of its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from simcluster.api.objects import ApiObject, controller_of, is_pod_ready, labels_of, uid_of
from simcluster.control.replicaset.pods import is_active
from simcluster.control.replicaset.selector import selector_matches


class Facts(NamedTuple):
    """One version of a pod, as one generation of a ReplicaSet sees it.

    Attributes:
        pod: the version; owner, generation: whose view.
        mine: whether the pod is active and controlled by the ReplicaSet.
        selected: whether the selector matches.
        labelled: whether it carries all labels of the template.
        ready: whether it is Ready.
    """

    pod: ApiObject
    owner: str
    generation: int
    mine: bool
    selected: bool
    labelled: bool
    ready: bool


class FactsByPod:
    """The facts of the pods seen so far, by uid."""

    def __init__(self) -> None:
        self._known: dict[str, Facts] = {}

    def of(self, replica_set: Mapping[str, Any], pod: ApiObject) -> Facts:
        """The facts of a version of a pod; stored objects never change, so the version is the object."""
        return self.of_all(replica_set, (pod,))[0]

    def of_all(self, replica_set: Mapping[str, Any], pods: Iterable[ApiObject]) -> list[Facts]:
        """The facts of several pods, in their order."""
        owner, generation = uid_of(replica_set), replica_set["metadata"].get("generation", 0)
        found, known = [], self._known
        for pod in pods:
            key = pod["metadata"]["uid"]
            facts = known.get(key)
            if facts is None or facts[0] is not pod or facts[1] != owner or facts[2] != generation:
                facts = known[key] = _look(replica_set, pod)
            found.append(facts)
        return found

    def forget(self, pod: ApiObject) -> None:
        """The pod is gone."""
        self._known.pop(uid_of(pod), None)


def _look(replica_set: Mapping[str, Any], pod: ApiObject) -> Facts:
    spec, labels = replica_set["spec"], labels_of(pod)
    wanted = labels_of(spec["template"]) if "metadata" in spec["template"] else {}
    return Facts(
        pod,
        uid_of(replica_set),
        replica_set["metadata"].get("generation", 0),
        is_active(pod) and (controller_of(pod) or {}).get("uid") == uid_of(replica_set),
        selector_matches(spec.get("selector"), labels),
        wanted.items() <= labels.items(),
        is_pod_ready(pod),
    )
