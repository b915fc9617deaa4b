"""What a pod looked like when a sync found nothing to do: while it looks the same, the next one finds nothing.

The kubelet looks at every pod again after 60 to 90 s. Most of these syncs change nothing, and whether one
could is told by the identity of a few frozen values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simcluster.api.objects import Json
from simcluster.control.kubelet.runs import PodPicture

if TYPE_CHECKING:
    from simcluster.api.objects import ApiObject
    from simcluster.control.kubelet.podworker import PodWorker


class Standstill(NamedTuple):
    """Everything that an idle sync read: the pod, the last relist, what was reported, what volumes are made of."""

    pod: ApiObject
    picture: PodPicture
    status: Json
    sent: Json
    sources: tuple[object, ...]

    def lasts(self, worker: PodWorker) -> bool:
        """Whether all of it is still the same."""
        same = worker.pod is self.pod and worker.picture is self.picture and worker.reported is self.picture
        if not same or worker.status is not self.status or worker.sent is not self.sent:
            return False
        return worker.kubelet.volumes.sources(self.pod) == self.sources


def standstill_of(worker: PodWorker) -> Standstill | None:
    """What a sync without steps has seen; None if the next one may act all the same."""
    if worker.static or worker.volumes is None or worker.reported is not worker.picture:
        return None
    ready = (entry["ready"] for entry in worker.status.get("containerStatuses") or ())
    if worker.status.get("phase") != "Running" or not all(ready):
        return None
    sources = worker.kubelet.volumes.sources(worker.pod)
    return Standstill(worker.pod, worker.picture, worker.status, worker.sent, sources)
