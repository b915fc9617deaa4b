"""The external provisioner of CSI drivers: volumes for claims of their classes.

While a driver's `csi-provisioner` runs it makes a volume for every claim that the binder has handed
to the driver, once the scheduler has chosen a node if the class binds late.
Source: sigs.k8s.io/sig-storage-lib-external-provisioner (controller.go), kubernetes-csi/
external-provisioner. Left out: drivers that fail, snapshots and clones as sources, topology of the
volume beyond the node's zone.
"""

from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.events import EventRecorder
from simcluster.api.objects import ApiObject, Json, is_terminating, labels_of, name_of, namespace_of
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.csi.sidecars import PROVISIONER, SidecarPods, driver_of, is_running
from simcluster.control.persistentvolume.matching import (
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
from simcluster.control.storage.provisioners import PROVISIONED_BY, PROVISIONERS, volume_name
from simcluster.engine import SECOND, Simulation

#: What a driver takes to make a disk of a cloud (an order of magnitude).
_MAKE_NS = (SECOND, 4 * SECOND)
_ZONE = "topology.kubernetes.io/zone"
_HEX = "0123456789abcdef"


class CsiProvisioner(Controller):
    """Reconciles claims, for all drivers."""

    name = "csi-provisioner"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.client = Client(api, User("csi-provisioner", ("system:masters", "system:authenticated")), self.name)
        self._due: dict[str, int] = {}
        self._stream = sim.stream(self.name)
        self.watch(CLAIMS, self._on_claim)
        self.pods = SidecarPods(sim, api, self.name, self._on_sidecar)

    def _on_claim(self, change: Change) -> None:
        if change.kind != "DELETED" and _is_handed_over(change.object):
            self.enqueue_object(change)

    def _on_sidecar(self, change: Change) -> None:
        for claim in self.client.cache.objects(CLAIMS):
            if _is_handed_over(claim):
                self.enqueue(namespace_of(claim), name_of(claim))

    def sync(self, namespace: str, name: str) -> None:
        """Make the volume of one claim, if it is time."""
        key, cache = f"{namespace}/{name}", self.client.cache
        claim = cache.get(CLAIMS, namespace, name)
        storage_class = cache.get(STORAGE_CLASSES, "", class_of(claim)) if claim is not None else None
        if claim is None or storage_class is None or is_terminating(claim) or not _is_handed_over(claim):
            self._due.pop(key, None)
            return
        if binds_late(storage_class) and SELECTED_NODE not in annotations_of(claim):
            return
        driver = annotations_of(claim)[STORAGE_PROVISIONER]
        pod = self._provisioner_of(driver)
        if pod is None or cache.get(VOLUMES, "", volume_name(claim)) is not None:
            return
        recorder = EventRecorder(self.sim, self.client, f"{driver}_{name_of(pod)}_{pod['metadata']['uid']}")
        due = self._due.get(key)
        if due is None:
            text = f'External provisioner is provisioning volume for claim "{key}"'
            recorder.event(claim, "Normal", "Provisioning", text)
            delay_ns = self._stream.uniform_ns(*_MAKE_NS)
            self._due[key] = self.sim.now + delay_ns
            self.queue.add_after(key, delay_ns)
        elif self.sim.now >= due:
            del self._due[key]
            self.client.create(VOLUMES, "", self._volume(driver, claim, storage_class))
            text = f"Successfully provisioned volume {volume_name(claim)}"
            recorder.event(claim, "Normal", "ProvisioningSucceeded", text)

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

    def _provisioner_of(self, driver: str) -> ApiObject | None:
        """A pod whose `csi-provisioner` serves the driver."""
        cache = self.client.cache
        for pod in cache.objects("pods"):
            several = len(pod["spec"]["containers"]) > 1
            if several and is_running(pod, PROVISIONER) and driver_of(cache, pod) == driver:
                return pod
        return None


def _is_handed_over(claim: ApiObject) -> bool:
    provisioner = annotations_of(claim).get(STORAGE_PROVISIONER)
    return bool(provisioner) and provisioner not in PROVISIONERS and not claim["spec"].get("volumeName")
