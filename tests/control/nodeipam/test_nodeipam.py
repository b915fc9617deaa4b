from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.nodeipam import NodeIpamController
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import node_object


class SmallRange(NodeIpamController):
    cluster_cidr = "10.244.0.0/22"


def test_nodes_get_ranges_until_there_are_none() -> None:
    sim = Simulation(0)
    api = Api(sim)
    user = Client(api, User(), "kubectl")
    own = node_object("own")
    own["spec"]["podCIDR"], own["spec"]["podCIDRs"] = "10.244.1.0/24", ["10.244.1.0/24"]
    user.create("nodes", "", own)
    SmallRange(sim, api)

    def cidr(name: str) -> str:
        node = api.store.get("nodes", "", name)
        assert node is not None
        return str(node["spec"].get("podCIDR", ""))

    for n in range(4):
        user.create("nodes", "", node_object(f"n{n}"))
        sim.run_for(SECOND)
    assert [cidr(f"n{n}") for n in range(4)] == ["10.244.0.0/24", "10.244.2.0/24", "10.244.3.0/24", ""]
    (event,) = {e["message"] for e in api.store.objects("events") if e["reason"] == "CIDRNotAvailable"}
    assert event == "Node n3 status is now: CIDRNotAvailable"
    user.delete("nodes", "", "n1")
    sim.run_for(10 * SECOND)
    assert cidr("n3") == "10.244.2.0/24"
