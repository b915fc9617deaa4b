from __future__ import annotations

import pickle
from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, Json, is_terminating, name_of, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.garbagecollector import GarbageCollector
from simcluster.control.persistentvolume import ClaimProtection
from simcluster.control.statefulset import StatefulSetController
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import FakeKubelets, FakeScheduler


def stateful_set(replicas: int, **spec: Any) -> Json:
    container = {"name": "c", "image": "db:1", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [container]}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
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
        self.controller = StatefulSetController(self.sim, self.api)
        self.collector = GarbageCollector(self.sim, self.api)
        self.protection = ClaimProtection(self.sim, self.api)
        self.scheduler = FakeScheduler(self.sim, self.api, ["n1", "n2", "n3"])
        self.kubelets = FakeKubelets(self.sim, self.api)
        self.order: list[str] = []
        self.api.store.subscribe("pods", self)

    def notify(self, change: Change) -> None:
        old = change.previous
        if change.kind == "ADDED":
            self.order.append(f"+{name_of(change.object)}")
        elif is_terminating(change.object) and old is not None and not is_terminating(old):
            self.order.append(f"-{name_of(change.object)}")

    def start(self, replicas: int, **spec: Any) -> None:
        self.user.create("statefulsets.apps", "default", stateful_set(replicas, **spec))
        self.sim.run_for(10 * SECOND)

    def change(self, *, image: str = "", **spec: Any) -> None:
        changed = thaw(self.set)
        changed["spec"].update(spec)
        if image:
            changed["spec"]["template"]["spec"]["containers"][0]["image"] = image
        self.user.update("statefulsets.apps", changed)
        self.sim.run_for(10 * SECOND)

    @property
    def set(self) -> ApiObject:
        found = self.api.store.get("statefulsets.apps", "default", "db")
        assert found is not None
        return found

    @property
    def pods(self) -> dict[str, ApiObject]:
        return {name_of(pod): pod for pod in self.api.store.objects("pods", "default")}

    @property
    def images(self) -> dict[str, str]:
        return {name: pod["spec"]["containers"][0]["image"] for name, pod in self.pods.items()}

    def messages(self, kind: str = "Normal") -> list[str]:
        return [e["message"] for e in self.api.store.objects("events", "default") if e["type"] == kind]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_pods_appear_one_after_the_other_with_names_and_claims(cluster: Cluster) -> None:
    cluster.start(2)
    assert cluster.order == ["+db-0", "+db-1"]
    pod = cluster.pods["db-1"]
    revision = cluster.set["status"]["currentRevision"]
    assert pod["metadata"]["labels"] == {
        "app": "db",
        "apps.kubernetes.io/pod-index": "1",
        "controller-revision-hash": revision,
        "statefulset.kubernetes.io/pod-name": "db-1",
    }
    assert pod["metadata"]["generateName"] == "db-"
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-1", "db")
    assert pod["spec"]["volumes"][0] == {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}}
    claims = cluster.api.store.objects("persistentvolumeclaims", "default")
    assert [name_of(claim) for claim in claims] == ["data-db-0", "data-db-1"]
    assert claims[0]["metadata"]["labels"] == {"app": "db"}
    assert cluster.set["status"] == {
        "observedGeneration": 1,
        "replicas": 2,
        "readyReplicas": 2,
        "currentReplicas": 2,
        "updatedReplicas": 2,
        "currentRevision": revision,
        "updateRevision": revision,
        "collisionCount": 0,
        "availableReplicas": 2,
    }
    assert cluster.messages() == [
        "create Claim data-db-0 Pod db-0 in StatefulSet db success",
        "create Pod db-0 in StatefulSet db successful",
        "create Claim data-db-1 Pod db-1 in StatefulSet db success",
        "create Pod db-1 in StatefulSet db successful",
    ]


def test_an_unready_pod_blocks_those_after_it_unless_management_is_parallel(cluster: Cluster) -> None:
    cluster.kubelets.broken["db:1"] = None
    cluster.start(3)
    assert list(cluster.pods) == ["db-0"]
    other = Cluster()
    other.kubelets.broken["db:1"] = None
    other.start(3, podManagementPolicy="Parallel")
    assert list(other.pods) == ["db-0", "db-1", "db-2"]


def test_scale_down_takes_the_highest_ordinal_first_and_keeps_claims(cluster: Cluster) -> None:
    cluster.start(3)
    cluster.order.clear()
    cluster.change(replicas=1)
    assert cluster.order == ["-db-2", "-db-1"]
    assert cluster.api.store.count("persistentvolumeclaims") == 3
    assert "delete Pod db-2 in StatefulSet db successful" in cluster.messages()


def test_rolling_update_goes_down_to_the_partition(cluster: Cluster) -> None:
    cluster.start(3)
    cluster.order.clear()
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    cluster.change(image="db:2", updateStrategy=strategy)
    assert cluster.order == ["-db-2", "+db-2"]
    status = cluster.set["status"]
    assert status["currentRevision"] != status["updateRevision"]
    assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 1)
    cluster.user.delete("pods", "default", "db-0")
    cluster.sim.run_for(5 * SECOND)
    assert cluster.images == {"db-0": "db:1", "db-1": "db:1", "db-2": "db:2"}
    cluster.order.clear()
    cluster.change(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})
    assert cluster.order == ["-db-1", "+db-1", "-db-0", "+db-0"]
    status = cluster.set["status"]
    assert status["currentRevision"] == status["updateRevision"]


