from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, Json, name_of
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.persistentvolume import ClaimProtection, PersistentVolumeBinder, VolumeProtection
from simcluster.control.scheduler import Scheduler
from simcluster.control.storage import LocalPathProvisioner
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import FakeKubelets, node_object, pod_object


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.user.create("namespaces", "", {"metadata": {"name": "default"}})
        self.user.create("serviceaccounts", "default", {"metadata": {"name": "default", "namespace": "default"}})
        for name in ("n1", "n2"):
            self.user.create("nodes", "", node_object(name))
        self.binder = PersistentVolumeBinder(self.sim, self.api)
        self.protections = (ClaimProtection(self.sim, self.api), VolumeProtection(self.sim, self.api))
        self.provisioner = LocalPathProvisioner(self.sim, self.api)
        self.scheduler = Scheduler(self.sim, self.api)
        self.kubelets = FakeKubelets(self.sim, self.api)

    def start(self, provisioner: str, *, late: bool, modes: tuple[str, ...] = ("ReadWriteOnce",)) -> None:
        storage_class: Json = {
            "metadata": {"name": "local"},
            "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer" if late else "Immediate",
        }
        self.user.create("storageclasses.storage.k8s.io", "", storage_class)
        spec: Json = {
            "accessModes": list(modes),
            "storageClassName": "local",
            "resources": {"requests": {"storage": "2Gi"}},
        }
        metadata = {"name": "data", "namespace": "default"}
        self.user.create("persistentvolumeclaims", "default", {"metadata": metadata, "spec": spec})
        self.sim.run_for(10 * SECOND)

    def consume(self) -> None:
        volumes: Any = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
        self.user.create("pods", "default", pod_object("user", volumes=volumes))
        self.sim.run_for(10 * SECOND)

    @property
    def claim(self) -> ApiObject:
        return self.user.get("persistentvolumeclaims", "default", "data")

    @property
    def volumes(self) -> list[ApiObject]:
        return self.api.store.objects("persistentvolumes")

    def events(self, reason: str) -> list[str]:
        return [e["message"] for e in self.api.store.objects("events") if e["reason"] == reason]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_a_late_claim_gets_its_volume_on_the_node_of_its_first_consumer(cluster: Cluster) -> None:
    cluster.start("rancher.io/local-path", late=True)
    assert cluster.volumes == []
    assert cluster.events("WaitForFirstConsumer")
    cluster.consume()
    (volume,) = cluster.volumes
    node = cluster.user.get("pods", "default", "user")["spec"]["nodeName"]
    uid = cluster.claim["metadata"]["uid"]
    assert name_of(volume) == f"pvc-{uid}"
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]
    assert volume["spec"]["hostPath"]["path"] == f"/var/local-path-provisioner/pvc-{uid}_default_data"
    assert cluster.claim["status"]["phase"] == "Bound"
    assert cluster.events("Provisioning") == ['External provisioner is provisioning volume for claim "default/data"']
    assert cluster.events("ProvisioningSucceeded") == [f"Successfully provisioned volume pvc-{uid}"]


def test_an_immediate_claim_needs_a_provisioner_that_needs_no_node(cluster: Cluster) -> None:
    cluster.start("k8s.io/minikube-hostpath", late=False)
    assert cluster.claim["status"]["phase"] == "Bound"
    assert "nodeAffinity" not in cluster.volumes[0]["spec"]
    other = Cluster()
    other.start("rancher.io/local-path", late=False)
    why = "configuration error, no node was specified"
    message = f'failed to provision volume with StorageClass "local": {why}'
    assert other.events("ProvisioningFailed") == [message]
    assert other.claim["status"]["phase"] == "Pending"


def test_access_from_many_nodes_is_refused(cluster: Cluster) -> None:
    cluster.start("rancher.io/local-path", late=True, modes=("ReadWriteMany",))
    cluster.consume()
    assert cluster.volumes == []
    assert "NodePath only supports ReadWriteOnce" in cluster.events("ProvisioningFailed")[0]


def test_a_released_volume_is_deleted(cluster: Cluster) -> None:
    cluster.start("k8s.io/minikube-hostpath", late=False)
    cluster.user.delete("persistentvolumeclaims", "default", "data")
    cluster.sim.run_for(20 * SECOND)
    assert cluster.volumes == []


def test_claims_of_unknown_provisioners_are_left_alone(cluster: Cluster) -> None:
    cluster.start("example.com/other", late=False)
    assert cluster.events("ExternalProvisioning")
    assert not cluster.events("Provisioning")
