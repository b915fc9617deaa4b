"""The Node object as its kubelet reports it: registration, Lease, conditions, events.

Source: kubelet_node_status.go, nodestatus/setters.go, nodelease; shapes and event wording
from a recorded 1.32 cluster.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, condition, condition_status, transition_time, uid_of
from simcluster.api.quantity import of_millicores
from simcluster.api.request import ADMIN
from simcluster.control.kubelet.config import KubeletConfig
from simcluster.control.kubelet.eviction import PRESSURE, EvictionManager
from simcluster.control.kubelet.host import Host
from simcluster.control.kubelet.shutdown import NOT_READY, ShutdownManager
from simcluster.engine import MILLISECOND, SECOND, Timer, format_rfc3339
from simcluster.models.machine.machine import Machine

KUBELET_VERSION = "v1.32.13"
#: nodeStatusUpdateFrequency and nodeStatusReportFrequency.
STATUS_PERIOD_NS = 10 * SECOND
REPORT_PERIOD_NS = 300 * SECOND
#: Lease of 40 s, renewed every 40 s * 0.25 with 4 % jitter (kubelet.go, nodelease).
LEASE_SECONDS = 40
_RENEW_NS = (10 * SECOND, 10 * SECOND + 400 * MILLISECOND)
LEASE_NAMESPACE = "kube-node-lease"
#: Size of a node's file system in KiB, as the recorded nodes had it.
_DISK_KIB = 101202000

#: Labels that say what a node is for.
_ROLE = "node-role.kubernetes.io/"

_FINE = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}
#: Condition -> the event when it ends and when it begins.
_PRESSURE_EVENTS = {
    "MemoryPressure": ("NodeHasSufficientMemory", "NodeHasInsufficientMemory"),
    "DiskPressure": ("NodeHasNoDiskPressure", "NodeHasDiskPressure"),
    "PIDPressure": ("NodeHasSufficientPID", "NodeHasInsufficientPID"),
}
_FINE_EVENTS = ("NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID")


class NodeReporter:
    """Keeps one Node and its Lease up to date.

    Args:
        labels, taints: those that the node registers with, besides what every node has.
    """

    def __init__(
        self,
        host: Host,
        eviction: EvictionManager,
        shutdown: ShutdownManager,
        labels: dict[str, str],
        taints: Sequence[Json],
    ) -> None:
        self.host = host
        self.eviction = eviction
        self.shutdown = shutdown
        self.labels = labels
        self.taints = taints
        self._stream = host.sim.stream("node-status", host.name)
        self._sent: Json = {}
        self._sent_ns = 0
        self._reported: tuple[object, ...] = ()  # what the status that was sent last is made of
        self._unschedulable = False
        self._registered = False  # a Node that is deleted afterwards is not registered again
        self._settled = False  # the first status after a start says NotReady
        self._timers: list[Timer] = []
        self._lease_timer: Timer | None = None

    def start(self) -> None:
        """Register, then report and renew until `stop`."""
        host = self.host
        self._settled = self._registered = False
        host.node_event("Normal", "Starting", "Starting kubelet.")
        self._register()
        for _ in range(2):  # with the first status and with the first report of it
            for reason in _FINE_EVENTS:
                host.node_event("Normal", reason, f"Node {host.name} status is now: {reason}")
        if self.host.config.enforce_allocatable:
            host.node_event("Normal", "NodeAllocatableEnforced", "Updated Node Allocatable limit across pods")
        host.klog.info("kubelet_node_status.go:78", "Successfully registered node", node=host.name)
        self._renew()
        sim = host.sim
        self._timers = [
            # The first statuses follow each other quickly (fastStatusUpdateOnce).
            sim.after(self._stream.uniform_ns(600 * MILLISECOND, 1200 * MILLISECOND), self._settle),
            sim.every(
                STATUS_PERIOD_NS, self.report, first_ns=sim.now + self._stream.uniform_ns(2 * SECOND, STATUS_PERIOD_NS)
            ),
        ]

    def stop(self) -> None:
        """The kubelet is gone: nothing is reported any more."""
        for timer in self._timers:
            timer.cancel()
        self._timers = []
        if self._lease_timer is not None:
            self._lease_timer.cancel()

    def _settle(self) -> None:
        self._settled = True
        self.report()
        self.host.attachments.register()

    def _register(self) -> None:
        host = self.host
        if self.host.node() is None:
            machine = host.machine
            node: Json = {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": host.name,
                    "labels": {key: value for key, value in self._labels().items() if not key.startswith(_ROLE)},
                    "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
                },
                "spec": {"podCIDR": machine.pod_cidr, "podCIDRs": [machine.pod_cidr]},
                "status": self._status(None),
            }
            if self.taints:
                node["spec"]["taints"] = [dict(taint) for taint in self.taints]
            try:
                host.client.create("nodes", "", node)
            except ApiError as error:
                host.klog.error("kubelet_node_status.go:99", error.message, "Unable to register node with API server")
                return
            self._mark()
        self._registered = True
        self._sent = {}
        self.report()

    def _mark(self) -> None:
        """What kubeadm does when a node has joined: labels of its role, which no kubelet may set."""
        roles = {key: value for key, value in self._labels().items() if key.startswith(_ROLE)}
        if roles:
            kubeadm = Client(self.host.api, ADMIN, "kubeadm")
            kubeadm.patch("nodes", "", self.host.name, {"metadata": {"labels": roles}}, kind="merge")

    def _labels(self) -> dict[str, str]:
        identity = self.host.machine.identity
        return {
            "beta.kubernetes.io/arch": identity.architecture,
            "beta.kubernetes.io/os": identity.operating_system,
            "kubernetes.io/arch": identity.architecture,
            "kubernetes.io/hostname": self.host.name,
            "kubernetes.io/os": identity.operating_system,
            **self.labels,
        }

    def report(self) -> None:
        """Compute the status; send it when something changed or it is five minutes old."""
        node = self.host.node()
        if node is None:
            if self._settled and not self._registered:
                self._register()
            return
        self._tell_schedulable(node)
        now = self.host.sim.now
        ingredients, is_young = self._ingredients(node), now - self._sent_ns < REPORT_PERIOD_NS
        if self._sent and is_young and ingredients == self._reported:
            return
        status = self._status(node)
        if self._sent and is_young and _essence(status) == _essence(self._sent):
            self._reported = ingredients
            return
        was, became = condition(node, "Ready"), condition({"status": status}, "Ready")
        known = node.get("status") or {}
        patch = {key: value for key, value in status.items() if known.get(key) != value}
        turned = [
            kind
            for kind in PRESSURE
            if condition_status(node, kind) not in ("", condition_status({"status": status}, kind))
        ]
        try:
            if list(patch) == ["conditions"]:
                self.host.client.beat(self.host.name, patch["conditions"])
            else:
                self.host.client.patch(
                    "nodes", "", self.host.name, {"status": patch}, kind="merge", subresource="status"
                )
        except ApiError as error:
            self.host.klog.error("kubelet_node_status.go:549", error.message, "Error updating node status, will retry")
            return
        self._sent, self._sent_ns = ApiObject(status), now
        self._tell_boot(node)
        self._tell(was, became)
        for kind in turned:
            reason = _PRESSURE_EVENTS[kind][condition_status({"status": status}, kind) == "True"]
            self.host.node_event("Normal", reason, f"Node {self.host.name} status is now: {reason}")

    def _tell_boot(self, node: ApiObject) -> None:
        boot_id, name = self.host.machine.identity.boot_id, self.host.name
        if ((node.get("status") or {}).get("nodeInfo") or {}).get("bootID", boot_id) != boot_id:
            self.host.node_event("Warning", "Rebooted", f"Node {name} has been rebooted, boot id: {boot_id}")

    def _tell(self, was: Json | None, became: Json | None) -> None:
        assert became is not None
        if was is not None and was.get("status") == became["status"]:
            return
        reason = "NodeReady" if became["status"] == "True" else "NodeNotReady"
        if reason == "NodeNotReady" and not self._settled:
            return
        self.host.node_event("Normal", reason, f"Node {self.host.name} status is now: {reason}")
        if reason == "NodeReady":
            self.host.klog.info("kubelet_node_status.go:501", "Fast updating node status as it just became ready")

    def _tell_schedulable(self, node: ApiObject) -> None:
        """Seen with every status computation, so up to ten seconds after a cordon."""
        unschedulable = bool(node["spec"].get("unschedulable"))
        if unschedulable != self._unschedulable:
            self._unschedulable = unschedulable
            reason = "NodeNotSchedulable" if unschedulable else "NodeSchedulable"
            self.host.node_event("Normal", reason, f"Node {self.host.name} status is now: {reason}")

    def _status(self, node: ApiObject | None) -> Json:
        machine = self.host.machine
        identity = machine.identity
        capacity, allocatable = resources_of(machine, self.host.config)
        in_use = self.host.attachments.in_use()
        known: Json = {} if node is None else node.get("status") or {}
        mounted = {"volumesInUse": in_use or None} if in_use or known.get("volumesInUse") else {}
        return {
            "capacity": capacity,
            "allocatable": allocatable,
            "conditions": self._conditions(node),
            "addresses": [
                {"type": "InternalIP", "address": machine.address},
                {"type": "Hostname", "address": self.host.name},
                *({"type": kind, "address": address} for kind, address in self.host.config.addresses),
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.host.config.port}},
            "nodeInfo": {
                "machineID": identity.machine_id,
                "systemUUID": identity.system_uuid,
                "bootID": identity.boot_id,
                "kernelVersion": identity.kernel_version,
                "osImage": identity.os_image,
                "containerRuntimeVersion": identity.container_runtime,
                "kubeletVersion": KUBELET_VERSION,
                "kubeProxyVersion": KUBELET_VERSION,
                "operatingSystem": identity.operating_system,
                "architecture": identity.architecture,
            },
            "images": self._images(),
            **mounted,
        }

    def _ingredients(self, node: ApiObject) -> tuple[object, ...]:
        """Everything that the status without heartbeats depends on."""
        machine, eviction = self.host.machine, self.eviction
        size = (machine.cpu_cores, machine.memory_bytes, machine.pods, machine.address)
        pressure = [eviction.under(kind) for kind in PRESSURE]
        ready = (self._settled, self.shutdown.active, self._errors())
        version, images = node["metadata"]["resourceVersion"], machine.images.changes
        in_use = self.host.attachments.in_use()
        return (version, self.host.config, machine.identity, size, pressure, ready, images, in_use)

    def _images(self) -> list[Json]:
        # The 50 largest, as nodeStatusMaxImages cuts the list.
        images = sorted(self.host.machine.images.images.values(), key=lambda i: (-i.size_bytes, i.name))
        return [{"names": [image.image_id, image.name], "sizeBytes": image.size_bytes} for image in images[:50]]

    def _conditions(self, node: ApiObject | None) -> list[Json]:
        known: Json = {} if node is None else node.get("status") or {}
        old = {entry.get("type"): entry for entry in known.get("conditions") or ()}
        now = format_rfc3339(self.host.machine.os.clock.now_ns())
        entries = [self._pressure(kind) for kind in _FINE]
        entries.append(self._ready())
        for entry in entries:
            before = old.pop(entry["type"], None)
            entry["lastHeartbeatTime"] = now
            entry["lastTransitionTime"] = transition_time(before, entry["status"], now)
        return [*entries, *old.values()]

    def _pressure(self, kind: str) -> Json:
        under = kind in PRESSURE and self.eviction.under(kind)
        reason, message = PRESSURE[kind] if under else _FINE[kind]
        return {"type": kind, "status": str(under), "reason": reason, "message": message}

    def _errors(self) -> list[str]:
        errors, network = self.host.runtime_errors(), self.host.network_error()
        return [*errors, network] if network else errors

    def _ready(self) -> Json:
        errors = self._errors()
        if self.shutdown.active:
            errors = [*errors, NOT_READY]
        if not self._settled:
            errors = ["container runtime status check may not have completed yet"]
        if not errors:
            return {
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "message": "kubelet is posting ready status",
            }
        message = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
        return {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": message}

    def leapt(self) -> None:
        """Idle time was skipped: its heartbeats are those of now."""
        self._renew_lease()
        self.report()

    def _renew(self) -> None:
        self._lease_timer = self.host.sim.after(self._stream.uniform_ns(*_RENEW_NS), self._renew)
        self._renew_lease()

    def _renew_lease(self) -> None:
        host = self.host
        now = format_rfc3339(host.machine.os.clock.now_ns(), digits=6)
        try:
            if host.client.cache.get("leases.coordination.k8s.io", LEASE_NAMESPACE, host.name) is not None:
                host.client.renew(LEASE_NAMESPACE, host.name, now)
                return
            spec = {"holderIdentity": host.name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
            metadata: Json = {"name": host.name, "namespace": LEASE_NAMESPACE}
            node = self.host.node()
            if node is not None:
                owner = {"apiVersion": "v1", "kind": "Node", "name": host.name, "uid": uid_of(node)}
                metadata["ownerReferences"] = [owner]
            lease: Json = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": metadata,
                "spec": spec,
            }
            host.client.create("leases.coordination.k8s.io", LEASE_NAMESPACE, lease)
        except ApiError as error:
            host.klog.error("controller.go:145", error.message, "Failed to ensure lease exists, will retry")


def resources_of(machine: Machine, config: KubeletConfig) -> tuple[Json, Json]:
    """`capacity` and `allocatable`: hard eviction thresholds are taken from memory and disk, and what is reserved."""
    memory = machine.memory_bytes >> 10
    capacity = {
        "cpu": str(machine.cpu_cores),
        "ephemeral-storage": f"{_DISK_KIB}Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": f"{memory}Ki",
        "pods": str(config.max_pods or machine.pods),
    }
    left = max(0, memory - config.eviction_memory_kib - config.reserved_kib)
    allocatable = {**capacity, "memory": f"{left}Ki"}
    if config.reserved_millicores:
        allocatable["cpu"] = str(of_millicores(max(0, machine.cpu_cores * 1000 - config.reserved_millicores)))
    if config.eviction_disk_percent:
        free = 100 - config.eviction_disk_percent
        allocatable["ephemeral-storage"] = str(_DISK_KIB * 1024 * free // 100)
    return capacity, allocatable


def _essence(status: Json) -> Json:
    """The status without heartbeats: what must differ for a report before its time."""
    conditions = [
        {key: value for key, value in entry.items() if key != "lastHeartbeatTime"} for entry in status["conditions"]
    ]
    return {**status, "conditions": conditions}
