from __future__ import annotations

import pickle
from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, Json, is_pod_ready, is_terminating, labels_of, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.daemonset import DaemonSetController
from simcluster.control.scheduler import Scheduler
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import FakeKubelets, node_object


def daemon_set(**spec: Any) -> Json:
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {
                "metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "c", "image": "agent:1"}]},
            },
            **spec,
        },
    }


class Cluster:
    def __init__(self, seed: int = 0) -> None:
        self.sim = Simulation(seed)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.user.create("namespaces", "", {"metadata": {"name": "default"}})
        self.user.create("serviceaccounts", "default", {"metadata": {"name": "default", "namespace": "default"}})
        for name in ("n1", "n2", "n3"):
            self.user.create("nodes", "", node_object(name))
        self.controller = DaemonSetController(self.sim, self.api)
        self.scheduler = Scheduler(self.sim, self.api)
        self.kubelets = FakeKubelets(self.sim, self.api)
        self.least_ready = self.most_pods = 3
        self.api.store.subscribe("pods", self)

    def notify(self, _: Change) -> None:
        alive = [p for p in self.api.store.objects("pods") if not is_terminating(p)]
        self.least_ready = min(self.least_ready, sum(map(is_pod_ready, alive)))
        self.most_pods = max(self.most_pods, len(alive))

    def start(self, **spec: Any) -> None:
        self.user.create("daemonsets.apps", "default", daemon_set(**spec))
        self.sim.run_for(5 * SECOND)
        self.least_ready = self.most_pods = len(self.pods)

    def set_image(self, image: str) -> None:
        changed = thaw(self.set)
        changed["spec"]["template"]["spec"]["containers"][0]["image"] = image
        self.user.update("daemonsets.apps", changed)
        self.sim.run_for(20 * SECOND)

    def taint(self, node: str, effect: str) -> None:
        taints = [{"key": "x", "effect": effect}]
        self.user.patch("nodes", "", node, {"spec": {"taints": taints}}, kind="merge")
        self.sim.run_for(5 * SECOND)

    @property
    def set(self) -> ApiObject:
        found = self.api.store.get("daemonsets.apps", "default", "agent")
        assert found is not None
        return found

    @property
    def pods(self) -> list[ApiObject]:
        return self.api.store.objects("pods", "default")

    @property
    def nodes(self) -> list[str]:
        return sorted(pod["spec"].get("nodeName", "") for pod in self.pods)

    @property
    def images(self) -> list[str]:
        return sorted(pod["spec"]["containers"][0]["image"] for pod in self.pods)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_one_pod_on_every_node_bound_by_the_scheduler(cluster: Cluster) -> None:
    cluster.start()
    assert cluster.nodes == ["n1", "n2", "n3"]
    pod = next(p for p in cluster.pods if p["spec"]["nodeName"] == "n2")
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    field = {"key": "metadata.name", "operator": "In", "values": ["n2"]}
    assert required == {"nodeSelectorTerms": [{"matchFields": [field]}]}
    keys = [entry["key"].rpartition("/")[2] for entry in pod["spec"]["tolerations"]]
    assert keys == ["not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"]
    revision = cluster.api.store.objects("controllerrevisions.apps", "default")[0]
    assert labels_of(pod)["controller-revision-hash"] == labels_of(revision)["controller-revision-hash"]
    assert labels_of(pod)["pod-template-generation"] == "1"
    assert cluster.set["status"] == {
        "currentNumberScheduled": 3,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 3,
        "numberReady": 3,
        "observedGeneration": 1,
        "updatedNumberScheduled": 3,
        "numberAvailable": 3,
    }


def test_nodes_come_and_go(cluster: Cluster) -> None:
    cluster.start()
    cluster.user.create("nodes", "", node_object("n4"))
    cluster.sim.run_for(5 * SECOND)
    assert cluster.nodes == ["n1", "n2", "n3", "n4"]
    cluster.taint("n4", "NoSchedule")
    assert cluster.nodes == ["n1", "n2", "n3", "n4"]
    assert cluster.set["status"]["numberMisscheduled"] == 1
    assert cluster.set["status"]["desiredNumberScheduled"] == 3
    cluster.taint("n1", "NoExecute")
    assert cluster.nodes == ["n2", "n3", "n4"]


