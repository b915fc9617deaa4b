"""The TTL controller: how long kubelets may keep secrets and config maps, by the cluster's size."""

from simcluster.control.ttl.controller import TtlController

__all__ = ["TtlController"]
