"""The scheduler's plugins, in the order in which their filters run.

Source: kubernetes pkg/scheduler/apis/config/v1/default_plugins.go.
"""

from simcluster.control.scheduler.framework import Plugin
from simcluster.control.scheduler.plugins.imagelocality import ImageLocality
from simcluster.control.scheduler.plugins.interpod import InterPodAffinity
from simcluster.control.scheduler.plugins.nodeaffinity import NodeAffinity
from simcluster.control.scheduler.plugins.nodeconstraints import NodeName, NodeUnschedulable, TaintToleration
from simcluster.control.scheduler.plugins.resources import (
    NodePorts,
    NodeResourcesBalancedAllocation,
    NodeResourcesFit,
)
from simcluster.control.scheduler.plugins.spread import PodTopologySpread
from simcluster.control.scheduler.plugins.volumelimits import NodeVolumeLimits, VolumeRestrictions, VolumeZone
from simcluster.control.scheduler.plugins.volumes import VolumeBinding

REGISTRY: dict[str, type[Plugin]] = {
    NodeUnschedulable.name: NodeUnschedulable,
    NodeName.name: NodeName,
    TaintToleration.name: TaintToleration,
    NodeAffinity.name: NodeAffinity,
    NodePorts.name: NodePorts,
    NodeResourcesFit.name: NodeResourcesFit,
    VolumeRestrictions.name: VolumeRestrictions,
    NodeVolumeLimits.name: NodeVolumeLimits,
    VolumeBinding.name: VolumeBinding,
    VolumeZone.name: VolumeZone,
    PodTopologySpread.name: PodTopologySpread,
    InterPodAffinity.name: InterPodAffinity,
    NodeResourcesBalancedAllocation.name: NodeResourcesBalancedAllocation,
    ImageLocality.name: ImageLocality,
}

__all__ = ["REGISTRY"]
