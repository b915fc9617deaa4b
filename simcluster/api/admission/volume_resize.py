"""PersistentVolumeClaimResize: who may ask for a larger volume.

Source: plugin/pkg/admission/storage/persistentvolume/resize of 1.32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from simcluster.api.admission.plugin import Cluster, Plugin, refuse
from simcluster.api.quantity import to_bytes
from simcluster.api.registry.attributes import UPDATE, Attributes

_CLASSES = "storageclasses.storage.k8s.io"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


class VolumeClaimResize(Plugin):
    """The plugin."""

    operations: ClassVar[tuple[str, ...]] = (UPDATE,)
    resources: ClassVar[tuple[str, ...] | None] = ("persistentvolumeclaims",)

    def validate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Raises ApiError if a claim grows that must not."""
        new, old = attributes.new, attributes.old
        if attributes.subresource or old is None or _size(new) <= _size(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise refuse(attributes, "Only bound persistent volume claims can be expanded")
        annotations = new["metadata"].get("annotations") or {}
        name = annotations.get(_BETA_CLASS, new["spec"].get("storageClassName") or "")
        found = cluster.by_name(_CLASSES, "", name) if name else None
        if found is None or not found.get("allowVolumeExpansion"):
            text = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc "
            raise refuse(attributes, f"{text}must support resize")


def _size(claim: Mapping[str, Any]) -> int:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return to_bytes(requests.get("storage", "0"))
