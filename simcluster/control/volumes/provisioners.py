"""Which provisioners of local volumes there are, and the volumes they make.

Sources: rancher/local-path-provisioner (provisioner.go), openebs/dynamic-localpv-provisioner,
kubernetes/minikube (storage-provisioner).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from simcluster.api.objects import ApiObject, Json, labels_of, name_of, namespace_of, uid_of
from simcluster.control.volumes.matching import claim_reference

HOSTNAME = "kubernetes.io/hostname"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"


class Provisioner(NamedTuple):
    """One provisioner.

    Attributes:
        name: `provisioner` of its storage classes.
        component: its Deployment, for the source of its events.
        directory: under which its volumes lie on a node.
        needs_node: whether it can only make volumes for a node that was chosen before.
        source: `hostPath` or `local`, the kind of its volumes.
    """

    name: str
    component: str
    directory: str
    needs_node: bool
    source: str


PROVISIONERS = {
    entry.name: entry
    for entry in (
        Provisioner("rancher.io/local-path", "local-path-provisioner", "/var/local-path-provisioner", True, "hostPath"),
        Provisioner("openebs.io/local", "openebs-localpv-provisioner", "/var/openebs/local", True, "local"),
        Provisioner("k8s.io/minikube-hostpath", "minikube", "/tmp/hostpath-provisioner", False, "hostPath"),
    )
}


def volume_name(claim: ApiObject) -> str:
    """The name of the volume that is made for a claim."""
    return f"pvc-{uid_of(claim)}"


def new_volume(
    provisioner: Provisioner, claim: ApiObject, storage_class: Mapping[str, Any], node: Mapping[str, Any] | None
) -> Json:
    """The PersistentVolume for a claim, tied to a node if one was chosen."""
    where = f"{volume_name(claim)}_{namespace_of(claim)}_{name_of(claim)}"
    annotations = {PROVISIONED_BY: provisioner.name}
    spec: Json = {
        "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
        "accessModes": list(claim["spec"].get("accessModes") or ()),
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
        "storageClassName": str(storage_class["metadata"]["name"]),
        "volumeMode": claim["spec"].get("volumeMode", "Filesystem"),
        "claimRef": claim_reference(claim),
    }
    if provisioner.source == "local":
        spec["local"] = {"path": f"{provisioner.directory}/{volume_name(claim)}"}
    else:
        spec["hostPath"] = {"path": f"{provisioner.directory}/{where}", "type": "DirectoryOrCreate"}
    if node is not None:
        annotations["local.path.provisioner/selected-node"] = name_of(node)
        host = labels_of(node).get(HOSTNAME, name_of(node))
        expression = {"key": HOSTNAME, "operator": "In", "values": [host]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    if storage_class.get("mountOptions"):
        spec["mountOptions"] = list(storage_class["mountOptions"])
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": volume_name(claim), "annotations": annotations},
        "spec": spec,
    }


def refusal(provisioner: Provisioner, claim: ApiObject, node: Mapping[str, Any] | None) -> str:
    """Why the provisioner cannot make the claim's volume, or an empty text."""
    if (claim["spec"].get("selector") or {}) != {}:
        return "claim.Spec.Selector is not supported"
    for mode in claim["spec"].get("accessModes") or ():
        if mode not in ("ReadWriteOnce", "ReadWriteOncePod"):
            return "NodePath only supports ReadWriteOnce and ReadWriteOncePod (1.22+) access modes"
    if provisioner.needs_node and node is None:
        return "configuration error, no node was specified"
    return ""
