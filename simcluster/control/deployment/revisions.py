"""Which ReplicaSet is which revision, and the annotations that say so.

Source: kubernetes pkg/controller/deployment/util/deployment_util.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.objects import (
    ApiObject,
    Json,
    is_terminating,
    name_of,
    namespace_of,
    owner_reference,
    thaw,
)
from simcluster.control.deployment.arithmetic import DESIRED_REPLICAS, MAX_REPLICAS, max_surge, replicas_of
from simcluster.control.history.hashing import POD_TEMPLATE_HASH, plain_template, template_hash
from simcluster.control.pods.creation import pod_template

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"

#: Never copied from the Deployment to its ReplicaSets.
_NOT_COPIED = (
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    "deprecated.deployment.rollback.to",
)


def annotations_of(obj: Mapping[str, Any]) -> dict[str, str]:
    """`metadata.annotations`, empty when there are none. Do not change it."""
    return obj["metadata"].get("annotations") or {}


def revision_of(obj: Mapping[str, Any]) -> int:
    """The revision annotation as a number, 0 when absent or no number."""
    text = annotations_of(obj).get(REVISION, "0")
    return int(text) if text.isdigit() else 0


def by_age(sets: Sequence[ApiObject]) -> list[ApiObject]:
    """Oldest first, equals by name."""
    return sorted(sets, key=lambda entry: (entry["metadata"]["creationTimestamp"], name_of(entry)))


def active(sets: Sequence[ApiObject]) -> list[ApiObject]:
    """Sets with `spec.replicas` > 0."""
    return [entry for entry in sets if replicas_of(entry) > 0]


def find_new_set(deployment: Mapping[str, Any], sets: Sequence[ApiObject]) -> ApiObject | None:
    """The oldest ReplicaSet whose template is the Deployment's, or None."""
    wanted = plain_template(pod_template(deployment))
    for entry in by_age(sets):
        if plain_template(pod_template(entry)) == wanted:
            return entry
    return None


def copied_annotations(deployment: Mapping[str, Any]) -> dict[str, str]:
    """The annotations that a Deployment hands to its ReplicaSets."""
    return {key: value for key, value in annotations_of(deployment).items() if key not in _NOT_COPIED}


def size_annotations(deployment: Mapping[str, Any]) -> dict[str, str]:
    """The two annotations that let a later sync recognise that the Deployment was scaled."""
    wanted = replicas_of(deployment)
    return {DESIRED_REPLICAS: str(wanted), MAX_REPLICAS: str(wanted + max_surge(deployment))}


def annotations_for(deployment: Mapping[str, Any], existing: Mapping[str, Any], revision: int) -> dict[str, str]:
    """Annotations of an existing ReplicaSet that becomes (or stays) the newest revision.

    A set that is used again gets the new number and remembers the old one.
    """
    result = {**annotations_of(existing), **copied_annotations(deployment)}
    old = revision_of(existing)
    if old < revision:
        result[REVISION] = str(revision)
        if old:
            history = result.get(REVISION_HISTORY)
            result[REVISION_HISTORY] = f"{history},{old}" if history else str(old)
    return result


def new_replica_set(deployment: ApiObject, revision: int) -> Json:
    """The ReplicaSet of the present template, with 0 replicas."""
    template = thaw(pod_template(deployment))
    collisions = (deployment.get("status") or {}).get("collisionCount")
    digest = template_hash(plain_template(template), collisions)
    template.setdefault("metadata", {})
    labels = {**(template["metadata"].get("labels") or {}), POD_TEMPLATE_HASH: digest}
    template["metadata"]["labels"] = labels
    selector = thaw(deployment["spec"]["selector"])
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), POD_TEMPLATE_HASH: digest}
    spec: Json = {"replicas": 0, "selector": selector, "template": template}
    if deployment["spec"].get("minReadySeconds"):
        spec["minReadySeconds"] = deployment["spec"]["minReadySeconds"]
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{name_of(deployment)}-{digest}",
            "namespace": namespace_of(deployment),
            "labels": dict(labels),
            "annotations": {
                **copied_annotations(deployment),
                REVISION: str(revision),
                **size_annotations(deployment),
            },
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": spec,
    }


def sets_to_clean_up(deployment: Mapping[str, Any], old_sets: Sequence[ApiObject]) -> list[ApiObject]:
    """Old ReplicaSets beyond `revisionHistoryLimit` that are empty, lowest revision first."""
    limit = deployment["spec"].get("revisionHistoryLimit", 10)
    alive = sorted(
        (entry for entry in old_sets if not is_terminating(entry)),
        key=lambda entry: (revision_of(entry), entry["metadata"]["creationTimestamp"], name_of(entry)),
    )
    surplus = alive[: max(0, len(alive) - limit)]
    return [entry for entry in surplus if _is_settled_empty(entry)]


def _is_settled_empty(entry: ApiObject) -> bool:
    status = entry.get("status") or {}
    observed = status.get("observedGeneration", 0) >= entry["metadata"].get("generation", 1)
    return not status.get("replicas") and replicas_of(entry) == 0 and observed
