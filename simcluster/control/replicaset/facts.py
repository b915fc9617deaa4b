"""What a ReplicaSet has to know of its pods, worked out once for every version of a pod.

A sync looks at all pods of its ReplicaSet, and every change of one of them causes a sync:
without a memory a large ReplicaSet costs the square of its size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from simcluster.api.objects import controller_of, is_pod_ready, labels_of, name_of, namespace_of, uid_of
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

    pod: Mapping[str, Any]
    owner: str
    generation: int
    mine: bool
    selected: bool
    labelled: bool
    ready: bool


class FactsByPod:
    """The facts of the pods seen so far, by namespace and name."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Facts] = {}

    def of(self, replica_set: Mapping[str, Any], pod: Mapping[str, Any]) -> Facts:
        """The facts of a version of a pod; stored objects never change, so the version is the object."""
        metadata = pod["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        known = self._known.get(key)
        whose = replica_set["metadata"]
        if (
            known is not None
            and known.pod is pod
            and known.owner == whose["uid"]
            and known.generation == whose.get("generation", 0)
        ):
            return known
        found = self._known[key] = _look(replica_set, pod)
        return found

    def forget(self, pod: Mapping[str, Any]) -> None:
        """The pod is gone."""
        self._known.pop((namespace_of(pod), name_of(pod)), None)


def _look(replica_set: Mapping[str, Any], pod: Mapping[str, Any]) -> Facts:
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
