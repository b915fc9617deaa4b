"""Makes the claim of every generic ephemeral volume (`volumes[].ephemeral`), owned by its pod.

Source: kubernetes pkg/controller/volume/ephemeral of 1.32.
"""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import (
    ApiObject,
    Json,
    controller_of,
    is_terminating,
    name_of,
    namespace_of,
    owner_reference,
    thaw,
    uid_of,
)
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.engine import Simulation

CLAIMS = "persistentvolumeclaims"


class EphemeralVolumeController(Controller):
    """Work-queue keys are pods."""

    name = "ephemeral-volume-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.watch("pods", self._pod_changed)

    def _pod_changed(self, change: Change) -> None:
        # A claim is made once: with the pod, or with a retry of the queue.
        if change.kind == "ADDED" and any("ephemeral" in v for v in change.object["spec"].get("volumes") or ()):
            self.enqueue_object(change)

    def sync(self, namespace: str, name: str) -> None:
        """Make the missing claims of one pod. Raises ApiError to be called again."""
        pod = self.client.cache.get("pods", namespace, name)
        if pod is None or is_terminating(pod):
            return
        for volume in pod["spec"].get("volumes") or ():
            if "ephemeral" in volume:
                self._ensure(pod, volume)

    def _ensure(self, pod: ApiObject, volume: Json) -> None:
        claim_name = f"{name_of(pod)}-{volume['name']}"
        known = self.client.cache.get(CLAIMS, namespace_of(pod), claim_name)
        if known is not None:
            if (controller_of(known) or {}).get("uid") != uid_of(pod):
                text = (
                    f"PVC {namespace_of(pod)}/{claim_name} was not created for pod {namespace_of(pod)}/{name_of(pod)}"
                )
                self.recorder.event(pod, "Warning", "ConflictingPVC", f"{text} (pod is not owner)")
            return
        template = volume["ephemeral"].get("volumeClaimTemplate") or {}
        metadata: Json = {"name": claim_name, "ownerReferences": [owner_reference(pod)]}
        for field in ("labels", "annotations"):
            if (template.get("metadata") or {}).get(field):
                metadata[field] = thaw(template["metadata"][field])
        body = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": thaw(template.get("spec") or {}),
        }
        try:
            self.client.create(CLAIMS, namespace_of(pod), body)
        except ApiError as error:
            text = f"ephemeral volume creation failed: {error.message}"
            self.recorder.event(pod, "Warning", "FailedPVCCreation", text)
            raise
