"""The Deployment controller: revisions as ReplicaSets, and the walk from one to the next."""

from simcluster.control.deployment.controller import DeploymentController

__all__ = ["DeploymentController"]
