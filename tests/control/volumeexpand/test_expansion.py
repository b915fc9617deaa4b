"""Claims that ask for more: who may, who waits, and the steps with a driver that can."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.csi import CsiResizer
from simcluster.control.persistentvolume import PersistentVolumeBinder
from simcluster.control.volumeexpand import VolumeExpandController
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import pod_object

CLAIMS = "persistentvolumeclaims"
DRIVER = "ebs.csi.aws.com"


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.parts = [part(self.sim, self.api) for part in (PersistentVolumeBinder, VolumeExpandController, CsiResizer)]
        for name, more in (("fixed", {}), ("growing", {"allowVolumeExpansion": True})):
            self.user.create(
                "storageclasses.storage.k8s.io", "", {"metadata": {"name": name}, "provisioner": DRIVER, **more}
            )

    def claim(self, storage_class: str, *, bound: bool = True) -> None:
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class}
        if bound:
            csi = {"csi": {"driver": DRIVER, "volumeHandle": "vol-1"}, "capacity": {"storage": "1Gi"}}
            self.user.create("persistentvolumes", "", {"metadata": {"name": "pv"}, "spec": {**spec, **csi}})
        wanted = {"metadata": {"name": "data"}, "spec": {**spec, "resources": {"requests": {"storage": "1Gi"}}}}
        self.user.create(CLAIMS, "default", wanted)
        self.run(1)

    def ask(self, size: str) -> None:
        change = {"spec": {"resources": {"requests": {"storage": size}}}}
        self.user.patch(CLAIMS, "default", "data", change, kind="merge")

    def pod(self, name: str, **spec: object) -> None:
        body = pod_object(name, nodeName="n1", **spec)
        side: dict[str, Any] = {"name": "side", "image": "registry.k8s.io/sig-storage/csi-resizer:v1.12.0"}
        side["args"] = [f"--drivername={DRIVER}"]
        body["spec"]["containers"].append(side)
        status = {"containerStatuses": [{"name": "side", "state": {"running": {}}}], "phase": "Running"}
        self.user.update_status("pods", {**thaw(self.user.create("pods", "default", body)), "status": status})

    def run(self, seconds: int) -> None:
        self.sim.run_for(seconds * SECOND)

    @property
    def status(self) -> dict[str, Any]:
        found: ApiObject | None = self.api.store.get(CLAIMS, "default", "data")
        assert found is not None
        status: dict[str, Any] = found["status"]
        return status

    def events(self) -> list[tuple[str, str, str]]:
        found = self.api.store.objects("events")
        return [
            (e["source"]["component"], e["reason"], e["message"])
            for e in found
            if e["involvedObject"]["kind"] == "PersistentVolumeClaim" and e["reason"] != "ExternalProvisioning"
        ]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_a_class_must_allow_it(cluster: Cluster) -> None:
    cluster.claim("fixed")
    with pytest.raises(ApiError) as refused:
        cluster.ask("2Gi")
    assert refused.value.message == (
        'persistentvolumeclaims "data" is forbidden: only dynamically provisioned pvc can be resized and the '
        "storageclass that provisions the pvc must support resize"
    )


def test_only_bound_claims_grow(cluster: Cluster) -> None:
    cluster.claim("growing", bound=False)
    with pytest.raises(ApiError):
        cluster.ask("2Gi")


def test_without_a_resizer_the_claim_waits(cluster: Cluster) -> None:
    cluster.claim("growing")
    cluster.ask("2Gi")
    cluster.run(600)
    assert cluster.events() == [
        ("volume_expand", "ExternalExpanding", "waiting for an external controller to expand this PVC")
    ]
    assert cluster.status["capacity"] == {"storage": "1Gi"}


def test_a_driver_enlarges_the_volume_and_a_node_its_file_system(cluster: Cluster) -> None:
    cluster.claim("growing")
    cluster.pod("driver")
    cluster.ask("2Gi")
    cluster.run(1)
    assert [c["type"] for c in cluster.status["conditions"]] == ["Resizing"]
    cluster.run(20)
    (pending,) = cluster.status["conditions"]
    assert pending["type"] == "FileSystemResizePending"
    assert cluster.status["capacity"] == {"storage": "1Gi"}
    cluster.pod("app", volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}])
    cluster.run(60)
    assert cluster.status["capacity"] == {"storage": "2Gi"}
    assert "conditions" not in cluster.status
    assert sorted(reason for _, reason, _ in cluster.events()) == [
        "ExternalExpanding",
        "FileSystemResizeRequired",
        "FileSystemResizeSuccessful",
        "Resizing",
    ]


def test_what_is_being_enlarged_may_not_shrink_below_what_there_is(cluster: Cluster) -> None:
    cluster.claim("growing")
    cluster.ask("3Gi")
    cluster.ask("2Gi")
    with pytest.raises(ApiError) as refused:
        cluster.ask("1Gi")
    assert "field can not be less than status.capacity" in refused.value.message
