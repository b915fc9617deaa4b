"""What was written to persistent volumes goes when they do.

A directory of a node goes only if a provisioner made it. Left out: the disks that stay behind a deleted volume of
the reclaim policy Retain, which a new volume may name.
"""

from __future__ import annotations

from simcluster.api.objects import uid_of
from simcluster.api.store import Change, Store
from simcluster.control.volumes.matching import VOLUMES, annotations_of
from simcluster.control.volumes.provisioners import PROVISIONED_BY
from simcluster.models.machine.network import Network


class VolumeContents:
    """Empties the volumes that are deleted."""

    def __init__(self, store: Store, network: Network) -> None:
        self.network = network
        store.subscribe(VOLUMES, self)

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        if change.kind != "DELETED":
            return
        volume, layers = change.object, self.network.volumes
        layers.pop(uid_of(volume), None)
        path = (volume["spec"].get("hostPath") or volume["spec"].get("local") or {}).get("path")
        if path and PROVISIONED_BY in annotations_of(volume):
            for key in [key for key in layers if key.endswith(f":{path}")]:
                del layers[key]
