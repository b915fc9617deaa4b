"""Attachable volumes of one node: reported as in use, verified as attached, mounted by a driver.

A kubelet mounts a volume that must be attached only after its Node says that the volume is in
use (`status.volumesInUse`) and the attach/detach controller has answered there that it is
attached (`status.volumesAttached`), and only with the driver's plugin registered on the node.
Source: pkg/kubelet/volumemanager (reconciler_common.go), operation_generator.go
(VerifyControllerAttachedVolume, MountDevice), pkg/volume/csi/csi_client.go.
"""

from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, name_of, namespace_of, uid_of
from simcluster.control.kubelet.intree import migrated_driver
from simcluster.control.kubelet.klog import KubeletLog
from simcluster.control.kubelet.volumes import VolumeError, claim_of
from simcluster.control.volumes.attachable import (
    CSI_NODES,
    must_attach,
    unique_name,
    volume_of_claim,
)
from simcluster.control.volumes.backend import StorageBackend

#: In-tree plugins whose volumes CSI drivers serve in 1.32 (pkg/volume/csimigration/plugin_manager.go).
_MIGRATED = ("aws-ebs", "azure-disk", "azure-file", "cinder", "gce-pd", "portworx-volume", "vsphere-volume")
_MIGRATED_KEY = "storage.alpha.kubernetes.io/migrated-plugins"
NOT_REGISTERED = "driver name {} not found in the list of registered CSI drivers"


class NodeAttachments:
    """What attachable volumes the pods of a node use.

    Attributes:
        backend: what stands behind CSI drivers.
    """

    def __init__(self, node: str, client: Client, klog: KubeletLog) -> None:
        self.backend: StorageBackend | None = None
        self._name = node
        self._client = client
        self._klog = klog
        self._users: dict[str, dict[str, None]] = {}  # unique name of the volume -> uids of pods

    def forget_everything(self) -> None:
        """The kubelet starts anew."""
        self._users = {}

    def register(self) -> None:
        """Make the node's CSINode, which lists no drivers yet, if there is none."""
        node = self._client.cache.get("nodes", "", self._name)
        if node is None or self._client.cache.get(CSI_NODES, "", self._name) is not None:
            return
        owner = {"apiVersion": "v1", "kind": "Node", "name": self._name, "uid": uid_of(node)}
        annotations = {_MIGRATED_KEY: ",".join(f"kubernetes.io/{name}" for name in _MIGRATED)}
        metadata: Json = {"name": self._name, "annotations": annotations, "ownerReferences": [owner]}
        body: Json = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata}
        try:
            self._client.create(CSI_NODES, "", {**body, "spec": {"drivers": None}})
        except ApiError as error:
            self._klog.error("csi_plugin.go:306", error.message, "Failed to initialize CSINode")

    def in_use(self) -> list[str]:
        """`status.volumesInUse` of the Node."""
        return sorted(self._users)

    def forget_pod(self, uid: str) -> None:
        """The pod's volumes are unmounted."""
        if self._users:
            for name in list(self._users):
                self._users[name].pop(uid, None)
                if not self._users[name]:
                    del self._users[name]

    def is_attached(self, pod: ApiObject, volume: Json) -> bool:
        """Whether the node may mount a volume of the pod.

        Raises:
            VolumeError: it is attached, but no driver on the node can mount it.
        """
        bound = self._bound(pod, volume)
        if bound is None:
            return True
        migrated = migrated_driver(volume) or migrated_driver(bound["spec"])
        if migrated:
            return self.has_driver(migrated)
        if must_attach(self._client.cache, bound):
            name = unique_name(bound)
            self._users.setdefault(name, {})[uid_of(pod)] = None
            status = self._node_status()
            attached = [entry["name"] for entry in status.get("volumesAttached") or ()]
            if name not in (status.get("volumesInUse") or ()) or name not in attached:
                return False
        driver = bound["spec"]["csi"]["driver"]
        if self.has_driver(driver):
            self._mount(bound, driver)
        else:
            why = f"kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: {NOT_REGISTERED}"
            head = f'MountVolume.MountDevice failed for volume "{name_of(bound)}" : '
            raise VolumeError(head + why.format(driver))
        return True

    def _mount(self, bound: ApiObject, driver: str) -> None:
        """Have the driver stage and publish the volume. Raises VolumeError."""
        for operation, step in (("NodeStageVolume", "MountDevice"), ("NodePublishVolume", "SetUp")):
            trouble = self.backend.trouble(driver, operation) if self.backend is not None else None
            if trouble is not None:
                raise VolumeError(f'MountVolume.{step} failed for volume "{name_of(bound)}" : {trouble}')

    def has_driver(self, driver: str) -> bool:
        """Whether the plugin of a CSI driver is registered with this kubelet."""
        known = self._client.cache.get(CSI_NODES, "", self._name)
        drivers = (known["spec"].get("drivers") or ()) if known is not None else ()
        return any(entry["name"] == driver for entry in drivers)

    def _bound(self, pod: ApiObject, volume: Json) -> ApiObject | None:
        """The CSI volume behind a volume of the pod."""
        claim = claim_of(pod, volume)
        if not claim:
            return ApiObject({"spec": {}}) if migrated_driver(volume) else None
        bound = volume_of_claim(self._client.cache, namespace_of(pod), claim)
        if bound is None or ("csi" not in bound["spec"] and not migrated_driver(bound["spec"])):
            return None
        return bound

    def _node_status(self) -> Json:
        node = self._client.cache.get("nodes", "", self._name)
        status: Json = (node.get("status") or {}) if node is not None else {}
        return status
