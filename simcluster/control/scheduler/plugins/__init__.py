"""The scheduler's plugins, in the order in which their filters run.

Source: kubernetes pkg/scheduler/apis/config/v1/default_plugins.go.
"""

from simcluster.control.scheduler.framework import Plugin
from simcluster.control.scheduler.plugins.interpod import InterPodAffinity
from simcluster.control.scheduler.plugins.nodeaffinity import NodeAffinity
from simcluster.control.scheduler.plugins.nodeconstraints import NodeName, NodeUnschedulable, TaintToleration
from simcluster.control.scheduler.plugins.resources import (
    NodePorts,
    NodeResourcesBalancedAllocation,
    NodeResourcesFit,
)
from simcluster.control.scheduler.plugins.spread import PodTopologySpread
from simcluster.control.scheduler.plugins.volumes import VolumeBinding

REGISTRY: dict[str, type[Plugin]] = {
    NodeUnschedulable.name: NodeUnschedulable,
    NodeName.name: NodeName,
    TaintToleration.name: TaintToleration,
    NodeAffinity.name: NodeAffinity,
    NodePorts.name: NodePorts,
    NodeResourcesFit.name: NodeResourcesFit,
    VolumeBinding.name: VolumeBinding,
    PodTopologySpread.name: PodTopologySpread,
    InterPodAffinity.name: InterPodAffinity,
    NodeResourcesBalancedAllocation.name: NodeResourcesBalancedAllocation,
}

__all__ = ["REGISTRY"]
