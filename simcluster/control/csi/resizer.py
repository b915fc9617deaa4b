"""The external resizer of CSI drivers, and the kubelets that let a file system grow.

While a driver's `csi-resizer` runs, a claim that has grown gets a larger volume within seconds;
the file system on it grows on the node where a pod mounts it, and until then the claim says
FileSystemResizePending.
Source: kubernetes-csi/external-resizer (pkg/controller), pkg/volume/util/operationexecutor
(NodeExpandVolume). What fails is written in the claim and tried again after 1 s, doubling to 5 min.
Left out: volumes in block mode.
"""

from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.events import EventRecorder
from simcluster.api.objects import ApiObject, Json, is_terminating, name_of, namespace_of, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.csi.attacher import RETRY_MAX_NS, RETRY_NS
from simcluster.control.csi.sidecars import RESIZER, SidecarPods, serving_pod
from simcluster.control.volumes.backend import StorageBackend
from simcluster.control.volumes.matching import CLAIMS, VOLUMES, grows, requested_bytes
from simcluster.engine import SECOND, Simulation, format_rfc3339

#: What a driver takes to enlarge a disk of a cloud (an order of magnitude).
_EXPAND_NS = (2 * SECOND, 8 * SECOND)
#: A kubelet looks for volumes to expand with its reconciler and the pod's next sync.
_LOOK_NS = 30 * SECOND
_PENDING = "Waiting for user to (re-)start a pod to finish file system resize of volume on node."


class CsiResizer(Controller):
    """Reconciles claims on CSI volumes, for all drivers."""

    name = "csi-resizer"

    def __init__(self, sim: Simulation, api: Api, backend: StorageBackend | None = None) -> None:
        super().__init__(sim, api)
        self.backend = backend or StorageBackend()
        self._failures: dict[str, int] = {}
        self._recorders: dict[str, EventRecorder] = {}  # by driver
        self.client = Client(api, User("csi-resizer", ("system:masters", "system:authenticated")), self.name)
        self._due: dict[str, int] = {}
        self._stream = sim.stream(self.name)
        self.watch(CLAIMS, self._on_claim)
        self.pods = SidecarPods(sim, api, self.name, self._on_sidecar)

    def _on_claim(self, change: Change) -> None:
        if change.kind != "DELETED" and grows(change.object):
            self.enqueue_object(change)

    def _on_sidecar(self, change: Change) -> None:
        for claim in self.client.cache.objects(CLAIMS):
            if grows(claim):
                self.enqueue(namespace_of(claim), name_of(claim))

    def sync(self, namespace: str, name: str) -> None:
        """Bring one claim nearer to its size."""
        cache, key = self.client.cache, f"{namespace}/{name}"
        claim = cache.get(CLAIMS, namespace, name)
        volume = cache.get(VOLUMES, "", claim["spec"].get("volumeName", "")) if claim is not None else None
        if claim is None or volume is None or is_terminating(claim) or not grows(claim) or "csi" not in volume["spec"]:
            self._due.pop(key, None)
            return
        wanted = claim["spec"]["resources"]["requests"]["storage"]
        if requested_bytes(claim) > requested_bytes(_asks(volume)):
            self._expand(key, claim, volume, wanted)
        else:
            self._grow_file_system(key, claim, volume, wanted)

    def _expand(self, key: str, claim: ApiObject, volume: ApiObject, wanted: str) -> None:
        driver = volume["spec"]["csi"]["driver"]
        if serving_pod(self.client.cache, driver, RESIZER) is None:
            return
        recorder = self._recorders.setdefault(
            driver, EventRecorder(self.sim, self.client, f"external-resizer {driver}")
        )
        due = self._due.get(key)
        if due is None:
            message = f"External resizer is resizing volume {name_of(volume)}"
            recorder.event(claim, "Normal", "Resizing", message)
            delay_ns = self._stream.uniform_ns(*_EXPAND_NS)
            self._due[key] = self.sim.now + delay_ns
            self._write(claim, {}, [self._condition("Resizing", "")])
            self.queue.add_after(key, delay_ns)
        elif self.sim.now >= due:
            trouble = self.backend.trouble(driver, "ControllerExpandVolume")
            if trouble is not None:
                failures = self._failures[key] = self._failures.get(key, 0) + 1
                text = f'resize volume "{name_of(volume)}" by resizer "{driver}" failed: {trouble}'
                recorder.event(claim, "Warning", "VolumeResizeFailed", text)
                delay_ns = min(RETRY_MAX_NS, RETRY_NS << min(failures - 1, 20)) + trouble.waited_s * SECOND
                self._due[key] = self.sim.now + delay_ns
                self.queue.add_after(key, delay_ns)
                return
            del self._due[key]
            self._failures.pop(key, None)
            self.client.patch(VOLUMES, "", name_of(volume), {"spec": {"capacity": {"storage": wanted}}}, kind="merge")
            text = "Require file system resize of volume on node"
            recorder.event(claim, "Normal", "FileSystemResizeRequired", text)
            self._write(claim, {}, [self._condition("FileSystemResizePending", _PENDING)])
            self.queue.add_after(key, SECOND)

    def _grow_file_system(self, key: str, claim: ApiObject, volume: ApiObject, wanted: str) -> None:
        """The kubelet of a node where the volume is mounted finishes the work."""
        user = self._user_of(claim)
        if user is None:
            self.queue.add_after(key, _LOOK_NS)
            return
        node = user["spec"]["nodeName"]
        message = f'MountVolume.NodeExpandVolume succeeded for volume "{name_of(volume)}" {node}'
        recorder = EventRecorder(self.sim, self.client, "kubelet", node)
        for obj in (user, claim):
            recorder.event(obj, "Normal", "FileSystemResizeSuccessful", message)
        self._write(claim, {"capacity": {"storage": wanted}}, [])

    def _user_of(self, claim: ApiObject) -> ApiObject | None:
        """A pod that runs with the claim."""
        for pod in self.client.cache.objects("pods", namespace_of(claim)):
            names = [(v.get("persistentVolumeClaim") or {}).get("claimName") for v in pod["spec"].get("volumes") or ()]
            if name_of(claim) in names and (pod.get("status") or {}).get("phase") == "Running":
                return pod
        return None

    def _condition(self, kind: str, message: str) -> Json:
        now = format_rfc3339(self.sim.now)
        entry: Json = {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
        return {**entry, "message": message} if message else entry

    def _write(self, claim: ApiObject, status: Json, conditions: list[Json]) -> None:
        current = self.client.cache.get(CLAIMS, namespace_of(claim), name_of(claim)) or claim
        changed: Json = {**thaw(current.get("status") or {}), **status}
        changed.pop("conditions", None)
        if conditions:
            changed["conditions"] = conditions
        self.client.update_status(CLAIMS, {**thaw(current), "status": changed})


def _asks(volume: ApiObject) -> Json:
    """A volume as a claim that asks for what it has."""
    return {"spec": {"resources": {"requests": dict(volume["spec"].get("capacity") or {})}}}
