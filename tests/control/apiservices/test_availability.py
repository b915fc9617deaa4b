"""Aggregated APIs that nobody serves, and what a namespace makes of that."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import condition
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.apiservices import ApiServiceAvailability
from simcluster.control.namespace import NamespaceController
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import service_object

RESOURCE = "apiservices.apiregistration.k8s.io"
NAME = "v1.things.example.com"


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.parts = [ApiServiceAvailability(self.sim, self.api), NamespaceController(self.sim, self.api)]
        spec = {
            "group": "things.example.com",
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 10,
            "insecureSkipTLSVerify": True,
            "service": {"namespace": "default", "name": "things", "port": 443},
        }
        self.user.create(RESOURCE, "", {"metadata": {"name": NAME}, "spec": spec})
        self.run(2)

    def run(self, seconds: int) -> None:
        self.sim.run_for(seconds * SECOND)

    def service(self, port: int = 443) -> None:
        body = service_object("things", {"app": "things"})
        body["spec"]["ports"] = [{"name": "https", "port": port, "targetPort": 8443}]
        self.user.create("services", "default", body)
        self.run(2)

    def endpoints(self, *addresses: str) -> None:
        ports = [{"name": "https", "port": 8443}]
        subset = {"addresses": [{"ip": a} for a in addresses], "ports": ports}
        body: dict[str, Any] = {"metadata": {"name": "things"}, "subsets": [subset] if addresses else []}
        self.user.create("endpoints", "default", body)
        self.run(2)

    def available(self) -> tuple[str, str, str]:
        entry = condition(self.user.get(RESOURCE, "", NAME), "Available")
        assert entry is not None
        return entry["status"], entry["reason"], entry["message"]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_each_step_to_the_api_has_its_reason(cluster: Cluster) -> None:
    assert cluster.available() == ("False", "ServiceNotFound", 'service/things in "default" is not present')
    cluster.service()
    assert cluster.available()[1] == "EndpointsNotFound"
    cluster.endpoints()
    assert cluster.available()[1:] == (
        "MissingEndpoints",
        'endpoints for service/things in "default" have no addresses with port name "https"',
    )
    subsets = {"subsets": [{"addresses": [{"ip": "10.0.0.9"}], "ports": [{"name": "https", "port": 8443}]}]}
    cluster.user.patch("endpoints", "default", "things", subsets, kind="merge")
    cluster.run(2)
    assert cluster.available()[1] == "FailedDiscoveryCheck"


def test_a_service_without_the_port(cluster: Cluster) -> None:
    cluster.service(port=80)
    message = 'service/things in "default" is not listening on port 443'
    assert cluster.available() == ("False", "ServicePortError", message)


def test_a_dead_api_keeps_namespaces_terminating(cluster: Cluster) -> None:
    cluster.user.create("namespaces", "", {"metadata": {"name": "old"}})
    cluster.user.delete("namespaces", "", "old")
    cluster.run(120)
    stuck = cluster.api.store.get("namespaces", "", "old")
    assert stuck is not None
    entry = condition(stuck, "NamespaceDeletionDiscoveryFailure")
    assert entry is not None
    version = "things.example.com/v1"
    assert (entry["status"], entry["reason"]) == ("True", "DiscoveryFailed")
    assert entry["message"] == (
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "
        f"{version}: stale GroupVersion discovery: {version}"
    )
    cluster.user.delete(RESOURCE, "", NAME)
    cluster.run(300)
    assert cluster.api.store.get("namespaces", "", "old") is None
