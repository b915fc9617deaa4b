"""Node-pressure eviction: the kubelet kills pods before the node runs out of memory or disk.

Source: pkg/kubelet/eviction/{eviction_manager,helpers}.go of 1.32: every 10 s the signals are
compared with the thresholds; a crossed one is a node condition for at least five minutes, and
the worst pod of the node is evicted, one a round; a soft one waits for its grace period. Pods
that exceed their own limits of local storage go before: those of an emptyDir, of the pod, of a container; logs count.
Left out: logs where pods are ranked for the node's sake.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from simcluster.api import quantity
from simcluster.api.objects import Json
from simcluster.control.kubelet.admission import Rejection
from simcluster.control.kubelet.host import Host
from simcluster.control.kubelet.imagegc import ImageCollector
from simcluster.control.kubelet.podspec import Pod, containers_of, disk_limit, memory_bytes, qos_class
from simcluster.control.kubelet.podworker import PodWorker
from simcluster.control.kubelet.thresholds import amount_of
from simcluster.engine import MINUTE, SECOND, Timer
from simcluster.models.machine.container import Sandbox
from simcluster.models.machine.containerlogs import size_of
from simcluster.models.machine.storage import layer_bytes, written_bytes

#: monitoringInterval and evictionPressureTransitionPeriod.
INTERVAL_NS = 10 * SECOND
TRANSITION_NS = 5 * MINUTE
#: podCleanupTimeout: after an eviction nothing else is tried for so long, or until the pod is gone.
CLEANUP_NS = 30 * SECOND
#: Pods of at least this priority are critical (SystemCriticalPriority).
CRITICAL_PRIORITY = 2_000_000_000
#: immediateEvictionGracePeriodSeconds: what a pod gets when a hard threshold is crossed.
GRACE_S = 1
_MEMORY, _NODEFS, _IMAGEFS, _INODES, _PIDS = (
    "memory.available",
    "nodefs.available",
    "imagefs.available",
    "nodefs.inodesFree",
    "pid.available",
)
_CONDITION = {
    _MEMORY: "MemoryPressure",
    _NODEFS: "DiskPressure",
    _IMAGEFS: "DiskPressure",
    _INODES: "DiskPressure",
    _PIDS: "PIDPressure",
}
_RESOURCE = {
    _MEMORY: "memory",
    _NODEFS: "ephemeral-storage",
    _IMAGEFS: "ephemeral-storage",
    _INODES: "inodes",
    _PIDS: "pids",
}
#: Condition -> reason and message while it is True.
PRESSURE = {
    "MemoryPressure": ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
    "DiskPressure": ("KubeletHasDiskPressure", "kubelet has disk pressure"),
    "PIDPressure": ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
}


class Crossed(NamedTuple):
    """A threshold that is crossed: its signal, its quantity as text, and what is left.

    Attributes:
        available: bytes, inodes or process ids.
        grace_ns: how long it must be crossed before pods are evicted.
    """

    signal: str
    quantity: str
    available: int
    grace_ns: int = 0


class EvictionManager:
    """Watches one node's resources.

    Args:
        workers: of the node's pods, by uid.
        report: sends the node's status.
    """

    def __init__(
        self, host: Host, workers: dict[str, PodWorker], images: ImageCollector, report: Callable[[], None]
    ) -> None:
        self.host = host
        self.workers = workers
        self.images = images
        self.report = report
        self._seen_ns: dict[str, int] = {}  # condition -> when a threshold of it was last crossed
        self._crossed: dict[tuple[str, str], int] = {}  # signal and quantity -> crossed since
        self._busy_until_ns = 0
        self._victim = ""
        self._timer: Timer | None = None

    def start(self) -> None:
        """The kubelet starts to watch."""
        self._seen_ns, self._crossed, self._victim = {}, {}, ""
        sim = self.host.sim
        self._timer = sim.every(INTERVAL_NS, self._synchronize, first_ns=sim.now + INTERVAL_NS)

    def stop(self) -> None:
        """The kubelet has stopped."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def under(self, condition: str) -> bool:
        """Whether the node is under a pressure, or was less than 5 minutes ago."""
        seen = self._seen_ns.get(condition)
        return seen is not None and self.host.sim.now - seen < TRANSITION_NS

    def admit(self, pod: Pod) -> Rejection | None:
        """Whether a pod may start here under pressure: critical pods may, others by their quality of service."""
        if not self._seen_ns or is_critical(pod):
            return None
        memory, disk, pids = (self.under(kind) for kind in ("MemoryPressure", "DiskPressure", "PIDPressure"))
        if memory and not disk and not pids and (qos_class(pod) != "BestEffort" or _tolerates_memory_pressure(pod)):
            return None
        found = [name for name, is_true in _kinds(disk, memory, pids) if is_true]
        if not found:
            return None
        return Rejection("Evicted", f"The node had condition: [{' '.join(found)}]. ")

    def _synchronize(self) -> None:
        host, now = self.host, self.host.sim.now
        if self._evict_over_limits():
            return
        crossed = self._observe()
        if not (crossed or self._seen_ns or self._crossed):
            return  # all is well, and has been
        before = [condition for condition in PRESSURE if self.under(condition)]
        for threshold in crossed:
            self._seen_ns[_CONDITION[threshold.signal]] = now
        if before != [condition for condition in PRESSURE if self.under(condition)]:
            host.sim.after(0, self.report)
        self._seen_ns = {name: at for name, at in self._seen_ns.items() if now - at < TRANSITION_NS}
        since = self._crossed
        self._crossed = {entry[:2]: since.get(entry[:2], now) for entry in crossed}
        crossed = [entry for entry in crossed if now - self._crossed[entry[:2]] >= entry.grace_ns]
        if not crossed:
            return
        victim = self.workers.get(self._victim)
        if victim is not None and victim.state != "terminated" and now < self._busy_until_ns:
            return
        self._reclaim(crossed)

    def _evict_over_limits(self) -> bool:
        """Evict pods that wrote more than their own limits of local storage allow; whether there were any."""
        bounded = [w for w in self.workers.values() if w.bounded and w.state == "syncing"]
        over = [(worker, text) for worker in bounded if (text := self._excess(worker))]
        for worker, text in over:
            worker.evict(text, GRACE_S)
        return bool(over)

    def _excess(self, worker: PodWorker) -> str:
        """Which limit of local storage a pod exceeds, in the kubelet's words."""
        spec = worker.pod["spec"]
        sandbox = self.host.machine.runtime.sandboxes.get(worker.uid)
        for volume in spec.get("volumes") or ():
            limit = (volume.get("emptyDir") or {}).get("sizeLimit")
            layer = None if sandbox is None else sandbox.volumes.get(volume["name"])
            if limit and layer is not None and layer_bytes(layer) > quantity.to_bytes(limit):
                return f'Usage of EmptyDir volume "{volume["name"]}" exceeds the limit "{limit}". '
        whole = self._pod_excess(worker, sandbox)
        if whole:
            return whole
        for container in spec["containers"]:
            limit = disk_limit(container)
            if limit and self._kept(worker, container["name"]) > quantity.to_bytes(limit):
                return f'Container {container["name"]} exceeded its local ephemeral storage limit "{limit}". '
        return ""

    def _pod_excess(self, worker: PodWorker, sandbox: Sandbox | None) -> str:
        """The limits of the containers that have one, together, hold for all that the pod keeps on the node."""
        texts = [text for text in (disk_limit(container) for container in containers_of(worker.pod)) if text]
        if sandbox is None or not texts:
            return ""
        total = sum(quantity.to_bytes(text) for text in texts)  # integers
        disks = [v["name"] for v in worker.pod["spec"].get("volumes") or () if _on_disk(v)]
        used = sum(layer_bytes(sandbox.volumes[name]) for name in disks if name in sandbox.volumes)  # integers
        used += sum(self._kept(worker, name) for name in _names(worker.pod))  # integers
        if used <= total:
            return ""
        return f"Pod ephemeral local storage usage exceeds the total limit of containers {_binary(total)}. "

    def _kept(self, worker: PodWorker, name: str) -> int:
        """What a container keeps on the node: what it wrote into its own layer, and its logs."""
        run = worker.container(name)
        return (0 if run is None else written_bytes(run)) + size_of(self.host.machine, worker.uid, name)

    def _observe(self) -> list[Crossed]:
        machine, config = self.host.machine, self.host.config
        found = []
        limit = config.eviction_memory_kib << 10
        # Cheap bound first: the system's own use stays below a quarter of any node.
        if machine.container_memory + machine.host_memory > machine.memory_bytes >> 1:
            available = machine.memory_bytes - machine.memory_used()
            if available < limit:
                found.append(Crossed(_MEMORY, _binary(limit), max(0, available)))
        found += self._observe_more()
        if not config.eviction_disk_percent:
            return found
        disk = machine.disk_usage()
        for signal, percent, amount, total in (
            (_NODEFS, config.eviction_disk_percent, disk.available_bytes, disk.total_bytes),
            (_IMAGEFS, 15, disk.available_bytes, disk.total_bytes),
            (_INODES, 5, disk.free_inodes, disk.total_inodes),
        ):
            if amount * 100 < total * percent:
                found.append(Crossed(signal, str(total * percent // 100), amount))
        return found

    def _observe_more(self) -> list[Crossed]:
        """Process ids, and the soft thresholds: nothing by default."""
        machine, config = self.host.machine, self.host.config
        if not config.eviction_pids and not config.eviction_soft:
            return []
        disk = machine.disk_usage()
        most = min(machine.os.sysctls.number("kernel.pid_max"), machine.os.sysctls.number("kernel.threads-max"))
        measured = {
            _MEMORY: (machine.memory_bytes - machine.memory_used(), machine.memory_bytes),
            _NODEFS: (disk.available_bytes, disk.total_bytes),
            _IMAGEFS: (disk.available_bytes, disk.total_bytes),
            _INODES: (disk.free_inodes, disk.total_inodes),
            _PIDS: (most - machine.os.tasks(), most),
        }
        wanted = [(_PIDS, config.eviction_pids, 0)] if config.eviction_pids else []
        wanted += [(one.signal, one.value, one.grace_ns) for one in config.eviction_soft if one.signal in measured]
        found = []
        for signal, value, grace_ns in wanted:
            available, total = measured[signal]
            limit = amount_of(value, total)
            if available < limit:
                text = str(limit) if signal in (_INODES, _PIDS) or value.endswith("%") else _binary(limit)
                found.append(Crossed(signal, text, max(0, available), grace_ns))
        return found

    def _reclaim(self, crossed: list[Crossed]) -> None:
        host = self.host
        # Memory first, as evictions of memory go before everything else.
        threshold = crossed[0]
        resource = _RESOURCE[threshold.signal]
        host.klog.info("eviction_manager.go:376", "Eviction manager: attempting to reclaim", resourceName=resource)
        host.node_event("Warning", "EvictionThresholdMet", f"Attempting to reclaim {resource}")
        grace_s = host.config.eviction_max_pod_grace_s if threshold.grace_ns else GRACE_S
        if _CONDITION[threshold.signal] == "DiskPressure":
            self.images.delete_unused()
            if not any(_CONDITION[entry.signal] == "DiskPressure" for entry in self._observe()):
                return
        for worker in self._ranked(threshold.signal):
            if is_critical(worker.pod):
                text = "Eviction manager: cannot evict a critical pod"
                host.klog.error("eviction_manager.go:614", "", text, pod=worker.reference)
                continue
            self._victim, self._busy_until_ns = worker.uid, host.sim.now + CLEANUP_NS
            worker.evict(self._message(worker, threshold), grace_s)
            host.klog.info(
                "eviction_manager.go:627", "Eviction manager: pod is evicted successfully", pod=worker.reference
            )
            return
        host.klog.error("eviction_manager.go:429", "", "Eviction manager: unable to evict any pods from the node")

    def _ranked(self, signal: str) -> list[PodWorker]:
        """Pods that may go, the first first: those over their requests, low priority, high use over requests."""
        active = [worker for worker in self.workers.values() if worker.state == "syncing"]
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
        if signal == _PIDS:
            return 1 + self.host.machine.os.pids.extra(worker.uid)
        return container.memory_bytes if signal == _MEMORY else written_bytes(container)

    def _message(self, worker: PodWorker, threshold: Crossed) -> str:
        resource = _RESOURCE[threshold.signal]
        text = f"The node was low on resource: {resource}. "
        countable = threshold.signal in (_INODES, _PIDS)
        available = str(threshold.available) if countable else _kibi(threshold.available)
        text += f"Threshold quantity: {threshold.quantity}, available: {available}. "
        if countable:
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


def _kinds(disk: bool, memory: bool, pids: bool) -> tuple[tuple[str, bool], ...]:
    return (("DiskPressure", disk), ("MemoryPressure", memory), ("PIDPressure", pids))


def is_critical(pod: Pod) -> bool:
    """Whether the kubelet never evicts the pod: static pods, mirrors, system priorities."""
    annotations = pod["metadata"].get("annotations") or {}
    static = annotations.get("kubernetes.io/config.source", "api") != "api"
    return static or "kubernetes.io/config.mirror" in annotations or _priority(pod) >= CRITICAL_PRIORITY


def _on_disk(volume: Json) -> bool:
    """Whether what is written to the volume lies on the node's disk (an emptyDir that is no memory)."""
    return "emptyDir" in volume and (volume["emptyDir"] or {}).get("medium") != "Memory"


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
