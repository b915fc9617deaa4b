"""The external attacher of CSI drivers: it answers VolumeAttachments.

A `csi-attacher` that runs asks its driver to attach a volume, and reports that; it holds the
VolumeAttachment by a finalizer until the volume is detached. Without one nothing happens.
What fails is written in `attachError` or `detachError` and tried again after 1 s, doubling to 5 min.
Source: kubernetes-csi/external-attacher (pkg/controller/csi_handler.go, util.go). Left out: the
finalizer on the PersistentVolume.
"""

from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, is_terminating, name_of, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.csi.sidecars import ATTACHER, SidecarPods, serving_pod
from simcluster.control.volumes.attachable import ATTACHMENTS, CSI_NODES
from simcluster.control.volumes.backend import StorageBackend
from simcluster.engine import MILLISECOND, SECOND, Simulation, format_rfc3339

#: What a driver takes to attach or detach a disk of a cloud (an order of magnitude: AWS 1 to 4 s).
SHORTEST_NS = 900 * MILLISECOND
LONGEST_NS = 3 * SECOND
#: --retry-interval-start and --retry-interval-max.
RETRY_NS, RETRY_MAX_NS = SECOND, 300 * SECOND


class CsiAttacher(Controller):
    """Reconciles VolumeAttachments, for all drivers."""

    name = "csi-attacher"

    def __init__(self, sim: Simulation, api: Api, backend: StorageBackend | None = None) -> None:
        super().__init__(sim, api)
        self.backend = backend or StorageBackend()
        self._failures: dict[str, int] = {}
        self.client = Client(api, User("csi-attacher", ("system:masters", "system:authenticated")), self.name)
        self._due: dict[str, int] = {}
        self._stream = sim.stream(self.name)
        self.watch(ATTACHMENTS, self._on_attachment)
        self.pods = SidecarPods(sim, api, self.name, self._on_sidecar)
        self.watch(CSI_NODES, self._on_sidecar)

    def _on_attachment(self, change: Change) -> None:
        if change.kind == "DELETED":
            for known in (self._due, self._failures):
                known.pop(name_of(change.object), None)
                known.pop(f"{name_of(change.object)}-detach", None)
        else:
            self.enqueue_object(change)

    def _on_sidecar(self, change: Change) -> None:
        for attachment in self.client.cache.objects(ATTACHMENTS):
            self.enqueue("", name_of(attachment))

    def sync(self, namespace: str, name: str) -> None:
        """Attach or detach the volume of one VolumeAttachment."""
        attachment = self.client.cache.get(ATTACHMENTS, "", name)
        driver = attachment["spec"].get("attacher", "") if attachment is not None else ""
        if attachment is None or serving_pod(self.client.cache, driver, ATTACHER) is None:
            return
        finalizer = f"external-attacher/{driver.replace('.', '-')}"
        held = finalizer in (attachment["metadata"].get("finalizers") or ())
        attached = bool((attachment.get("status") or {}).get("attached"))
        if is_terminating(attachment):
            if held and self._has_taken_its_time(f"{name}-detach", driver, "ControllerUnpublishVolume"):
                if self._has_failed(f"{name}-detach", attachment, "ControllerUnpublishVolume", "detachError"):
                    return
                kept = [entry for entry in attachment["metadata"]["finalizers"] if entry != finalizer]
                self.client.patch(ATTACHMENTS, "", name, {"metadata": {"finalizers": kept or None}}, kind="merge")
        elif not held:
            listed = [*(attachment["metadata"].get("finalizers") or ()), finalizer]
            self.client.patch(ATTACHMENTS, "", name, {"metadata": {"finalizers": listed}}, kind="merge")
        elif not attached and self._has_taken_its_time(name, driver, "ControllerPublishVolume"):
            self._attach(attachment)

    def _attach(self, attachment: ApiObject) -> None:
        node, driver = attachment["spec"].get("nodeName", ""), attachment["spec"].get("attacher", "")
        known = self.client.cache.get(CSI_NODES, "", node)
        drivers = (known["spec"].get("drivers") or ()) if known is not None else ()
        status = thaw(attachment.get("status") or {})
        if any(entry["name"] == driver for entry in drivers):
            if self._has_failed(name_of(attachment), attachment, "ControllerPublishVolume", "attachError"):
                return
            status.pop("attachError", None)
            status["attached"] = True
        else:
            why = f"CSINode {node} does not contain driver {driver}"
            if (status.get("attachError") or {}).get("message") == why:
                return
            status["attached"] = False
            status["attachError"] = {"message": why, "time": format_rfc3339(self.sim.now)}
        self.client.update_status(ATTACHMENTS, {**thaw(attachment), "status": status})

    def _has_failed(self, what: str, attachment: ApiObject, operation: str, field: str) -> bool:
        """Whether the driver refuses; then the VolumeAttachment says why, and it is tried again later."""
        trouble = self.backend.trouble(attachment["spec"].get("attacher", ""), operation)
        if trouble is None:
            self._failures.pop(what, None)
            return False
        failures = self._failures[what] = self._failures.get(what, 0) + 1
        delay_ns = min(RETRY_MAX_NS, RETRY_NS << min(failures - 1, 20)) + trouble.waited_s * SECOND
        self._due[what] = self.sim.now + delay_ns
        self.queue.add_after(f"/{name_of(attachment)}", delay_ns)
        status = thaw(attachment.get("status") or {})
        status.setdefault("attached", False)
        status[field] = {"message": str(trouble), "time": format_rfc3339(self.sim.now)}
        self.client.update_status(ATTACHMENTS, {**thaw(attachment), "status": status})
        return True

    def _has_taken_its_time(self, what: str, driver: str, operation: str) -> bool:
        due = self._due.get(what)
        if due is None:
            trouble = self.backend.trouble(driver, operation)
            delay_ns = self._stream.uniform_ns(SHORTEST_NS, LONGEST_NS)
            delay_ns = trouble.waited_s * SECOND or delay_ns if trouble is not None else delay_ns
            self._due[what] = self.sim.now + delay_ns
            self.queue.add_after(f"/{what.removesuffix('-detach')}", delay_ns)
            return False
        return self.sim.now >= due
