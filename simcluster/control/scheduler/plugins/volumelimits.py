"""VolumeRestrictions, NodeVolumeLimits and VolumeZone: what volumes forbid besides their binding.

Source: kubernetes pkg/scheduler/framework/plugins/{volumerestrictions,nodevolumelimits,volumezone}.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.objects import ApiObject
from simcluster.api.store import Store
from simcluster.control.scheduler.framework import Cycle, Plugin, Rejection, Skip
from simcluster.control.scheduler.nodeinfo import NodeInfo, PodInfo
from simcluster.control.scheduler.plugins.inlinedisks import InlineDisk, are_in_conflict, inline_disks
from simcluster.control.scheduler.plugins.volumes import claims_of
from simcluster.control.volumes.matching import CLAIMS, VOLUMES, is_bound

ONE_POD = "ReadWriteOncePod"
CSI_NODES = "csinodes.storage.k8s.io"
TOPOLOGY = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)


def _volumes(store: Store, info: PodInfo) -> list[ApiObject]:
    """The volumes behind the pod's bound claims."""
    found = []
    for name in claims_of(info.pod):
        claim = store.get(CLAIMS, info.namespace, name)
        volume = store.get(VOLUMES, "", claim["spec"]["volumeName"]) if claim is not None and is_bound(claim) else None
        if volume is not None:
            found.append(volume)
    return found


class VolumeRestrictions(Plugin):
    """A claim with the access mode ReadWriteOncePod is for one pod, and some disks have one user on a node."""

    name = "VolumeRestrictions"
    about_node = False
    woken_by = ("pod_delete", "volume")
    REASON_DISK = "node(s) had no available disk"
    REASON = "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"

    def prepare(self, cycle: Cycle) -> Rejection | None:
        """Only pods with such a claim matter; another pod that uses it is a conflict everywhere."""
        info = cycle.info
        exclusive = set()
        for name in claims_of(info.pod):
            claim = cycle.store.get(CLAIMS, info.namespace, name)
            if claim is not None and ONE_POD in (claim["spec"].get("accessModes") or ()):
                exclusive.add(name)
        disks = inline_disks(info.pod)
        if not exclusive and not disks:
            raise Skip
        conflict = False
        for key in cycle.cache.by_namespace.get(info.namespace, {}):
            other = cycle.cache.pod(key)
            if other is not None and key not in cycle.excluded and key != info.key:
                conflict = conflict or not exclusive.isdisjoint(claims_of(other.pod))
        cycle.state[self.name] = (conflict, disks)
        return None

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Refuse all nodes while the claim is in use, and those where another pod has a disk."""
        state: tuple[bool, list[InlineDisk]] = cycle.state[self.name]
        conflict, disks = state
        if conflict:
            return Rejection((self.REASON,))
        if disks:
            others = (info for key, info in node.pods.items() if key not in cycle.excluded and key != cycle.info.key)
            if any(are_in_conflict(disks, inline_disks(other.pod)) for other in others):
                return Rejection((self.REASON_DISK,))
        return None


class NodeVolumeLimits(Plugin):
    """A CSI driver attaches only so many volumes to a node."""

    name = "NodeVolumeLimits"
    about_node = False
    woken_by = ("node", "pod_delete", "volume")
    REASON = "node(s) exceed max volume count"

    def prepare(self, cycle: Cycle) -> Rejection | None:
        """The CSI volumes that the pod brings."""
        wanted = _attachments(cycle.store, cycle.info)
        if not wanted:
            raise Skip
        cycle.state[self.name] = wanted
        return None

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Refuse nodes whose limit would be passed."""
        limits = _limits(cycle.store.get(CSI_NODES, "", node.name))
        if not limits:
            return None
        wanted: dict[tuple[str, str], None] = cycle.state[self.name]
        present: dict[tuple[str, str], None] = {}
        for key, info in node.pods.items():
            if key not in cycle.excluded:
                present.update(_attachments(cycle.store, info))
        for driver, limit in limits.items():
            new = [entry for entry in wanted if entry[0] == driver and entry not in present]
            if new and len(new) + sum(entry[0] == driver for entry in present) > limit:
                return Rejection((self.REASON,))
        return None


def _attachments(store: Store, info: PodInfo) -> dict[tuple[str, str], None]:
    """(driver, volume handle) of the pod's CSI volumes."""
    return {
        (volume["spec"]["csi"]["driver"], volume["spec"]["csi"]["volumeHandle"]): None
        for volume in _volumes(store, info)
        if volume["spec"].get("csi")
    }


def _limits(csi_node: ApiObject | None) -> dict[str, int]:
    drivers: list[dict[str, Any]] = (csi_node["spec"].get("drivers") or []) if csi_node is not None else []
    counts = {driver["name"]: (driver.get("allocatable") or {}).get("count") for driver in drivers}
    return {name: count for name, count in counts.items() if count is not None}


class VolumeZone(Plugin):
    """A volume that is labelled with a zone or region is reached from nodes of that zone only."""

    name = "VolumeZone"
    about_node = False
    woken_by = ("node", "volume")
    REASON = "node(s) had no available volume zone"

    def prepare(self, cycle: Cycle) -> Rejection | None:
        """The topology labels of the pod's volumes."""
        wanted = [
            (key, tuple(volume["metadata"]["labels"][key].split("__")))
            for volume in _volumes(cycle.store, cycle.info)
            for key in TOPOLOGY
            if key in (volume["metadata"].get("labels") or {})
        ]
        if not wanted:
            raise Skip
        cycle.state[self.name] = wanted
        return None

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Refuse nodes of other zones; nodes without any such label are of every zone."""
        if not any(key in node.labels for key in TOPOLOGY):
            return None
        for key, values in cycle.state[self.name]:
            if node.labels.get(key) not in values:
                return Rejection((self.REASON,), final=True)
        return None
