"""The range allocator of the node IPAM controller: `spec.podCIDR` of nodes that have none.

A node that registers with a range of its own keeps it, and nobody else gets it. Source:
kubernetes pkg/controller/nodeipam/ipam/{range_allocator,cidrset/cidr_set}.go of 1.32. Left out:
two address families, ranges for Services.
"""

from __future__ import annotations

import ipaddress

from simcluster.api.errors import ApiError
from simcluster.api.events import EventRecorder
from simcluster.api.objects import name_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.engine import Simulation

#: `--cluster-cidr` of kubeadm clusters with flannel or kindnet, and `--node-cidr-mask-size`.
CLUSTER_CIDR = "10.244.0.0/16"
MASK_SIZE = 24


class NodeIpamController(Controller):
    """Work-queue keys are names of nodes.

    Attributes:
        cluster_cidr: from what ranges are taken.
    """

    name = "node-ipam-controller"
    cluster_cidr = CLUSTER_CIDR

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.recorder = EventRecorder(sim, self.client, "cidrAllocator")
        network = ipaddress.IPv4Network(self.cluster_cidr)
        self._first = int(network.network_address)
        self._count = 1 << max(0, MASK_SIZE - network.prefixlen)
        self._next = 0
        self._taken: dict[int, str] = {}  # number of the range -> node
        self._of_node: dict[str, int] = {}
        for node in api.store.objects("nodes"):  # what is in use is known before anything is given
            self._occupy(name_of(node), node["spec"].get("podCIDR", ""))
        self.watch("nodes", self._node_changed)

    def _node_changed(self, change: Change) -> None:
        name = name_of(change.object)
        if change.kind == "DELETED":
            number = self._of_node.pop(name, None)
            if number is not None:
                del self._taken[number]
            return
        given = change.object["spec"].get("podCIDR", "")
        if given:
            self._occupy(name, given)
        elif change.kind == "ADDED":
            self.enqueue("", name)

    def _occupy(self, name: str, cidr: str) -> None:
        """Remember a range that a node has; one outside of the cluster's is nobody's business."""
        if not cidr or name in self._of_node:
            return
        number = (int(ipaddress.IPv4Network(cidr).network_address) - self._first) >> (32 - MASK_SIZE)
        if 0 <= number < self._count and number not in self._taken:
            self._taken[number], self._of_node[name] = name, number

    def sync(self, namespace: str, name: str) -> None:
        """Give a node its range."""
        node = self.client.cache.get("nodes", "", name)
        if node is None or node["spec"].get("podCIDR"):
            return
        number = self._of_node.get(name)
        if number is None:
            number = self._free()
            if number is None:
                text = f"Node {name} status is now: CIDRNotAvailable"
                self.recorder.event(node, "Normal", "CIDRNotAvailable", text)
                raise ApiError(500, "", "failed to allocate cidr from cluster cidr: CIDR allocation failed", {})
            self._taken[number], self._of_node[name] = name, number
        cidr = f"{ipaddress.IPv4Address(self._first + (number << (32 - MASK_SIZE)))}/{MASK_SIZE}"
        self.log.note("range_allocator.go:428", "Set node PodCIDR", logger=self.name, node=name, podCIDRs=[cidr])
        patch = {"spec": {"podCIDR": cidr, "podCIDRs": [cidr]}}
        self.client.patch("nodes", "", name, patch, kind="merge")

    def _free(self) -> int | None:
        """The next range that nobody has: they are given round robin, so that a freed one rests."""
        for step in range(self._count):
            number = (self._next + step) % self._count
            if number not in self._taken:
                self._next = number + 1
                return number
        return None
