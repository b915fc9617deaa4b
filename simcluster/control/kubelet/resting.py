"""Pods that rest: their kubelet looks at them again and again, and nothing that it looks at has changed.

A resync that finds nothing to do leaves no trace but its instant and the draw of the next one, so that those of a
resting pod need not happen one by one: they are caught up with as soon as anything changes that one of them might see
(`Looker.stir`). What a worker itself knows of tells it by being assigned (`Seen`); what all of them read, the store
and the runtime tell `Resting`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from simcluster.api.objects import ApiObject, Json
from simcluster.api.store import Change
from simcluster.control.kubelet.runs import PodPicture
from simcluster.control.kubelet.standstill import Standstill
from simcluster.control.kubelet.volumes import SOURCES
from simcluster.engine import SECOND, Parted, Stream, Timer

if TYPE_CHECKING:
    from simcluster.control.kubelet.kubelet import Kubelet

#: syncFrequency 1 min with jitter factor 0.5.
RESYNC_NS = (60 * SECOND, 90 * SECOND)
T = TypeVar("T")


class Seen(Generic[T]):
    """An attribute of a worker that a resync looks at."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    @overload
    def __get__(self, worker: None, owner: type) -> Seen[T]: ...

    @overload
    def __get__(self, worker: Looker, owner: type) -> T: ...

    def __get__(self, worker: Looker | None, owner: type) -> Any:
        return self if worker is None else worker.__dict__[self._name]

    def __set__(self, worker: Looker, value: T) -> None:
        known = worker.__dict__
        if worker.is_resting and known.get(self._name) is not value:
            worker.stir()
        known[self._name] = value


class Looker(Parted):
    """A worker that looks at its pod now and then, as long as it finds something: `resync` in `pod_workers.go`."""

    kubelet: Kubelet
    uid: str
    static: bool
    stream: Stream
    pod = Seen[ApiObject]()
    picture = Seen[PodPicture]()
    reported = Seen[PodPicture]()
    # Replaced, never changed: forks share what was reported.
    status = Seen[Json]()
    sent = Seen[Json]()

    def __init__(self) -> None:
        self.state = "syncing"
        self.dead = False
        self._due_ns = -1  # of the next resync while it rests
        self._ended_ns = -1  # of the last sync
        self._standstill: Standstill | None = None
        self._busy = False
        self._sync_timer: Timer | None = None
        self._resync_timer: Timer | None = None

    @property
    def active(self) -> bool:
        """Whether steps of a sync may still act."""
        return not self.dead and self.state == "syncing"

    @abstractmethod
    def request_sync(self) -> None:
        """Sync soon."""

    @abstractmethod
    def api_pod(self) -> ApiObject | None:
        """The pod in the API that the worker reports to."""

    def _resync(self) -> None:
        """Time to look again; where nothing has changed since a look that found nothing to do, that was it."""
        self._resync_timer = None
        known, kubelet = self._standstill, self.kubelet
        rests = self._sync_timer is None and self.active and not self._busy and kubelet.machine.runtime.up
        mark = kubelet.volumes.mark()
        if rests and known is not None and known.lasts(self, mark):
            if known.mark != mark:
                self._standstill = known._replace(mark=mark)
            self._ended_ns = kubelet.sim.now
            self._due_ns = kubelet.sync_tick_ns(self.stream.uniform_ns(*RESYNC_NS))
            kubelet.resting.workers[self.uid] = self
        else:
            self.request_sync()

    @property
    def is_resting(self) -> bool:
        """Whether resyncs find nothing to do, and so do not happen one by one."""
        return self._due_ns >= 0

    def stir(self) -> None:
        """Catch up with the resyncs that found nothing to do; the next one is looked at again."""
        if self._due_ns < 0:
            return
        kubelet, due_ns, self._due_ns = self.kubelet, self._due_ns, -1
        del kubelet.resting.workers[self.uid]
        while due_ns <= kubelet.sim.now:
            self._ended_ns = due_ns
            due_ns = kubelet.sync_tick_ns(due_ns + self.stream.uniform_ns(*RESYNC_NS) - kubelet.sim.now)
        self._resync_timer = kubelet.sim.at(due_ns, self._resync)

    def _cancel_resync(self) -> None:
        self.stir()
        if self._resync_timer is not None:
            self._resync_timer.cancel()
            self._resync_timer = None


class Resting:
    """The resting pods of one kubelet."""

    def __init__(self, kubelet: Kubelet) -> None:
        self._kubelet = kubelet
        self.workers: dict[str, Looker] = {}  # pod uid ->

    def start(self) -> None:
        """The kubelet starts: be told of what volumes are made of."""
        kubelet, store = self._kubelet, self._kubelet.api.store
        for resource in SOURCES:
            store.subscribe(resource, self)
        store.subscribe("nodes", self, node=kubelet.name)

    def stop(self) -> None:
        """The kubelet stops."""
        kubelet, store = self._kubelet, self._kubelet.api.store
        for resource in SOURCES:
            store.unsubscribe(resource, self)
        store.unsubscribe("nodes", self, node=kubelet.name)
        self.workers = {}

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        if change.resource != "nodes" or change.kind != "MODIFIED":  # volumes only ask who the node is
            self.rouse()

    def rouse(self) -> None:
        """Something has changed that any resync may see."""
        for worker in list(self.workers.values()):
            worker.stir()
