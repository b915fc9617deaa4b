"""The persistent volume controller: binds claims to volumes and reclaims released volumes.

Static volumes are matched by class, modes, size and selector; classes with an external
provisioner are left to it; classes that bind late wait for the scheduler's choice.
Leaves out in-tree provisioners, recycling and volume mode conversion.
Source: kubernetes pkg/controller/volume/persistentvolume/pv_controller.go.
"""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, is_terminating, name_of, namespace_of, thaw, uid_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.persistentvolume.recycling import NO_RECYCLER, deletion_failure, is_recyclable, recycled
from simcluster.control.pods.status import is_terminal
from simcluster.control.volumes.matching import (
    BETA_STORAGE_PROVISIONER,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLAIMS,
    NO_PROVISIONER,
    SELECTED_NODE,
    STORAGE_CLASSES,
    STORAGE_PROVISIONER,
    VOLUMES,
    annotations_of,
    binds_late,
    capacity_bytes,
    claim_reference,
    class_of,
    find_matching,
    has_modes,
    is_claimed_by,
    requested_bytes,
)
from simcluster.engine import SECOND, Simulation, format_rfc3339

#: --pvclaimbinder-sync-period: pending claims look again this often, also for new volumes.
RESYNC_NS = 15 * SECOND

PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
NO_VOLUMES = "no persistent volumes available for this claim and no storage class is set"
WAIT_FOR_CONSUMER = "waiting for first consumer to be created before binding"


def mismatch(volume: ApiObject, claim: ApiObject) -> str:
    """Why a volume named by the claim does not suit it, or an empty text."""
    if capacity_bytes(volume) < requested_bytes(claim):
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if volume["spec"].get("volumeMode", "Filesystem") != claim["spec"].get("volumeMode", "Filesystem"):
        return "incompatible volumeMode"
    return "" if has_modes(volume, claim) else "incompatible accessMode"


