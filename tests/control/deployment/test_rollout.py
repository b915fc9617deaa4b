from __future__ import annotations

import pickle
from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, condition, is_pod_ready, is_terminating, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.deployment import DeploymentController
from simcluster.control.replicaset import ReplicaSetController
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import FakeKubelets, FakeScheduler, deployment_object


class Bounds:
    """The least ready and the most existing pods ever seen."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.on = False
        self.least_ready = 10**6
        self.most_pods = 0
        api.store.subscribe("pods", self)

    def notify(self, _: Change) -> None:
        if not self.on:
            return
        pods = [p for p in self.api.store.objects("pods") if not is_terminating(p)]
        self.least_ready = min(self.least_ready, sum(map(is_pod_ready, pods)))
        self.most_pods = max(self.most_pods, len(pods))


class Cluster:
    def __init__(self, seed: int = 0) -> None:
        self.sim = Simulation(seed)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.deployments = DeploymentController(self.sim, self.api)
        self.replica_sets = ReplicaSetController(self.sim, self.api)
        self.scheduler = FakeScheduler(self.sim, self.api, ["n1", "n2", "n3"])
        self.kubelets = FakeKubelets(self.sim, self.api)

    def change(self, **fields: Any) -> None:
        deployment = thaw(self.deployment)
        image = fields.pop("image", None)
        if image:
            deployment["spec"]["template"]["spec"]["containers"][0]["image"] = image
        deployment["spec"].update(fields)
        self.user.update("deployments.apps", deployment)

    @property
    def deployment(self) -> ApiObject:
        found = self.api.store.get("deployments.apps", "default", "web")
        assert found is not None
        return found

    @property
    def sets(self) -> list[ApiObject]:
        return self.api.store.objects("replicasets.apps", "default")

    @property
    def pods(self) -> list[ApiObject]:
        return self.api.store.objects("pods", "default")

    def events(self, reason: str) -> list[str]:
        return [e["message"] for e in self.api.store.objects("events") if e["reason"] == reason]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def start(cluster: Cluster, replicas: int, **spec: Any) -> None:
    cluster.user.create("deployments.apps", "default", deployment_object("web", replicas, **spec))
    cluster.sim.run_for(10 * SECOND)


def test_new_deployment_becomes_available(cluster: Cluster) -> None:
    start(cluster, 3)
    (replica_set,) = cluster.sets
    digest = replica_set["metadata"]["labels"]["pod-template-hash"]
    assert replica_set["metadata"]["name"] == f"web-{digest}"
    assert replica_set["metadata"]["annotations"] == {
        "deployment.kubernetes.io/revision": "1",
        "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
    }
    assert cluster.deployment["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "1"}
    status = dict(cluster.deployment["status"])
    conditions = status.pop("conditions")
    assert status == {
        "observedGeneration": 1,
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
    }
    assert [(c["type"], c["status"], c["reason"], c["message"]) for c in conditions] == [
        ("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
        (
            "Progressing",
            "True",
            "NewReplicaSetAvailable",
            f'ReplicaSet "web-{digest}" has successfully progressed.',
        ),
    ]
    assert cluster.events("ScalingReplicaSet") == [f"Scaled up replica set web-{digest} from 0 to 3"]
    assert len(cluster.events("SuccessfulCreate")) == 3


def test_rolling_update_keeps_its_bounds(cluster: Cluster) -> None:
    start(cluster, 4)
    bounds = Bounds(cluster.api)
    bounds.on = True
    cluster.change(image="shop/app:2.0")
    cluster.sim.run_for(30 * SECOND)
    assert (bounds.least_ready, bounds.most_pods) == (3, 5)
    assert len(cluster.pods) == 4
    assert {p["spec"]["containers"][0]["image"] for p in cluster.pods} == {"shop/app:2.0"}
    assert cluster.deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    assert sorted(s["spec"]["replicas"] for s in cluster.sets) == [0, 4]


def test_a_bad_revision_stops_and_times_out(cluster: Cluster) -> None:
    start(cluster, 4)
    cluster.kubelets.broken["bad:1"] = None
    cluster.change(image="bad:1")
    cluster.sim.run_for(600 * SECOND)
    assert sum(map(is_pod_ready, cluster.pods)) == 3
    progressing = condition(cluster.deployment, "Progressing")
    assert progressing is not None
    assert progressing["reason"] == "ReplicaSetUpdated"
    cluster.sim.run_for(10 * SECOND)
    progressing = condition(cluster.deployment, "Progressing")
    assert progressing is not None
    assert (progressing["status"], progressing["reason"]) == ("False", "ProgressDeadlineExceeded")
    assert progressing["message"].endswith("has timed out progressing.")


def test_the_old_template_uses_its_replica_set_again(cluster: Cluster) -> None:
    start(cluster, 2)
    (first,) = cluster.sets
    cluster.change(image="shop/app:2.0")
    cluster.sim.run_for(30 * SECOND)
    cluster.change(image="shop/app:1.0")
    cluster.sim.run_for(30 * SECOND)
    assert len(cluster.sets) == 2
    again = cluster.api.store.get("replicasets.apps", "default", first["metadata"]["name"])
    assert again is not None
    assert again["spec"]["replicas"] == 2
    assert again["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"
    assert again["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"
    assert cluster.deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"


def test_history_limit_removes_the_oldest(cluster: Cluster) -> None:
    start(cluster, 1, revisionHistoryLimit=2)
    for n in range(2, 7):
        cluster.change(image=f"shop/app:{n}")
        cluster.sim.run_for(30 * SECOND)
    revisions = sorted(s["metadata"]["annotations"]["deployment.kubernetes.io/revision"] for s in cluster.sets)
    assert revisions == ["4", "5", "6"]


def test_recreate_never_mixes_revisions(cluster: Cluster) -> None:
    start(cluster, 3, strategy={"type": "Recreate"})
    seen: set[int] = set()

    class Mix:
        def notify(self, _: Change) -> None:
            images = {p["spec"]["containers"][0]["image"] for p in cluster.pods}
            seen.add(len(images))

    cluster.api.store.subscribe("pods", Mix())
    cluster.change(image="shop/app:2.0")
    cluster.sim.run_for(30 * SECOND)
    assert seen == {0, 1}
    assert len(cluster.pods) == 3


def test_scaling_during_a_rollout_is_proportional(cluster: Cluster) -> None:
    start(cluster, 10, strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}})
    cluster.kubelets.broken["bad:1"] = None
    cluster.change(image="bad:1")
    cluster.sim.run_for(10 * SECOND)
    sizes = {s["spec"]["template"]["spec"]["containers"][0]["image"]: s["spec"]["replicas"] for s in cluster.sets}
    assert sizes == {"shop/app:1.0": 8, "bad:1": 5}
    cluster.change(replicas=15)
    cluster.sim.run_for(10 * SECOND)
    sizes = {s["spec"]["template"]["spec"]["containers"][0]["image"]: s["spec"]["replicas"] for s in cluster.sets}
    assert sizes == {"shop/app:1.0": 11, "bad:1": 7}


def test_pause_holds_back_a_new_template_but_not_scaling(cluster: Cluster) -> None:
    start(cluster, 2)
    cluster.change(paused=True)
    cluster.change(image="shop/app:2.0", replicas=4)
    cluster.sim.run_for(10 * SECOND)
    assert {p["spec"]["containers"][0]["image"] for p in cluster.pods} == {"shop/app:1.0"}
    assert len(cluster.pods) == 4
    progressing = condition(cluster.deployment, "Progressing")
    assert progressing is not None
    assert (progressing["status"], progressing["reason"]) == ("Unknown", "DeploymentPaused")
    cluster.change(paused=False)
    cluster.sim.run_for(30 * SECOND)
    assert {p["spec"]["containers"][0]["image"] for p in cluster.pods} == {"shop/app:2.0"}


def test_a_name_clash_salts_the_hash(cluster: Cluster) -> None:
    twin = Cluster()
    start(twin, 1)
    taken = twin.sets[0]["metadata"]["name"]
    other = deployment_object("other", 1, image="other")
    spec = {key: other["spec"][key] for key in ("replicas", "selector", "template")}
    cluster.user.create("replicasets.apps", "default", {"metadata": {"name": taken}, "spec": spec})
    start(cluster, 1)
    assert cluster.deployment["status"]["collisionCount"] == 1
    assert cluster.deployment["status"]["readyReplicas"] == 1


def test_a_running_rollout_survives_a_pickle(cluster: Cluster) -> None:
    start(cluster, 4)
    cluster.change(image="shop/app:2.0")
    cluster.sim.run_for(SECOND)
    fork: Cluster = pickle.loads(pickle.dumps(cluster))
    for copy in (cluster, fork):
        copy.sim.run_for(30 * SECOND)
    assert fork.sim.digest.hex() == cluster.sim.digest.hex()
    assert [p["metadata"]["name"] for p in fork.pods] == [p["metadata"]["name"] for p in cluster.pods]


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "bounds"),
    [
        (3, "25%", "25%", (3, 4)),  # up and down: a surge of one, nobody may be missing
        (10, "25%", "25%", (8, 13)),
        (4, 0, "10%", (3, 4)),  # both would be zero: one may be missing
        (5, "50%", 0, (5, 8)),
    ],
)
def test_percentages_are_rounded_up_for_the_surge_and_down_for_the_loss(
    cluster: Cluster, replicas: int, surge: Any, unavailable: Any, bounds: tuple[int, int]
) -> None:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    start(cluster, replicas, strategy={"type": "RollingUpdate", "rollingUpdate": rolling})
    watch = Bounds(cluster.api)
    watch.on = True
    cluster.change(image="shop/app:2.0")
    cluster.sim.run_for(60 * SECOND)
    assert (watch.least_ready, watch.most_pods) == bounds


def test_a_rollout_past_its_deadline_goes_on_when_it_can(cluster: Cluster) -> None:
    start(cluster, 2, progressDeadlineSeconds=30)
    cluster.kubelets.broken["shop/app:2.0"] = None
    cluster.change(image="shop/app:2.0")
    cluster.sim.run_for(40 * SECOND)
    late = condition(cluster.deployment, "Progressing")
    assert late is not None
    assert (late["status"], late["reason"]) == ("False", "ProgressDeadlineExceeded")
    assert late["message"].endswith("has timed out progressing.")
    del cluster.kubelets.broken["shop/app:2.0"]
    for pod in cluster.pods:
        if not is_pod_ready(pod):
            cluster.kubelets.report(pod, ready=True)
    cluster.sim.run_for(20 * SECOND)
    done = condition(cluster.deployment, "Progressing")
    assert done is not None
    assert (done["status"], done["reason"]) == ("True", "NewReplicaSetAvailable")
    assert {pod["spec"]["containers"][0]["image"] for pod in cluster.pods} == {"shop/app:2.0"}
