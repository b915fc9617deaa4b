from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, name_of
from simcluster.api.request import Request, User
from simcluster.api.server import Api
from simcluster.control.deployment import DeploymentController
from simcluster.control.disruption import DisruptionController
from simcluster.control.replicaset import ReplicaSetController
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import FakeKubelets, FakeScheduler, deployment_object, pod_object


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.user.create("namespaces", "", {"metadata": {"name": "default"}})
        self.user.create("serviceaccounts", "default", {"metadata": {"name": "default", "namespace": "default"}})
        self.deployments = DeploymentController(self.sim, self.api)
        self.replica_sets = ReplicaSetController(self.sim, self.api)
        self.controller = DisruptionController(self.sim, self.api)
        self.scheduler = FakeScheduler(self.sim, self.api, ["n1", "n2"])
        self.kubelets = FakeKubelets(self.sim, self.api)

    def start(self, replicas: int, **budget: Any) -> None:
        self.user.create("deployments.apps", "default", deployment_object("web", replicas))
        self.sim.run_for(5 * SECOND)
        self.budget_for("web", **budget)

    def budget_for(self, app: str, **budget: Any) -> None:
        spec = {"selector": {"matchLabels": {"app": app}}, **budget}
        metadata = {"name": "budget", "namespace": "default"}
        self.user.create("poddisruptionbudgets.policy", "default", {"metadata": metadata, "spec": spec})
        self.sim.run_for(SECOND)

    def evict(self, pod: ApiObject) -> Any:
        path = f"/api/v1/namespaces/default/pods/{name_of(pod)}/eviction"
        body: Json = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name_of(pod)}}
        return self.api.handle(Request("POST", path, body=body))

    @property
    def pods(self) -> list[ApiObject]:
        return self.api.store.objects("pods", "default")

    @property
    def counts(self) -> tuple[int, int, int, int]:
        budget = self.api.store.get("poddisruptionbudgets.policy", "default", "budget")
        assert budget is not None
        names = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
        return tuple(budget["status"][name] for name in names)  # type: ignore[return-value]

    def condition(self) -> Json:
        budget = self.api.store.get("poddisruptionbudgets.policy", "default", "budget")
        assert budget is not None
        (entry,) = budget["status"]["conditions"]
        found: Json = entry
        return found

    def events(self, reason: str) -> list[str]:
        return [e["message"] for e in self.api.store.objects("events") if e["reason"] == reason]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.mark.parametrize(
    ("budget", "counts"),
    [
        ({"minAvailable": 2}, (2, 4, 2, 4)),
        ({"minAvailable": "50%"}, (2, 4, 2, 4)),
        ({"minAvailable": "60%"}, (1, 4, 3, 4)),
        ({"maxUnavailable": 1}, (1, 4, 3, 4)),
        ({"maxUnavailable": "30%"}, (2, 4, 2, 4)),
        ({"maxUnavailable": 0}, (0, 4, 4, 4)),
        ({"minAvailable": 9}, (0, 4, 9, 4)),
    ],
)
def test_how_many_pods_may_go(cluster: Cluster, budget: Json, counts: tuple[int, ...]) -> None:
    cluster.start(4, **budget)
    assert cluster.counts == counts
    status, reason = ("True", "SufficientPods") if counts[0] else ("False", "InsufficientPods")
    assert (cluster.condition()["status"], cluster.condition()["reason"]) == (status, reason)


def test_evictions_stop_at_the_budget_until_pods_are_back(cluster: Cluster) -> None:
    cluster.start(3, minAvailable=2)
    first, second = cluster.pods[:2]
    assert cluster.evict(first).code == 201
    refused = cluster.evict(second)
    assert refused.code == 429
    assert refused.body["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    cluster.sim.run_for(5 * SECOND)
    assert cluster.counts == (1, 3, 2, 3)
    assert cluster.evict(second).code == 201


def test_a_granted_eviction_without_deletion_is_forgotten_after_two_minutes(cluster: Cluster) -> None:
    cluster.start(3, minAvailable=2)
    budget = cluster.api.store.get("poddisruptionbudgets.policy", "default", "budget")
    assert budget is not None
    disrupted = {name_of(cluster.pods[0]): cluster.api.registry.now_text()}
    status = {**budget["status"], "disruptedPods": disrupted, "disruptionsAllowed": 0}
    cluster.user.update_status("poddisruptionbudgets.policy", {**budget, "status": status})
    cluster.sim.run_for(SECOND)
    assert cluster.counts == (0, 2, 2, 3)
    cluster.sim.run_for(125 * SECOND)
    assert cluster.counts == (1, 3, 2, 3)
    expected = "Pod was expected by PDB default/budget to be deleted but it wasn't"
    assert cluster.events("NotDeleted") == [expected]


def test_pods_without_a_scale_make_a_relative_budget_fail_safe(cluster: Cluster) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    pod = pod_object("solo")
    pod["metadata"]["ownerReferences"] = [owner]
    cluster.user.create("pods", "default", pod)
    cluster.sim.run_for(2 * SECOND)
    cluster.budget_for("solo", maxUnavailable=1)
    why = "jobs.batch does not implement the scale subresource"
    assert cluster.events("CalculateExpectedPodCountFailed") == [
        f"Failed to calculate the number of expected pods: {why}"
    ]
    assert (cluster.condition()["reason"], cluster.condition()["message"]) == ("SyncFailed", why)


def test_an_empty_budget_says_so_and_clusters_without_budgets_pay_nothing(cluster: Cluster) -> None:
    cluster.user.create("deployments.apps", "default", deployment_object("web", 3))
    cluster.sim.run_for(5 * SECOND)
    assert cluster.controller.pods._stream.counter == 0
    cluster.budget_for("nobody", minAvailable=1)
    assert cluster.events("NoPods") == ["No matching pods found"]
    with pytest.raises(ApiError):
        cluster.user.get("poddisruptionbudgets.policy", "default", "other")


@pytest.mark.parametrize(("policy", "code"), [("IfHealthyBudget", 429), ("AlwaysAllow", 201)])
def test_pods_that_are_not_ready_may_go_if_the_budget_says_so(cluster: Cluster, policy: str, code: int) -> None:
    cluster.kubelets.broken["shop/app:1.0"] = None
    cluster.start(3, minAvailable=2, unhealthyPodEvictionPolicy=policy)
    assert cluster.evict(cluster.pods[0]).code == code


def test_a_pod_with_two_budgets_cannot_be_evicted(cluster: Cluster) -> None:
    cluster.start(3, minAvailable=1)
    spec = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 3}
    cluster.user.create("poddisruptionbudgets.policy", "default", {"metadata": {"name": "other"}, "spec": spec})
    cluster.sim.run_for(SECOND)
    answer = cluster.evict(cluster.pods[0])
    assert answer.code == 500
    assert answer.body["message"] == (
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    )
