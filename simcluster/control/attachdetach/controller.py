"""The attach/detach controller: volumes follow the pods that need them from node to node.

It writes a VolumeAttachment for every attachable volume that a pod on a node needs, waits until
the driver's attacher says that it is done, and takes the VolumeAttachment back when no pod of
the node needs it and its kubelet has unmounted it. A volume for one node at a time waits for
the node that has it. A node that is not healthy keeps its volumes for six minutes; one that is
marked as out of service loses them at once.
Source: kubernetes pkg/controller/volume/attachdetach (reconciler.go), pkg/volume/csi/csi_attacher.go.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.errors import ApiError
from simcluster.api.events import EventRecorder
from simcluster.api.objects import ApiObject, Json, is_terminating, name_of, namespace_of, uid_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller, Informer
from simcluster.control.nodes.readiness import ready_status
from simcluster.control.nodes.taints import OUT_OF_SERVICE, taints_of
from simcluster.control.pods.status import is_terminal
from simcluster.control.volumes.attachable import (
    ATTACHMENTS,
    attachment_name,
    is_exclusive,
    must_attach,
    unique_name,
    volumes_of,
)
from simcluster.control.volumes.matching import VOLUMES
from simcluster.engine import MILLISECOND, MINUTE, SECOND, Simulation, format_rfc3339
from simcluster.telemetry.logql.units import go_duration

#: How long the CSI plugin waits for the external attacher (csiTimeout).
TIMEOUT_NS = 2 * MINUTE
#: --attach-detach-reconcile-max-wait-unmount-duration.
MAX_WAIT_UNMOUNT_NS = 6 * MINUTE
#: Failed operations come back after 500 ms, doubling (pkg/util/goroutinemap/exponentialbackoff).
RETRY_BASE_NS = 500 * MILLISECOND
RETRY_MAX_NS = 122 * SECOND


class VolumePods(Informer):
    """Changes of pods that have a node and mount claims."""

    def __init__(self, sim: Simulation, api: Api, name: str, handler: Callable[[Change], None]) -> None:
        super().__init__(sim, name, "pods", handler)
        for pod in api.store.objects("pods"):
            self.notify(Change("ADDED", "pods", pod, None, int(pod["metadata"]["resourceVersion"])))
        api.store.subscribe("pods", self)

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        spec = change.object["spec"]
        if not spec.get("nodeName"):
            return
        if any("persistentVolumeClaim" in entry or "ephemeral" in entry for entry in spec.get("volumes") or ()):
            super().notify(change)


class AttachDetachController(Controller):
    """Work-queue keys are `node/volume`."""

    name = "attachdetach-controller"
    workers = 10

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.recorder = EventRecorder(sim, self.client, "attachdetach-controller")
        self._since: dict[str, int] = {}  # key -> when the operation on it began, or the wait for the unmount
        self._attached: dict[str, None] = {}  # keys whose success was recorded
        self._failures: dict[str, int] = {}
        self._not_before: dict[str, int] = {}
        self._refused: dict[str, None] = {}  # pods with an Event of a Multi-Attach error, by uid and volume
        self.pods = VolumePods(sim, api, self.name, self._on_pod)
        self.watch(ATTACHMENTS, self._on_attachment)
        self.watch("nodes", self._on_node, self._concerns)

    # Watches.

    def _on_pod(self, change: Change) -> None:
        for volume in volumes_of(self.client.cache, change.object).values():
            self.enqueue(change.object["spec"].get("nodeName", ""), name_of(volume))

    def _on_attachment(self, change: Change) -> None:
        volume = _volume_name(change.object)
        self.enqueue(change.object["spec"].get("nodeName", ""), volume)
        if change.kind == "DELETED":
            for node in self._nodes_that_want(volume):
                self.enqueue(node, volume)

    def _concerns(self, change: Change) -> bool:
        """Whether a change of a node may matter to a volume."""
        if not self.client.cache.count(ATTACHMENTS):
            return False
        before = change.previous
        return before is None or change.kind != "MODIFIED" or _concern(change.object) != _concern(before)

    def _on_node(self, change: Change) -> None:
        node = change.object
        for attachment in self.client.cache.objects(ATTACHMENTS):
            if attachment["spec"].get("nodeName", "") == name_of(node):
                self.enqueue(name_of(node), _volume_name(attachment))

    def _nodes_that_want(self, volume: str) -> list[str]:
        found: dict[str, None] = {}
        for pod in self.client.cache.objects("pods"):
            node = pod["spec"].get("nodeName")
            if not node or is_terminal(pod) or not pod["spec"].get("volumes"):
                continue
            if any(name_of(entry) == volume for entry in volumes_of(self.client.cache, pod).values()):
                found[node] = None
        return list(found)

    # Reconciling.

    def sync(self, namespace: str, name: str) -> None:
        """Attach or detach one volume (`name`) on one node (`namespace`)."""
        key = f"{namespace}/{name}"
        volume = self.client.cache.get(VOLUMES, "", name)
        if volume is None or not must_attach(self.client.cache, volume):
            return
        attachment = self.client.cache.get(ATTACHMENTS, "", attachment_name(volume, namespace))
        users = self._users(namespace, name)
        if users:
            self._attach(key, namespace, volume, attachment, users)
        elif attachment is not None and not is_terminating(attachment):
            self._detach(key, namespace, volume, attachment)
        elif attachment is None:
            self._forget(key)

    def _users(self, node: str, volume: str) -> list[ApiObject]:
        """The pods of a node that need the volume."""
        cache = self.client.cache
        return [
            pod
            for pod in cache.pods_on(node)
            if not is_terminal(pod)
            and pod["spec"].get("volumes")
            and any(name_of(entry) == volume for entry in volumes_of(cache, pod).values())
        ]

    def _forget(self, key: str) -> None:
        for known in (self._since, self._attached, self._failures, self._not_before):
            known.pop(key, None)

    def _attach(
        self, key: str, node: str, volume: ApiObject, attachment: ApiObject | None, users: list[ApiObject]
    ) -> None:
        if attachment is not None and is_terminating(attachment):
            return  # its end is awaited; then a new one is made
        if attachment is None:
            self._attached.pop(key, None)
            if self.sim.now < self._not_before.get(key, 0):
                self.queue.add_after(key, self._not_before[key] - self.sim.now)
                return
            if not self._is_taken(node, volume, users):
                self._since[key] = self.sim.now
                self.client.create(ATTACHMENTS, "", _attachment(volume, node))
                self.queue.add_after(key, TIMEOUT_NS)
            return
        if (attachment.get("status") or {}).get("attached"):
            self._announce(key, node, volume, users)
            return
        began = self._since.setdefault(key, self.sim.now)
        error = ((attachment.get("status") or {}).get("attachError") or {}).get("message", "")
        csi = volume["spec"]["csi"]
        if not error and self.sim.now >= began + TIMEOUT_NS:
            error = (
                f"timed out waiting for external-attacher of {csi['driver']} CSI driver to attach volume "
                f"{csi['volumeHandle']}"
            )
        if error:
            self._fail(key, volume, users, error)
        else:
            self.queue.add_after(key, began + TIMEOUT_NS - self.sim.now)

    def _fail(self, key: str, volume: ApiObject, users: list[ApiObject], error: str) -> None:
        """Tell the pods, and wait for the attacher again after a while."""
        if self.sim.now < self._not_before.get(key, 0):
            self.queue.add_after(key, self._not_before[key] - self.sim.now)
            return
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay_ns = min(RETRY_MAX_NS, RETRY_BASE_NS << min(failures - 1, 20))
        self._since[key] = self._not_before[key] = self.sim.now + delay_ns
        node = key.partition("/")[0]
        self.log.text(
            "E",
            "nestedpendingoperations.go:348",
            f'Operation for "{{volumeName:kubernetes.io/csi/{name_of(volume)} podName: nodeName:{node}}}" '
            f"failed. No retries permitted until {format_rfc3339(self.sim.now + delay_ns)} (durationBeforeRetry "
            f'{go_duration(delay_ns)}). Error: AttachVolume.Attach failed for volume "{name_of(volume)}" : {error}',
        )
        for pod in users:
            message = f'AttachVolume.Attach failed for volume "{name_of(volume)}" : {error}'
            self.recorder.event(pod, "Warning", "FailedAttachVolume", message)
        self.queue.add_after(key, delay_ns)

    def _announce(self, key: str, node: str, volume: ApiObject, users: list[ApiObject]) -> None:
        if key in self._attached:
            return
        self._since.pop(key, None)
        self._failures.pop(key, None)
        self._not_before.pop(key, None)
        self._attached[key] = None
        self._write_attached(node)
        for pod in users:
            message = f'AttachVolume.Attach succeeded for volume "{name_of(volume)}" '
            self.recorder.event(pod, "Normal", "SuccessfulAttachVolume", message)

    def _is_taken(self, node: str, volume: ApiObject, users: list[ApiObject]) -> bool:
        """Whether another node has a volume that only one may have; its pods are given one Event."""
        if not is_exclusive(volume):
            return False
        holders = [
            entry["spec"].get("nodeName", "")
            for entry in self.client.cache.objects(ATTACHMENTS)
            if _volume_name(entry) == name_of(volume) and entry["spec"].get("nodeName", "") != node
        ]
        if not holders:
            return False
        others = [pod for holder in holders for pod in self._users(holder, name_of(volume))]
        for pod in users:
            refused = f"{uid_of(pod)}/{name_of(volume)}"
            if refused not in self._refused:
                self._refused[refused] = None
                message = f'Multi-Attach error for volume "{name_of(volume)}" {_why_taken(pod, others)}'
                self.recorder.event(pod, "Warning", "FailedAttachVolume", message)
        return True

    # Detaching.

    def _detach(self, key: str, node: str, volume: ApiObject, attachment: ApiObject) -> None:
        holder = self.client.cache.get("nodes", "", node)
        began = self._since.setdefault(key, self.sim.now)
        if holder is not None and _is_mounted(holder, volume) and not self._is_forced(holder, began):
            if self.sim.now < began + MAX_WAIT_UNMOUNT_NS:
                self.queue.add_after(key, began + MAX_WAIT_UNMOUNT_NS - self.sim.now)
            return
        self._attached.pop(key, None)
        if holder is not None:
            self._write_attached(node)
        self._since.pop(key, None)
        try:
            self.client.delete(ATTACHMENTS, "", name_of(attachment), uid=uid_of(attachment))
        except ApiError as error:
            if error.code != 404:
                raise

    def _is_forced(self, node: ApiObject, began_ns: int) -> bool:
        if any(entry["key"] == OUT_OF_SERVICE for entry in taints_of(node)):
            return True
        return ready_status(node) != "True" and self.sim.now >= began_ns + MAX_WAIT_UNMOUNT_NS

    def _write_attached(self, node: str) -> None:
        """Tell the node's kubelet what is attached (`status.volumesAttached`)."""
        holder = self.client.cache.get("nodes", "", node)
        if holder is None:
            return
        names = []
        for key in self._attached:
            where, _, name = key.partition("/")
            volume = self.client.cache.get(VOLUMES, "", name) if where == node else None
            if volume is not None:
                names.append(unique_name(volume))
        listed = [{"name": name, "devicePath": ""} for name in names]
        if listed != ((holder.get("status") or {}).get("volumesAttached") or []):
            patch = {"status": {"volumesAttached": listed or None}}
            self.client.patch("nodes", "", node, patch, kind="merge", subresource="status")


