"""Setting up a pod's volumes: what is tried when, and how long a sync waits for it.

Source: pkg/kubelet/volumemanager (WaitForAttachAndMount, reconciler) and
pkg/util/goroutinemap/exponentialbackoff of 1.32. A failing set-up is tried again after 0.5 s,
doubling to 2 min 2 s, whatever the pod's syncs do; a sync waits 2 min 3 s and then fails. A
claim that cannot be used fails the sync at once. A volume that must be attached is awaited.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from simcluster.api.objects import Json
from simcluster.control.kubelet.volumes import ClaimError, Volume, VolumeError, Volumes
from simcluster.engine import MILLISECOND, SECOND

if TYPE_CHECKING:
    from simcluster.control.kubelet.podworker import PodWorker

#: The worker looks at once and then every 300 ms (podAttachAndMountRetryInterval); at first
#: nothing is mounted, because the volume manager's own loops run every 100 ms.
_MOUNT_NS = 300 * MILLISECOND
_TIMEOUT_NS = 123 * SECOND
_FIRST_RETRY_NS = 500 * MILLISECOND
_LONGEST_RETRY_NS = 122 * SECOND


class Mounting:
    """The volumes of one pod that are still to be set up.

    Args:
        done: told whether all are there; else the sync has failed.
    """

    def __init__(self, worker: PodWorker, done: Callable[[bool], None]) -> None:
        self.worker = worker
        self.done = done
        self._mounted: dict[str, Volume] = {}
        self._retries: dict[str, tuple[int, int]] = {}  # volume -> instant before which nothing is tried, delay
        self._unattached: dict[str, None] = {}
        self._deadline_ns = 0

    def begin(self) -> None:
        """A sync begins to wait."""
        worker = self.worker
        self._deadline_ns = worker.kubelet.sim.now + _TIMEOUT_NS
        delay = 0 if worker.picture.runs or not worker.pod["spec"].get("volumes") else _MOUNT_NS
        worker.kubelet.sim.after(delay, self._look)

    def _look(self) -> None:
        worker = self.worker
        if not worker.active:
            return
        sources = "" if self._mounted else worker.volume_sources()
        try:
            missing = [volume["name"] for volume in worker.pod["spec"].get("volumes") or () if not self._ready(volume)]
        except ClaimError as error:
            self._fail(str(error))
            return
        if not missing:
            worker.volumes_made(Volumes(self._mounted), sources)
            self._mounted, self._retries = {}, {}
            self.done(True)
            return
        now = worker.kubelet.sim.now
        if now >= self._deadline_ns:
            listed = " ".join(missing)
            apart = " ".join(name for name in missing if name in self._unattached)
            text = f"unmounted volumes=[{listed}], unattached volumes=[{apart}], failed to process volumes=[]"
            self._fail(f"Unable to attach or mount volumes: {text}: context deadline exceeded")
            return
        due = min(self._retries[name][0] for name in missing)
        worker.kubelet.sim.at(max(now, min(due, self._deadline_ns)), self._look)

    def _fail(self, text: str) -> None:
        self.worker.pod_event("Warning", "FailedMount", text)
        self.done(False)

    def _ready(self, volume: Json) -> bool:
        """Whether the volume is set up, after trying if it is time. Raises ClaimError."""
        name, worker = volume["name"], self.worker
        if name in self._mounted:
            return True
        now = worker.kubelet.sim.now
        due, delay = self._retries.get(name, (0, 0))
        if now < due:
            return False
        try:
            if not worker.kubelet.attachments.is_attached(worker.pod, volume):
                self._unattached[name] = None
                self._delay(name, delay)
                return False
            self._unattached.pop(name, None)
            self._mounted[name] = worker.build_volume(volume)
        except ClaimError:
            raise
        except VolumeError as error:
            self._unattached.pop(name, None)  # what fails to be mounted is there
            worker.pod_event("Warning", "FailedMount", str(error))
            where = "nestedpendingoperations.go:348"
            worker.kubelet.klog.error(where, str(error), "Operation failed", pod=worker.reference)
            self._delay(name, delay)
            return False
        return True

    def _delay(self, name: str, last_ns: int) -> None:
        """Try the volume again after twice the last delay."""
        delay = min(_LONGEST_RETRY_NS, 2 * last_ns) if last_ns else _FIRST_RETRY_NS
        self._retries[name] = (self.worker.kubelet.sim.now + delay, delay)
