"""Where a volume's data come from, as `kubectl describe` shows it for pods, templates and persistent volumes.

Source of the layouts: k8s.io/kubectl/pkg/describe/describe.go, Kubernetes 1.32, compared
with what kubectl 1.32.5 prints. Left out: ScaleIO, Quobyte and Photon, whose plugins are gone.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

from simcluster.api.objects import Json
from simcluster.surface.kubectl.describe.page import Page, truth
from simcluster.surface.kubectl.printers.go_value import go_text

#: A volume attribute longer than this is cut off.
_ATTRIBUTE_WIDTH = 140


class _Line(NamedTuple):
    """One line of a source: its title, the field, what stands for a missing one, and how it is shown."""

    title: str
    field: str
    default: Any = ""
    form: str = "plain"


_READ_ONLY = _Line("ReadOnly", "readOnly", False)
_FS_TYPE = _Line("FSType", "fsType")
_SECRET_REF = _Line("SecretRef", "secretRef", None, "reference")

_SOURCES: dict[str, tuple[str, tuple[_Line, ...]]] = {
    "hostPath": (
        "HostPath (bare host directory volume)",
        (_Line("Path", "path"), _Line("HostPathType", "type", "<none>")),
    ),
    "emptyDir": (
        "EmptyDir (a temporary directory that shares a pod's lifetime)",
        (_Line("Medium", "medium"), _Line("SizeLimit", "sizeLimit", "<unset>")),
    ),
    "gcePersistentDisk": (
        "GCEPersistentDisk (a Persistent Disk resource in Google Compute Engine)",
        (_Line("PDName", "pdName"), _FS_TYPE, _Line("Partition", "partition", 0), _READ_ONLY),
    ),
    "awsElasticBlockStore": (
        "AWSElasticBlockStore (a Persistent Disk resource in AWS)",
        (_Line("VolumeID", "volumeID"), _FS_TYPE, _Line("Partition", "partition", 0), _READ_ONLY),
    ),
    "gitRepo": (
        "GitRepo (a volume that is pulled from git when the pod is created)",
        (_Line("Repository", "repository"), _Line("Revision", "revision")),
    ),
    "secret": (
        "Secret (a volume populated by a Secret)",
        (_Line("SecretName", "secretName"), _Line("Optional", "optional", False)),
    ),
    "configMap": (
        "ConfigMap (a volume populated by a ConfigMap)",
        (_Line("Name", "name"), _Line("Optional", "optional", False)),
    ),
    "nfs": (
        "NFS (an NFS mount that lasts the lifetime of a pod)",
        (_Line("Server", "server"), _Line("Path", "path"), _READ_ONLY),
    ),
    "iscsi": (
        "ISCSI (an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod)",
        (
            _Line("TargetPortal", "targetPortal"),
            _Line("IQN", "iqn"),
            _Line("Lun", "lun", 0),
            _Line("ISCSIInterface", "iscsiInterface", "", "without colon"),
            _FS_TYPE,
            _READ_ONLY,
            _Line("Portals", "portals", []),
            _Line("DiscoveryCHAPAuth", "chapAuthDiscovery", False),
            _Line("SessionCHAPAuth", "chapAuthSession", False),
            _SECRET_REF,
            _Line("InitiatorName", "initiatorName", "<none>"),
        ),
    ),
    "glusterfs": (
        "Glusterfs (a Glusterfs mount on the host that shares a pod's lifetime)",
        (_Line("EndpointsName", "endpoints"), _Line("Path", "path"), _READ_ONLY),
    ),
    "persistentVolumeClaim": (
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        (_Line("ClaimName", "claimName"), _READ_ONLY),
    ),
    "rbd": (
        "RBD (a Rados Block Device mount on the host that shares a pod's lifetime)",
        (
            _Line("CephMonitors", "monitors", []),
            _Line("RBDImage", "image"),
            _FS_TYPE,
            _Line("RBDPool", "pool"),
            _Line("RadosUser", "user"),
            _Line("Keyring", "keyring"),
            _SECRET_REF,
            _READ_ONLY,
        ),
    ),
    "azureDisk": (
        "AzureDisk (an Azure Data Disk mount on the host and bind mount to the pod)",
        (
            _Line("DiskName", "diskName"),
            _Line("DiskURI", "diskURI"),
            _Line("Kind", "kind", "Shared"),
            _Line("FSType", "fsType", "ext4"),
            _Line("CachingMode", "cachingMode", "ReadWrite"),
            _READ_ONLY,
        ),
    ),
    "vsphereVolume": (
        "vSphereVolume (a Persistent Disk resource in vSphere)",
        (_Line("VolumePath", "volumePath"), _FS_TYPE, _Line("StoragePolicyName", "storagePolicyName")),
    ),
    "cinder": (
        "Cinder (a Persistent Disk resource in OpenStack)",
        (_Line("VolumeID", "volumeID"), _FS_TYPE, _READ_ONLY, _SECRET_REF),
    ),
    "portworxVolume": ("PortworxVolume (a Portworx Volume resource)", (_Line("VolumeID", "volumeID"),)),
    "storageos": (
        "StorageOS (a StorageOS Persistent Disk resource)",
        (_Line("VolumeName", "volumeName"), _Line("VolumeNamespace", "volumeNamespace"), _FS_TYPE, _READ_ONLY),
    ),
    "local": ("LocalVolume (a persistent volume backed by local storage on a node)", (_Line("Path", "path"),)),
    "cephfs": (
        "CephFS (a CephFS mount on the host that shares a pod's lifetime)",
        (
            _Line("Monitors", "monitors", []),
            _Line("Path", "path"),
            _Line("User", "user"),
            _Line("SecretFile", "secretFile"),
            _SECRET_REF,
            _READ_ONLY,
        ),
    ),
    "fc": (
        "FC (a Fibre Channel disk)",
        (_Line("TargetWWNs", "targetWWNs", [], "comma"), _Line("LUN", "lun", "<none>"), _FS_TYPE, _READ_ONLY),
    ),
    "azureFile": (
        "AzureFile (an Azure File Service mount on the host and bind mount to the pod)",
        (_Line("SecretName", "secretName"), _Line("ShareName", "shareName"), _READ_ONLY),
    ),
    "flexVolume": (
        "FlexVolume (a generic volume resource that is provisioned/attached using an exec based plugin)",
        (
            _Line("Driver", "driver"),
            _FS_TYPE,
            _SECRET_REF,
            _READ_ONLY,
            _Line("Options", "options", {}),
        ),
    ),
    "flocker": (
        "Flocker (a Flocker volume mounted by the Flocker agent)",
        (_Line("DatasetName", "datasetName"), _Line("DatasetUUID", "datasetUUID")),
    ),
    "image": (
        "Image (a container image or OCI artifact)",
        (_Line("Reference", "reference"), _Line("PullPolicy", "pullPolicy")),
    ),
}

#: Sources that a persistent volume has more fields of than a pod's volume.
_PERSISTENT: dict[str, tuple[_Line, ...]] = {
    "glusterfs": (
        _Line("EndpointsName", "endpoints"),
        _Line("EndpointsNamespace", "endpointsNamespace", "<unset>"),
        _Line("Path", "path"),
        _READ_ONLY,
    ),
    "azureFile": (
        _Line("SecretName", "secretName"),
        _Line("SecretNamespace", "secretNamespace"),
        _Line("ShareName", "shareName"),
        _READ_ONLY,
    ),
}


def source(page: Page, volume: Json) -> None:
    """Where a volume comes from, at level 2."""
    persistent = "accessModes" in volume
    for key, (title, lines) in _SOURCES.items():
        if key in volume:
            page.pair("Type", title, 2)
            for line in (_PERSISTENT.get(key) or lines) if persistent else lines:
                _show(page, line, volume[key] or {})
            return
    for key, shower in _SPECIAL.items():
        if key in volume:
            shower(page, volume[key])
            return
    page.line("<unknown>", 1)


def _show(page: Page, line: _Line, value: Json) -> None:
    found = value.get(line.field, line.default)
    if line.form == "reference":
        page.pair(line.title, _reference(found), 2)
    elif line.form == "comma":
        page.pair(line.title, ", ".join(found), 2)
    elif line.form == "without colon":  # so kubectl prints it
        page.line(f"{line.title}\t{found}", 2)
    else:
        page.pair(line.title, found if isinstance(found, str) else go_text(found), 2)


def _reference(reference: Json | None) -> str:
    """A reference as the message's own printer writes it."""
    if reference is None:
        return "nil"
    if "namespace" in reference:
        return f"&SecretReference{{Name:{reference.get('name', '')},Namespace:{reference['namespace']},}}"
    return f"&LocalObjectReference{{Name:{reference.get('name', '')},}}"


