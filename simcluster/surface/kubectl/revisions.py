"""Revisions of a deployment: its replica sets, the newest one, and their templates."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api.objects import Json, controller_of
from simcluster.surface.kubectl.invocation import Invocation, query_of

REVISION = "deployment.kubernetes.io/revision"
CHANGE_CAUSE = "kubernetes.io/change-cause"
HASH = "pod-template-hash"


def replica_sets_of(invocation: Invocation, deployment: Json) -> list[Json]:
    """The replica sets a deployment controls, oldest first. Raises StatusError."""
    metadata = deployment["metadata"]
    path = f"/apis/apps/v1/namespaces/{metadata['namespace']}/replicasets"
    labels = deployment["spec"]["selector"].get("matchLabels") or {}
    selector = ",".join(f"{key}={labels[key]}" for key in sorted(labels))
    owned = []
    for replica_set in invocation.items(path, query_of(labelSelector=selector)):
        controller = controller_of(replica_set)
        if controller is not None and controller["uid"] == metadata["uid"]:
            owned.append(replica_set)
    return sorted(owned, key=_created)


def _created(obj: Json) -> tuple[str, str]:
    return (obj["metadata"].get("creationTimestamp") or "", obj["metadata"]["name"])


def new_replica_set(deployment: Json, owned: Sequence[Json]) -> Json | None:
    """The (oldest) replica set with the deployment's own template."""
    template = without_hash(deployment["spec"]["template"])
    for replica_set in owned:
        if without_hash(replica_set["spec"]["template"]) == template:
            return replica_set
    return None


def without_hash(template: Json) -> Json:
    """A template without the label that its replica set added."""
    metadata = dict(template.get("metadata") or {})
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH}
    metadata["labels"] = labels
    metadata.pop("creationTimestamp", None)
    return {**template, "metadata": metadata}


def revision_of(obj: Json) -> int:
    """The revision annotation as a number; 0 if there is none."""
    text = (obj["metadata"].get("annotations") or {}).get(REVISION, "0")
    return int(text) if text.isdigit() else 0
