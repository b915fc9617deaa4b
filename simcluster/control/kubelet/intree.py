"""Volumes of in-tree plugins that a node of this world cannot mount, and what a kubelet says of them.

Disks of clouds are served by CSI drivers since 1.32's migration: without the driver they are never attached.
Block devices of a network need programs that the nodes do not have. Plugins that were removed are not
known at all. Source: pkg/volume/{iscsi,fc,local,hostpath}, pkg/volume/csimigration,
pkg/kubelet/volumemanager/cache of 1.32. Left out: what the attach/detach controller says of a cloud's disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.models.machine.nodetree import NodeTree

#: The drivers that serve the volumes of in-tree plugins.
MIGRATED = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "azureDisk": "disk.csi.azure.com",
    "azureFile": "file.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "portworxVolume": "pxd.portworx.com",
    "vsphereVolume": "csi.vsphere.vmware.com",
}
#: Plugins that 1.32's kubelet does not have any more.
REMOVED = frozenset(
    ("cephfs", "flocker", "glusterfs", "photonPersistentDisk", "quobyte", "rbd", "scaleIO", "storageos")
)
_NO_PROGRAM = "executable file not found in $PATH"


def migrated_driver(source: Mapping[str, Any]) -> str:
    """The CSI driver behind a volume or a PersistentVolume's spec; "" if no plugin was migrated there."""
    return next((MIGRATED[kind] for kind in source if kind in MIGRATED), "")


def removed_plugin(source: Mapping[str, Any]) -> bool:
    """Whether the volume is of a plugin that is gone."""
    return any(kind in REMOVED for kind in source)


def device_problem(source: Mapping[str, Any]) -> str:
    """Why a network's block device does not come; "" if the volume is none."""
    if "fc" in source:
        return "no fc disk found"
    if "iscsi" in source:
        portal = str(source["iscsi"].get("targetPortal") or "")
        portal = portal if ":" in portal else f"{portal}:3260"
        seen = f"iscsi: failed to sendtargets to portal {portal} output: , err {_NO_PROGRAM}"
        return f"failed to get any path for iscsi disk, last err seen:\n{seen}"
    return ""


def missing_path(files: NodeTree | None, spec: Mapping[str, Any], *, made: bool) -> str:
    """Why a PersistentVolume on the node itself is not there, with the failing step before it; "" if it is.

    Args:
        made: whether a provisioner has made it.
    """
    if files is None:
        return ""
    local, host = spec.get("local") or {}, spec.get("hostPath") or {}
    path = str(local.get("path") or "")
    if path and not made and not files.exists(path):
        return f'MountVolume.NewMounter initialization failed for volume "{{}}" : path "{path}" does not exist'
    path, kind = str(host.get("path") or ""), host.get("type") or ""
    if kind == "Directory" and not files.is_folder(path):
        return f'MountVolume.SetUp failed for volume "{{}}" : hostPath type check failed: {path} is not a directory'
    if kind == "File" and not files.is_file(path):
        return f'MountVolume.SetUp failed for volume "{{}}" : hostPath type check failed: {path} is not a file'
    return ""
