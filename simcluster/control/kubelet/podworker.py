"""One pod on one node: when it is synced, what is reported of it, and its probes.

Source: pod_workers.go, kubelet.go (SyncPod), status_manager.go. A worker syncs on a change
of the pod, of its containers (PLEG) or of a probe's result, and again by itself after 60 to
90 s, or 10 to 15 s when something failed. A sync waits for a relist that is newer than the
end of the one before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, condition, is_terminating, name_of, namespace_of, uid_of
from simcluster.control.kubelet.admission import requests_of
from simcluster.control.kubelet.podspec import (
    containers_of,
    field_path,
    grace_period_s,
    init_containers_of,
    is_bounded,
    shows_address,
)
from simcluster.control.kubelet.podsync import PodSync
from simcluster.control.kubelet.probeworker import KINDS, ProbeWorker
from simcluster.control.kubelet.resting import RESYNC_NS, Looker
from simcluster.control.kubelet.runs import NOTHING, Run, take_picture
from simcluster.control.kubelet.standstill import standstill_of
from simcluster.control.kubelet.staticpods import SOURCE, mirror_hash
from simcluster.control.kubelet.status import Observed, Waiting, pod_status
from simcluster.control.kubelet.stopping import Stop, Termination
from simcluster.control.kubelet.volumes import Volume, VolumeError, Volumes, mounts_of
from simcluster.engine import MILLISECOND, SECOND, Timer, format_rfc3339, parse_rfc3339
from simcluster.models.machine.container import Container

if TYPE_CHECKING:
    from simcluster.control.kubelet.kubelet import Kubelet

#: backOffPeriod 10 s with jitter factor 0.5.
RETRY_NS = (10 * SECOND, 15 * SECOND)
#: When only the node's network is missing (backOffOnTransientErrorPeriod, with the same jitter).
SOON_NS = (SECOND, SECOND * 3 // 2)
#: From the end of a relist to the start of the sync that waited for it.
_CACHE_NS = 5 * MILLISECOND
TERMINAL = ("Succeeded", "Failed")
_OF_PHASE = ("phase", "reason", "message")
#: syncPeriod of the status manager: what could not be sent is sent again.
_SYNC_STATUS_NS = 10 * SECOND


class PodWorker(Looker):
    """Drives one pod.

    Attributes:
        state: `syncing`, `terminating` or `terminated`.
        static: whether the pod comes from a file of the node; then the API holds a mirror of it.
        bounded: whether anything limits what the pod may write to the node.
        dead: this worker's kubelet has stopped; nothing of it may act any more.
        picture: the last relist; `reported`: the one the last status was made of.
        waiting: container name -> why it does not run.
        volumes: the volumes that are set up; None before.
    """

    def __init__(self, kubelet: Kubelet, pod: ApiObject) -> None:
        super().__init__()
        self.kubelet = kubelet
        self.pod = pod
        self.uid = uid_of(pod)
        self.namespace = namespace_of(pod)
        self.name = name_of(pod)
        self.reference = f"{self.namespace}/{self.name}"
        self.static = (pod["metadata"].get("annotations") or {}).get(SOURCE) == "file"
        self.bounded = is_bounded(pod)
        self.picture = self.reported = NOTHING
        known = self.api_pod()
        self.status = self.sent = ApiObject((pod if known is None else known).get("status") or {})
        self.waiting: dict[str, Waiting] = {}
        self.volumes: Volumes | None = None
        self.probes: dict[tuple[str, str], ProbeWorker] = {}
        self.stops: dict[str, Stop] = {}
        self.stream = kubelet.sim.stream("pod-worker", kubelet.name, self.uid)
        self.sync = PodSync(self)
        self._termination: Termination | None = None
        self._attempts: dict[str, int] = {}
        self._wanted = False
        self._removed = False
        self._retired = False
        self._grace_s: int | None = None  # set by an eviction or a shutdown
        self._flush_timer: Timer | None = None
        self._reserving: ApiObject | None = None  # the version of the pod whose reservation is known
        self._made_for: ApiObject | None = None  # the version of the pod for which the volumes' files were made
        self._made_of = ""
        self._cpu = self._memory = 0
        self._deadline_timer: Timer | None = None

    @property
    def termination(self) -> Termination:
        """The end of the pod; made when it is thought of, for most pods live long."""
        if self._termination is None:
            self._termination = Termination(self)
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
        self.stir()
        if self._busy:
            self._wanted = True
            return
        now = self.kubelet.sim.now
        at_ns = now
        if self._ended_ns >= 0 and self.kubelet.last_relist_ns() <= self._ended_ns:
            at_ns = self.kubelet.next_relist_ns() + _CACHE_NS
        if self._sync_timer is not None:
            if self._sync_timer.at_ns <= at_ns:
                return
            self._sync_timer.cancel()
        self._sync_timer = self.kubelet.sim.at(at_ns, self._sync)

    def _sync(self) -> None:
        self._sync_timer = None
        if not self.active:
            return
        kubelet = self.kubelet
        if kubelet.runtime_errors() or (self._ended_ns >= 0 and not kubelet.machine.runtime.up):
            self._sync_timer = kubelet.sim.at(kubelet.next_relist_ns() + _CACHE_NS, self._sync)
            return
        self._busy, self._wanted = True, False
        self._cancel_resync()
        if self.picture.runs:
            self.start_probes()
        if self.static:
            kubelet.static.reconcile(self)
        self.update_status()
        self._watch_deadline()
        if self.status["phase"] in TERMINAL:
            self._sync_timer = kubelet.sim.at(kubelet.next_relist_ns() + _CACHE_NS, self._end)
            return
        self.sync.begin()

    def _end(self) -> None:
        """Terminate what has ended by itself: like every step of a pod worker, after a newer relist."""
        self._sync_timer = None
        if self.active:
            self.terminate()

    def sync_finished(self, *, failed: bool, soon: bool = False) -> None:
        """The sync has done what it could; after a failure that may pass `soon`, the next one comes early."""
        self._busy = False
        self._ended_ns = self.kubelet.sim.now
        delay = self.stream.uniform_ns(*(SOON_NS if soon else RETRY_NS if failed else RESYNC_NS))
        self._resync_timer = self.kubelet.sim.at(self.kubelet.sync_tick_ns(delay), self._resync)
        self._standstill = standstill_of(self) if self.sync.idle and not failed else None
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
                for stop in list(self.stops.values()):
                    stop.shorten(self.grace_ns())
            return
        if pod["spec"] != before["spec"] or pod["metadata"].get("labels") != before["metadata"].get("labels"):
            self.request_sync()
        self.compare_status(pod)

    def compare_status(self, pod: ApiObject) -> None:
        """State the status again if somebody else has written it."""
        ours, theirs = condition({"status": self.status}, "Ready"), condition(pod, "Ready")
        if ours is not None and (theirs is None or theirs["status"] != ours["status"]):
            # Somebody else wrote our status (node lifecycle, when this node was out of reach).
            self.sent = ApiObject(pod.get("status") or {})
            self.kubelet.sim.after(self.stream.uniform_ns(0, 10 * SECOND), self._restate)

    def _restate(self) -> None:
        if not self.dead:
            current = self.api_pod()
            if current is not None:
                self.sent = ApiObject(current.get("status") or {})
                self._flush()

    def _deleted(self) -> None:
        self.kubelet.klog.info("kubelet.go:2437", "SyncLoop DELETE", source="api", pods=[self.reference])
        if self.state == "syncing":
            self.terminate()
        elif self.state == "terminated":
            self.termination.schedule_removal()

    def terminate(self) -> None:
        """Stop everything of the pod."""
        self._cancel_resync()
        self.termination.begin()

    def pod_removed(self) -> None:
        """The API object is gone: kill what is left of it, and forget it."""
        self._removed = True
        if self.state == "terminated":
            self._forget()
        elif self.state == "syncing":
            self.terminate()
        else:
            for stop in list(self.stops.values()):
                stop.shorten(self.grace_ns())

    def retire(self) -> None:
        """The file of a static pod is gone: end the pod, and forget it."""
        self._retired = True
        if self.state == "terminated":
            self._forget()
        elif self.state == "syncing":
            self.terminate()

    def api_pod(self) -> ApiObject | None:
        """The pod in the API that this worker reports to: itself, or the mirror of a static pod."""
        current = self.kubelet.client.cache.get("pods", self.namespace, self.name)
        if current is None or (mirror_hash(current) if self.static else uid_of(current)) != self.uid:
            return None
        return current

    def grace_ns(self) -> int:
        """How long containers may take to stop; a pod that was force-deleted gets one second."""
        seconds = grace_period_s(self.pod) if self._grace_s is None else min(self._grace_s, grace_period_s(self.pod))
        return max(1, min(1, seconds) if self._removed else seconds) * SECOND

    def finished_terminating(self) -> None:
        """All is stopped; if the API object is gone already, forget the pod."""
        if self._deadline_timer is not None:
            self._deadline_timer.cancel()
        if self._retired or (not self.static and self.api_pod() is None):
            self._forget()

    def remove_from_api(self) -> None:
        """Delete the API object for good."""
        if self.dead:
            return
        try:
            self.kubelet.client.delete("pods", self.namespace, self.name, uid=self.uid, grace_period_s=0)
        except ApiError as error:
            if error.code != 404:
                self.kubelet.sim.after(10 * SECOND, self.remove_from_api)

    def _forget(self) -> None:
        self.stop_probes(tuple(KINDS))
        self.kubelet.machine.runtime.remove_pod(self.uid)
        self.kubelet.forget(self)
        self.dead = True

    def die(self) -> None:
        """The kubelet stops: drop every timer; containers run on."""
        self.stir()
        self.dead = True
        self.stop_probes(tuple(KINDS))
        for timer in (self._sync_timer, self._resync_timer, self._deadline_timer):
            if timer is not None:
                timer.cancel()

    def runtime_changed(self) -> None:
        """A container of the pod has changed state just now."""
        for stop in list(self.stops.values()):
            stop.check()

    def look(self) -> bool:
        """Relist this pod; whether anything is new."""
        picture = take_picture(self.kubelet.machine.runtime, self.uid)
        if picture == self.picture:
            return False
        self.picture = picture
        return True

    # Containers.

    def container(self, name: str) -> Container | None:
        """The newest run of a container, as it is now."""
        return self.kubelet.machine.runtime.newest(self.uid, name)

    def stop_container(self, container: Container, message: str, grace_ns: int, done: Callable[[], None]) -> None:
        """Stop a running container and call `done` when it is gone."""
        self.container_event(container.spec.name, "Normal", "Killing", message)
        self.kubelet.klog.info(
            "kuberuntime_container.go:808",
            "Killing container with a grace period",
            pod=self.reference,
            containerName=container.spec.name,
            gracePeriod=grace_ns // SECOND,
        )
        stop = Stop(self, container, grace_ns, done)
        self.stops[container.container_id] = stop
        stop.begin()

    def run_hook(self, spec: Json, hook: Json, container: Container, kind: str) -> int:
        """Run a lifecycle hook; its duration in nanoseconds, or -1 when it failed (event written)."""
        if "sleep" in hook:
            return int(hook["sleep"]["seconds"]) * SECOND
        outcome = self.kubelet.prober.attempt(hook, spec, container, grace_period_s(self.pod))
        if outcome.result == "success":
            return outcome.delay_ns
        self.container_event(spec["name"], "Warning", f"Failed{kind}Hook", f"{kind}Hook failed")
        return -1 if kind == "PostStart" else 0

    def next_attempt(self, name: str, last: Run | None) -> int:
        """Restart count of the run that is about to be created."""
        reported = [
            entry["restartCount"] + 1
            for key in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
            for entry in self.status.get(key) or ()
            if entry["name"] == name and "containerID" in entry
        ]
        known = [*reported, last.attempt + 1] if last is not None else reported
        self._attempts[name] = max([*known, self._attempts.get(name, -1) + 1, 0])
        return self._attempts[name]

    def build_volume(self, volume: Json) -> Volume:
        """Set up one volume. Raises VolumeError."""
        return self.kubelet.volumes.build(self.pod, volume, self.picture.address)

    def volume_sources(self) -> str:
        """As long as it is the same, so is all that the files of volumes are made of, besides the pod."""
        address = self.picture.address if shows_address(self.pod) else ""
        return f"{address} {self.kubelet.volumes.mark()}"

    def volumes_made(self, volumes: Volumes, sources: str) -> None:
        """The volumes are set up; `sources` is what there was when the first of them was, "" if that is long ago."""
        self.volumes = volumes
        self._made_for, self._made_of = self.pod if sources else None, sources

    def refresh_volumes(self) -> None:
        """Renew the files of ConfigMaps and Secrets in running containers, as every sync does."""
        assert self.volumes is not None
        sources, made_for, made_of = self.volume_sources(), self._made_for, self._made_of
        self._made_for, self._made_of = self.pod, sources
        if made_for is not None and made_of == sources and _same_facts(made_for, self.pod):
            return
        changed = False
        for volume in self.pod["spec"].get("volumes") or ():
            if not any(kind in volume for kind in ("configMap", "secret", "projected", "downwardAPI")):
                continue
            try:
                fresh = self.build_volume(volume)
            except VolumeError:
                continue  # what was mounted stays
            if fresh != self.volumes.get(volume["name"]):
                self.volumes = Volumes({**self.volumes, volume["name"]: fresh})
                changed = True
        if changed:
            for spec in [*init_containers_of(self.pod), *containers_of(self.pod)]:
                container = self.container(spec["name"])
                if container is not None:
                    container.mounts = mounts_of(spec, self.volumes, container.mounts)

    # Probes.

    def start_probes(self) -> None:
        """Begin to probe: of a new pod once its volumes are mounted (kubelet SyncPod, probeManager.AddPod)."""
        for container in [*init_containers_of(self.pod), *containers_of(self.pod)]:
            for kind, key in KINDS.items():
                name = container["name"]
                if container.get(key) and (name, kind) not in self.probes:
                    probe = self.probes[name, kind] = ProbeWorker(self, container, kind)
                    self._adopt(probe, name, kind)
                    probe.start()

    def _adopt(self, probe: ProbeWorker, name: str, kind: str) -> None:
        # A kubelet that has just started believes what its predecessor reported, so that a
        # restart of the agent does not take healthy pods out of their Services.
        run = self.picture.newest(name)
        key = {"readiness": "ready", "startup": "started"}.get(kind)
        if run is None or run.state != "running" or key is None:
            return
        for entry in self.status.get("containerStatuses") or ():
            if entry["name"] == name and entry.get(key) and entry.get("containerID", "").endswith(run.container_id):
                probe.adopt(run.container_id)

    def stop_probes(self, kinds: tuple[str, ...]) -> None:
        """End the probes of these kinds."""
        for (_, kind), probe in self.probes.items():
            if kind in kinds:
                probe.stop()

    def probe_failed(self, name: str, kind: str, container_id: str) -> bool:
        """Whether this run of the container has failed the probe."""
        probe = self.probes.get((name, kind))
        return probe is not None and probe.result == "failure" and probe.container_id == container_id

    def probe_changed(self, probe: ProbeWorker) -> None:
        """The result of a probe has changed."""
        if self.dead:
            return
        if probe.kind != "liveness" and self.status.get("containerStatuses"):
            self.update_status()
        if self.state == "syncing" and (probe.kind != "liveness" or probe.result == "failure"):
            self.request_sync()

    def started(self, name: str) -> bool:
        """Whether the running container has passed its startup probe (or has none)."""
        run = self.reported.newest(name)
        if run is None or run.state != "running":
            return False
        return self._passed(name, "startup", run.container_id)

    def _passed(self, name: str, kind: str, container_id: str) -> bool:
        probe = self.probes.get((name, kind))
        return probe is None or (probe.result == "success" and probe.container_id == container_id)

    # Reporting.

    def update_status(self) -> None:
        """Compute the status from the last relist and send it if it is new."""
        self.reported = self.picture
        ready: dict[str, bool] = {}
        started: dict[str, bool] = {}
        for name, runs in self.picture.runs.items():
            if runs[0].state == "running":
                started[name] = self._passed(name, "startup", runs[0].container_id)
                ready[name] = self._passed(name, "readiness", runs[0].container_id)
        kubelet = self.kubelet
        over = self.state == "terminated"
        seen = Observed(self.picture, self.waiting, ready, started, kubelet.sim.now, kubelet.machine.address, over)
        self.status = ApiObject(pod_status(self.pod, self.status, seen))
        self._flush()
        for name in self.picture.runs:
            if started.get(name) and not ready[name] and (name, "readiness") in self.probes:
                self.probes[name, "readiness"].trigger()

    def reject(self, reason: str, message: str) -> None:
        """The pod was not admitted to this node: it fails without having run."""
        self.state = "terminated"
        self.status = ApiObject({**self.status, "phase": "Failed", "reason": reason, "message": message})
        self._flush()

    def fail(self, reason: str, message: str) -> None:
        """The pod's phase becomes Failed for good."""
        self.status = ApiObject({**self.status, "phase": "Failed", "reason": reason, "message": message})

    def evict(self, message: str, grace_s: int) -> None:
        """The node needs what the pod has: it fails, and ends within `grace_s` seconds."""
        self.pod_event("Warning", "Evicted", message)
        self.end_early("Evicted", message, grace_s)

    def end_early(self, reason: str, message: str, grace_s: int) -> None:
        """The pod fails by its kubelet's will, and ends within `grace_s` seconds."""
        now = format_rfc3339(self.kubelet.sim.now)
        disrupted = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": now,
            "reason": "TerminationByKubelet",
            "message": message,
        }
        self._grace_s = grace_s
        self.fail(reason, message)
        kept = [entry for entry in self.status.get("conditions") or () if entry["type"] != "DisruptionTarget"]
        self.status = ApiObject({**self.status, "conditions": [*kept, disrupted]})
        self._flush()
        self.terminate()

    def _flush(self) -> None:
        status = self._sendable()
        if status == self.sent:
            return
        patch: Json = {key: value for key, value in status.items() if self.sent.get(key) != value}
        patch.update({key: None for key in self.sent if key not in status and key in _OURS})
        if self.api_pod() is None:
            return
        self.sent = status
        try:
            self.kubelet.client.patch_status("pods", self.namespace, self.name, patch)
        except ApiError as error:
            self.sent = {}  # the next status is sent whatever it says
            text = "Failed to update status for pod"
            self.kubelet.klog.error("status_manager.go:890", error.message, text, pod=self.reference)
            if self._flush_timer is None:
                self._flush_timer = self.kubelet.sim.after(_SYNC_STATUS_NS, self._flush_again)

    def _sendable(self) -> Json:
        """The status as it may be known: a terminal phase only once nothing of the pod can run any more.

        Source: status_manager.go (mergePodStatus, couldHaveRunningContainers).
        """
        before = self.sent.get("phase")
        if self.state == "terminated" or self.status.get("phase") not in TERMINAL or before in (None, *TERMINAL):
            return self.status
        held = {key: value for key, value in self.status.items() if key not in _OF_PHASE}
        return ApiObject({**held, **{key: self.sent[key] for key in _OF_PHASE if key in self.sent}})

    def _flush_again(self) -> None:
        self._flush_timer = None
        if not self.dead:
            self._flush()

    def pod_event(self, kind: str, reason: str, message: str) -> None:
        """Record an event about the pod."""
        self.kubelet.recorder.event(self.pod, kind, reason, message)

    def container_event(self, name: str, kind: str, reason: str, message: str) -> None:
        """Record an event about one of its containers."""
        self.kubelet.recorder.event(self.pod, kind, reason, message, field_path=field_path(self.pod, name))

    def _watch_deadline(self) -> None:
        seconds = self.pod["spec"].get("activeDeadlineSeconds")
        if seconds is None or self._deadline_timer is not None:
            return
        due_ns = parse_rfc3339(self.status["startTime"]) + int(seconds) * SECOND
        self._deadline_timer = self.kubelet.sim.at(max(due_ns, self.kubelet.sim.now), self._deadline)

    def _deadline(self) -> None:
        if not self.active:
            return
        text = "Pod was active on the node longer than the specified deadline"
        self.pod_event("Normal", "DeadlineExceeded", text)
        self.fail("DeadlineExceeded", text)
        self._flush()
        self.terminate()


def _same_facts(one: ApiObject, other: ApiObject) -> bool:
    """Whether two versions of a pod are equal in all that the files of its volumes may show."""
    if one is other:
        return True
    mine, its = one["metadata"], other["metadata"]
    same = mine.get("labels") == its.get("labels") and mine.get("annotations") == its.get("annotations")
    return same and bool(one["spec"] == other["spec"])


_OURS = (
    *("podIP", "podIPs", "reason", "message"),
    *("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"),
)
