"""One pod on its node, as all parts of its worker see it: what is known of it, and what they all do to it."""

from __future__ import annotations

from simcluster.api.objects import ApiObject, uid_of
from simcluster.control.kubelet.host import Host
from simcluster.control.kubelet.mirrorpods import mirror_hash
from simcluster.control.kubelet.podspec import field_path, grace_period_s
from simcluster.control.kubelet.resting import Resting, RestingPod
from simcluster.control.kubelet.runs import take_picture
from simcluster.control.kubelet.status import Waiting
from simcluster.engine import SECOND
from simcluster.models.machine.container import Container


class HostedPod(RestingPod):
    """A pod of one node.

    Attributes:
        waiting: container name -> why it does not run.
        removed: whether the API has forgotten the pod.
        grace_s: seconds to end in that an eviction or a shutdown has set; None without one.
    """

    def __init__(self, host: Host, pod: ApiObject, resting: Resting) -> None:
        super().__init__(host, pod, resting)
        known = self.api_pod()
        self.status = self.sent = ApiObject((pod if known is None else known).get("status") or {})
        self.waiting: dict[str, Waiting] = {}
        self.removed = False
        self.grace_s: int | None = None

    def api_pod(self) -> ApiObject | None:
        """The pod in the API that is reported to: itself, or the mirror of a static pod."""
        current = self.host.client.cache.get("pods", self.namespace, self.name)
        if current is None or (mirror_hash(current) if self.static else uid_of(current)) != self.uid:
            return None
        return current

    def grace_ns(self) -> int:
        """How long containers may take to stop; a pod that was force-deleted gets one second."""
        seconds = grace_period_s(self.pod) if self.grace_s is None else min(self.grace_s, grace_period_s(self.pod))
        return max(1, min(1, seconds) if self.removed else seconds) * SECOND

    def look(self) -> bool:
        """Relist this pod; whether anything is new."""
        picture = take_picture(self.host.machine.runtime, self.uid)
        if picture == self.picture:
            return False
        self.picture = picture
        return True

    def container(self, name: str) -> Container | None:
        """The newest run of a container, as it is now."""
        return self.host.machine.runtime.newest(self.uid, name)

    def pod_event(self, kind: str, reason: str, message: str) -> None:
        """Record an event about the pod."""
        self.host.recorder.event(self.pod, kind, reason, message)

    def container_event(self, name: str, kind: str, reason: str, message: str) -> None:
        """Record an event about one of its containers."""
        self.host.recorder.event(self.pod, kind, reason, message, field_path=field_path(self.pod, name))
