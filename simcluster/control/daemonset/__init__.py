"""The DaemonSet controller: one pod on every node that suits."""

from simcluster.control.daemonset.controller import DaemonSetController

__all__ = ["DaemonSetController"]
