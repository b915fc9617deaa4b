from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, condition, controller_of, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.pods.ranking import pods_to_delete
from simcluster.control.replicaset import ReplicaSetController
from simcluster.control.resourcequota import ResourceQuotaController
from simcluster.engine import MILLISECOND, SECOND, Simulation, format_rfc3339
from tests.clusters.controlplane import FakeKubelets, FakeScheduler, pod_object

RS = "replicasets.apps"


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.controllers = [ReplicaSetController(self.sim, self.api), ResourceQuotaController(self.sim, self.api)]
        self.scheduler = FakeScheduler(self.sim, self.api, ["n1", "n2"])
        self.kubelets = FakeKubelets(self.sim, self.api)

    def create(self, replicas: int, **spec: Any) -> None:
        template = {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 5},
        }
        body = {
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "web"}},
                "template": template,
                **spec,
            },
        }
        self.user.create(RS, "default", body)
        self.sim.run_for(2 * SECOND)

    @property
    def status(self) -> dict[str, Any]:
        found = self.api.store.get(RS, "default", "web")
        assert found is not None
        status: dict[str, Any] = found["status"]
        return status

    @property
    def pods(self) -> list[ApiObject]:
        return self.api.store.objects("pods", "default")

    def scale(self, replicas: int) -> None:
        self.user.patch(RS, "default", "web", {"spec": {"replicas": replicas}}, kind="merge")

    def events(self, reason: str) -> list[str]:
        return [e["message"] for e in self.api.store.objects("events") if e["reason"] == reason]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_pods_carry_the_template_and_their_owner(cluster: Cluster) -> None:
    cluster.create(3)
    assert cluster.status == {
        "replicas": 3,
        "fullyLabeledReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "observedGeneration": 1,
    }
    for pod in cluster.pods:
        assert pod["metadata"]["name"].startswith("web-")
        assert pod["metadata"]["generateName"] == "web-"
        reference = controller_of(pod)
        assert reference is not None
        assert reference["name"] == "web"
    assert len(cluster.events("SuccessfulCreate")) == 3


def test_a_deleted_pod_is_replaced_once(cluster: Cluster) -> None:
    cluster.create(3)
    cluster.user.delete("pods", "default", cluster.pods[0]["metadata"]["name"])
    cluster.sim.run_for(100 * MILLISECOND)
    assert len(cluster.pods) == 4  # the old one is still terminating
    cluster.sim.run_for(3 * SECOND)
    assert len(cluster.pods) == 3
    assert len(cluster.events("SuccessfulCreate")) == 4


def test_scale_down_takes_the_pods_that_are_not_ready(cluster: Cluster) -> None:
    cluster.create(4)
    sick = cluster.pods[2]
    cluster.kubelets.report(sick, ready=False)
    cluster.sim.run_for(SECOND)
    cluster.scale(3)
    cluster.sim.run_for(2 * SECOND)
    assert cluster.events("SuccessfulDelete") == [f"Deleted pod: {sick['metadata']['name']}"]


def test_release_and_adoption(cluster: Cluster) -> None:
    cluster.create(2)
    name = cluster.pods[0]["metadata"]["name"]
    cluster.user.patch("pods", "default", name, {"metadata": {"labels": {"app": "quarantined"}}}, kind="merge")
    cluster.sim.run_for(2 * SECOND)
    freed = cluster.api.store.get("pods", "default", name)
    assert freed is not None
    assert controller_of(freed) is None
    assert len(cluster.pods) == 3
    cluster.user.patch("pods", "default", name, {"metadata": {"labels": {"app": "web"}}}, kind="merge")
    cluster.sim.run_for(2 * SECOND)
    assert len(cluster.pods) == 2
    assert all(controller_of(pod) is not None for pod in cluster.pods)


def test_a_quota_makes_it_fail_and_back_off(cluster: Cluster) -> None:
    body = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
    cluster.user.create("resourcequotas", "default", body)
    cluster.sim.run_for(SECOND)
    cluster.create(4)
    cluster.sim.run_for(80 * SECOND)
    assert cluster.status["replicas"] == 2
    failure = condition({"status": cluster.status}, "ReplicaFailure")
    assert failure is not None
    assert (failure["status"], failure["reason"]) == ("True", "FailedCreate")
    assert failure["message"].endswith(
        "is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
    )
    attempts = sum(e["count"] for e in cluster.api.store.objects("events") if e["reason"] == "FailedCreate")
    assert 10 <= attempts <= 25
    cluster.user.delete("resourcequotas", "default", "q")
    cluster.sim.run_for(200 * SECOND)
    assert cluster.status["readyReplicas"] == 4
    assert "conditions" not in cluster.status


def test_min_ready_seconds_delay_availability(cluster: Cluster) -> None:
    cluster.create(1, minReadySeconds=10)
    assert cluster.status["readyReplicas"] == 1
    assert "availableReplicas" not in cluster.status
    cluster.sim.run_for(11 * SECOND)
    assert cluster.status["availableReplicas"] == 1


def _pod(name: str, **fields: Any) -> ApiObject:
    body = pod_object(name, nodeName=fields.get("node", "n1"))
    created = format_rfc3339(fields.get("created_s", 0) * SECOND)
    body["metadata"].update(uid=name, creationTimestamp=created, annotations=fields.get("annotations", {}))
    ready = {"type": "Ready", "status": "True" if fields.get("ready", True) else "False", "lastTransitionTime": created}
    body["status"] = {
        "phase": fields.get("phase", "Running"),
        "conditions": [ready],
        "containerStatuses": [{"restartCount": fields.get("restarts", 0)}],
    }
    return ApiObject(thaw(body))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"node": ""}, {}),
        ({"phase": "Pending"}, {}),
        ({"ready": False}, {}),
        ({"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-5"}}, {}),
        ({"created_s": 900}, {"created_s": 0}),
        ({"restarts": 3}, {"restarts": 0}),
    ],
)
def test_ranking(first: dict[str, Any], second: dict[str, Any]) -> None:
    pods = [_pod("b", **second), _pod("a", **first)]
    assert [p["metadata"]["name"] for p in pods_to_delete(pods, pods, 1, 1000 * SECOND)] == ["a"]


def test_doubled_up_pods_go_first() -> None:
    pods = [_pod("a", node="n1"), _pod("b", node="n2")]
    related = [*pods, _pod("c", node="n2")]
    assert [p["metadata"]["name"] for p in pods_to_delete(pods, related, 1, 1000 * SECOND)] == ["b"]
