"""The ReplicationController controller: the ReplicaSet controller's body on the older kind."""

from simcluster.control.replicationcontroller.controller import ReplicationControllerController

__all__ = ["ReplicationControllerController"]
