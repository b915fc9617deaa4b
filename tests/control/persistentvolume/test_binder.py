from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, condition
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.persistentvolume import ClaimProtection, PersistentVolumeBinder, VolumeProtection
from simcluster.control.scheduler import Scheduler
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import FakeKubelets, node_object, pod_object

PV, PVC, CLASSES = "persistentvolumes", "persistentvolumeclaims", "storageclasses.storage.k8s.io"


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        for n in (1, 2):
            self.user.create("nodes", "", node_object(f"n{n}"))
        for name, provisioner in (("local", "kubernetes.io/no-provisioner"), ("cloud", "example.com/disk")):
            body = {
                "metadata": {"name": name},
                "provisioner": provisioner,
                "volumeBindingMode": "WaitForFirstConsumer",
            }
            self.user.create(CLASSES, "", body)
        self.controllers = [
            PersistentVolumeBinder(self.sim, self.api),
            ClaimProtection(self.sim, self.api),
            VolumeProtection(self.sim, self.api),
        ]
        self.scheduler = Scheduler(self.sim, self.api)
        self.kubelets = FakeKubelets(self.sim, self.api)
        self.run()

    def run(self, seconds: int = 1) -> None:
        self.sim.run_for(seconds * SECOND)

    def volume(self, name: str, size: str, *, modes: str = "ReadWriteOnce", node: str = "", **spec: Any) -> None:
        labels = spec.pop("labels", {})
        body: dict[str, Any] = {
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "capacity": {"storage": size},
                "accessModes": [modes],
                "hostPath": {"path": f"/data/{name}"},
                "persistentVolumeReclaimPolicy": "Retain",
                **spec,
            },
        }
        if node:
            term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
            body["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}
        self.user.create(PV, "", body)

    def claim(self, name: str, size: str, *, modes: str = "ReadWriteOnce", cls: str = "", **spec: Any) -> None:
        body = {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "accessModes": [modes],
                "storageClassName": cls,
                "resources": {"requests": {"storage": size}},
                **spec,
            },
        }
        self.user.create(PVC, "default", body)

    def pod(self, name: str, claim: str) -> None:
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
        self.user.create("pods", "default", pod_object(name, volumes=volumes))

    def get(self, resource: str, name: str) -> ApiObject:
        found = self.api.store.get(resource, "" if resource == PV else "default", name)
        assert found is not None
        return found

    def phase(self, resource: str, name: str) -> str:
        phase: str = self.get(resource, name)["status"]["phase"]
        return phase

    def messages(self, reason: str) -> list[str]:
        return [e["message"] for e in self.api.store.objects("events") if e["reason"] == reason]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_the_smallest_volume_that_suits_is_bound(cluster: Cluster) -> None:
    cluster.volume("big", "10Gi")
    cluster.volume("fit", "2Gi")
    cluster.volume("small", "500Mi")
    cluster.run()
    cluster.claim("c", "1Gi")
    cluster.run()
    claim = cluster.get(PVC, "c")
    assert claim["spec"]["volumeName"] == "fit"
    assert claim["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"}}
    assert claim["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    assert cluster.phase(PV, "fit") == "Bound"
    assert cluster.get(PV, "fit")["spec"]["claimRef"]["name"] == "c"
    assert cluster.phase(PV, "big") == "Available"


@pytest.mark.parametrize(
    "claim",
    [
        {"size": "5Gi"},
        {"size": "1Gi", "modes": "ReadWriteMany"},
        {"size": "1Gi", "selector": {"matchLabels": {"disk": "ssd"}}},
    ],
)
def test_what_does_not_suit_stays_pending(cluster: Cluster, claim: dict[str, Any]) -> None:
    cluster.volume("v", "2Gi", labels={"disk": "hdd"})
    cluster.run()
    cluster.claim("c", **claim)
    cluster.pod("p", "c")
    cluster.run()
    assert cluster.phase(PVC, "c") == "Pending"
    assert cluster.messages("FailedBinding") == [
        "no persistent volumes available for this claim and no storage class is set"
    ]
    entry = condition(cluster.get("pods", "p"), "PodScheduled")
    assert entry is not None
    assert entry["message"].startswith("0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. ")


def test_a_volume_that_appears_later_is_found_and_wakes_the_pod(cluster: Cluster) -> None:
    cluster.claim("c", "1Gi")
    cluster.pod("p", "c")
    cluster.run(2)
    cluster.volume("v", "1Gi")
    cluster.run(20)
    assert cluster.phase(PVC, "c") == "Bound"
    assert cluster.get("pods", "p")["spec"].get("nodeName")


def test_an_occupied_volume_is_not_given_away(cluster: Cluster) -> None:
    cluster.volume("v", "1Gi")
    cluster.run()
    cluster.claim("one", "1Gi")
    cluster.run()
    cluster.claim("two", "1Gi")
    cluster.claim("named", "1Gi", volumeName="v")
    cluster.run()
    assert [cluster.phase(PVC, n) for n in ("one", "two", "named")] == ["Bound", "Pending", "Pending"]
    assert 'volume "v" already bound to a different claim.' in cluster.messages("FailedBinding")


def test_missing_class(cluster: Cluster) -> None:
    cluster.claim("c", "1Gi", cls="fast-ssd")
    cluster.run()
    assert cluster.messages("ProvisioningFailed") == ['storageclass.storage.k8s.io "fast-ssd" not found']


def test_late_binding_follows_the_scheduler(cluster: Cluster) -> None:
    cluster.volume("v2", "1Gi", node="n2", storageClassName="local")
    cluster.claim("c", "1Gi", cls="local")
    cluster.run()
    assert cluster.phase(PVC, "c") == "Pending"
    assert cluster.messages("WaitForFirstConsumer") == ["waiting for first consumer to be created before binding"]
    cluster.pod("p", "c")
    cluster.run(3)
    assert cluster.get("pods", "p")["spec"]["nodeName"] == "n2"
    assert cluster.phase(PVC, "c") == "Bound"
    cluster.claim("d", "1Gi", cls="local")
    cluster.pod("q", "d")
    cluster.run(3)
    entry = condition(cluster.get("pods", "q"), "PodScheduled")
    assert entry is not None
    assert entry["message"] == (
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_external_provisioner_is_given_the_node(cluster: Cluster) -> None:
    cluster.claim("c", "1Gi", cls="cloud")
    cluster.pod("p", "c")
    cluster.run(3)
    annotations = cluster.get(PVC, "c")["metadata"]["annotations"]
    assert annotations["volume.kubernetes.io/selected-node"] in ("n1", "n2")
    assert annotations["volume.kubernetes.io/storage-provisioner"] == "example.com/disk"
    assert len(cluster.messages("ExternalProvisioning")) == 1
    assert cluster.get("pods", "p")["spec"].get("nodeName") is None


def test_protection_and_release(cluster: Cluster) -> None:
    cluster.volume("v", "1Gi")
    cluster.run()
    cluster.claim("c", "1Gi")
    cluster.run()
    cluster.pod("p", "c")
    cluster.run(2)
    assert cluster.get(PVC, "c")["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    cluster.user.delete(PVC, "default", "c")
    cluster.user.delete(PV, "", "v")
    cluster.run(2)
    assert cluster.phase(PV, "v") == "Bound"
    cluster.user.delete("pods", "default", "p")
    cluster.run(2)
    assert cluster.api.store.get(PVC, "default", "c") is None
    assert cluster.api.store.get(PV, "", "v") is None


def test_retained_volume_is_released(cluster: Cluster) -> None:
    cluster.volume("v", "1Gi")
    cluster.run()
    cluster.claim("c", "1Gi")
    cluster.run()
    cluster.user.delete(PVC, "default", "c")
    cluster.run(2)
    assert cluster.phase(PV, "v") == "Released"
    cluster.claim("again", "1Gi")
    cluster.run(20)
    assert cluster.phase(PVC, "again") == "Pending"


def test_a_recycled_volume_is_emptied_by_a_pod_and_free_again(cluster: Cluster) -> None:
    cluster.volume("v", "1Gi", persistentVolumeReclaimPolicy="Recycle")
    cluster.claim("c", "1Gi", volumeName="v")
    cluster.run(3)
    cluster.user.delete(PVC, "default", "c")
    cluster.run(5)
    pod = cluster.api.store.get("pods", "default", "recycler-for-v")
    assert pod is not None
    assert pod["spec"]["volumes"][0]["hostPath"] == {"path": "/data/v", "type": ""}
    status = {"status": {**pod["status"], "phase": "Succeeded"}}
    cluster.user.patch("pods", "default", "recycler-for-v", status, kind="merge", subresource="status")
    cluster.run(40)
    volume = cluster.api.store.get(PV, "", "v")
    assert volume is not None
    assert volume["status"]["phase"] == "Available"
    assert "claimRef" not in volume["spec"]


def test_only_paths_below_tmp_are_deleted(cluster: Cluster) -> None:
    for name, path in (("kept", "/srv/x"), ("gone", "/tmp/x")):
        cluster.volume(name, "1Gi", persistentVolumeReclaimPolicy="Delete", hostPath={"path": path})
        cluster.claim(name, "1Gi", volumeName=name)
        cluster.run(3)
        cluster.user.delete(PVC, "default", name)
    cluster.run(10)
    assert cluster.api.store.get(PV, "", "gone") is None
    volume = cluster.api.store.get(PV, "", "kept")
    assert volume is not None
    assert volume["status"]["message"] == "host_path deleter only supports /tmp/.+ but received provided /srv/x"


def test_a_claim_whose_volume_vanishes_is_lost(cluster: Cluster) -> None:
    cluster.volume("v", "2Gi")
    cluster.claim("c", "1Gi")
    cluster.run(20)
    cluster.user.patch(PV, "", "v", {"metadata": {"finalizers": None}}, kind="merge")
    cluster.user.delete(PV, "", "v")
    cluster.run(20)
    assert cluster.phase(PVC, "c") == "Lost"
    assert cluster.messages("ClaimLost") == ["Bound claim has lost its PersistentVolume. Data on the volume is lost!"]
    cluster.pod("p", "c")
    cluster.run()
    entry = condition(cluster.get("pods", "p"), "PodScheduled")
    assert entry is not None
    assert 'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"' in entry["message"]


def test_a_volume_can_be_reserved_for_a_claim_and_a_claim_for_a_volume(cluster: Cluster) -> None:
    cluster.volume("reserved", "1Gi", claimRef={"namespace": "default", "name": "mine"})
    cluster.volume("named", "9Gi")
    cluster.run()
    cluster.claim("other", "1Gi", volumeName="named")
    cluster.claim("mine", "1Gi")
    cluster.run(20)
    assert cluster.get(PVC, "other")["spec"]["volumeName"] == "named"
    assert cluster.get(PVC, "mine")["spec"]["volumeName"] == "reserved"
    assert cluster.get(PV, "reserved")["spec"]["claimRef"]["uid"] == cluster.get(PVC, "mine")["metadata"]["uid"]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"size": "5Gi"}, "requested PV is too small"),
        ({"size": "1Gi", "cls": "cloud"}, "storageClassName does not match"),
        ({"size": "1Gi", "modes": "ReadWriteMany"}, "incompatible accessMode"),
        ({"size": "1Gi", "volumeMode": "Block"}, "incompatible volumeMode"),
    ],
)
def test_a_named_volume_that_does_not_suit_is_reported(cluster: Cluster, spec: dict[str, Any], why: str) -> None:
    cluster.volume("v", "2Gi")
    cluster.run()
    cluster.claim("c", volumeName="v", **spec)
    cluster.run(3)
    assert cluster.phase(PVC, "c") == "Pending"
    assert cluster.messages("VolumeMismatch") == [f'Cannot bind to requested volume "v": {why}']


def test_a_released_volume_is_not_given_to_the_next_claim(cluster: Cluster) -> None:
    cluster.volume("v", "2Gi")
    cluster.claim("c", "1Gi")
    cluster.run(20)
    cluster.user.delete(PVC, "default", "c")
    cluster.run(5)
    cluster.claim("c", "1Gi")
    cluster.run(20)
    assert (cluster.phase(PV, "v"), cluster.phase(PVC, "c")) == ("Released", "Pending")
    cluster.user.patch(PV, "", "v", {"spec": {"claimRef": None}}, kind="merge")
    cluster.run(20)
    assert (cluster.phase(PV, "v"), cluster.phase(PVC, "c")) == ("Bound", "Bound")


def test_a_claim_without_a_class_gets_the_default_one_and_one_with_an_empty_class_none(cluster: Cluster) -> None:
    mark = {"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}
    cluster.user.patch(CLASSES, "", "cloud", mark, kind="merge")
    body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    cluster.user.create(PVC, "default", {"metadata": {"name": "c"}, "spec": body})
    cluster.claim("none", "1Gi", cls="")
    assert cluster.get(PVC, "c")["spec"]["storageClassName"] == "cloud"
    assert cluster.get(PVC, "none")["spec"]["storageClassName"] == ""
