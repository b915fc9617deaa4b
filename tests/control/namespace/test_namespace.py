from __future__ import annotations

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, condition
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.namespace import NamespaceController
from simcluster.control.resourcequota import ResourceQuotaController
from simcluster.control.serviceaccount import RootCaPublisher, ServiceAccountController
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import FakeKubelets, pod_object


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.controllers = [
            NamespaceController(self.sim, self.api),
            ServiceAccountController(self.sim, self.api),
            RootCaPublisher(self.sim, self.api),
            ResourceQuotaController(self.sim, self.api),
        ]
        self.kubelets = FakeKubelets(self.sim, self.api, stop_ns=3 * SECOND)
        self.user.create("namespaces", "", {"metadata": {"name": "shop"}})
        self.sim.run_for(SECOND)

    def config(self, name: str, *finalizers: str) -> None:
        body = {"metadata": {"name": name, "namespace": "shop", "finalizers": list(finalizers)}}
        self.user.create("configmaps", "shop", body)

    @property
    def namespace(self) -> ApiObject | None:
        return self.api.store.get("namespaces", "", "shop")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_every_namespace_is_furnished(cluster: Cluster) -> None:
    assert cluster.api.store.get("serviceaccounts", "shop", "default") is not None
    ca = cluster.api.store.get("configmaps", "shop", "kube-root-ca.crt")
    assert ca is not None
    assert ca["data"]["ca.crt"].startswith("-----BEGIN CERTIFICATE-----\nMII")
    cluster.user.delete("serviceaccounts", "shop", "default")
    cluster.user.patch("configmaps", "shop", "kube-root-ca.crt", {"data": {"ca.crt": "x"}}, kind="merge")
    cluster.sim.run_for(SECOND)
    assert cluster.api.store.get("serviceaccounts", "shop", "default") is not None
    assert cluster.api.store.get("configmaps", "shop", "kube-root-ca.crt")["data"] == ca["data"]  # type: ignore[index]


def test_deletion_empties_the_namespace(cluster: Cluster) -> None:
    cluster.config("a")
    cluster.user.create("pods", "shop", pod_object("p", "shop", nodeName="n1"))
    cluster.user.delete("namespaces", "", "shop")
    cluster.sim.run_for(4 * SECOND)
    assert cluster.api.store.get("configmaps", "shop", "a") is not None
    cluster.sim.run_for(2 * SECOND)
    assert cluster.api.store.get("configmaps", "shop", "a") is None
    assert cluster.namespace is not None
    remaining = condition(cluster.namespace, "NamespaceContentRemaining")
    assert remaining is not None
    assert remaining["message"] == "Some resources are remaining: pods. has 1 resource instances"
    cluster.sim.run_for(20 * SECOND)
    assert cluster.namespace is None


def test_a_finalizer_holds_the_namespace(cluster: Cluster) -> None:
    cluster.config("held", "example.com/hold")
    cluster.user.delete("namespaces", "", "shop")
    cluster.sim.run_for(60 * SECOND)
    assert cluster.namespace is not None
    assert cluster.namespace["status"]["phase"] == "Terminating"
    held = condition(cluster.namespace, "NamespaceFinalizersRemaining")
    assert held is not None
    assert (held["status"], held["reason"], held["message"]) == (
        "True",
        "SomeFinalizersRemain",
        "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
    )
    cluster.user.patch("configmaps", "shop", "held", {"metadata": {"finalizers": None}}, kind="merge")
    cluster.sim.run_for(20 * SECOND)
    assert cluster.namespace is None


def test_quota_is_counted_and_given_back(cluster: Cluster) -> None:
    body = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2", "requests.cpu": "1", "configmaps": "5"}}}
    cluster.user.create("resourcequotas", "shop", body)
    cluster.sim.run_for(SECOND)

    def used() -> dict[str, str]:
        quota = cluster.api.store.get("resourcequotas", "shop", "q")
        assert quota is not None
        found: dict[str, str] = quota["status"]["used"]
        return found

    assert used() == {"pods": "0", "requests.cpu": "0", "configmaps": "1"}
    cluster.user.create("pods", "shop", pod_object("p", "shop", cpu="250m", nodeName="n1"))
    cluster.sim.run_for(SECOND)
    assert used() == {"pods": "1", "requests.cpu": "250m", "configmaps": "1"}
    cluster.user.delete("pods", "shop", "p")
    cluster.sim.run_for(5 * SECOND)
    assert used() == {"pods": "0", "requests.cpu": "0", "configmaps": "1"}
