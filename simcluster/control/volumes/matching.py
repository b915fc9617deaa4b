"""Which PersistentVolume suits a claim, as pure functions.

Used by the binder for immediate binding and by the scheduler for late binding.
Source: component-helpers storage/volume (FindMatchingVolume) and pkg/controller/volume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.objects import ApiObject, is_terminating, labels_of, name_of, namespace_of
from simcluster.api.quantity import to_bytes
from simcluster.control.labelselector import selector_matches
from simcluster.control.nodes.nodeselector import node_selector_matches

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
STORAGE_CLASSES = "storageclasses.storage.k8s.io"

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BETA_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
BETA_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


def annotations_of(obj: Mapping[str, Any]) -> dict[str, str]:
    """`metadata.annotations`, empty when there are none. Do not change it."""
    return obj["metadata"].get("annotations") or {}


def class_of(obj: Mapping[str, Any]) -> str:
    """Storage class of a claim or volume, an empty text for none."""
    beta = annotations_of(obj).get(BETA_STORAGE_CLASS)
    return beta if beta is not None else str(obj["spec"].get("storageClassName") or "")


def requested_bytes(claim: Mapping[str, Any]) -> int:
    """Size the claim asks for, in bytes."""
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return to_bytes(requests.get("storage", "0"))


def capacity_bytes(volume: Mapping[str, Any]) -> int:
    """Size of the volume, in bytes."""
    return to_bytes((volume["spec"].get("capacity") or {}).get("storage", "0"))


def is_bound(claim: Mapping[str, Any]) -> bool:
    """Whether the binder has finished with the claim (and the volume is known)."""
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in annotations_of(claim)


def is_claimed_by(volume: Mapping[str, Any], claim: ApiObject) -> bool:
    """Whether `spec.claimRef` of the volume means this claim."""
    reference = volume["spec"].get("claimRef")
    if not reference:
        return False
    same = reference.get("name") == name_of(claim) and reference.get("namespace") == namespace_of(claim)
    return same and (not reference.get("uid") or reference["uid"] == claim["metadata"]["uid"])


def has_modes(volume: Mapping[str, Any], claim: Mapping[str, Any]) -> bool:
    """Whether the volume offers every access mode asked for, and the volume mode."""
    offered = volume["spec"].get("accessModes") or ()
    if not all(mode in offered for mode in claim["spec"].get("accessModes") or ()):
        return False
    return bool(volume["spec"].get("volumeMode", "Filesystem") == claim["spec"].get("volumeMode", "Filesystem"))


def binds_late(storage_class: Mapping[str, Any] | None) -> bool:
    """Whether claims of the class wait for their first consumer."""
    return storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"


def reaches(volume: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    """Whether the volume's node affinity allows the node."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return not required or node_selector_matches(required, labels_of(node), name_of(node))


def find_matching(
    claim: ApiObject,
    volumes: Sequence[ApiObject],
    *,
    node: Mapping[str, Any] | None = None,
    taken: Mapping[str, str] | None = None,
) -> ApiObject | None:
    """The volume for a claim: the one reserved for it, else the smallest that suits.

    Args:
        volumes: candidates. Of equal ones the real controller takes what its hash map yields first; here
            their random uids decide.
        node: only volumes that this node can reach (late binding).
        taken: volumes given to other claims of the same pod.
    """
    size, smallest = requested_bytes(claim), None
    for volume in volumes:
        if is_terminating(volume) or (taken and name_of(volume) in taken) or not has_modes(volume, claim):
            continue
        if node is not None and not reaches(volume, node):
            continue
        if is_claimed_by(volume, claim):
            if capacity_bytes(volume) < size:
                continue
            return volume
        if volume["spec"].get("claimRef") or (volume.get("status") or {}).get("phase") != "Available":
            continue
        if class_of(volume) != class_of(claim) or capacity_bytes(volume) < size:
            continue
        selector = claim["spec"].get("selector")
        if selector is not None and not selector_matches(selector, labels_of(volume)):
            continue
        if smallest is None or _rank(volume) < _rank(smallest):
            smallest = volume
    return smallest


def _rank(volume: ApiObject) -> tuple[int, str]:
    return capacity_bytes(volume), volume["metadata"].get("uid", "")


def claim_reference(claim: ApiObject) -> dict[str, str]:
    """`spec.claimRef` of a volume that is given to the claim."""
    return {
        "kind": "PersistentVolumeClaim",
        "namespace": namespace_of(claim),
        "name": name_of(claim),
        "uid": claim["metadata"]["uid"],
        "apiVersion": "v1",
        "resourceVersion": claim["metadata"]["resourceVersion"],
    }


def grows(claim: ApiObject) -> bool:
    """Whether a bound claim asks for more than it has."""
    status = claim.get("status") or {}
    has = (status.get("capacity") or {}).get("storage")
    return status.get("phase") == "Bound" and has is not None and to_bytes(has) < requested_bytes(claim)
