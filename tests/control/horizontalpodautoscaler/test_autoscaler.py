from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.backends import Measured, Usage
from simcluster.api.client import Client
from simcluster.api.objects import Json
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.deployment import DeploymentController
from simcluster.control.horizontalpodautoscaler import HorizontalPodAutoscalerController
from simcluster.control.replicaset import ReplicaSetController
from simcluster.engine import MINUTE, SECOND, Simulation
from tests.clusters.controlplane import FakeKubelets, FakeScheduler, deployment_object


class Metrics:
    """A metrics-server that reports the same usage for every pod."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.up = True
        self.millicores = 50

    def available(self) -> bool:
        return self.up

    def pod(self, namespace: str, name: str) -> Measured | None:
        return Measured(self.sim.now, 15 * SECOND, {"c": Usage(self.millicores * 1_000_000, 64 << 20)})

    def node(self, name: str) -> Measured | None:
        return None


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.metrics = Metrics(self.sim)
        self.api.metrics = self.metrics
        self.user = Client(self.api, User(), "kubectl")
        self.user.create("namespaces", "", {"metadata": {"name": "default"}})
        self.user.create("serviceaccounts", "default", {"metadata": {"name": "default", "namespace": "default"}})
        self.deployments = DeploymentController(self.sim, self.api)
        self.replica_sets = ReplicaSetController(self.sim, self.api)
        self.controller = HorizontalPodAutoscalerController(self.sim, self.api)
        self.scheduler = FakeScheduler(self.sim, self.api, ["n1", "n2"])
        self.kubelets = FakeKubelets(self.sim, self.api)

    def start(self, replicas: int, *, request: str = "100m", **spec: Any) -> None:
        deployment = deployment_object("web", replicas)
        if request:
            resources = {"requests": {"cpu": request}}
            deployment["spec"]["template"]["spec"]["containers"][0]["resources"] = resources
        self.user.create("deployments.apps", "default", deployment)
        self.sim.run_for(5 * SECOND)
        for pod in self.api.store.objects("pods", "default"):
            self.user.update_status("pods", {**pod, "status": {**pod["status"], "startTime": "2026-03-02T08:00:00Z"}})
        target = {"type": "Utilization", "averageUtilization": 50}
        whole = {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2,
            "maxReplicas": 10,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
            **spec,
        }
        metadata = {"name": "web", "namespace": "default"}
        self.user.create("horizontalpodautoscalers.autoscaling", "default", {"metadata": metadata, "spec": whole})
        self.sim.run_for(SECOND)

    @property
    def size(self) -> int:
        return int(self.user.get("deployments.apps", "default", "web")["spec"]["replicas"])

    @property
    def status(self) -> Json:
        found = self.user.get("horizontalpodautoscalers.autoscaling", "default", "web")["status"]
        assert isinstance(found, dict)
        return found

    def reasons(self) -> dict[str, tuple[str, str]]:
        return {entry["type"]: (entry["status"], entry["reason"]) for entry in self.status["conditions"]}

    def events(self) -> list[tuple[str, str]]:
        events = self.api.store.objects("events", "default")
        return [(e["reason"], e["message"]) for e in events if e["involvedObject"]["kind"].startswith("Horizontal")]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_the_first_look_comes_after_15_seconds_and_scales_up(cluster: Cluster) -> None:
    cluster.metrics.millicores = 180
    cluster.start(2)
    cluster.sim.run_for(13 * SECOND)
    assert cluster.size == 2
    cluster.sim.run_for(2 * SECOND)
    assert cluster.size == 4
    reason = "cpu resource utilization (percentage of request) above target"
    assert cluster.events() == [("SuccessfulRescale", f"New size: 4; reason: {reason}")]
    assert cluster.reasons() == {
        "AbleToScale": ("True", "SucceededRescale"),
        "ScalingActive": ("True", "ValidMetricFound"),
        "ScalingLimited": ("True", "ScaleUpLimit"),
    }
    current = {"averageValue": "180m", "averageUtilization": 180}
    assert cluster.status["currentMetrics"] == [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]
    assert (cluster.status["currentReplicas"], cluster.status["desiredReplicas"]) == (2, 4)
    assert "lastScaleTime" in cluster.status


def test_scaling_down_waits_five_minutes(cluster: Cluster) -> None:
    cluster.metrics.millicores = 10
    cluster.start(6)
    cluster.sim.run_for(5 * MINUTE)
    assert cluster.size == 6
    assert cluster.reasons()["AbleToScale"] == ("True", "ScaleDownStabilized")
    cluster.sim.run_for(MINUTE)
    assert cluster.size == 2
    assert cluster.events() == [("SuccessfulRescale", "New size: 2; reason: All metrics below target")]


def test_behavior_can_scale_down_at_once_but_slowly(cluster: Cluster) -> None:
    cluster.metrics.millicores = 10
    policies = [{"type": "Pods", "value": 1, "periodSeconds": 60}]
    cluster.start(6, behavior={"scaleDown": {"stabilizationWindowSeconds": 0, "policies": policies}})
    cluster.sim.run_for(15 * SECOND)
    assert cluster.size == 5
    assert cluster.reasons()["ScalingLimited"] == ("True", "ScaleDownLimit")
    cluster.sim.run_for(45 * SECOND)
    assert cluster.size == 5
    cluster.sim.run_for(30 * SECOND)
    assert cluster.size == 4


def test_bounds_hold_without_metrics(cluster: Cluster) -> None:
    cluster.metrics.up = False
    cluster.start(12)
    cluster.sim.run_for(15 * SECOND)
    assert cluster.size == 10
    message = "New size: 10; reason: Current number of replicas above Spec.MaxReplicas"
    assert cluster.events() == [("SuccessfulRescale", message)]


def test_metrics_that_cannot_be_had(cluster: Cluster) -> None:
    cluster.metrics.up = False
    cluster.start(2)
    cluster.sim.run_for(15 * SECOND)
    cause = (
        "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource "
        "metrics API: the server is currently unable to handle the request (get pods.metrics.k8s.io)"
    )
    first = f"invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: {cause}"
    assert cluster.events() == [("FailedGetResourceMetric", cause), ("FailedComputeMetricsReplicas", first)]
    assert cluster.reasons() == {
        "AbleToScale": ("True", "SucceededGetScale"),
        "ScalingActive": ("False", "FailedGetResourceMetric"),
    }
    assert cluster.status["currentMetrics"] == [{"type": ""}]


def test_a_missing_request_is_named(cluster: Cluster) -> None:
    cluster.start(2, request="")
    cluster.sim.run_for(15 * SECOND)
    assert "failed to get cpu utilization: missing request for cpu in container c of Pod web-" in cluster.events()[0][1]


def test_a_target_that_is_not_there(cluster: Cluster) -> None:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "gone"}
    cluster.start(2, scaleTargetRef=reference)
    cluster.sim.run_for(15 * SECOND)
    assert cluster.events() == [("FailedGetScale", 'deployments/scale.apps "gone" not found')]
    assert cluster.reasons() == {"AbleToScale": ("False", "FailedGetScale")}


def test_a_target_without_replicas_is_left_alone(cluster: Cluster) -> None:
    cluster.start(0)
    cluster.sim.run_for(30 * SECOND)
    assert cluster.size == 0
    assert cluster.reasons()["ScalingActive"] == ("False", "ScalingDisabled")


def test_memory_average_value_and_the_highest_of_several_metrics(cluster: Cluster) -> None:
    memory = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "32Mi"}}
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    metrics = [{"type": "Resource", "resource": cpu}, {"type": "Resource", "resource": memory}]
    cluster.start(3, metrics=metrics)
    cluster.sim.run_for(15 * SECOND)
    assert cluster.size == 6
    assert cluster.events()[0][1] == "New size: 6; reason: memory resource above target"
    assert cluster.status["currentMetrics"][1]["resource"] == {
        "name": "memory",
        "current": {"averageValue": "67108864"},
    }


def test_two_autoscalers_of_the_same_pods_block_each_other(cluster: Cluster) -> None:
    cluster.start(2)
    spec = cluster.user.get("horizontalpodautoscalers.autoscaling", "default", "web")["spec"]
    other = {"metadata": {"name": "two", "namespace": "default"}, "spec": spec}
    cluster.user.create("horizontalpodautoscalers.autoscaling", "default", other)
    cluster.sim.run_for(40 * SECOND)
    assert cluster.reasons()["ScalingActive"] == ("False", "AmbiguousSelector")
    message = "pods by selector app=web are controlled by multiple HPAs: [default/two default/web]"
    assert ("AmbiguousSelector", message) in cluster.events()


def described(kind: str, **metric: Any) -> dict[str, Any]:
    return {"metrics": [{"type": kind[0].upper() + kind[1:], kind: metric}]}


@pytest.mark.parametrize(
    ("spec", "reason", "cause"),
    [
        (
            described("external", metric={"name": "queue"}, target={"type": "AverageValue", "averageValue": "5"}),
            "FailedGetExternalMetric",
            "unable to get external metric default/queue/nil: unable to fetch metrics from external metrics API: "
            "the server could not find the requested resource (get queue.external.metrics.k8s.io)",
        ),
        (
            described(
                "object",
                metric={"name": "rps"},
                describedObject={"kind": "Service", "name": "web"},
                target={"type": "Value", "value": "5"},
            ),
            "FailedGetObjectMetric",
            "unable to get metric rps: Service on default web/unable to fetch metrics from custom metrics API: "
            "no custom metrics API (custom.metrics.k8s.io) registered",
        ),
    ],
)
def test_metrics_of_an_adapter_that_is_not_there(
    cluster: Cluster, spec: dict[str, Any], reason: str, cause: str
) -> None:
    cluster.start(3, **spec)
    cluster.sim.run_for(60 * SECOND)
    assert cluster.size == 3
    assert cluster.reasons()["ScalingActive"] == ("False", reason)
    assert (reason, cause) in cluster.events()


def test_one_container_can_be_the_measure(cluster: Cluster) -> None:
    target = {"type": "Utilization", "averageUtilization": 50}
    cluster.metrics.millicores = 100
    cluster.start(3, **described("containerResource", name="cpu", container="c", target=target))
    cluster.sim.run_for(20 * SECOND)
    assert cluster.size == 6
    reasons = [message for reason, message in cluster.events() if reason == "SuccessfulRescale"]
    assert reasons == ["New size: 6; reason: cpu container resource utilization (percentage of request) above target"]


def test_a_direction_can_be_disabled(cluster: Cluster) -> None:
    cluster.metrics.millicores = 5
    cluster.start(6, behavior={"scaleDown": {"selectPolicy": "Disabled"}})
    cluster.sim.run_for(20 * MINUTE)
    assert cluster.size == 6
    cluster.metrics.millicores = 100
    cluster.sim.run_for(MINUTE)
    assert cluster.size == 10
