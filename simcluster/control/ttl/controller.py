"""Annotates every node with `node.alpha.kubernetes.io/ttl`.

Source: kubernetes pkg/controller/ttl/ttl_controller.go. Left out: its hysteresis, by which
a shrinking cluster keeps the longer time for a while.
"""

from __future__ import annotations

from simcluster.api.objects import name_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.engine import Simulation

ANNOTATION = "node.alpha.kubernetes.io/ttl"
#: Seconds, up to so many nodes (ttlBoundaries).
BOUNDARIES = ((100, 0), (500, 15), (1000, 30), (2000, 60))
LONGEST_S = 300


class TtlController(Controller):
    """Work-queue keys are names of nodes."""

    name = "ttl-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.watch("nodes", self._node_changed)

    def _node_changed(self, change: Change) -> None:
        if change.kind != "DELETED":
            self.enqueue("", name_of(change.object))

    def sync(self, namespace: str, name: str) -> None:
        """Annotate one node if its annotation is not the cluster's."""
        node = self.client.cache.get("nodes", "", name)
        if node is None:
            return
        wanted = str(self._seconds())
        if (node["metadata"].get("annotations") or {}).get(ANNOTATION) != wanted:
            self.client.patch("nodes", "", name, {"metadata": {"annotations": {ANNOTATION: wanted}}}, kind="merge")

    def _seconds(self) -> int:
        nodes = sum(1 for _ in self.client.cache.objects("nodes"))
        return next((seconds for limit, seconds in BOUNDARIES if nodes <= limit), LONGEST_S)
