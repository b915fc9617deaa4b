"""The volume expand controller: it tells who a larger claim waits for.

No volume plugin inside of the controller manager can expand anything any more; so a claim whose
request has grown waits for the resizer of its driver, or for ever.
Source: kubernetes pkg/controller/volume/expand/expand_controller.go, 1.32.
"""

from __future__ import annotations

from simcluster.api.events import EventRecorder
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.volumes.matching import CLAIMS, grows, requested_bytes
from simcluster.engine import Simulation

WAITING = "waiting for an external controller to expand this PVC"


class VolumeExpandController(Controller):
    """Looks at claims that have grown."""

    name = "expand-controller"
    workers = 1

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.recorder = EventRecorder(sim, self.client, "volume_expand")
        self.watch(CLAIMS, self._on_claim)

    def _on_claim(self, change: Change) -> None:
        before = change.previous
        if before is None or requested_bytes(before) != requested_bytes(change.object):
            self.enqueue_object(change)

    def sync(self, namespace: str, name: str) -> None:
        """Say that a claim waits."""
        claim = self.client.cache.get(CLAIMS, namespace, name)
        if claim is not None and grows(claim):
            self.recorder.event(claim, "Normal", "ExternalExpanding", WAITING)
