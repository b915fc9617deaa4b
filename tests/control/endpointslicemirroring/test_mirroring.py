"""Slices of Endpoints that somebody writes by hand."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.endpointslicemirroring import EndpointSliceMirroringController
from simcluster.control.garbagecollector import GarbageCollector
from simcluster.control.kubeproxy.rulebook import RuleBook
from simcluster.engine import SECOND, Simulation
from simcluster.models.machine.network import ServiceKey
from tests.clusters.controlplane import service_object

SLICES = "endpointslices.discovery.k8s.io"
SUBSET = {"addresses": [{"ip": "192.0.2.10"}, {"ip": "192.0.2.11"}], "ports": [{"port": 5432, "name": "pg"}]}


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.book = RuleBook(self.api.store)
        self.parts = [EndpointSliceMirroringController(self.sim, self.api), GarbageCollector(self.sim, self.api)]

    def service(self, selector: dict[str, str] | None = None) -> None:
        body = service_object("db", selector or {})
        body["spec"]["ports"][0]["name"] = "pg"
        if not selector:
            del body["spec"]["selector"]
        self.user.create("services", "default", body)
        self.run()

    def endpoints(self, *subsets: dict[str, Any], **metadata: Any) -> None:
        body = {"metadata": {"name": "db", **metadata}, "subsets": list(subsets)}
        self.user.create("endpoints", "default", body)
        self.run()

    def run(self) -> None:
        self.sim.run_for(2 * SECOND)

    @property
    def slices(self) -> list[ApiObject]:
        return self.api.store.objects(SLICES, "default")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_a_service_without_selector_leads_where_its_endpoints_say(cluster: Cluster) -> None:
    cluster.service()
    cluster.endpoints({**SUBSET, "notReadyAddresses": [{"ip": "192.0.2.12"}]}, labels={"team": "data"})
    (entry,) = cluster.slices
    assert entry["metadata"]["labels"] == {
        "team": "data",
        "kubernetes.io/service-name": "db",
        "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
    }
    assert entry["metadata"]["ownerReferences"][0]["kind"] == "Endpoints"
    assert [e["conditions"]["ready"] for e in entry["endpoints"]] == [True, True, False]
    rule = cluster.book.rules("default", "db", "n1").rules[ServiceKey("10.96.0.10", 80)]
    assert rule.backends == (("192.0.2.10", 5432), ("192.0.2.11", 5432))


def test_slices_follow_and_go_with_their_endpoints(cluster: Cluster) -> None:
    cluster.service()
    cluster.endpoints(SUBSET)
    change = {"subsets": [{**SUBSET, "addresses": [{"ip": "192.0.2.99"}]}]}
    cluster.user.patch("endpoints", "default", "db", change, kind="merge")
    cluster.run()
    (entry,) = cluster.slices
    assert [e["addresses"] for e in entry["endpoints"]] == [["192.0.2.99"]]
    cluster.user.delete("endpoints", "default", "db")
    cluster.run()
    assert cluster.slices == []


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        {"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}},
    ],
)
def test_some_endpoints_are_not_mirrored(cluster: Cluster, metadata: dict[str, Any]) -> None:
    cluster.service()
    cluster.endpoints(SUBSET, **metadata)
    assert cluster.slices == []


def test_a_selector_or_no_service_at_all_leaves_it_to_others(cluster: Cluster) -> None:
    cluster.endpoints(SUBSET)
    assert cluster.slices == []
    cluster.service({"app": "db"})
    assert cluster.slices == []
    cluster.user.patch("services", "default", "db", {"spec": {"selector": None}}, kind="merge")
    cluster.run()
    assert len(cluster.slices) == 1
