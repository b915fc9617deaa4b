"""The cluster role aggregation controller."""

from simcluster.control.clusterroleaggregation.controller import ClusterRoleAggregationController

__all__ = ["ClusterRoleAggregationController"]