def test_on_delete_waits_for_somebody_to_delete(cluster: Cluster) -> None:
    cluster.start(2, updateStrategy={"type": "OnDelete"})
    cluster.change(image="db:2")
    assert set(cluster.images.values()) == {"db:1"}
    cluster.user.delete("pods", "default", "db-0")
    cluster.sim.run_for(5 * SECOND)
    assert cluster.images == {"db-0": "db:2", "db-1": "db:1"}


def test_a_template_that_comes_back_gets_its_old_revision_with_a_new_number(cluster: Cluster) -> None:
    cluster.start(1, revisionHistoryLimit=1)
    first = cluster.set["status"]["currentRevision"]
    cluster.change(image="db:2")
    cluster.change(image="db:1")
    revisions = {name_of(r): r["revision"] for r in cluster.api.store.objects("controllerrevisions.apps")}
    assert cluster.set["status"]["currentRevision"] == first
    assert revisions[first] == 3
    for image in ("db:3", "db:4", "db:5"):
        cluster.change(image=image)
    kept = [r["revision"] for r in cluster.api.store.objects("controllerrevisions.apps")]
    assert sorted(kept) == [5, 6]


def test_claims_can_go_with_the_pod_and_with_the_set(cluster: Cluster) -> None:
    policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    cluster.start(3, persistentVolumeClaimRetentionPolicy=policy)
    cluster.change(replicas=1)
    assert [name_of(c) for c in cluster.api.store.objects("persistentvolumeclaims")] == ["data-db-0"]
    cluster.user.delete("statefulsets.apps", "default", "db", propagation="Background")
    cluster.sim.run_for(5 * SECOND)
    assert cluster.api.store.objects("persistentvolumeclaims") == []
    assert cluster.pods == {}


def test_a_failed_pod_is_replaced_under_its_name(cluster: Cluster) -> None:
    cluster.start(2)
    before = cluster.pods["db-0"]["metadata"]["uid"]
    cluster.kubelets.report(cluster.pods["db-0"], ready=False, phase="Failed")
    cluster.sim.run_for(5 * SECOND)
    assert cluster.pods["db-0"]["metadata"]["uid"] != before
    assert cluster.set["status"]["readyReplicas"] == 2


def allow_no_pod(cluster: Cluster) -> None:
    cluster.user.create(
        "resourcequotas",
        "default",
        {"metadata": {"name": "none", "namespace": "default"}, "spec": {"hard": {"pods": "0"}}},
    )
    quota = thaw(cluster.user.get("resourcequotas", "default", "none"))
    cluster.user.update_status("resourcequotas", {**quota, "status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}})


def test_pods_that_need_not_wait_are_tried_in_batches_until_one_fails(cluster: Cluster) -> None:
    allow_no_pod(cluster)
    cluster.start(100_000, podManagementPolicy="Parallel")
    refused = {message.split()[2] for message in cluster.messages("Warning")}
    assert refused == {"db-0"}


def test_a_refused_pod_is_reported_in_an_event(cluster: Cluster) -> None:
    allow_no_pod(cluster)
    cluster.start(1)
    assert cluster.pods == {}
    expected = 'create Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden: exceeded quota: none'
    assert any(message.startswith(expected) for message in cluster.messages("Warning"))


def test_orphans_are_adopted_and_strangers_released(cluster: Cluster) -> None:
    cluster.start(2)
    cluster.user.patch("pods", "default", "db-1", {"metadata": {"ownerReferences": None}}, kind="merge")
    cluster.sim.run_for(SECOND)
    assert cluster.pods["db-1"]["metadata"]["ownerReferences"][0]["name"] == "db"
    cluster.user.patch("pods", "default", "db-1", {"metadata": {"labels": {"app": "x"}}}, kind="merge")
    cluster.sim.run_for(SECOND)
    assert "ownerReferences" not in cluster.pods["db-1"]["metadata"]


def test_equal_seeds_give_equal_runs_and_forks_go_on_alike() -> None:
    one, two = Cluster(3), Cluster(3)
    for cluster in (one, two):
        cluster.user.create("statefulsets.apps", "default", stateful_set(3))
        cluster.sim.run_for(SECOND)
    twin: Cluster = pickle.loads(pickle.dumps(one))
    for cluster in (one, two, twin):
        cluster.change(image="db:2")
    assert one.sim.digest.hex() == two.sim.digest.hex() == twin.sim.digest.hex()


def test_a_broken_rollout_is_not_mended_by_a_better_template_alone(cluster: Cluster) -> None:
    cluster.start(3)
    cluster.kubelets.broken["db:2"] = None
    cluster.change(image="db:2")
    cluster.sim.run_for(60 * SECOND)
    assert cluster.images == {"db-0": "db:1", "db-1": "db:1", "db-2": "db:2"}
    cluster.change(image="db:3")
    cluster.sim.run_for(600 * SECOND)
    assert cluster.images["db-2"] == "db:2"  # it waits for a pod that can never be ready
    cluster.user.delete("pods", "default", "db-2", grace_period_s=0)
    cluster.sim.run_for(60 * SECOND)
    assert set(cluster.images.values()) == {"db:3"}


def test_ordinals_may_begin_elsewhere(cluster: Cluster) -> None:
    cluster.start(2, ordinals={"start": 5})
    assert list(cluster.pods) == ["db-5", "db-6"]
    cluster.change(ordinals={"start": 6})
    cluster.sim.run_for(30 * SECOND)
    assert list(cluster.pods) == ["db-6", "db-7"]


def test_how_many_may_be_unavailable_is_not_asked_by_default(cluster: Cluster) -> None:
    cluster.start(4, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}})
    cluster.order.clear()
    cluster.change(image="db:2")
    cluster.sim.run_for(30 * SECOND)
    assert cluster.order == [f"{sign}db-{n}" for n in (3, 2, 1, 0) for sign in "-+"]
