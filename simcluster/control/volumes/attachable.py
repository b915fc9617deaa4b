"""Which volumes must be attached to a node before its kubelet can mount them.

A PersistentVolume with a `csi` source is attached unless its CSIDriver says `attachRequired:
false`; a driver that nobody has registered is taken to require it.
Source: kubernetes pkg/volume/csi (csi_plugin.go, csi_attacher.go), pkg/volume/util/util.go.
Left out: in-tree disks of cloud providers, inline volumes that are migrated to CSI.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import ApiObject, name_of, namespace_of
from simcluster.api.store import Store
from simcluster.control.volumes.matching import CLAIMS, VOLUMES, is_bound

ATTACHMENTS = "volumeattachments.storage.k8s.io"
DRIVERS = "csidrivers.storage.k8s.io"
CSI_NODES = "csinodes.storage.k8s.io"


def attachment_name(volume: Mapping[str, Any], node: str) -> str:
    """The name of the VolumeAttachment of a volume on a node (getAttachmentName)."""
    csi = volume["spec"]["csi"]
    digest = hashlib.sha256(f"{csi['volumeHandle']}{csi['driver']}{node}".encode()).hexdigest()
    return f"csi-{digest}"


def unique_name(volume: Mapping[str, Any]) -> str:
    """The volume's name in `status.volumesInUse` and `status.volumesAttached` of a node."""
    csi = volume["spec"]["csi"]
    return f"kubernetes.io/csi/{csi['driver']}^{csi['volumeHandle']}"


def must_attach(store: Store, volume: Mapping[str, Any]) -> bool:
    """Whether the volume is attached to nodes at all."""
    if "csi" not in volume["spec"]:
        return False
    driver = store.get(DRIVERS, "", volume["spec"]["csi"]["driver"])
    return driver is None or bool((driver.get("spec") or {}).get("attachRequired", True))


def is_exclusive(volume: Mapping[str, Any]) -> bool:
    """Whether one node at a time may have the volume (IsMultiAttachAllowed)."""
    modes = volume["spec"].get("accessModes") or ()
    return bool(modes) and not any(mode in ("ReadWriteMany", "ReadOnlyMany") for mode in modes)


def volume_of_claim(store: Store, namespace: str, claim_name: str) -> ApiObject | None:
    """The volume that a claim is bound to."""
    claim = store.get(CLAIMS, namespace, claim_name) if claim_name else None
    if claim is None or not is_bound(claim):
        return None
    return store.get(VOLUMES, "", claim["spec"]["volumeName"])


def volumes_of(store: Store, pod: ApiObject) -> dict[str, ApiObject]:
    """The CSI volumes behind a pod's claims, by the name they have in the pod."""
    found = {}
    for entry in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in entry:
            claim = str(entry["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in entry:
            claim = f"{name_of(pod)}-{entry['name']}"
        else:
            continue
        volume = volume_of_claim(store, namespace_of(pod), claim)
        if volume is not None and "csi" in volume["spec"]:
            found[entry["name"]] = volume
    return found