def test_a_node_selector_follows_labels(cluster: Cluster) -> None:
    template = daemon_set()["spec"]["template"]
    template["spec"]["nodeSelector"] = {"disk": "ssd"}
    cluster.start(template=template)
    assert cluster.nodes == []
    cluster.user.patch("nodes", "", "n2", {"metadata": {"labels": {"disk": "ssd"}}}, kind="merge")
    cluster.sim.run_for(5 * SECOND)
    assert cluster.nodes == ["n2"]
    cluster.user.patch("nodes", "", "n2", {"metadata": {"labels": {"disk": None}}}, kind="merge")
    cluster.sim.run_for(5 * SECOND)
    assert cluster.nodes == []


def test_heartbeats_of_nodes_wake_nobody(cluster: Cluster) -> None:
    cluster.start()
    before = cluster.controller.nodes._stream.counter
    node = thaw(cluster.user.get("nodes", "", "n1"))
    node["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-03-02T10:00:00Z"
    cluster.user.update_status("nodes", node)
    assert cluster.controller.nodes._stream.counter == before


def test_a_rolling_update_leaves_one_node_at_a_time_without_a_pod(cluster: Cluster) -> None:
    cluster.start()
    cluster.set_image("agent:2")
    assert cluster.images == ["agent:2"] * 3
    assert (cluster.least_ready, cluster.most_pods) == (2, 3)
    assert cluster.set["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "2"}
    assert cluster.set["status"]["updatedNumberScheduled"] == 3


def test_a_surging_update_leaves_no_node_without_a_pod(cluster: Cluster) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    cluster.start(updateStrategy=strategy)
    cluster.set_image("agent:2")
    assert cluster.images == ["agent:2"] * 3
    assert (cluster.least_ready, cluster.most_pods) == (3, 4)


def test_a_broken_image_stops_the_rollout_at_one_node(cluster: Cluster) -> None:
    cluster.kubelets.broken["agent:2"] = None
    cluster.start()
    cluster.set_image("agent:2")
    assert cluster.images == ["agent:1", "agent:1", "agent:2"]
    assert cluster.set["status"]["numberUnavailable"] == 1


def test_on_delete_waits_for_somebody_to_delete(cluster: Cluster) -> None:
    cluster.start(updateStrategy={"type": "OnDelete"})
    cluster.set_image("agent:2")
    assert cluster.images == ["agent:1"] * 3
    cluster.user.delete("pods", "default", cluster.pods[0]["metadata"]["name"])
    cluster.sim.run_for(5 * SECOND)
    assert cluster.images == ["agent:1", "agent:1", "agent:2"]


def test_a_failed_pod_is_deleted_and_replaced_with_back_off(cluster: Cluster) -> None:
    cluster.start()
    cluster.kubelets.start_ns = cluster.kubelets.stop_ns = SECOND // 100
    for _ in range(3):
        pod = next(p for p in cluster.pods if p["spec"].get("nodeName") == "n1")
        cluster.kubelets.report(pod, ready=False, phase="Failed")
        cluster.sim.run_for(SECOND // 5)
    failed = [e for e in cluster.api.store.objects("events") if e["reason"] == "FailedDaemonPod"]
    assert len(failed) == 1
    cluster.sim.run_for(10 * SECOND)
    assert cluster.nodes == ["n1", "n2", "n3"]
    assert cluster.set["status"]["numberReady"] == 3


def test_equal_seeds_give_equal_runs_and_forks_go_on_alike() -> None:
    one, two = Cluster(3), Cluster(3)
    for cluster in (one, two):
        cluster.start()
    twin: Cluster = pickle.loads(pickle.dumps(one))
    for cluster in (one, two, twin):
        cluster.set_image("agent:2")
    assert one.sim.digest.hex() == two.sim.digest.hex() == twin.sim.digest.hex()