def _volume_name(attachment: ApiObject) -> str:
    return str((attachment["spec"].get("source") or {}).get("persistentVolumeName") or "")


def _attachment(volume: ApiObject, node: str) -> Json:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": attachment_name(volume, node)},
        "spec": {
            "attacher": volume["spec"]["csi"]["driver"],
            "nodeName": node,
            "source": {"persistentVolumeName": name_of(volume)},
        },
    }


def _is_mounted(node: ApiObject, volume: ApiObject) -> bool:
    return unique_name(volume) in ((node.get("status") or {}).get("volumesInUse") or ())


def _concern(node: ApiObject) -> tuple[object, ...]:
    """What of a node decides about its volumes."""
    out = any(entry["key"] == OUT_OF_SERVICE for entry in taints_of(node))
    return (tuple((node.get("status") or {}).get("volumesInUse") or ()), out, ready_status(node))


def _why_taken(pod: ApiObject, others: list[ApiObject]) -> str:
    """Who has the volume, as far as the pod's namespace may know (reportMultiAttachError)."""
    near = [name_of(other) for other in others if namespace_of(other) == namespace_of(pod)]
    far = len(others) - len(near)
    if not others:
        return "Volume is already exclusively attached to one node and can't be attached to another"
    if not near:
        return f"Volume is already used by {far} pod(s) in different namespaces"
    text = f"Volume is already used by pod(s) {', '.join(near)}"
    return f"{text} and {far} pod(s) in different namespaces" if far else text
