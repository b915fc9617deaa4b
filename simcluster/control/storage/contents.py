"""What was written to persistent volumes goes when they do.

Left out: the disks that stay behind a deleted volume of the reclaim policy Retain, which a new volume may name.
"""

from __future__ import annotations

from simcluster.api.objects import uid_of
from simcluster.api.store import Change, Store
from simcluster.control.volumes.matching import VOLUMES
from simcluster.models.machine.network import Network


class VolumeContents:
    """Empties the volumes that are deleted."""

    def __init__(self, store: Store, network: Network) -> None:
        self.network = network
        store.subscribe(VOLUMES, self)

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        if change.kind == "DELETED":
            self.network.volumes.pop(uid_of(change.object), None)
