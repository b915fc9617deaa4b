"""Names, ordinals, labels, hostname and volumes of a StatefulSet's pods, as pure functions.

Source: kubernetes pkg/controller/statefulset/stateful_set_utils.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import ApiObject, Json, labels_of, name_of, namespace_of, thaw
from simcluster.control.pods.creation import pod_from_template

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
REVISION = "controller-revision-hash"


def replicas_of(stateful_set: Mapping[str, Any]) -> int:
    """`spec.replicas`, 1 when absent."""
    return int(stateful_set["spec"].get("replicas", 1))


def first_ordinal(stateful_set: Mapping[str, Any]) -> int:
    """`spec.ordinals.start`, 0 when absent."""
    return int((stateful_set["spec"].get("ordinals") or {}).get("start", 0))


def parent_and_ordinal(pod_name: str) -> tuple[str, int]:
    """The set a pod name belongs to and its ordinal, -1 if the name has none.

    >>> parent_and_ordinal("db-shard-12"), parent_and_ordinal("db")
    (('db-shard', 12), ('', -1))
    """
    parent, dash, ordinal = pod_name.rpartition("-")
    return (parent, int(ordinal)) if dash and ordinal.isdecimal() else ("", -1)


def ordinal_of(pod: Mapping[str, Any]) -> int:
    """Ordinal in the pod's name, -1 if there is none."""
    return parent_and_ordinal(name_of(pod))[1]


def is_in_range(pod: Mapping[str, Any], stateful_set: Mapping[str, Any]) -> bool:
    """Whether the pod's ordinal is one of those the set wants."""
    start = first_ordinal(stateful_set)
    return start <= ordinal_of(pod) < start + replicas_of(stateful_set)


def revision_of(pod: Mapping[str, Any]) -> str:
    """Name of the revision the pod was made from."""
    return labels_of(pod).get(REVISION, "")


def claim_name(template: Mapping[str, Any], pod_name: str) -> str:
    """Name of the claim of one volumeClaimTemplate for one pod."""
    return f"{(template.get('metadata') or {}).get('name', '')}-{pod_name}"


def claims_for(stateful_set: ApiObject, pod_name: str) -> dict[str, Json]:
    """The PersistentVolumeClaims of a pod, by the name of the volume."""
    claims: dict[str, Json] = {}
    selected = (stateful_set["spec"].get("selector") or {}).get("matchLabels") or {}
    for template in stateful_set["spec"].get("volumeClaimTemplates") or ():
        metadata: Json = {"name": claim_name(template, pod_name), "namespace": namespace_of(stateful_set)}
        given = template.get("metadata") or {}
        labels = {**(given.get("labels") or {}), **selected}
        if labels:
            metadata["labels"] = labels
        if given.get("annotations"):
            metadata["annotations"] = dict(given["annotations"])
        claims[str(given.get("name", ""))] = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": thaw(template.get("spec") or {}),
        }
    return claims


def with_claims(volumes: list[Json], claims: Mapping[str, Json]) -> list[Json]:
    """A pod's volumes with those of the claims before the template's others."""
    own = [{"name": name, "persistentVolumeClaim": {"claimName": name_of(claim)}} for name, claim in claims.items()]
    return [*own, *(volume for volume in volumes if volume["name"] not in claims)]


def new_pod(stateful_set: ApiObject, template: Mapping[str, Any], revision: str, ordinal: int) -> Json:
    """The pod of an ordinal, made from the template of a revision."""
    pod = pod_from_template(ApiObject({**stateful_set, "spec": {**stateful_set["spec"], "template": template}}))
    name = f"{name_of(stateful_set)}-{ordinal}"
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["name"] = name
    metadata["namespace"] = namespace_of(stateful_set)
    metadata["labels"] = {**(metadata.get("labels") or {}), **identity_labels(name), REVISION: revision}
    spec["hostname"] = name
    if stateful_set["spec"].get("serviceName"):
        spec["subdomain"] = stateful_set["spec"]["serviceName"]
    volumes = with_claims(spec.get("volumes") or [], claims_for(stateful_set, name))
    if volumes:
        spec["volumes"] = volumes
    return pod


def identity_labels(pod_name: str) -> dict[str, str]:
    """The two labels that every pod of a StatefulSet carries."""
    return {POD_NAME: pod_name, POD_INDEX: str(parent_and_ordinal(pod_name)[1])}


def has_identity(stateful_set: ApiObject, pod: ApiObject) -> bool:
    """Whether name and labels are those of the set (identityMatches)."""
    parent, ordinal = parent_and_ordinal(name_of(pod))
    named = ordinal >= 0 and parent == name_of(stateful_set)
    return named and labels_of(pod).get(POD_NAME) == name_of(pod)


def pods_from_current(stateful_set: Mapping[str, Any]) -> int:
    """Below how many ordinals new pods still come from the current revision."""
    strategy = stateful_set["spec"].get("updateStrategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return 0
    rolling = strategy.get("rollingUpdate")
    if rolling is None:
        return int((stateful_set.get("status") or {}).get("currentReplicas") or 0)
    return int(rolling.get("partition", 0))


def partition_of(stateful_set: Mapping[str, Any]) -> int:
    """`spec.updateStrategy.rollingUpdate.partition`, 0 when absent."""
    strategy = stateful_set["spec"].get("updateStrategy") or {}
    return int((strategy.get("rollingUpdate") or {}).get("partition", 0))


def is_on_delete(stateful_set: Mapping[str, Any]) -> bool:
    """Whether pods are updated only when somebody deletes them."""
    return bool((stateful_set["spec"].get("updateStrategy") or {}).get("type") == "OnDelete")


def is_monotonic(stateful_set: Mapping[str, Any]) -> bool:
    """Whether one pod at a time is created and deleted (OrderedReady)."""
    return bool(stateful_set["spec"].get("podManagementPolicy", "OrderedReady") != "Parallel")
