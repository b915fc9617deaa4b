"""What was written to persistent volumes goes when they do.

A directory of a node goes only if a provisioner made it. Left out: the disks that stay behind a deleted volume of
the reclaim policy Retain, which a new volume may name.
"""

from __future__ import annotations

from collections.abc import Mapping

from simcluster.api.objects import uid_of
from simcluster.api.store import Change, Store
from simcluster.control.volumes.matching import VOLUMES, annotations_of
from simcluster.control.volumes.provisioners import PROVISIONED_BY
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.network import Network


class VolumeContents:
    """Empties the volumes that are deleted, on the network and on the nodes."""

    def __init__(self, store: Store, network: Network, machines: Mapping[str, Machine]) -> None:
        self.network = network
        self.machines = machines
        store.subscribe(VOLUMES, self)

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        if change.kind != "DELETED":
            return
        volume = change.object
        self.network.volumes.pop(uid_of(volume), None)
        path = (volume["spec"].get("hostPath") or volume["spec"].get("local") or {}).get("path")
        if path and PROVISIONED_BY in annotations_of(volume):
            for machine in self.machines.values():
                machine.volumes.pop(path, None)
