"""A pod's volumes: what is tried when to set them up, how long a sync waits for it, and their renewal.

Source: pkg/kubelet/volumemanager (WaitForAttachAndMount, reconciler) and
pkg/util/goroutinemap/exponentialbackoff of 1.32. A failing set-up is tried again after 0.5 s,
doubling to 2 min 2 s, whatever the pod's syncs do; a sync waits 2 min 3 s and then fails. A
claim that cannot be used fails the sync at once. A volume that must be attached is awaited.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.objects import ApiObject, Json
from simcluster.control.kubelet.hostedpod import HostedPod
from simcluster.control.kubelet.podspec import containers_of, init_containers_of, shows_address
from simcluster.control.kubelet.volumes import ClaimError, Volume, VolumeError, Volumes, mounts_of
from simcluster.engine import MILLISECOND, SECOND

#: The worker looks at once and then every 300 ms (podAttachAndMountRetryInterval); at first
#: nothing is mounted, because the volume manager's own loops run every 100 ms.
_MOUNT_NS = 300 * MILLISECOND
_TIMEOUT_NS = 123 * SECOND
_FIRST_RETRY_NS = 500 * MILLISECOND
_LONGEST_RETRY_NS = 122 * SECOND


class PodVolumes:
    """The volumes of one pod.

    Attributes:
        mounted: those that are set up; None before all are.
    """

    def __init__(self, hosted: HostedPod) -> None:
        self.hosted = hosted
        self.mounted: Volumes | None = None
        self._made_for: ApiObject | None = None  # the version of the pod for which the volumes' files were made
        self._made_of = ""

    def build(self, volume: Json) -> Volume:
        """Set up one volume. Raises VolumeError."""
        return self.hosted.host.volumes.build(self.hosted.pod, volume, self.hosted.picture.address)

    def sources(self) -> str:
        """As long as it is the same, so is all that the files of volumes are made of, besides the pod."""
        address = self.hosted.picture.address if shows_address(self.hosted.pod) else ""
        return f"{address} {self.hosted.host.volumes.mark()}"

    def made(self, volumes: Volumes, sources: str) -> None:
        """The volumes are set up; `sources` is what there was when the first of them was, "" if that is long ago."""
        self.mounted = volumes
        self._made_for, self._made_of = self.hosted.pod if sources else None, sources

    def refresh(self) -> None:
        """Renew the files of ConfigMaps and Secrets in running containers, as every sync does."""
        assert self.mounted is not None
        pod = self.hosted.pod
        sources, made_for, made_of = self.sources(), self._made_for, self._made_of
        self._made_for, self._made_of = pod, sources
        if made_for is not None and made_of == sources and _same_facts(made_for, pod):
            return
        changed = False
        for volume in pod["spec"].get("volumes") or ():
            if not any(kind in volume for kind in ("configMap", "secret", "projected", "downwardAPI")):
                continue
            try:
                fresh = self.build(volume)
            except VolumeError:
                continue  # what was mounted stays
            if fresh != self.mounted.get(volume["name"]):
                self.mounted = Volumes({**self.mounted, volume["name"]: fresh})
                changed = True
        if changed:
            for spec in [*init_containers_of(pod), *containers_of(pod)]:
                container = self.hosted.container(spec["name"])
                if container is not None:
                    container.mounts = mounts_of(spec, self.mounted, container.mounts)


def _same_facts(one: ApiObject, other: ApiObject) -> bool:
    """Whether two versions of a pod are equal in all that the files of its volumes may show."""
    if one is other:
        return True
    mine, its = one["metadata"], other["metadata"]
    same = mine.get("labels") == its.get("labels") and mine.get("annotations") == its.get("annotations")
    return same and bool(one["spec"] == other["spec"])


class Mounting:
    """The volumes of one pod that are still to be set up.

    Args:
        done: called with whether all are there; else the sync has failed.
    """

    def __init__(self, volumes: PodVolumes, done: Callable[[bool], None]) -> None:
        self.volumes = volumes
        self.hosted = volumes.hosted
        self.done = done
        self._mounted: dict[str, Volume] = {}
        self._retries: dict[str, tuple[int, int]] = {}  # volume -> instant before which nothing is tried, delay
        self._unattached: dict[str, None] = {}
        self._deadline_ns = 0

    def begin(self) -> None:
        """A sync begins to wait."""
        hosted = self.hosted
        self._deadline_ns = hosted.host.sim.now + _TIMEOUT_NS
        delay = 0 if hosted.picture.runs or not hosted.pod["spec"].get("volumes") else _MOUNT_NS
        hosted.host.sim.after(delay, self._look)

    def _look(self) -> None:
        hosted = self.hosted
        if not hosted.active:
            return
        sources = "" if self._mounted else self.volumes.sources()
        try:
            missing = [volume["name"] for volume in hosted.pod["spec"].get("volumes") or () if not self._ready(volume)]
        except ClaimError as error:
            self._fail(str(error))
            return
        if not missing:
            self.volumes.made(Volumes(self._mounted), sources)
            self._mounted, self._retries = {}, {}
            self.done(True)
            return
        now = hosted.host.sim.now
        if now >= self._deadline_ns:
            listed = " ".join(missing)
            apart = " ".join(name for name in missing if name in self._unattached)
            text = f"unmounted volumes=[{listed}], unattached volumes=[{apart}], failed to process volumes=[]"
            self._fail(f"Unable to attach or mount volumes: {text}: context deadline exceeded")
            return
        due = min(self._retries[name][0] for name in missing)
        hosted.host.sim.at(max(now, min(due, self._deadline_ns)), self._look)

    def _fail(self, text: str) -> None:
        self.hosted.pod_event("Warning", "FailedMount", text)
        self.done(False)

    def _ready(self, volume: Json) -> bool:
        """Whether the volume is set up, after trying if it is time. Raises ClaimError."""
        name, hosted = volume["name"], self.hosted
        if name in self._mounted:
            return True
        now = hosted.host.sim.now
        due, delay = self._retries.get(name, (0, 0))
        if now < due:
            return False
        try:
            if not hosted.host.attachments.is_attached(hosted.pod, volume):
                self._unattached[name] = None
                self._delay(name, delay)
                return False
            self._unattached.pop(name, None)
            self._mounted[name] = self.volumes.build(volume)
        except ClaimError:
            raise
        except VolumeError as error:
            self._unattached.pop(name, None)  # what fails to be mounted is there
            hosted.pod_event("Warning", "FailedMount", str(error))
            where = "nestedpendingoperations.go:348"
            hosted.host.klog.error(where, str(error), "Operation failed", pod=hosted.reference)
            self._delay(name, delay)
            return False
        return True

    def _delay(self, name: str, last_ns: int) -> None:
        """Try the volume again after twice the last delay."""
        delay = min(_LONGEST_RETRY_NS, 2 * last_ns) if last_ns else _FIRST_RETRY_NS
        self._retries[name] = (self.hosted.host.sim.now + delay, delay)
