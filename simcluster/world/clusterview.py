"""What programs of a node need of the cluster they ask."""

from __future__ import annotations

from typing import Protocol

from simcluster.models.machine.machine import Machine
from simcluster.models.machine.network import Network
from simcluster.world.apigate import GatedApi


class ClusterView(Protocol):
    """A cluster: its API server and what that stores, its network and its machines by name."""

    api: GatedApi
    network: Network
    machines: dict[str, Machine]
