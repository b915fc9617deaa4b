"""The ReplicationController controller: the ReplicaSet controller on a selector that is a map."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, condition, controller_of
from simcluster.api.request import Request, User
from simcluster.api.server import Api
from simcluster.control.garbagecollector import GarbageCollector
from simcluster.control.replicaset.replicationcontroller import ReplicationControllerController
from simcluster.control.resourcequota import ResourceQuotaController
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import FakeKubelets, FakeScheduler, pod_object

RC = "replicationcontrollers"
PATH = "/api/v1/namespaces/default/replicationcontrollers/web"


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.parts = [
            ReplicationControllerController(self.sim, self.api),
            ResourceQuotaController(self.sim, self.api),
            GarbageCollector(self.sim, self.api),
            FakeScheduler(self.sim, self.api, ["n1", "n2"]),
            FakeKubelets(self.sim, self.api),
        ]

    def create(self, replicas: int) -> None:
        template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        body: dict[str, Any] = {"metadata": {"name": "web"}, "spec": {"replicas": replicas, "template": template}}
        self.user.create(RC, "default", body)
        self.run(2)

    def run(self, seconds: int) -> None:
        self.sim.run_for(seconds * SECOND)

    @property
    def pods(self) -> list[ApiObject]:
        return self.api.store.objects("pods", "default")

    @property
    def controller(self) -> ApiObject:
        found = self.api.store.get(RC, "default", "web")
        assert found is not None
        return found

    def events(self) -> list[tuple[str, str, str]]:
        found = self.api.store.objects("events")
        return [(e["source"]["component"], e["reason"], e["message"].partition(":")[0]) for e in found]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_it_keeps_its_pods_and_says_so_under_its_own_name(cluster: Cluster) -> None:
    cluster.create(2)
    assert cluster.controller["spec"]["selector"] == {"app": "web"}  # from the template's labels
    assert cluster.controller["status"] == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "observedGeneration": 1,
    }
    owner = controller_of(cluster.pods[0])
    assert owner is not None
    assert (owner["apiVersion"], owner["kind"]) == ("v1", "ReplicationController")
    assert cluster.events() == [("replication-controller", "SuccessfulCreate", "Created pod")] * 2


def test_it_adopts_and_releases_by_labels(cluster: Cluster) -> None:
    orphan = pod_object("orphan")
    orphan["metadata"]["labels"] = {"app": "web", "more": "x"}
    cluster.user.create("pods", "default", orphan)
    cluster.create(2)
    assert len(cluster.pods) == 2
    cluster.user.patch("pods", "default", "orphan", {"metadata": {"labels": {"app": "other"}}}, kind="merge")
    cluster.run(2)
    assert len(cluster.pods) == 3
    (released,) = [pod for pod in cluster.pods if pod["metadata"]["name"] == "orphan"]
    assert controller_of(released) is None


def test_it_is_scaled_by_its_subresource(cluster: Cluster) -> None:
    cluster.create(1)
    scale = cluster.api.handle(Request("GET", f"{PATH}/scale")).body
    assert scale["status"] == {"replicas": 1, "selector": "app=web"}
    answer = cluster.api.handle(Request("PUT", f"{PATH}/scale", body={**scale, "spec": {"replicas": 4}}))
    assert answer.code == 200
    cluster.run(2)
    assert len(cluster.pods) == 4


def test_a_quota_shows_in_its_condition(cluster: Cluster) -> None:
    cluster.user.create("resourcequotas", "default", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})
    cluster.run(1)
    cluster.create(2)
    entry = condition(cluster.controller, "ReplicaFailure")
    assert entry is not None
    assert entry["reason"] == "FailedCreate"
    assert entry["message"].endswith("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1")


@pytest.mark.parametrize(("policy", "left"), [("Background", 0), (None, 2)])
def test_without_a_policy_its_pods_stay(cluster: Cluster, policy: str | None, left: int) -> None:
    cluster.create(2)
    body = {"kind": "DeleteOptions", "apiVersion": "v1", **({"propagationPolicy": policy} if policy else {})}
    assert cluster.api.handle(Request("DELETE", PATH, body=body)).code == 200
    cluster.run(40)
    assert cluster.api.store.get(RC, "default", "web") is None
    assert len(cluster.pods) == left
    assert all(controller_of(pod) is None for pod in cluster.pods)
