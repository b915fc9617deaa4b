"""Node-pressure eviction: the kubelet kills pods before the node runs out of memory or disk.

Source: pkg/kubelet/eviction/{eviction_manager,helpers}.go of 1.32: every 10 s the signals are
compared with the hard thresholds; a crossed one is a node condition for at least five
minutes, and the worst pod of the node is evicted, one a round. Pods that exceed their own
limits of local storage go before. Left out: soft thresholds, PID pressure, logs as storage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simcluster.api import quantity
from simcluster.api.objects import Json
from simcluster.control.kubelet.admission import Rejection
from simcluster.control.kubelet.podspec import Pod, containers_of, memory_bytes, qos_class
from simcluster.engine import MINUTE, SECOND, Timer
from simcluster.models.machine.disk import layer_bytes, usage_of, written_bytes

if TYPE_CHECKING:
    from simcluster.control.kubelet.kubelet import Kubelet
    from simcluster.control.kubelet.podworker import PodWorker

#: monitoringInterval and evictionPressureTransitionPeriod.
INTERVAL_NS = 10 * SECOND
TRANSITION_NS = 5 * MINUTE
#: podCleanupTimeout: after an eviction nothing else is tried for so long, or until the pod is gone.
CLEANUP_NS = 30 * SECOND
#: Pods of at least this priority are critical (SystemCriticalPriority).
CRITICAL_PRIORITY = 2_000_000_000
#: immediateEvictionGracePeriodSeconds: what a pod gets when a hard threshold is crossed.
GRACE_S = 1
_MEMORY, _NODEFS, _IMAGEFS, _INODES = (
    "memory.available",
    "nodefs.available",
    "imagefs.available",
    "nodefs.inodesFree",
)
_CONDITION = {
    _MEMORY: "MemoryPressure",
    _NODEFS: "DiskPressure",
    _IMAGEFS: "DiskPressure",
    _INODES: "DiskPressure",
}
_RESOURCE = {_MEMORY: "memory", _NODEFS: "ephemeral-storage", _IMAGEFS: "ephemeral-storage", _INODES: "inodes"}
#: Condition -> reason and message while it is True.
PRESSURE = {
    "MemoryPressure": ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
    "DiskPressure": ("KubeletHasDiskPressure", "kubelet has disk pressure"),
}


class Crossed(NamedTuple):
    """A threshold that is crossed: its signal, its quantity as text, and what is left, in bytes or inodes."""

    signal: str
    quantity: str
    available: int


class EvictionManager:
    """Watches one node's resources."""

    def __init__(self, kubelet: Kubelet) -> None:
        self.kubelet = kubelet
        self._seen_ns: dict[str, int] = {}  # condition -> when a threshold of it was last crossed
        self._crossed: dict[str, None] = {}
        self._busy_until_ns = 0
        self._victim = ""
        self._timer: Timer | None = None

    def start(self) -> None:
        """The kubelet starts to watch."""
        self._seen_ns, self._crossed, self._victim = {}, {}, ""
        sim = self.kubelet.sim
        self._timer = sim.every(INTERVAL_NS, self._synchronize, first_ns=sim.now + INTERVAL_NS)

    def stop(self) -> None:
        """The kubelet has stopped."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def under(self, condition: str) -> bool:
        """Whether the node is under `MemoryPressure` or `DiskPressure`, or was less than 5 minutes ago."""
        seen = self._seen_ns.get(condition)
        return seen is not None and self.kubelet.sim.now - seen < TRANSITION_NS

    def admit(self, pod: Pod) -> Rejection | None:
        """Whether a pod may start here under pressure: critical pods may, others by their quality of service."""
        if not self._seen_ns or is_critical(pod):
            return None
        memory, disk = self.under("MemoryPressure"), self.under("DiskPressure")
        if memory and not disk and (qos_class(pod) != "BestEffort" or _tolerates_memory_pressure(pod)):
            return None
        found = [name for name, is_true in (("DiskPressure", disk), ("MemoryPressure", memory)) if is_true]
        if not found:
            return None
        return Rejection("Evicted", f"The node had condition: [{' '.join(found)}]. ")

    def _synchronize(self) -> None:
        kubelet, now = self.kubelet, self.kubelet.sim.now
        if self._evict_over_limits():
            return
        crossed = self._observe()
        before = [condition for condition in PRESSURE if self.under(condition)]
        for threshold in crossed:
            self._seen_ns[_CONDITION[threshold.signal]] = now
        if before != [condition for condition in PRESSURE if self.under(condition)]:
            kubelet.sim.after(0, kubelet.reporter.report)
        self._seen_ns = {name: at for name, at in self._seen_ns.items() if now - at < TRANSITION_NS}
        if not crossed:
            self._crossed = {}
            return
        victim = kubelet.workers.get(self._victim)
        if victim is not None and victim.state != "terminated" and now < self._busy_until_ns:
            return
        self._reclaim(crossed)

    def _evict_over_limits(self) -> bool:
        """Evict pods that wrote more than their own limits of local storage allow; whether there were any."""
        over = [(w, text) for w in self.kubelet.workers.values() if w.state == "syncing" and (text := self._excess(w))]
        for worker, text in over:
            worker.evict(text, GRACE_S)
        return bool(over)

    def _excess(self, worker: PodWorker) -> str:
        """Which limit of local storage a pod exceeds, in the kubelet's words."""
        spec = worker.pod["spec"]
        sandbox = self.kubelet.machine.runtime.sandboxes.get(worker.uid)
        for volume in spec.get("volumes") or ():
            limit = (volume.get("emptyDir") or {}).get("sizeLimit")
            layer = None if sandbox is None else sandbox.volumes.get(volume["name"])
            if limit and layer is not None and layer_bytes(layer) > quantity.to_bytes(limit):
                return f'Usage of EmptyDir volume "{volume["name"]}" exceeds the limit "{limit}". '
        for container in spec["containers"]:
            limit = ((container.get("resources") or {}).get("limits") or {}).get("ephemeral-storage")
            run = worker.container(container["name"]) if limit is not None else None
            if limit is not None and run is not None and written_bytes(run) > quantity.to_bytes(limit):
                return f'Container {container["name"]} exceeded its local ephemeral storage limit "{limit}". '
        return ""

    def _observe(self) -> list[Crossed]:
        machine, config = self.kubelet.machine, self.kubelet.reporter.config
        found = []
        limit = config.eviction_memory_kib << 10
        # Cheap bound first: the system's own use stays below a quarter of any node.
        if machine.container_memory > machine.memory_bytes >> 1:
            available = machine.memory_bytes - machine.memory_used()
            if available < limit:
                found.append(Crossed(_MEMORY, _binary(limit), max(0, available)))
        if not config.eviction_disk_percent:
            return found
        disk = usage_of(machine)
        for signal, percent, amount, total in (
            (_NODEFS, config.eviction_disk_percent, disk.available_bytes, disk.total_bytes),
            (_IMAGEFS, 15, disk.available_bytes, disk.total_bytes),
            (_INODES, 5, disk.free_inodes, disk.total_inodes),
        ):
            if amount * 100 < total * percent:
                found.append(Crossed(signal, str(total * percent // 100), amount))
        return found

    def _reclaim(self, crossed: list[Crossed]) -> None:
        kubelet = self.kubelet
        # Memory first, as evictions of memory go before everything else.
        threshold = crossed[0]
        resource = _RESOURCE[threshold.signal]
        if threshold.signal not in self._crossed:
            self._crossed[threshold.signal] = None
        kubelet.klog.info("eviction_manager.go:376", "Eviction manager: attempting to reclaim", resourceName=resource)
        kubelet.node_event("Warning", "EvictionThresholdMet", f"Attempting to reclaim {resource}")
        if threshold.signal != _MEMORY:
            kubelet.image_gc.delete_unused()
            if not any(entry.signal != _MEMORY for entry in self._observe()):
                return
        for worker in self._ranked(threshold.signal):
            if is_critical(worker.pod):
                text = "Eviction manager: cannot evict a critical pod"
                kubelet.klog.error("eviction_manager.go:614", "", text, pod=worker.reference)
                continue
            self._victim, self._busy_until_ns = worker.uid, kubelet.sim.now + CLEANUP_NS
            worker.evict(self._message(worker, threshold), GRACE_S)
            kubelet.klog.info(
                "eviction_manager.go:627", "Eviction manager: pod is evicted successfully", pod=worker.reference
            )
            return
        kubelet.klog.error("eviction_manager.go:429", "", "Eviction manager: unable to evict any pods from the node")

    def _ranked(self, signal: str) -> list[PodWorker]:
        """Pods that may go, the first first: those over their requests, low priority, high use over requests."""
        active = [worker for worker in self.kubelet.workers.values() if worker.state == "syncing"]
        keyed = [(self._rank(worker, signal), index) for index, worker in enumerate(active)]
        return [active[index] for _, index in sorted(keyed)]

    def _rank(self, worker: PodWorker, signal: str) -> tuple[int, int, int]:
        used = sum(self._used(worker, name, signal) for name in _names(worker.pod))  # integers
        requested = sum(_request(container, signal) for container in containers_of(worker.pod))  # integers
        over = used > requested
        return (0 if over else 1, _priority(worker.pod), requested - used)

    def _used(self, worker: PodWorker, name: str, signal: str) -> int:
        container = worker.container(name)
        if container is None or not container.running:
            return 0
        return container.memory_bytes if signal == _MEMORY else written_bytes(container)

    def _message(self, worker: PodWorker, threshold: Crossed) -> str:
        resource = _RESOURCE[threshold.signal]
        text = f"The node was low on resource: {resource}. "
        text += f"Threshold quantity: {threshold.quantity}, available: {_kibi(threshold.available)}. "
        if threshold.signal == _INODES:
            return text
        for container in containers_of(worker.pod):
            used = self._used(worker, container["name"], threshold.signal)
            request = _request(container, threshold.signal)
            if used > request:
                text += (
                    f"Container {container['name']} was using {_kibi(used)}, request is {_binary(request)}, "
                    f"has larger consumption of {resource}. "
                )
        return text


def is_critical(pod: Pod) -> bool:
    """Whether the kubelet never evicts the pod: static pods, mirrors, system priorities."""
    annotations = pod["metadata"].get("annotations") or {}
    static = annotations.get("kubernetes.io/config.source", "api") != "api"
    return static or "kubernetes.io/config.mirror" in annotations or _priority(pod) >= CRITICAL_PRIORITY


def _priority(pod: Pod) -> int:
    return int(pod["spec"].get("priority") or 0)


def _names(pod: Pod) -> list[str]:
    return [container["name"] for container in containers_of(pod)]


def _request(container: Json, signal: str) -> int:
    return (memory_bytes(container, "requests") or 0) if signal == _MEMORY else 0


def _tolerates_memory_pressure(pod: Pod) -> bool:
    for toleration in pod["spec"].get("tolerations") or ():
        key, operator = toleration.get("key"), toleration.get("operator", "Equal")
        fits = (key is None and operator == "Exists") or key == "node.kubernetes.io/memory-pressure"
        if fits and toleration.get("effect") in (None, "", "NoSchedule"):
            return True
    return False


def _kibi(amount: int) -> str:
    """As the kubelet prints what it measured: whole KiB."""
    return f"{amount >> 10}Ki" if amount >= 1024 else str(amount)


def _binary(amount: int) -> str:
    """A quantity in its largest whole binary unit."""
    for unit, name in ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
        if amount and amount % unit == 0:
            return f"{amount // unit}{name}"
    return str(amount)
