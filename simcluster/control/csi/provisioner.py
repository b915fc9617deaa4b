"""The external provisioner of CSI drivers: volumes for claims of their classes.

While a driver's `csi-provisioner` runs it makes a volume for every claim that the binder has handed
to the driver, once the scheduler has chosen a node if the class binds late, and deletes the
volumes that it has made and nobody claims any more. What fails is an Event of the claim or the volume and
tried again after 1 s, doubling to 5 min; where a node's storage is exhausted, another node is chosen.
Source: sigs.k8s.io/sig-storage-lib-external-provisioner (controller.go), kubernetes-csi/
external-provisioner. Left out: snapshots and clones as sources, topology of the volume beyond the
node's zone.
"""

from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.events import EventRecorder
from simcluster.api.objects import ApiObject, Json, is_terminating, labels_of, name_of, namespace_of, uid_of
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.csi.attacher import RETRY_MAX_NS, RETRY_NS
from simcluster.control.csi.sidecars import PROVISIONER, SidecarPods, serving_pod
from simcluster.control.volumes.backend import StorageBackend, Trouble
from simcluster.control.volumes.matching import (
    CLAIMS,
    SELECTED_NODE,
    STORAGE_CLASSES,
    STORAGE_PROVISIONER,
    VOLUMES,
    annotations_of,
    binds_late,
    claim_reference,
    class_of,
)
from simcluster.control.volumes.provisioners import PROVISIONED_BY, PROVISIONERS, volume_name
from simcluster.engine import SECOND, Simulation

#: What a driver takes to make a disk of a cloud (an order of magnitude).
_MAKE_NS = (SECOND, 4 * SECOND)
_ZONE = "topology.kubernetes.io/zone"
_HEX = "0123456789abcdef"