def _csi(page: Page, value: Json) -> None:
    page.pair("Type", "CSI (a Container Storage Interface (CSI) volume source)", 2)
    page.pair("Driver", value.get("driver", ""), 2)
    page.pair("FSType", value.get("fsType", ""), 2)
    if "volumeHandle" in value:  # a persistent volume's
        page.pair("VolumeHandle", value["volumeHandle"], 2)
    page.pair("ReadOnly", truth(value.get("readOnly")), 2)
    attributes = value.get("volumeAttributes") or {}
    if not attributes:
        page.line("VolumeAttributes:\t<none>", 2)
    for number, key in enumerate(sorted(attributes)):
        text = f"{key}={attributes[key]}"
        text = text if len(text) <= _ATTRIBUTE_WIDTH else f"{text[:_ATTRIBUTE_WIDTH]}..."
        page.line(f"{'    ' if number else 'VolumeAttributes:'}\t    {text}", 2)


def _downward(page: Page, value: Json) -> None:
    page.pair("Type", "DownwardAPI (a volume populated by information about the pod)", 2)
    page.line("Items:", 2)
    for item in value.get("items") or ():
        reference = item.get("fieldRef") or item.get("resourceFieldRef") or {}
        page.line(f"{reference.get('fieldPath') or reference.get('resource', '')} -> {item['path']}", 3)


