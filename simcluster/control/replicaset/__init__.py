"""The ReplicaSet controller: keeps the number of pods of a template."""

from simcluster.control.replicaset.controller import ReplicaSetController

__all__ = ["ReplicaSetController"]
