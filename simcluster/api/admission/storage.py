"""DefaultStorageClass and StorageObjectInUseProtection.

Sources: plugin/pkg/admission/storage/storageclass/setdefault and
plugin/pkg/admission/storage/storageobjectinuseprotection. The finalizers are taken off
again by the protection controllers once nothing uses the object.
"""

from __future__ import annotations

from typing import ClassVar

from simcluster.api.admission.plugin import Cluster, Plugin
from simcluster.api.registry.attributes import CREATE, Attributes

_CLASSES = "storageclasses.storage.k8s.io"
_DEFAULT = "storageclass.kubernetes.io/is-default-class"
_FINALIZERS = {
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "persistentvolumes": "kubernetes.io/pv-protection",
}


class DefaultStorageClass(Plugin):
    """A claim that names no class gets the default one."""

    operations: ClassVar[tuple[str, ...]] = (CREATE,)
    resources: ClassVar[tuple[str, ...] | None] = ("persistentvolumeclaims",)

    def mutate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Set `storageClassName` to the newest default class, if there is one."""
        spec = attributes.new["spec"]
        if spec.get("storageClassName") is not None:
            return
        defaults = [
            c
            for c in cluster.store.objects(_CLASSES)
            if (c["metadata"].get("annotations") or {}).get(_DEFAULT) == "true"
        ]
        if defaults:
            newest = max(c["metadata"]["creationTimestamp"] for c in defaults)
            chosen = next(c for c in defaults if c["metadata"]["creationTimestamp"] == newest)
            spec["storageClassName"] = chosen["metadata"]["name"]


class StorageObjectInUseProtection(Plugin):
    """Claims and volumes are not removed while something uses them."""

    operations: ClassVar[tuple[str, ...]] = (CREATE,)
    resources: ClassVar[tuple[str, ...] | None] = tuple(_FINALIZERS)

    def mutate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Add the finalizer."""
        finalizer = _FINALIZERS[attributes.resource.storage]
        metadata = attributes.new["metadata"]
        current = metadata.get("finalizers") or []
        if finalizer not in current:
            metadata["finalizers"] = [*current, finalizer]