class CsiProvisioner(Controller):
    """Reconciles claims and the volumes made for them, for all drivers; keys of volumes have no namespace."""

    name = "csi-provisioner"

    def __init__(self, sim: Simulation, api: Api, backend: StorageBackend | None = None) -> None:
        super().__init__(sim, api)
        self.backend = backend or StorageBackend()
        self._failures: dict[str, int] = {}
        self._recorders: dict[str, EventRecorder] = {}  # by driver
        self.client = Client(api, User("csi-provisioner", ("system:masters", "system:authenticated")), self.name)
        self._due: dict[str, int] = {}
        self._stream = sim.stream(self.name)
        self.watch(CLAIMS, self._on_claim)
        self.watch(VOLUMES, self.enqueue_object, _is_to_be_deleted)
        self.pods = SidecarPods(sim, api, self.name, self._on_sidecar)

    def _on_claim(self, change: Change) -> None:
        if change.kind != "DELETED" and _is_handed_over(change.object):
            self.enqueue_object(change)

    def _on_sidecar(self, change: Change) -> None:
        for claim in self.client.cache.objects(CLAIMS):
            if _is_handed_over(claim):
                self.enqueue(namespace_of(claim), name_of(claim))
        for volume in self.client.cache.objects(VOLUMES):
            if _has_nobody(volume):
                self.enqueue("", name_of(volume))

    def sync(self, namespace: str, name: str) -> None:
        """Make the volume of one claim or delete one volume, if it is time."""
        if not namespace:
            self._delete(name)
            return
        key, cache = f"{namespace}/{name}", self.client.cache
        claim = cache.get(CLAIMS, namespace, name)
        storage_class = cache.get(STORAGE_CLASSES, "", class_of(claim)) if claim is not None else None
        if claim is None or storage_class is None or is_terminating(claim) or not _is_handed_over(claim):
            self._forget(key)
            return
        if binds_late(storage_class) and SELECTED_NODE not in annotations_of(claim):
            return
        driver = annotations_of(claim)[STORAGE_PROVISIONER]
        pod = serving_pod(cache, driver, PROVISIONER)
        if pod is None or cache.get(VOLUMES, "", volume_name(claim)) is not None:
            return
        recorder = self._recorder(driver, pod)
        trouble = self.backend.trouble(driver, "CreateVolume")
        due = self._due.get(key)
        if due is None:
            text = f'External provisioner is provisioning volume for claim "{key}"'
            recorder.event(claim, "Normal", "Provisioning", text)
            self._begin(key, trouble)
        elif self.sim.now >= due and trouble is not None:
            text = f'failed to provision volume with StorageClass "{name_of(storage_class)}": {trouble}'
            recorder.event(claim, "Warning", "ProvisioningFailed", text)
            self._retry(key)
            if trouble.code == "ResourceExhausted" and binds_late(storage_class):
                patch = {"metadata": {"annotations": {SELECTED_NODE: None}}}
                self.client.patch(CLAIMS, namespace, name, patch, kind="merge")
        elif self.sim.now >= due:
            self._forget(key)
            self.client.create(VOLUMES, "", self._volume(driver, claim, storage_class))
            text = f"Successfully provisioned volume {volume_name(claim)}"
            recorder.event(claim, "Normal", "ProvisioningSucceeded", text)

    def _delete(self, name: str) -> None:
        """Delete one volume that nobody claims any more."""
        volume, key = self.client.cache.get(VOLUMES, "", name), f"/{name}"
        if volume is None or not _has_nobody(volume):
            self._forget(key)
            return
        driver = annotations_of(volume)[PROVISIONED_BY]
        pod = serving_pod(self.client.cache, driver, PROVISIONER)
        if pod is None:
            return
        trouble = self.backend.trouble(driver, "DeleteVolume")
        due = self._due.get(key)
        if due is None:
            self._begin(key, trouble)
        elif self.sim.now >= due and trouble is not None:
            self._recorder(driver, pod).event(volume, "Warning", "VolumeFailedDelete", str(trouble))
            self._retry(key)
        elif self.sim.now >= due:
            self._forget(key)
            self.client.delete(VOLUMES, "", name, uid=uid_of(volume))

    def _recorder(self, driver: str, pod: ApiObject) -> EventRecorder:
        """That of the pod which serves the driver now; it counts what it says again."""
        source = f"{driver}_{name_of(pod)}_{uid_of(pod)}"
        known = self._recorders.get(driver)
        if known is None or known.component != source:
            known = self._recorders[driver] = EventRecorder(self.sim, self.client, source)
        return known

    def _begin(self, key: str, trouble: Trouble | None) -> None:
        """The driver is asked; when it will have answered."""
        delay_ns = self._stream.uniform_ns(*_MAKE_NS)
        delay_ns = trouble.waited_s * SECOND or delay_ns if trouble is not None else delay_ns
        self._due[key] = self.sim.now + delay_ns
        self.queue.add_after(key, delay_ns)

    def _retry(self, key: str) -> None:
        del self._due[key]
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        self.queue.add_after(key, min(RETRY_MAX_NS, RETRY_NS << min(failures - 1, 20)))

    def _forget(self, key: str) -> None:
        self._due.pop(key, None)
        self._failures.pop(key, None)

    def _volume(self, driver: str, claim: ApiObject, storage_class: ApiObject) -> Json:
        handle = f"vol-0{self._stream.text(_HEX, 16)}"
        csi: Json = {"driver": driver, "volumeHandle": handle}
        if claim["spec"].get("volumeMode", "Filesystem") == "Filesystem":
            csi["fsType"] = (storage_class.get("parameters") or {}).get("csi.storage.k8s.io/fstype", "ext4")
        spec: Json = {
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": list(claim["spec"].get("accessModes") or ()),
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            "storageClassName": name_of(storage_class),
            "volumeMode": claim["spec"].get("volumeMode", "Filesystem"),
            "claimRef": claim_reference(claim),
            "csi": csi,
        }
        node = self.client.cache.get("nodes", "", annotations_of(claim).get(SELECTED_NODE, ""))
        zone = labels_of(node).get(_ZONE) if node is not None else None
        if zone:
            expression = {"key": _ZONE, "operator": "In", "values": [zone]}
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
        metadata = {"name": volume_name(claim), "annotations": {PROVISIONED_BY: driver}}
        return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}


def _is_handed_over(claim: ApiObject) -> bool:
    provisioner = annotations_of(claim).get(STORAGE_PROVISIONER)
    return bool(provisioner) and provisioner not in PROVISIONERS and not claim["spec"].get("volumeName")


def _is_to_be_deleted(change: Change) -> bool:
    return change.kind != "DELETED" and _has_nobody(change.object)


def _has_nobody(volume: ApiObject) -> bool:
    """Whether a driver's volume was released, and shall not outlive that."""
    spec = volume["spec"]
    made = annotations_of(volume).get(PROVISIONED_BY)
    released = (volume.get("status") or {}).get("phase") == "Released"
    deleted = spec.get("persistentVolumeReclaimPolicy") == "Delete"
    return released and deleted and "csi" in spec and bool(made) and not is_terminating(volume)
