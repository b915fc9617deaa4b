"""Annotates every node with `node.alpha.kubernetes.io/ttl`.

Source: kubernetes pkg/controller/ttl/ttl_controller.go. The time grows when the cluster passes a
boundary, and shrinks only below a smaller one.
"""

from __future__ import annotations

from simcluster.api.objects import name_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.engine import Simulation

ANNOTATION = "node.alpha.kubernetes.io/ttl"
#: From so many nodes on the time may shrink to it, up to so many it holds, seconds (ttlBoundaries).
BOUNDARIES = ((0, 100, 0), (90, 500, 15), (450, 1000, 30), (900, 2000, 60), (1800, 1 << 31, 300))


class TtlController(Controller):
    """Work-queue keys are names of nodes."""

    name = "ttl-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self._nodes = 0
        self._step = 0
        self.watch("nodes", self._node_changed)

    def _node_changed(self, change: Change) -> None:
        if change.kind == "ADDED":
            self._nodes += 1
            if self._nodes > BOUNDARIES[self._step][1]:
                self._step += 1
        elif change.kind == "DELETED":
            self._nodes -= 1
            if self._nodes < BOUNDARIES[self._step][0]:
                self._step -= 1
            return
        self.enqueue("", name_of(change.object))

    def sync(self, namespace: str, name: str) -> None:
        """Annotate one node if its annotation is not the cluster's."""
        node = self.client.cache.get("nodes", "", name)
        if node is None:
            return
        wanted = str(BOUNDARIES[self._step][2])
        if (node["metadata"].get("annotations") or {}).get(ANNOTATION) != wanted:
            self.client.patch("nodes", "", name, {"metadata": {"annotations": {ANNOTATION: wanted}}}, kind="merge")
