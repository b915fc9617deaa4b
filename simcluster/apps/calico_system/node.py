"""`calico-node`: on each node it follows Calico's resources, announces routes and says which pools there are.

Source: Calico 3.27 (confd, BIRD, the IPAM plugin). Left out: Felix (network policies are the cluster's own agent's),
block affinities as resources, its readiness by BGP sessions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.store import Change
from simcluster.apps.calico_system.routes import missing, sessions
from simcluster.control.operator.operator import Operator
from simcluster.models.machine.addressblocks import Pool

_GROUP = "crd.projectcalico.org"
POOLS, CONFIGS, PEERS, BGP = (
    f"{name}.{_GROUP}" for name in ("ippools", "ipamconfigs", "bgppeers", "bgpconfigurations")
)
_KEY = "/configuration"


class CalicoNode(Operator):
    """One of its pods."""

    name = "calico-node"
    reads = (POOLS, CONFIGS, PEERS, BGP, "nodes")
    workers = 1
    qps, burst = 100, 100

    def started(self) -> None:
        """All caches are filled."""
        self._say("Starting with node name", f'"{self.container.machine.name}"')
        self.queue.add(_KEY)

    def noticed(self, change: Change) -> None:
        """Something that it goes by has changed; nodes do so with every heartbeat, and only labels and notes matter."""
        before, after = change.previous, change.object
        if change.resource == "nodes" and before is not None and change.kind != "DELETED":
            keys = ("labels", "annotations")
            if all(before["metadata"].get(key) == after["metadata"].get(key) for key in keys):
                return
        if self.running:
            self.queue.add(_KEY)

    def sync(self, namespace: str, name: str) -> None:
        """Tell the node's kernel and the network what there is now."""
        network, here = self.container.machine.network, self.container.machine.name
        nodes, mesh = self.listed("nodes"), self._default(BGP).get("nodeToNodeMeshEnabled", True)
        connected = sessions(nodes, self.listed(PEERS), bool(mesh))
        lacking = missing(here, nodes, connected)
        if lacking != network.links.lacking.get(here, ()):
            self._say("BGP sessions", f"established={len(connected.get(here, {}))} without_route={len(lacking)}")
        network.links.lack(here, lacking)
        network.blocks.configure(
            [
                Pool(str(pool["spec"]["cidr"]), int(pool["spec"].get("blockSize", 26)))
                for pool in self.listed(POOLS)
                if not pool["spec"].get("disabled")
            ],
            bool(self._default(CONFIGS).get("strictAffinity")),
        )

    def _default(self, resource: str) -> Mapping[str, Any]:
        """The spec of the object `default`; empty if there is none."""
        found = self.get(resource, "", "default")
        return {} if found is None else found.get("spec") or {}

    def _say(self, what: str, rest: str) -> None:
        self.log("I", "startup.go:427", f"{what} {rest}")