def _projected(page: Page, value: Json) -> None:
    page.pair("Type", "Projected (a volume that contains injected data from multiple sources)", 2)
    for number, part in enumerate(value.get("sources") or ()):
        if "secret" in part:
            page.pair("SecretName", part["secret"].get("name", ""), 2)
            page.pair("SecretOptionalName", _pointer(part["secret"], number), 2)
        elif "downwardAPI" in part:
            page.pair("DownwardAPI", "true", 2)
        elif "configMap" in part:
            page.pair("ConfigMapName", part["configMap"].get("name", ""), 2)
            page.pair("ConfigMapOptional", _pointer(part["configMap"], number), 2)
        elif "serviceAccountToken" in part:
            page.pair("TokenExpirationSeconds", part["serviceAccountToken"].get("expirationSeconds", 3600), 2)


def _pointer(part: Json, number: int) -> str:
    """What Go prints for the pointer itself: kubectl 1.32 forgets to follow it."""
    if part.get("optional") is None:
        return "<nil>"
    place = zlib.crc32(f"{part.get('name', '')}/{number}".encode()) & 0xFFFFFF
    return f"0xc000{place:06x}"


def _ephemeral(page: Page, value: Json) -> None:
    page.pair(
        "Type",
        "EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)",
        2,
    )
    template = value.get("volumeClaimTemplate") or {}
    spec, metadata = template.get("spec") or {}, template.get("metadata") or {}
    page.pair("StorageClass", spec.get("storageClassName", ""), 2)
    page.pair("Volume", spec.get("volumeName", ""), 2)
    for title, mark in (("Labels", "="), ("Annotations", ": ")):
        values = metadata.get(title.lower()) or {}
        shown = [f"{key}{mark}{values[key]}" for key in sorted(values)] or ["<none>"]
        for number, text in enumerate(shown):
            page.line(f"{'    ' if number else f'{title}:'}\t    {text}", 2)
    page.pair("Capacity", "", 2)
    page.pair("Access Modes", "", 2)
    if spec.get("volumeMode"):
        page.pair("VolumeMode", spec["volumeMode"], 2)


_SPECIAL = {"csi": _csi, "projected": _projected, "downwardAPI": _downward, "ephemeral": _ephemeral}
