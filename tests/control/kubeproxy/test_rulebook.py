"""Rules are worked out once for all nodes, anew when something changes, and by node under policy Local."""

from __future__ import annotations

from typing import Any

from simcluster.api.client import Client
from simcluster.api.request import ADMIN
from simcluster.api.server import Api
from simcluster.control.kubeproxy.rulebook import NO_RULES, SLICES, RuleBook
from simcluster.engine import Simulation
from simcluster.models.machine.network import Network, ServiceKey

ADDRESS = "10.96.0.77"
KEY = ServiceKey(ADDRESS, 80)


def cluster(**spec: Any) -> tuple[Client, RuleBook]:
    api = Api(Simulation(0))
    client = Client(api, ADMIN, "kubectl")
    book = RuleBook(api.store)
    client.create("namespaces", "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"clusterIP": ADDRESS, "ports": [{"port": 80}], "selector": {"app": "web"}, **spec},
    }
    client.create("services", "default", service)
    client.create(SLICES, "default", slice_of("10.244.1.2", "10.244.2.2"))
    return client, book


def slice_of(*addresses: str) -> dict[str, Any]:
    endpoints = [
        {"addresses": [address], "conditions": {"ready": True}, "nodeName": f"n{number}"}
        for number, address in enumerate(addresses, start=1)
    ]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "web-1", "namespace": "default", "labels": {"kubernetes.io/service-name": "web"}},
        "addressType": "IPv4",
        "ports": [{"name": "", "port": 8080, "protocol": "TCP"}],
        "endpoints": endpoints,
    }


def test_nodes_share_the_rules() -> None:
    _, book = cluster()
    rules = book.rules("default", "web", "n1")
    assert rules.rules[KEY].backends == (("10.244.1.2", 8080), ("10.244.2.2", 8080))
    assert book.rules("default", "web", "n2") is rules


def test_a_change_makes_them_anew() -> None:
    client, book = cluster()
    before = book.rules("default", "web", "n1")
    client.patch(SLICES, "default", "web-1", {"endpoints": slice_of("10.244.1.2")["endpoints"]}, kind="merge")
    after = book.rules("default", "web", "n1")
    assert (len(before.rules[KEY].backends), len(after.rules[KEY].backends)) == (2, 1)
    client.delete(SLICES, "default", "web-1")
    assert book.rules("default", "web", "n1").rules[KEY].backends == ()
    client.delete("services", "default", "web")
    assert book.rules("default", "web", "n1") is NO_RULES


def test_policy_local_differs_by_node() -> None:
    _, book = cluster(internalTrafficPolicy="Local")
    here, elsewhere = book.rules("default", "web", "n1"), book.rules("default", "web", "n3")
    assert here.rules[KEY].backends == (("10.244.1.2", 8080),)
    assert elsewhere.rules[KEY].backends == ()
    assert elsewhere.rules[KEY].drop


def test_a_rule_is_of_one_protocol() -> None:
    ports = [{"name": "dns", "port": 80, "protocol": "UDP"}]
    client, book = cluster(ports=ports)
    slice_ports = {"ports": [{"name": "dns", "port": 8080, "protocol": "UDP"}]}
    client.patch(SLICES, "default", "web-1", slice_ports, kind="merge")
    rules = book.rules("default", "web", "n1").rules
    assert KEY not in rules
    udp = ServiceKey(ADDRESS, 80, "UDP")
    assert rules[udp].backends == (("10.244.1.2", 8080), ("10.244.2.2", 8080))
    network = Network()
    network.set_rules("n1", udp, rules[udp].backends)
    assert network.route("n1", ADDRESS, 80, protocol="UDP").outcome == "ok"
    assert network.route("n1", ADDRESS, 80).outcome == "refused"
    client.patch(
        SLICES, "default", "web-1", {"ports": [{"name": "dns", "port": 8080, "protocol": "TCP"}]}, kind="merge"
    )
    assert book.rules("default", "web", "n1").rules[udp].backends == ()
