"""What a pod looked like when a sync found nothing to do: while it looks the same, the next one finds nothing.

The kubelet looks at every pod again after 60 to 90 s. Most of these syncs change nothing, and whether one
could is told by the identity of a few frozen values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simcluster.api.objects import Json
from simcluster.control.kubelet.runs import PodPicture
from simcluster.engine import Shared

if TYPE_CHECKING:
    from simcluster.api.objects import ApiObject
    from simcluster.control.kubelet.podworker import PodWorker
    from simcluster.control.kubelet.resting import Looker


class _Seen(NamedTuple):
    """The parts of a `Standstill`."""

    pod: ApiObject
    picture: PodPicture
    status: Json
    sent: Json
    sources: tuple[object, ...]
    mark: tuple[object, ...]


class Standstill(_Seen, Shared):
    """Everything that an idle sync read: the pod, the last relist, what was reported, what volumes are made of."""

    __slots__ = ()

    def lasts(self, worker: Looker, mark: tuple[object, ...]) -> bool:
        """Whether all of it is still the same; `mark` is that of the volumes now."""
        same = worker.pod is self.pod and worker.picture is self.picture and worker.reported is self.picture
        if not same or worker.status is not self.status or worker.sent is not self.sent:
            return False
        if worker.static and not worker.kubelet.static.is_mirrored(worker):
            return False
        return mark == self.mark or worker.kubelet.volumes.sources(self.pod) == self.sources


def standstill_of(worker: PodWorker) -> Standstill | None:
    """What a sync without steps has seen; None if the next one may act all the same."""
    if worker.volumes is None or worker.reported is not worker.picture:
        return None
    ready = (entry["ready"] for entry in worker.status.get("containerStatuses") or ())
    if worker.status.get("phase") != "Running" or not all(ready):
        return None
    volumes = worker.kubelet.volumes
    sources = volumes.sources(worker.pod)
    return Standstill(worker.pod, worker.picture, worker.status, worker.sent, sources, volumes.mark())
