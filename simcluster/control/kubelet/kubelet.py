"""The kubelet of one node: watches its pods, runs a worker for each, reports the node.

Everything is driven by events: a watch event, a change of a container (seen at the next
relist of a 1 s grid, as PLEG does), a probe, a due resync (picked up on a 1 s grid, as the
sync loop does). A pod where nothing happens costs one status computation every 60 to 90 s.
Leaves out: garbage collection of dead containers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simcluster.api.objects import ApiObject, Json, is_terminating, name_of, namespace_of, uid_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Informer
from simcluster.control.kubelet import conversing
from simcluster.control.kubelet.admission import admit
from simcluster.control.kubelet.config import KubeletConfig
from simcluster.control.kubelet.eviction import EvictionManager
from simcluster.control.kubelet.exporter import KubeletExporter
from simcluster.control.kubelet.host import Host
from simcluster.control.kubelet.imagegc import PERIOD_NS as IMAGE_GC_NS
from simcluster.control.kubelet.imagegc import ImageCollector
from simcluster.control.kubelet.mirrorpods import mirror_hash
from simcluster.control.kubelet.nodestatus import KUBELET_VERSION, NodeReporter
from simcluster.control.kubelet.podworker import PodWorker
from simcluster.control.kubelet.resting import Resting
from simcluster.control.kubelet.runs import happened
from simcluster.control.kubelet.shutdown import REFUSED, ShutdownManager
from simcluster.control.kubelet.staticpods import StaticPods
from simcluster.control.kubelet.thresholds import CONFIG_FILE, configured, unreadable
from simcluster.control.pods.counters import Counters, Roster
from simcluster.engine import MINUTE, SECOND, Simulation, Timer
from simcluster.models.machine.container import Container, cpu_times
from simcluster.models.machine.links.conversation import Conversation
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.runtime import SOCKET_ERROR, RuntimeFailure

#: What kubeadm gives the node of the control plane.
CONTROL_PLANE_TAINT = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
#: Containers of pods that are gone get this long (kubelet: orphaned pods are killed at once).
_ORPHAN_GRACE_NS = 2 * SECOND


class ContainerUsage(NamedTuple):
    """Counters of one running container, as cAdvisor reads them.

    Attributes:
        cpu_ns: CPU time since the container started, nanoseconds of one core.
        memory_bytes: working set.
        started_ns: start of this run; the counter began at zero then.
    """

    cpu_ns: int
    memory_bytes: int
    started_ns: int


class PodUsage(NamedTuple):
    """Counters of one pod's running containers, by container name."""

    namespace: str
    name: str
    containers: dict[str, ContainerUsage]