class PersistentVolumeBinder(Controller):
    """Work-queue keys: `namespace/name` of a claim, `/name` of a volume."""

    name = "persistentvolume-controller"
    workers = 1

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        #: Claims that nobody has looked at yet, by key.
        self._new: dict[str, None] = {}
        self._first_look = False
        self.watch(VOLUMES, self.enqueue_object)
        self.watch(CLAIMS, self._on_claim)
        sim.every(RESYNC_NS, self._resync)

    def _on_claim(self, change: Change) -> None:
        if change.kind == "ADDED":
            self._new[f"{namespace_of(change.object)}/{name_of(change.object)}"] = None
        self.enqueue_object(change)
        volume = change.object["spec"].get("volumeName")
        if change.kind == "DELETED" and volume:
            self.enqueue("", volume)

    def _resync(self) -> None:
        for resource in (VOLUMES, CLAIMS):
            for obj in self.client.cache.objects(resource):
                self.enqueue(namespace_of(obj), name_of(obj))

    def sync(self, namespace: str, name: str) -> None:
        """Reconcile one claim, or one volume."""
        resource = CLAIMS if namespace else VOLUMES
        self._first_look = self._new.pop(f"{namespace}/{name}", False) is None
        obj = self.client.cache.get(resource, namespace, name)
        if obj is None:
            return
        if resource == VOLUMES:
            self._sync_volume(obj)
        elif BIND_COMPLETED in annotations_of(obj):
            self._sync_bound_claim(obj)
        else:
            self._sync_unbound_claim(obj)

    # Claims.

    def _sync_unbound_claim(self, claim: ApiObject) -> None:
        if is_terminating(claim):
            return
        if claim["spec"].get("volumeName"):
            self._bind_to_named(claim)
            return
        storage_class = self.client.cache.get(STORAGE_CLASSES, "", class_of(claim))
        late = binds_late(storage_class) and SELECTED_NODE not in annotations_of(claim)
        volumes = self.client.cache.objects(VOLUMES)
        if late:
            volumes = [entry for entry in volumes if is_claimed_by(entry, claim)]
        volume = find_matching(claim, volumes)
        if volume is not None:
            self._bind(volume, claim)
            return
        if late:
            self._explain_wait(claim)
        elif class_of(claim):
            claim = self._provision(claim, storage_class)
        else:
            self.recorder.event(claim, "Normal", "FailedBinding", NO_VOLUMES)
        self._set_phase(claim, "Pending")

    def _explain_wait(self, claim: ApiObject) -> None:
        users = [
            name_of(pod)
            for pod in self.client.cache.objects("pods", namespace_of(claim))
            if not is_terminal(pod) and not pod["spec"].get("nodeName") and uses_claim(pod, name_of(claim))
        ]
        if self._first_look:
            # A few milliseconds after the claim was written: a pod that follows it has not arrived here yet.
            users = [name for name in users if self._is_older(namespace_of(claim), name, claim)]
        if users:
            message = f"waiting for pod {','.join(users)} to be scheduled"
            self.recorder.event(claim, "Normal", "WaitForPodScheduled", message)
        else:
            self.recorder.event(claim, "Normal", "WaitForFirstConsumer", WAIT_FOR_CONSUMER)

    def _is_older(self, namespace: str, pod_name: str, claim: ApiObject) -> bool:
        pod = self.client.cache.get("pods", namespace, pod_name)
        return pod is not None and int(pod["metadata"]["resourceVersion"]) < int(claim["metadata"]["resourceVersion"])

    def _provision(self, claim: ApiObject, storage_class: ApiObject | None) -> ApiObject:
        """Hand the claim to its class's provisioner; what can be said about it is an event."""
        if storage_class is None:
            message = f'storageclass.storage.k8s.io "{class_of(claim)}" not found'
            self.recorder.event(claim, "Warning", "ProvisioningFailed", message)
            return claim
        provisioner = storage_class["provisioner"]
        if provisioner == NO_PROVISIONER:
            message = f"no volume plugin matched name: {provisioner}"
            self.recorder.event(claim, "Warning", "ProvisioningFailed", message)
            return claim
        if annotations_of(claim).get(STORAGE_PROVISIONER) != provisioner:
            marks = {STORAGE_PROVISIONER: provisioner, BETA_STORAGE_PROVISIONER: provisioner}
            changed = thaw(claim)
            changed["metadata"]["annotations"] = {**annotations_of(claim), **marks}
            claim = self.client.update(CLAIMS, changed)
        message = (
            f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by "
            "the system administrator. If volume creation is delayed, please verify that the provisioner is running "
            "and correctly registered."
        )
        self.recorder.event(claim, "Normal", "ExternalProvisioning", message)
        return claim

    def _bind_to_named(self, claim: ApiObject) -> None:
        volume = self.client.cache.get(VOLUMES, "", claim["spec"]["volumeName"])
        if volume is None:
            self._set_phase(claim, "Pending")
        elif not volume["spec"].get("claimRef"):
            why = mismatch(volume, claim)
            if why:
                message = f'Cannot bind to requested volume "{name_of(volume)}": {why}'
                self.recorder.event(claim, "Warning", "VolumeMismatch", message)
                self._set_phase(claim, "Pending")
            else:
                self._bind(volume, claim)
        elif is_claimed_by(volume, claim):
            self._bind(volume, claim)
        else:
            message = f'volume "{name_of(volume)}" already bound to a different claim.'
            self.recorder.event(claim, "Warning", "FailedBinding", message)
            self._set_phase(claim, "Pending")

    def _sync_bound_claim(self, claim: ApiObject) -> None:
        name = claim["spec"].get("volumeName")
        if not name:
            message = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
            self._lose(claim, "ClaimLost", message)
            return
        volume = self.client.cache.get(VOLUMES, "", name)
        if volume is None:
            message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            self._lose(claim, "ClaimLost", message)
        elif not volume["spec"].get("claimRef") or is_claimed_by(volume, claim):
            self._bind(volume, claim)
        else:
            message = "Two claims are bound to the same volume, this one is bound incorrectly"
            self._lose(claim, "ClaimMisbound", message)

    def _lose(self, claim: ApiObject, reason: str, message: str) -> None:
        if (claim.get("status") or {}).get("phase") != "Lost":
            self._set_phase(claim, "Lost")
            self.recorder.event(claim, "Warning", reason, message)

    def _set_phase(self, claim: ApiObject, phase: str, volume: ApiObject | None = None) -> None:
        status: Json = {**thaw(claim.get("status") or {}), "phase": phase}
        if volume is not None:
            status["accessModes"] = list(volume["spec"].get("accessModes") or ())
            # Of a claim that is bound already the capacity may lag behind on purpose: its file system has not grown.
            if (claim.get("status") or {}).get("phase") != phase or "capacity" not in status:
                status["capacity"] = dict(volume["spec"].get("capacity") or {})
        else:
            status.pop("accessModes", None)
            status.pop("capacity", None)
        if status != (claim.get("status") or {}):
            self.client.update_status(CLAIMS, {**thaw(claim), "status": status})

    # Binding: four writes, each of which is skipped if it was made before.

    def _bind(self, volume: ApiObject, claim: ApiObject) -> None:
        volume = self._bind_volume(volume, claim)
        self._set_volume_phase(volume, "Bound")
        changed = thaw(claim)
        annotations = changed["metadata"].setdefault("annotations", {})
        if changed["spec"].get("volumeName") != name_of(volume):
            changed["spec"]["volumeName"] = name_of(volume)
            annotations[BOUND_BY_CONTROLLER] = "yes"
        annotations[BIND_COMPLETED] = "yes"
        if changed != claim:
            claim = self.client.update(CLAIMS, changed)
        self._set_phase(claim, "Bound", volume)

    def _bind_volume(self, volume: ApiObject, claim: ApiObject) -> ApiObject:
        reference = volume["spec"].get("claimRef")
        if reference and reference.get("uid") == uid_of(claim):
            return volume
        changed = thaw(volume)
        changed["spec"]["claimRef"] = claim_reference(claim)
        if not reference:
            changed["metadata"].setdefault("annotations", {})[BOUND_BY_CONTROLLER] = "yes"
        return self.client.update(VOLUMES, changed)

    # Volumes.

    def _sync_volume(self, volume: ApiObject) -> None:
        reference = volume["spec"].get("claimRef")
        if not reference or not reference.get("uid"):
            self._set_volume_phase(volume, "Available")
            return
        claim = self.client.cache.get(CLAIMS, reference.get("namespace", ""), reference.get("name", ""))
        if claim is None or uid_of(claim) != reference["uid"]:
            if (volume.get("status") or {}).get("phase") not in ("Released", "Failed"):
                volume = self._set_volume_phase(volume, "Released")
            self._reclaim(volume)
        elif not claim["spec"].get("volumeName"):
            self.enqueue(namespace_of(claim), name_of(claim))
        elif claim["spec"]["volumeName"] == name_of(volume):
            self._set_volume_phase(volume, "Bound")
        else:
            self._unbind(volume)

    def _unbind(self, volume: ApiObject) -> None:
        """The claim is bound to another volume: this one is free again."""
        changed = thaw(volume)
        if BOUND_BY_CONTROLLER in annotations_of(volume):
            del changed["spec"]["claimRef"]
            del changed["metadata"]["annotations"][BOUND_BY_CONTROLLER]
        else:
            changed["spec"]["claimRef"].pop("uid", None)
            changed["spec"]["claimRef"].pop("resourceVersion", None)
        self._set_volume_phase(self.client.update(VOLUMES, changed), "Available")

    def _reclaim(self, volume: ApiObject) -> None:
        policy = volume["spec"].get("persistentVolumeReclaimPolicy", "Retain")
        if policy == "Retain" or is_terminating(volume):
            return
        if (volume.get("status") or {}).get("phase") == "Failed":
            return
        if policy == "Recycle":
            self._recycle(volume)
            return
        maker = annotations_of(volume).get(PROVISIONED_BY, "")
        if maker and "csi" in volume["spec"]:
            return  # the driver's provisioner deletes what it has made, when it runs
        failure = "" if maker else deletion_failure(volume)
        if failure:
            self._fail(volume, "VolumeFailedDelete", failure)
            return
        try:
            self.client.delete(VOLUMES, "", name_of(volume), uid=uid_of(volume))
        except ApiError as error:
            if error.code != 404:
                raise

    def _recycle(self, volume: ApiObject) -> None:
        if not is_recyclable(volume):
            self._fail(volume, "VolumeFailedRecycle", NO_RECYCLER)
            return
        failure = recycled(self.client, volume)
        if failure is None:
            self.queue.add_after(f"/{name_of(volume)}", SECOND)  # the pod is looked at again
        elif failure:
            self._fail(volume, "VolumeFailedRecycle", f"Recycle failed: {failure}")
        else:
            self.recorder.event(volume, "Normal", "VolumeRecycled", "Volume recycled")
            changed = thaw(volume)
            del changed["spec"]["claimRef"]
            (changed["metadata"].get("annotations") or {}).pop(BOUND_BY_CONTROLLER, None)
            self._set_volume_phase(self.client.update(VOLUMES, changed), "Available")

    def _fail(self, volume: ApiObject, reason: str, message: str) -> None:
        self._set_volume_phase(volume, "Failed", message)
        self.recorder.event(volume, "Warning", reason, message)

    def _set_volume_phase(self, volume: ApiObject, phase: str, message: str = "") -> ApiObject:
        status = thaw(volume.get("status") or {})
        if status.get("phase") == phase:
            return volume
        status["phase"] = phase
        status["lastPhaseTransitionTime"] = format_rfc3339(self.sim.now)
        status.pop("message", None)
        if message:
            status["message"] = message
        return self.client.update_status(VOLUMES, {**thaw(volume), "status": status})


def uses_claim(pod: ApiObject, claim: str) -> bool:
    """Whether the pod mounts the claim of that name."""
    for volume in pod["spec"].get("volumes") or ():
        if (volume.get("persistentVolumeClaim") or {}).get("claimName") == claim:
            return True
        if "ephemeral" in volume and f"{name_of(pod)}-{volume['name']}" == claim:
            return True
    return False
