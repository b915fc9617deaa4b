"""What the kubelet reports of one pod: its status, computed from the last relist and sent when it is new.

Source: pkg/kubelet/status/status_manager.go.
"""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, condition
from simcluster.control.kubelet.hostedpod import HostedPod
from simcluster.control.kubelet.probeworker import PodProbes
from simcluster.control.kubelet.status import Observed, pod_status
from simcluster.engine import SECOND, Timer

TERMINAL = ("Succeeded", "Failed")
_OF_PHASE = ("phase", "reason", "message")
_OURS = (
    *("podIP", "podIPs", "reason", "message"),
    *("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"),
)
#: syncPeriod of the status manager: what could not be sent is sent again.
_SYNC_STATUS_NS = 10 * SECOND


class StatusManager:
    """Keeps the status of one pod."""

    def __init__(self, hosted: HostedPod, probes: PodProbes) -> None:
        self.hosted = hosted
        self.probes = probes
        self._timer: Timer | None = None

    def update(self) -> None:
        """Compute the status from the last relist and send it if it is new."""
        hosted = self.hosted
        hosted.reported = hosted.picture
        ready: dict[str, bool] = {}
        started: dict[str, bool] = {}
        for name, runs in hosted.picture.runs.items():
            if runs[0].state == "running":
                started[name] = self.probes.passed(name, "startup", runs[0].container_id)
                ready[name] = self.probes.passed(name, "readiness", runs[0].container_id)
        host, over = hosted.host, hosted.state == "terminated"
        seen = Observed(hosted.picture, hosted.waiting, ready, started, host.sim.now, host.machine.address, over)
        hosted.status = ApiObject(pod_status(hosted.pod, hosted.status, seen))
        self.send()
        for name in hosted.picture.runs:
            if started.get(name) and not ready[name] and (name, "readiness") in self.probes.workers:
                self.probes.workers[name, "readiness"].trigger()

    def fail(self, reason: str, message: str, conditions: tuple[Json, ...] = ()) -> None:
        """The pod's phase becomes Failed for good; `conditions` replace those of their types."""
        failed = {**self.hosted.status, "phase": "Failed", "reason": reason, "message": message}
        if conditions:
            types = {entry["type"]: None for entry in conditions}
            kept = (entry for entry in failed.get("conditions") or () if entry.get("type") not in types)
            failed["conditions"] = [*kept, *conditions]
        self.hosted.status = ApiObject(failed)
        self.send()

    def compare(self, pod: ApiObject) -> None:
        """State the status again if somebody else has written it (node lifecycle, when the node was out of reach)."""
        ours, theirs = condition({"status": self.hosted.status}, "Ready"), condition(pod, "Ready")
        if ours is not None and (theirs is None or theirs.get("status") != ours["status"]):
            self.hosted.sent = ApiObject(pod.get("status") or {})
            self.hosted.host.sim.after(self.hosted.stream.uniform_ns(0, 10 * SECOND), self._restate)

    def _restate(self) -> None:
        current = None if self.hosted.dead else self.hosted.api_pod()
        if current is not None:
            self.hosted.sent = ApiObject(current.get("status") or {})
            self.send()

    def send(self) -> None:
        """Give the API what it has not been given yet."""
        hosted, status = self.hosted, self._sendable()
        if status == hosted.sent:
            return
        patch: Json = {key: value for key, value in status.items() if hosted.sent.get(key) != value}
        patch.update({key: None for key in hosted.sent if key not in status and key in _OURS})
        if hosted.api_pod() is None:
            return
        hosted.sent = status
        try:
            hosted.host.client.patch_status("pods", hosted.namespace, hosted.name, patch)
        except ApiError as error:
            hosted.sent = {}  # the next status is sent whatever it says
            text = "Failed to update status for pod"
            hosted.host.klog.error("status_manager.go:890", error.message, text, pod=hosted.reference)
            if self._timer is None:
                self._timer = hosted.host.sim.after(_SYNC_STATUS_NS, self._send_again)

    def _sendable(self) -> Json:
        """The status as it may be known: a terminal phase only once nothing of the pod can run any more.

        Source: status_manager.go (mergePodStatus, couldHaveRunningContainers).
        """
        status, sent = self.hosted.status, self.hosted.sent
        before = sent.get("phase")
        if self.hosted.state == "terminated" or status.get("phase") not in TERMINAL or before in (None, *TERMINAL):
            return status
        held = {key: value for key, value in status.items() if key not in _OF_PHASE}
        return ApiObject({**held, **{key: sent[key] for key in _OF_PHASE if key in sent}})

    def _send_again(self) -> None:
        self._timer = None
        if not self.hosted.dead:
            self.send()
