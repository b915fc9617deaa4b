"""Node address ranges: every node gets its part of the pods' network."""

from simcluster.control.nodeipam.controller import CLUSTER_CIDR, NodeIpamController

__all__ = ["CLUSTER_CIDR", "NodeIpamController"]
