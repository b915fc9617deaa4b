"""Pods that rest: their kubelet looks at them again and again, and nothing that it looks at has changed.

The kubelet looks at every pod again after 60 to 90 s. A resync that finds nothing to do leaves no trace but its
instant and the draw of the next one, so that those of a resting pod need not happen one by one: they are caught up
with as soon as anything changes that one of them might see (`RestingPod.catch_up`). Whether one could see anything is
seen by the identity of a few frozen values (`Standstill`). An attribute of the pod says so by being assigned (`Seen`);
of what all pods read, the store and the runtime notify `Resting`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, NamedTuple, TypeVar, overload

from simcluster.api.objects import ApiObject, Json, is_terminating, name_of, namespace_of, uid_of
from simcluster.api.store import Change
from simcluster.control.kubelet.host import Host
from simcluster.control.kubelet.mirrorpods import SOURCE
from simcluster.control.kubelet.runs import NOTHING, PodPicture
from simcluster.control.kubelet.volumes import SOURCES
from simcluster.engine import SECOND, Parted, Shared, Timer

#: syncFrequency 1 min with jitter factor 0.5.
RESYNC_NS = (60 * SECOND, 90 * SECOND)
T = TypeVar("T")


class _Facts(NamedTuple):
    """The parts of a `Standstill`."""

    pod: ApiObject
    picture: PodPicture
    status: Json
    sent: Json
    sources: tuple[object, ...]
    mark: tuple[object, ...]


class Standstill(_Facts, Shared):
    """Everything that an idle sync read: the pod, the last relist, what was reported, what volumes are made of."""

    __slots__ = ()


class Seen(Generic[T]):
    """An attribute of a pod that a resync looks at."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    @overload
    def __get__(self, pod: None, owner: type) -> Seen[T]: ...

    @overload
    def __get__(self, pod: RestingPod, owner: type) -> T: ...

    def __get__(self, pod: RestingPod | None, owner: type) -> Any:
        return self if pod is None else pod.__dict__[self._name]

    def __set__(self, pod: RestingPod, value: T) -> None:
        known = pod.__dict__
        if pod.is_resting and known.get(self._name) is not value:
            pod.catch_up()
        known[self._name] = value


class RestingPod(Parted):
    """A pod on a node that is looked at now and then, as long as that finds something: `resync` in `pod_workers.go`.

    Attributes:
        state: `syncing`, `terminating` or `terminated`.
        static: whether the pod comes from a file of the node; then the API holds a mirror of it.
        dead: its kubelet has stopped; nothing of it may act any more.
        picture: the last relist; `reported`: the one the last status was made of.
        status: what was last computed; `sent`: what the API was last given of it.
    """

    pod = Seen[ApiObject]()
    picture = Seen[PodPicture]()
    reported = Seen[PodPicture]()
    # Replaced, never changed: forks share what was reported.
    status = Seen[Json]()
    sent = Seen[Json]()

    def __init__(self, host: Host, pod: ApiObject, resting: Resting) -> None:
        self._due_ns = -1  # of the next resync while it rests
        self._ended_ns = -1  # of the last sync
        self._standstill: Standstill | None = None
        self._busy = False
        self._sync_timer: Timer | None = None
        self._resync_timer: Timer | None = None
        self._resting = resting
        self.host = host
        self.state = "syncing"
        self.dead = False
        self.pod = pod
        self.uid = uid_of(pod)
        self.namespace = namespace_of(pod)
        self.name = name_of(pod)
        self.reference = f"{self.namespace}/{self.name}"
        self.static = (pod["metadata"].get("annotations") or {}).get(SOURCE) == "file"
        self.picture = self.reported = NOTHING
        self.stream = host.sim.stream("pod-worker", host.name, self.uid)

    @property
    def active(self) -> bool:
        """Whether steps of a sync may still act."""
        return not self.dead and self.state == "syncing"

    @abstractmethod
    def request_sync(self) -> None:
        """Sync soon."""

    @abstractmethod
    def api_pod(self) -> ApiObject | None:
        """The pod in the API that is reported to."""

    def is_mirrored(self) -> bool:
        """Whether the API has the mirror of a static pod."""
        mirror = self.api_pod()
        return mirror is not None and not is_terminating(mirror)

    def _stand_still(self) -> None:
        """A sync has found nothing to do: note what it has seen, unless the next one may act all the same."""
        self._standstill = None
        ready = (entry["ready"] for entry in self.status.get("containerStatuses") or ())
        if self.reported is self.picture and self.status.get("phase") == "Running" and all(ready):
            volumes = self.host.volumes
            seen = (self.pod, self.picture, self.status, self.sent, volumes.sources(self.pod), volumes.mark())
            self._standstill = Standstill(*seen)

    def _stands_still(self, known: Standstill, mark: tuple[object, ...]) -> bool:
        """Whether all that was seen is still the same; `mark` is that of the volumes now."""
        same = self.pod is known.pod and self.picture is known.picture and self.reported is known.picture
        if not same or self.status is not known.status or self.sent is not known.sent:
            return False
        if self.static and not self.is_mirrored():
            return False
        return mark == known.mark or self.host.volumes.sources(known.pod) == known.sources

    def _resync(self) -> None:
        """Time to look again; where nothing has changed since a look that found nothing to do, that was it."""
        self._resync_timer = None
        known, host = self._standstill, self.host
        rests = self._sync_timer is None and self.active and not self._busy and host.machine.runtime.up
        mark = host.volumes.mark()
        if rests and known is not None and self._stands_still(known, mark):
            if known.mark != mark:
                self._standstill = known._replace(mark=mark)
            self._ended_ns = host.sim.now
            self._due_ns = host.sync_tick_ns(self.stream.uniform_ns(*RESYNC_NS))
            self._resting.pods[self.uid] = self
        else:
            self.request_sync()

    @property
    def is_resting(self) -> bool:
        """Whether resyncs find nothing to do, and so do not happen one by one."""
        return self._due_ns >= 0

    def catch_up(self) -> None:
        """Make up for the resyncs that found nothing to do; the next one is looked at again."""
        if self._due_ns < 0:
            return
        host, due_ns, self._due_ns = self.host, self._due_ns, -1
        del self._resting.pods[self.uid]
        while due_ns <= host.sim.now:
            self._ended_ns = due_ns
            due_ns = host.sync_tick_ns(due_ns + self.stream.uniform_ns(*RESYNC_NS) - host.sim.now)
        self._resync_timer = host.sim.at(due_ns, self._resync)

    def _cancel_resync(self) -> None:
        self.catch_up()
        if self._resync_timer is not None:
            self._resync_timer.cancel()
            self._resync_timer = None


class Resting:
    """The resting pods of one kubelet."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.pods: dict[str, RestingPod] = {}  # by uid

    def start(self) -> None:
        """The kubelet starts: watch what volumes are made of."""
        host, store = self._host, self._host.api.store
        for resource in SOURCES:
            store.subscribe(resource, self)
        store.subscribe("nodes", self, node=host.name)

    def stop(self) -> None:
        """The kubelet stops."""
        host, store = self._host, self._host.api.store
        for resource in SOURCES:
            store.unsubscribe(resource, self)
        store.unsubscribe("nodes", self, node=host.name)
        self.pods = {}

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        if change.resource != "nodes" or change.kind != "MODIFIED":  # volumes only ask who the node is
            self.catch_up()

    def catch_up(self) -> None:
        """Something has changed that any resync may see."""
        for pod in list(self.pods.values()):
            pod.catch_up()
