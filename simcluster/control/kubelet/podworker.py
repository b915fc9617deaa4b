"""One pod on one node: when it is synced, what is reported of it, and its probes.

Source: pod_workers.go, host.go (SyncPod), status_manager.go. A worker syncs on a change
of the pod, of its containers (PLEG) or of a probe's result, and again by itself after 60 to
90 s, or 10 to 15 s when something failed. A sync waits for a relist that is newer than the
end of the one before.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.objects import ApiObject, is_terminating
from simcluster.control.kubelet.admission import requests_of
from simcluster.control.kubelet.host import Host
from simcluster.control.kubelet.hostedpod import HostedPod
from simcluster.control.kubelet.mirrorpods import make_mirror
from simcluster.control.kubelet.podspec import grace_period_s, is_bounded
from simcluster.control.kubelet.podsync import PodSync
from simcluster.control.kubelet.probeworker import KINDS, PodProbes, ProbeWorker
from simcluster.control.kubelet.resting import RESYNC_NS, Resting
from simcluster.control.kubelet.statusmanager import TERMINAL, StatusManager
from simcluster.control.kubelet.stopping import Stops, Termination
from simcluster.engine import MILLISECOND, SECOND, Timer, format_rfc3339, parse_rfc3339

#: backOffPeriod 10 s with jitter factor 0.5.
RETRY_NS = (10 * SECOND, 15 * SECOND)
#: When only the node's network is missing (backOffOnTransientErrorPeriod, with the same jitter).
SOON_NS = (SECOND, SECOND * 3 // 2)
#: From the end of a relist to the start of the sync that waited for it.
_CACHE_NS = 5 * MILLISECOND


class PodWorker(HostedPod):
    """Drives one pod.

    Args:
        forgotten: called when nothing of the pod is left, neither here nor in the API.

    Attributes:
        bounded: whether anything limits what the pod may write to the node.
    """

    def __init__(self, host: Host, pod: ApiObject, resting: Resting, forgotten: Callable[[PodWorker], None]) -> None:
        super().__init__(host, pod, resting)
        self.bounded = is_bounded(pod)
        self.probes = PodProbes(self, self._probe_changed)
        self.report = StatusManager(self, self.probes)
        self.stops = Stops(self)
        self.sync = PodSync(self, self.probes, self.stops, self._sync_finished)
        self._forgotten = forgotten
        self._termination: Termination | None = None
        self._wanted = False
        self._retired = False
        self._reserving: ApiObject | None = None  # the version of the pod whose reservation is known
        self._cpu = self._memory = 0
        self._deadline_timer: Timer | None = None

    @property
    def termination(self) -> Termination:
        """The end of the pod; made when it is thought of, for most pods live long."""
        if self._termination is None:
            self._termination = Termination(self.stops, self._stopped)
        return self._termination

    @property
    def reserved(self) -> tuple[int, int]:
        """CPU (millicores) and memory (bytes) that the pod reserves."""
        if self._reserving is not self.pod:
            known, self._reserving = self._reserving, self.pod
            if known is None or known["spec"] is not self.pod["spec"]:
                self._cpu, self._memory = requests_of(self.pod)
        return self._cpu, self._memory

    # When to sync.

    def start(self) -> None:
        """First sync, or adoption of what a former kubelet left running."""
        self.look()
        phase = self.status.get("phase")
        if phase in TERMINAL and not self.picture.address:
            self.state = "terminated"
            if is_terminating(self.pod):
                self.termination.schedule_removal()
            return
        if is_terminating(self.pod):
            self.terminate()
            return
        self.request_sync()

    def request_sync(self) -> None:
        """Sync soon: now, or as soon as a fresh relist is there."""
        if not self.active:
            return
        self.catch_up()
        if self._busy:
            self._wanted = True
            return
        now = self.host.sim.now
        at_ns = now
        if self._ended_ns >= 0 and self.host.last_relist_ns() <= self._ended_ns:
            at_ns = self.host.next_relist_ns() + _CACHE_NS
        if self._sync_timer is not None:
            if self._sync_timer.at_ns <= at_ns:
                return
            self._sync_timer.cancel()
        self._sync_timer = self.host.sim.at(at_ns, self._sync)

    def _sync(self) -> None:
        self._sync_timer = None
        if not self.active:
            return
        host = self.host
        if host.runtime_errors() or (self._ended_ns >= 0 and not host.machine.runtime.up):
            self._sync_timer = host.sim.at(host.next_relist_ns() + _CACHE_NS, self._sync)
            return
        self._busy, self._wanted = True, False
        self._cancel_resync()
        if self.picture.runs:
            self.probes.start()
        if self.static:
            self._mirror()
        self.report.update()
        self._watch_deadline()
        if self.status["phase"] in TERMINAL:
            self._sync_timer = host.sim.at(host.next_relist_ns() + _CACHE_NS, self._end)
            return
        self.sync.begin()

    def _mirror(self) -> None:
        """Have exactly one mirror of a static pod in the API."""
        if not self.is_mirrored() and make_mirror(self.host, self.pod):
            self.sent = {}

    def _end(self) -> None:
        """Terminate what has ended by itself: like every step of a pod worker, after a newer relist."""
        self._sync_timer = None
        if self.active:
            self.terminate()

    def _sync_finished(self, failed: bool, soon: bool) -> None:
        """The sync has done what it could; after a failure that may pass `soon`, the next one comes early."""
        self._busy = False
        self._ended_ns = self.host.sim.now
        delay = self.stream.uniform_ns(*(SOON_NS if soon else RETRY_NS if failed else RESYNC_NS))
        self._resync_timer = self.host.sim.at(self.host.sync_tick_ns(delay), self._resync)
        self._standstill = None
        if self.sync.idle and not failed:
            self._stand_still()
        if self._wanted:
            self._wanted = False
            self.request_sync()

    # What happens around it.

    def pod_changed(self, pod: ApiObject) -> None:
        """The API object has changed."""
        before, self.pod = self.pod, pod
        if is_terminating(pod):
            if not is_terminating(before):
                self._deleted()
            elif self.state == "terminating" and grace_period_s(pod) < grace_period_s(before):
                self.stops.shorten()
            return
        if pod["spec"] != before["spec"] or pod["metadata"].get("labels") != before["metadata"].get("labels"):
            self.request_sync()
        self.report.compare(pod)

    def _deleted(self) -> None:
        self.host.klog.info("kubelet.go:2437", "SyncLoop DELETE", source="api", pods=[self.reference])
        if self.state == "syncing":
            self.terminate()
        elif self.state == "terminated":
            self.termination.schedule_removal()

    def terminate(self) -> None:
        """Stop everything of the pod."""
        self._cancel_resync()
        self.probes.stop("liveness", "startup")
        self.termination.begin()

    def _stopped(self) -> None:
        """All is stopped; if the API object is gone already, forget the pod."""
        self.probes.stop(*KINDS)
        self.report.update()
        if is_terminating(self.pod):
            self.termination.schedule_removal()
        if self._deadline_timer is not None:
            self._deadline_timer.cancel()
        if self._retired or (not self.static and self.api_pod() is None):
            self._forget()

    def pod_removed(self) -> None:
        """The API object is gone: kill what is left of it, and forget it."""
        self.removed = True
        self._leave()

    def retire(self) -> None:
        """The file of a static pod is gone: end the pod, and forget it."""
        self._retired = True
        self._leave()

    def _leave(self) -> None:
        if self.state == "terminated":
            self._forget()
        elif self.state == "syncing":
            self.terminate()
        elif self.removed:
            self.stops.shorten()

    def _forget(self) -> None:
        self.probes.stop(*KINDS)
        self.host.machine.runtime.remove_pod(self.uid)
        self._forgotten(self)
        self.dead = True

    def die(self) -> None:
        """The kubelet stops: drop every timer; containers run on."""
        self.catch_up()
        self.dead = True
        self.probes.stop(*KINDS)
        for timer in (self._sync_timer, self._resync_timer, self._deadline_timer):
            if timer is not None:
                timer.cancel()

    def _probe_changed(self, probe: ProbeWorker) -> None:
        if self.dead:
            return
        if probe.kind != "liveness" and self.status.get("containerStatuses"):
            self.report.update()
        if self.state == "syncing" and (probe.kind != "liveness" or probe.result == "failure"):
            self.request_sync()

    # Ends that the node wants.

    def reject(self, reason: str, message: str) -> None:
        """The pod was not admitted to this node: it fails without having run."""
        self.state = "terminated"
        self.report.fail(reason, message)

    def evict(self, message: str, grace_s: int) -> None:
        """The node needs what the pod has: it fails, and ends within `grace_s` seconds."""
        self.pod_event("Warning", "Evicted", message)
        self.end_early("Evicted", message, grace_s)

    def end_early(self, reason: str, message: str, grace_s: int) -> None:
        """The pod fails by its kubelet's will, and ends within `grace_s` seconds."""
        now = format_rfc3339(self.host.sim.now)
        disrupted = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": now,
            "reason": "TerminationByKubelet",
            "message": message,
        }
        self.grace_s = grace_s
        self.report.fail(reason, message, (disrupted,))
        self.terminate()

    def _watch_deadline(self) -> None:
        seconds = self.pod["spec"].get("activeDeadlineSeconds")
        if seconds is None or self._deadline_timer is not None:
            return
        due_ns = parse_rfc3339(self.status["startTime"]) + int(seconds) * SECOND
        self._deadline_timer = self.host.sim.at(max(due_ns, self.host.sim.now), self._deadline)

    def _deadline(self) -> None:
        if not self.active:
            return
        text = "Pod was active on the node longer than the specified deadline"
        self.pod_event("Normal", "DeadlineExceeded", text)
        self.report.fail("DeadlineExceeded", text)
        self.terminate()