class Kubelet(Host):
    """The node agent.

    Args:
        machine: its node; `kubelet.service` there starts and stops this object.
        control_plane: register with the role that kubeadm gives, and if `tainted` with its taint.
        labels, taints: more of them, with which the node registers.
        config: its configuration; the defaults if None.
    """

    def __init__(
        self,
        sim: Simulation,
        api: Api,
        machine: Machine,
        *,
        control_plane: bool = False,
        tainted: bool = True,
        labels: dict[str, str] | None = None,
        taints: Sequence[Json] = (),
        config: KubeletConfig | None = None,
    ) -> None:
        super().__init__(sim, api, machine, self.handle, config or KubeletConfig())
        self.workers: dict[str, PodWorker] = {}  # pod uid ->
        self.static = StaticPods(self, self.workers, self.add)
        self.image_gc = ImageCollector(self)
        self.eviction = EvictionManager(self, self.workers, self.image_gc, self._report)
        self.shutdown = ShutdownManager(self, self.workers, self._report)
        self.resting = Resting(self)
        self.exporter = KubeletExporter(self)
        roles = self.given.control_plane_labels if control_plane else {}
        taint = [CONTROL_PLANE_TAINT] if control_plane and tainted else []
        self.reporter = NodeReporter(self, self.eviction, self.shutdown, {**roles, **(labels or {})}, [*taint, *taints])
        self._dirty: dict[str, None] = {}
        self._roster: tuple[list[Container], Roster] = ([], Roster(()))  # of the last scrape
        self._relist_timer: Timer | None = None
        self._gc_timer: Timer | None = None
        self._image_timer: Timer | None = None
        self._watch: Informer | None = None
        machine.runtime.on_change = self._runtime_changed
        machine.runtime.on_stop = self.resting.catch_up
        machine.on_oom = self._system_oom
        machine.network.speakers.append(self.conversations)
        unit = machine.units.units["kubelet.service"]
        unit.on_start, unit.on_stop = self.start, self.stop
        if unit.active:
            self.start()

    def conversations(self) -> list[Conversation]:
        """What it sends to the API server and to the pods that it probes."""
        return conversing.conversations(self) if self.running else []

    # Life.

    def start(self) -> None:
        """The process starts: register, list the node's pods, watch them. It ends if it cannot read its file."""
        why = self._unreadable()
        if why:
            self.klog.error("run.go:72", why, "command failed")
            self.sim.after(0, self.machine.units.fail, "kubelet.service", 1)
            return
        self.running = True
        self.started_ns = self.sim.now
        self.forget_everything()
        self.client.reconnect()
        self.klog.info("server.go:520", "Kubelet version", kubeletVersion=KUBELET_VERSION)
        self.klog.info("kubelet.go:446", "Attempting to sync node with API server")
        self.config = self._configuration()
        self.shutdown.start(self._configuration_text())
        self.reporter.start()
        self.static.start()
        self.eviction.start()
        self.image_gc.start()
        self.resting.start()
        self._watch = Informer(self.sim, f"kubelet/{self.name}", "pods", self.handle)
        for pod in self.client.cache.pods_on(self.name):
            self._watch.notify(Change("ADDED", "pods", pod, None, int(pod["metadata"]["resourceVersion"])))
        self.api.store.subscribe("pods", self._watch, node=self.name)
        self._gc_timer = self.sim.every(MINUTE, self._collect_garbage, first_ns=self.sim.now + MINUTE)
        self._image_timer = self.sim.every(IMAGE_GC_NS, self.image_gc.collect, first_ns=self.sim.now + IMAGE_GC_NS)
        self.sim.after(2 * SECOND, self._reap_orphans, self.started_ns)

    def leapt(self) -> None:
        """Idle time was skipped (`World.leap`)."""
        if self.running:
            self.reporter.leapt()

    def _configuration(self) -> KubeletConfig:
        """What the process reads when it starts."""
        text = self._configuration_text()
        return configured(self.given, text, self.machine.memory_bytes) if text else self.given

    def _unreadable(self) -> str:
        """Why the process ends at once; a machine that nobody has joined to a cluster needs no file."""
        file, joined = (self.machine.files.find(path) for path in (CONFIG_FILE, "/etc/kubernetes/kubelet.conf"))
        return "" if file is None and joined is None else unreadable(None if file is None else file.text)

    def _configuration_text(self) -> str:
        file = self.machine.files.find(CONFIG_FILE)
        return "" if file is None else file.text

    def stop(self) -> None:
        """The process ends: nothing is watched, probed or reported; containers run on."""
        if not self.running:
            return
        self.running = False
        assert self._watch is not None
        self.api.store.unsubscribe("pods", self._watch, node=self.name)
        self._watch = None
        self.reporter.stop()
        self.static.stop()
        self.eviction.stop()
        self.shutdown.stop()
        for worker in self.workers.values():
            worker.die()
        self.resting.stop()
        self.workers.clear()
        self.machine.images.drop_queue()
        self._dirty = {}
        for timer in (self._relist_timer, self._gc_timer, self._image_timer):
            if timer is not None:
                timer.cancel()
        self._relist_timer = self._gc_timer = self._image_timer = None

    # Pods.

    def handle(self, change: Change) -> None:
        """A pod of this node changed."""
        if not self.running or self.client.holds(change):
            return
        pod = change.object
        if mirror_hash(pod):
            self.static.mirror_changed(change)
            return
        worker = self.workers.get(uid_of(pod))
        if change.kind == "DELETED":
            self.klog.info("kubelet.go:2431", "SyncLoop REMOVE", source="api", pods=[_reference(pod)])
            if worker is not None:
                worker.pod_removed()
        elif worker is not None:
            worker.pod_changed(pod)
        else:
            self.add(pod, "api")

    def add(self, pod: ApiObject, source: str) -> None:
        """A pod is to run here: admit it and give it a worker. `source` is `api` or `file`."""
        self.klog.info("kubelet.go:2421", "SyncLoop ADD", source=source, pods=[_reference(pod)])
        worker = PodWorker(self, pod, self.resting, self._forget)
        phase = (pod.get("status") or {}).get("phase")
        known = uid_of(pod) in self.machine.runtime.runs
        if not known and phase not in ("Succeeded", "Failed") and not is_terminating(pod):
            workers = [w for w in self.workers.values() if w.state != "terminated"]
            others, used = (w.pod for w in workers), [w.reserved for w in workers]
            refused = REFUSED if self.shutdown.active else self.eviction.admit(pod)
            rejection = refused or admit(pod, others, self.machine, self.node(), used, worker.reserved, self.config)
            if rejection is not None:
                worker.pod_event("Warning", rejection.reason, rejection.message)
                worker.reject(rejection.reason, f"Pod was rejected: {rejection.message}")
        self.workers[worker.uid] = worker
        worker.start()

    def _forget(self, worker: PodWorker) -> None:
        """A pod is gone for good."""
        self.workers.pop(worker.uid, None)
        self.backoff.forget(worker.uid)
        self.images.forget_pod(worker.uid)
        self.volumes.forget_pod(worker.uid)
        self.attachments.forget_pod(worker.uid)
        if worker.static:
            self.static.forgotten(worker)

    # The runtime, as PLEG sees it.

    def _runtime_changed(self, pod_uid: str) -> None:
        if not self.running:
            return
        worker = self.workers.get(pod_uid)
        if worker is not None:
            worker.stops.check()
        self._dirty[pod_uid] = None
        if self._relist_timer is None:
            self._relist_timer = self.sim.at(self.next_relist_ns(), self._relist)

    def _relist(self) -> None:
        self._relist_timer = None
        if not self.machine.runtime.up:
            self._relist_timer = self.sim.at(self.next_relist_ns(), self._relist)
            return
        dirty, self._dirty = self._dirty, {}
        for pod_uid in dirty:
            worker = self.workers.get(pod_uid)
            before = None if worker is None else worker.picture
            if worker is not None and before is not None and worker.look():
                for kind, data in happened(before, worker.picture):
                    event = {"ID": pod_uid, "Type": kind, "Data": data}
                    self.klog.info(
                        "kubelet.go:2453", "SyncLoop (PLEG): event for pod", pod=worker.reference, event=event
                    )
                worker.request_sync()

    def _system_oom(self, process: str, pid: int) -> None:
        """The kernel killed a process because the whole machine was out of memory (oomWatcher)."""
        if self.running:
            text = f"System OOM encountered, victim process: {process}, pid: {pid}"
            self.node_event("Warning", "SystemOOM", text)

    def _collect_garbage(self) -> None:
        if not self.machine.runtime.up:
            self.node_event("Warning", "ContainerGCFailed", SOCKET_ERROR)
            self.klog.error("kubelet.go:1494", SOCKET_ERROR, "Container garbage collection failed")

    def _reap_orphans(self, started_ns: int) -> None:
        """Kill what was left running of pods that were deleted while no kubelet watched."""
        if not self.running or self.started_ns != started_ns:
            return
        runtime = self.machine.runtime
        for pod_uid in [uid for uid in {**runtime.runs, **runtime.sandboxes} if uid not in self.workers]:
            for runs in runtime.runs.get(pod_uid, {}).values():
                if runs[0].running:
                    try:
                        runtime.stop_container(runs[0], _ORPHAN_GRACE_NS)
                    except RuntimeFailure:
                        self.sim.after(10 * SECOND, self._reap_orphans, started_ns)
                        return
            self.sim.after(_ORPHAN_GRACE_NS + SECOND, self._bury, pod_uid)

    def _bury(self, pod_uid: str) -> None:
        if pod_uid not in self.workers:
            self.machine.runtime.stop_sandbox(pod_uid)
            self.machine.runtime.remove_pod(pod_uid)

    # Reporting.

    def _report(self) -> None:
        self.reporter.report()

    def stats(self) -> list[PodUsage]:
        """Counters of every pod with a running container (`/stats/summary`); changes nothing."""
        found = []
        for runs in self.machine.runtime.runs.values():
            usage = {}
            for name, newest in runs.items():
                if newest and newest[0].running:
                    run = newest[0]
                    usage[name] = ContainerUsage(run.cpu_ns, run.memory_bytes, run.started_ns)
            if usage:
                spec = run.spec
                found.append(PodUsage(spec.namespace, spec.pod_name, usage))
        return found

    def counters(self) -> Counters:
        """The same of all running containers, as a scrape of `/metrics/resource` takes it."""
        running = [run for run in self.machine.runtime.containers() if run.state == "running"]
        known, roster = self._roster
        if running != known:
            specs = [run.spec for run in running]
            roster = Roster(
                [(s.namespace, s.pod_name, s.name, run.started_ns) for s, run in zip(specs, running, strict=True)]
            )
            self._roster = (running, roster)
        return Counters(roster, cpu_times(running), [run.memory_bytes for run in running])

    def node_stats(self) -> ContainerUsage:
        """Counters of the whole machine since it booted."""
        machine = self.machine
        return ContainerUsage(machine.cpu_ns(), machine.memory_used(), machine.booted_ns)


def _reference(pod: ApiObject) -> str:
    return f"{namespace_of(pod)}/{name_of(pod)}"
