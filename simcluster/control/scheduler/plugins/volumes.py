"""VolumeBinding: claims must be bound, or bindable where the pod goes.

Claims that a provisioner serves go where the class allows and the driver has room.
Source: kubernetes pkg/scheduler/framework/plugins/volumebinding.
"""

from __future__ import annotations

from simcluster.api.objects import ApiObject, is_terminating, name_of
from simcluster.control.scheduler.framework import Cycle, Plugin, Rejection, Skip
from simcluster.control.scheduler.nodeinfo import NodeInfo
from simcluster.control.scheduler.plugins.storagecapacity import allows, has_capacity
from simcluster.control.volumes.matching import (
    CLAIMS,
    NO_PROVISIONER,
    STORAGE_CLASSES,
    VOLUMES,
    binds_late,
    class_of,
    find_matching,
    is_bound,
    reaches,
)

#: In `Cycle.volumes`, in place of a volume: a provisioner makes one after the node is chosen.
PROVISION = ""


def claims_of(pod: ApiObject) -> list[str]:
    """Names of the claims that a pod mounts, ephemeral ones included."""
    names = []
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            names.append(volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            names.append(f"{name_of(pod)}-{volume['name']}")
    return names


def _is_ephemeral(pod: ApiObject, claim: str) -> bool:
    """Whether the claim is one that is made for the pod."""
    volumes = pod["spec"].get("volumes") or ()
    return any("ephemeral" in volume and claim == f"{name_of(pod)}-{volume['name']}" for volume in volumes)


class _Claims:
    __slots__ = ("bound", "late")

    def __init__(self) -> None:
        self.bound: list[ApiObject | None] = []
        self.late: list[ApiObject] = []


class VolumeBinding(Plugin):
    """Refuses pods with missing or unbound claims, and nodes that their volumes cannot reach."""

    name = "VolumeBinding"
    about_node = False
    woken_by = ("node", "volume")
    REASON_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
    REASON_AFFINITY = "node(s) had volume node affinity conflict"
    REASON_NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
    REASON_FULL = "node(s) did not have enough free storage"
    REASON_LOST = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

    def prepare(self, cycle: Cycle) -> Rejection | None:
        """Sort the pod's claims into bound ones and ones to bind late."""
        names = claims_of(cycle.info.pod)
        if not names:
            raise Skip
        claims = _Claims()
        unbound = False
        for name in names:
            claim = cycle.store.get(CLAIMS, cycle.info.namespace, name)
            if claim is None:
                missing = f'persistentvolumeclaim "{name}" not found'
                if _is_ephemeral(cycle.info.pod, name):
                    missing = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
                return Rejection((missing,), final=True)
            if (claim.get("status") or {}).get("phase") == "Lost":
                volume = claim["spec"].get("volumeName")
                text = f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
                return Rejection((text,), final=True)
            if is_terminating(claim):
                return Rejection((f'persistentvolumeclaim "{name}" is being deleted',), final=True)
            if is_bound(claim):
                claims.bound.append(cycle.store.get(VOLUMES, "", claim["spec"]["volumeName"]))
            elif binds_late(cycle.store.get(STORAGE_CLASSES, "", class_of(claim))) and not claim["spec"].get(
                "volumeName"
            ):
                claims.late.append(claim)
            else:
                unbound = True
        if unbound:
            return Rejection((self.REASON_IMMEDIATE,), final=True)
        cycle.state[self.name] = claims
        return None

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Refuse nodes that a bound volume cannot reach or where no volume can be found."""
        claims: _Claims = cycle.state[self.name]
        assert node.node is not None
        for volume in claims.bound:
            if volume is None:
                return Rejection((self.REASON_LOST,), final=True)
            if not reaches(volume, node.node):
                return Rejection((self.REASON_AFFINITY,), final=True)
        if not claims.late:
            return None
        chosen: list[tuple[str, str]] = []
        taken: dict[str, str] = {}
        for claim in claims.late:
            volumes = cycle.store.objects(VOLUMES)
            found = find_matching(claim, volumes, node=node.node, taken=taken)
            if found is not None:
                taken[name_of(found)] = name_of(claim)
                chosen.append((name_of(claim), name_of(found)))
                continue
            storage_class = cycle.store.get(STORAGE_CLASSES, "", class_of(claim))
            if storage_class is None or storage_class.get("provisioner") == NO_PROVISIONER:
                return Rejection((self.REASON_NO_VOLUME,), final=True)
            if not allows(storage_class, node.node):
                return Rejection((self.REASON_NO_VOLUME,), final=True)
            if not has_capacity(cycle.store, claim, storage_class, node.node):
                return Rejection((self.REASON_FULL,), final=True)
            chosen.append((name_of(claim), PROVISION))
        cycle.volumes[node.name] = chosen
        return None
