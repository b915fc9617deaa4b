"""Topology hints: shares of zones, and the nodes that use them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.endpointslice import EndpointSliceController
from simcluster.control.endpointslice.hints import proportional_hints
from simcluster.control.kubeproxy.rulebook import RuleBook
from simcluster.engine import SECOND, Simulation
from simcluster.models.machine.network import ServiceKey
from tests.clusters.controlplane import FakeKubelets, node_object, pod_object, service_object

MODE = {"service.kubernetes.io/topology-mode": "Auto"}
DISABLED = "TopologyAwareHintsDisabled"


def endpoints(*zones: str) -> list[dict[str, Any]]:
    return [
        {"addresses": [f"10.0.0.{n}"], "conditions": {"ready": True}, **({"zone": zone} if zone else {})}
        for n, zone in enumerate(zones)
    ]


def halves(*zones: str) -> dict[str, Fraction]:
    return {zone: Fraction(1, len(zones)) for zone in zones}


def test_every_zone_gets_its_share() -> None:
    found = proportional_hints(endpoints("a", "a", "a", "b"), halves("a", "b"))
    assert sorted(found.zones.values()) == ["a", "a", "b", "b"]
    assert found.zones["10.0.0.3"] == "b"


@pytest.mark.parametrize(
    ("zones", "shares", "problem"),
    [
        (
            ("a", "b", "b"),
            None,
            "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes",
        ),
        (("a", "a"), halves("a"), "Nodes only ready in one zone"),
        (("a", "b"), halves("a", "b", "c"), "Insufficient number of endpoints (2 endpoints, 3 zones)"),
        (
            ("a", "b", "b"),
            halves("a", "b"),
            "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold "
            "(3 endpoints, 2 zones)",
        ),
        (("a", "b", "b", ""), halves("a", "b"), "One or more endpoints do not have a zone specified"),
    ],
)
def test_no_hints_rather_than_wrong_ones(
    zones: tuple[str, ...], shares: dict[str, Fraction] | None, problem: str
) -> None:
    found = proportional_hints(endpoints(*zones), shares)
    assert (found.zones, found.problem) == ({}, problem)


class Cluster:
    def __init__(self, **service: Any) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.book = RuleBook(self.api.store)
        self.controller = EndpointSliceController(self.sim, self.api)
        self.kubelets = FakeKubelets(self.sim, self.api)
        for n, zone in ((1, "a"), (2, "b")):
            self.user.create("nodes", "", node_object(f"n{n}", topology_kubernetes_io__zone=zone))
        body = service_object("web", {"app": "web"})
        body["metadata"].update(service.pop("metadata", {}))
        body["spec"].update(service)
        self.user.create("services", "default", body)

    def pods(self, *nodes: str) -> None:
        for n, node in enumerate(nodes):
            body = pod_object(f"p{n}", nodeName=node)
            body["metadata"]["labels"] = {"app": "web"}
            self.user.create("pods", "default", body)
        self.sim.run_for(3 * SECOND)

    def backends(self, node: str) -> int:
        (rule,) = self.book.rules("default", "web", node).rules.values()
        return len(rule.backends)

    def events(self) -> list[tuple[str, str]]:
        return [(e["reason"], e["message"]) for e in self.api.store.objects("events")]


def test_nodes_use_the_endpoints_of_their_zone() -> None:
    cluster = Cluster(metadata={"annotations": MODE})
    cluster.pods("n1", "n1", "n2", "n2")
    assert (cluster.backends("n1"), cluster.backends("n2")) == (2, 2)
    assert ("TopologyAwareHintsEnabled", "Topology Aware Hints has been enabled, addressType: IPv4") in cluster.events()
    labels = {"metadata": {"labels": {"topology.kubernetes.io/zone": "a"}}}
    cluster.user.patch("nodes", "", "n2", labels, kind="merge")
    cluster.sim.run_for(2 * SECOND)
    assert cluster.backends("n1") == 4
    assert (DISABLED, "Nodes only ready in one zone, addressType: IPv4") in cluster.events()


def test_prefer_close_stays_in_the_zone_whatever_its_share() -> None:
    cluster = Cluster(trafficDistribution="PreferClose")
    cluster.pods("n1", "n2", "n2")
    assert (cluster.backends("n1"), cluster.backends("n2")) == (1, 2)
    assert not any(reason.startswith("Topology") for reason, _ in cluster.events())


def test_a_zone_without_an_endpoint_uses_all() -> None:
    cluster = Cluster(trafficDistribution="PreferClose")
    cluster.pods("n2", "n2", "n2")
    assert cluster.backends("n1") == 3
    assert ServiceKey("10.96.0.10", 80) in cluster.book.rules("default", "web", "n1").rules
