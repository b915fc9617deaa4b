"""The external attacher of CSI drivers: it answers VolumeAttachments.

A `csi-attacher` that runs asks its driver to attach a volume, and reports that; it holds the
VolumeAttachment by a finalizer until the volume is detached. Without one nothing happens.
Source: kubernetes-csi/external-attacher (pkg/controller/csi_handler.go, util.go). Left out: drivers
that fail, the finalizer on the PersistentVolume.
"""

from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, is_terminating, name_of, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.attachdetach.attachable import ATTACHMENTS, CSI_NODES
from simcluster.control.controller import Controller
from simcluster.control.csi.sidecars import ATTACHER, SidecarPods, driver_of, is_running
from simcluster.engine import MILLISECOND, SECOND, Simulation, format_rfc3339

#: What a driver takes to attach or detach a disk of a cloud (an order of magnitude: AWS 1 to 4 s).
SHORTEST_NS = 900 * MILLISECOND
LONGEST_NS = 3 * SECOND


class CsiAttacher(Controller):
    """Reconciles VolumeAttachments, for all drivers."""

    name = "csi-attacher"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.client = Client(api, User("csi-attacher", ("system:masters", "system:authenticated")), self.name)
        self._due: dict[str, int] = {}
        self._stream = sim.stream(self.name)
        self.watch(ATTACHMENTS, self._on_attachment)
        self.pods = SidecarPods(sim, api, self.name, self._on_sidecar)
        self.watch(CSI_NODES, self._on_sidecar)

    def _on_attachment(self, change: Change) -> None:
        if change.kind == "DELETED":
            self._due.pop(name_of(change.object), None)
        else:
            self.enqueue_object(change)

    def _on_sidecar(self, change: Change) -> None:
        for attachment in self.client.cache.objects(ATTACHMENTS):
            self.enqueue("", name_of(attachment))

    def sync(self, namespace: str, name: str) -> None:
        """Attach or detach the volume of one VolumeAttachment."""
        attachment = self.client.cache.get(ATTACHMENTS, "", name)
        if attachment is None or not self._is_served(attachment["spec"]["attacher"]):
            return
        finalizer = f"external-attacher/{attachment['spec']['attacher'].replace('.', '-')}"
        held = finalizer in (attachment["metadata"].get("finalizers") or ())
        attached = bool((attachment.get("status") or {}).get("attached"))
        if is_terminating(attachment):
            if held and self._has_taken_its_time(f"{name}-detach"):
                kept = [entry for entry in attachment["metadata"]["finalizers"] if entry != finalizer]
                self.client.patch(ATTACHMENTS, "", name, {"metadata": {"finalizers": kept or None}}, kind="merge")
        elif not held:
            listed = [*(attachment["metadata"].get("finalizers") or ()), finalizer]
            self.client.patch(ATTACHMENTS, "", name, {"metadata": {"finalizers": listed}}, kind="merge")
        elif not attached and self._has_taken_its_time(name):
            self._attach(attachment)

    def _attach(self, attachment: ApiObject) -> None:
        node, driver = attachment["spec"]["nodeName"], attachment["spec"]["attacher"]
        known = self.client.cache.get(CSI_NODES, "", node)
        drivers = (known["spec"].get("drivers") or ()) if known is not None else ()
        status = thaw(attachment.get("status") or {})
        if any(entry["name"] == driver for entry in drivers):
            status.pop("attachError", None)
            status["attached"] = True
        else:
            why = f"CSINode {node} does not contain driver {driver}"
            if (status.get("attachError") or {}).get("message") == why:
                return
            status["attached"] = False
            status["attachError"] = {"message": why, "time": format_rfc3339(self.sim.now)}
        self.client.update_status(ATTACHMENTS, {**thaw(attachment), "status": status})

    def _has_taken_its_time(self, what: str) -> bool:
        due = self._due.get(what)
        if due is None:
            delay_ns = self._stream.uniform_ns(SHORTEST_NS, LONGEST_NS)
            self._due[what] = self.sim.now + delay_ns
            self.queue.add_after(f"/{what.removesuffix('-detach')}", delay_ns)
            return False
        return self.sim.now >= due

    def _is_served(self, driver: str) -> bool:
        cache = self.client.cache
        pods = cache.objects("pods")
        return any(
            len(pod["spec"]["containers"]) > 1 and is_running(pod, ATTACHER) and driver_of(cache, pod) == driver
            for pod in pods
        )
