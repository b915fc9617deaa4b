"""Protection of claims and volumes in use: finalizers that go when nobody uses them.

Source: kubernetes pkg/controller/volume/{pvcprotection,pvprotection}.
"""

from __future__ import annotations

from simcluster.api.objects import ApiObject, is_terminating, name_of, namespace_of, thaw
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.persistentvolume.binder import uses_claim
from simcluster.control.pods.status import is_terminal
from simcluster.control.volumes.matching import CLAIMS, VOLUMES
from simcluster.engine import Simulation

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


class _Protection(Controller):
    """Base: adds the finalizer to live objects, removes it from unused ones being deleted."""

    resource = ""
    finalizer = ""

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.watch(self.resource, self.enqueue_object)

    def is_used(self, obj: ApiObject) -> bool:
        """Whether deletion must wait."""
        raise AssertionError("a base class")

    def sync(self, namespace: str, name: str) -> None:
        """Add or remove the finalizer of one object."""
        obj = self.client.cache.get(self.resource, namespace, name)
        if obj is None:
            return
        finalizers = list(obj["metadata"].get("finalizers") or ())
        if is_terminating(obj):
            if self.finalizer not in finalizers or self.is_used(obj):
                return
            finalizers.remove(self.finalizer)
        elif self.finalizer in finalizers:
            return
        else:
            finalizers.append(self.finalizer)
        changed = thaw(obj)
        changed["metadata"]["finalizers"] = finalizers
        self.client.update(self.resource, changed)


class ClaimProtection(_Protection):
    """A claim stays while a pod that has not ended mounts it."""

    name = "persistentvolumeclaim-protection-controller"
    resource = CLAIMS
    finalizer = CLAIM_FINALIZER

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.watch("pods", self._on_pod)

    def _on_pod(self, change: Change) -> None:
        pod = change.object
        if not pod["spec"].get("volumes") or not (change.kind == "DELETED" or is_terminal(pod)):
            return
        for claim in self.client.cache.objects(CLAIMS, namespace_of(pod)):
            if is_terminating(claim) and uses_claim(pod, name_of(claim)):
                self.enqueue(namespace_of(claim), name_of(claim))

    def is_used(self, obj: ApiObject) -> bool:
        """Pods that are bound to a node and have not ended use their claims."""
        for pod in self.client.cache.objects("pods", namespace_of(obj)):
            if pod["spec"].get("nodeName") and not is_terminal(pod) and uses_claim(pod, name_of(obj)):
                return True
        return False


class VolumeProtection(_Protection):
    """A volume stays while it is bound."""

    name = "persistentvolume-protection-controller"
    resource = VOLUMES
    finalizer = VOLUME_FINALIZER

    def is_used(self, obj: ApiObject) -> bool:
        """Bound volumes are in use."""
        return bool((obj.get("status") or {}).get("phase") == "Bound")
