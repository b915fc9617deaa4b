"""The ReplicationController controller.

A ReplicationController is a ReplicaSet whose selector is a plain map of labels. The real
controller converts the objects and runs the ReplicaSet controller on them; so does this one.
Source: kubernetes pkg/controller/replication/replication_controller.go.
"""

from __future__ import annotations

from simcluster.api.events import EventRecorder
from simcluster.api.server import Api
from simcluster.control.replicaset.controller import ReplicaSetController
from simcluster.engine import Simulation


class ReplicationControllerController(ReplicaSetController):
    """Reconciles ReplicationControllers."""

    name = "replicationcontroller-controller"
    resource = "replicationcontrollers"
    kind = "ReplicationController"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.recorder = EventRecorder(sim, self.client, "replication-controller")
