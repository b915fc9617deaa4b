from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.ttl import TtlController
from simcluster.control.ttl.controller import ANNOTATION
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import node_object


def test_the_time_grows_at_one_boundary_and_shrinks_at_a_smaller_one() -> None:
    sim = Simulation(0)
    api = Api(sim)
    user = Client(api, User(), "kubectl")
    TtlController(sim, api)

    def annotated(name: str) -> str:
        user.create("nodes", "", node_object(name))
        sim.run_for(SECOND)
        node = api.store.get("nodes", "", name)
        assert node is not None
        return str(node["metadata"]["annotations"][ANNOTATION])

    for n in range(99):
        user.create("nodes", "", node_object(f"n{n}"))
    assert annotated("hundredth") == "0"
    assert annotated("next") == "15"
    for n in range(5):
        user.delete("nodes", "", f"n{n}")
    assert annotated("after-a-few-left") == "15"
    for n in range(5, 20):
        user.delete("nodes", "", f"n{n}")
    assert annotated("after-many-left") == "0"
