"""Volumes that one node at a time may have, and who waits for whom."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.attachdetach import AttachDetachController
from simcluster.control.csi import CsiAttacher, CsiRegistration
from simcluster.control.persistentvolume import PersistentVolumeBinder
from simcluster.control.volumes.attachable import ATTACHMENTS, attachment_name
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import node_object, pod_object

DRIVER = "ebs.csi.aws.com"
NAME = f"kubernetes.io/csi/{DRIVER}^vol-1"


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        for name in ("n1", "n2"):
            self.user.create("nodes", "", node_object(name))
        self.parts = [
            part(self.sim, self.api)
            for part in (PersistentVolumeBinder, AttachDetachController, CsiRegistration, CsiAttacher)
        ]
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": DRIVER, "volumeHandle": "vol-1"},
        }
        self.user.create("persistentvolumes", "", {"metadata": {"name": "pv"}, "spec": spec})
        wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "pv"}
        claim = {"metadata": {"name": "data"}, "spec": {**wanted, "storageClassName": ""}}
        self.user.create("persistentvolumeclaims", "default", claim)
        self.run(1)

    def run(self, seconds: int) -> None:
        self.sim.run_for(seconds * SECOND)

    def driver(self, *, limit: int = 0) -> None:
        """The pods of a driver, as their kubelets report them."""
        arguments = [f"--kubelet-registration-path=/var/lib/kubelet/plugins/{DRIVER}/csi.sock"]
        if limit:
            arguments.append(f"--volume-attach-limit={limit}")
        for name, node, sidecar in (
            ("node-1", "n1", "csi-node-driver-registrar"),
            ("node-2", "n2", "csi-node-driver-registrar"),
            ("controller", "n2", "csi-attacher"),
        ):
            body = pod_object(name, nodeName=node)
            container = {"name": "side", "image": f"registry.k8s.io/sig-storage/{sidecar}:v4.8.0", "args": arguments}
            body["spec"]["containers"].append(container)
            status = {"containerStatuses": [{"name": "side", "state": {"running": {}}}], "phase": "Running"}
            made = self.user.create("pods", "default", body)
            self.user.update_status("pods", {**thaw(made), "status": status})
        self.run(2)

    def pod(self, name: str, node: str) -> None:
        claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
        self.user.create("pods", "default", pod_object(name, nodeName=node, volumes=[claim]))

    def delete(self, name: str) -> None:
        self.user.delete("pods", "default", name, grace_period_s=0)

    def uses(self, node: str, *names: str) -> None:
        """What the node's kubelet reports as mounted."""
        patch = {"status": {"volumesInUse": list(names) or None}}
        self.user.patch("nodes", "", node, patch, kind="merge", subresource="status")

    def fail(self, node: str) -> None:
        patch = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
        self.user.patch("nodes", "", node, patch, kind="merge", subresource="status")

    def where(self) -> list[tuple[str, bool]]:
        found = self.api.store.objects(ATTACHMENTS)
        return [(a["spec"]["nodeName"], bool((a.get("status") or {}).get("attached"))) for a in found]

    def events(self, pod: str) -> list[tuple[str, str]]:
        found = [e for e in self.api.store.objects("events") if e["involvedObject"]["name"] == pod]
        return [(e["reason"], e["message"]) for e in found]

    def node(self, name: str) -> ApiObject:
        found = self.api.store.get("nodes", "", name)
        assert found is not None
        return found


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def attached_to_first(cluster: Cluster) -> None:
    cluster.driver()
    cluster.pod("a", "n1")
    cluster.run(5)
    cluster.uses("n1", NAME)
    cluster.pod("b", "n2")
    cluster.run(5)


def test_a_volume_without_attacher_is_waited_for(cluster: Cluster) -> None:
    cluster.pod("a", "n1")
    cluster.run(119)
    assert cluster.where() == [("n1", False)]
    assert cluster.events("a") == []
    cluster.run(3)
    message = f"timed out waiting for external-attacher of {DRIVER} CSI driver to attach volume vol-1"
    assert cluster.events("a") == [("FailedAttachVolume", f'AttachVolume.Attach failed for volume "pv" : {message}')]


def test_an_attached_volume_is_reported_to_the_node_and_the_pod(cluster: Cluster) -> None:
    cluster.driver(limit=25)
    cluster.pod("a", "n1")
    cluster.run(5)
    assert cluster.where() == [("n1", True)]
    assert cluster.events("a") == [("SuccessfulAttachVolume", 'AttachVolume.Attach succeeded for volume "pv" ')]
    assert cluster.node("n1")["status"]["volumesAttached"] == [{"name": NAME, "devicePath": ""}]
    (made,) = cluster.api.store.objects(ATTACHMENTS)
    volume = {"spec": {"csi": {"driver": DRIVER, "volumeHandle": "vol-1"}}}
    assert made["metadata"]["name"] == attachment_name(volume, "n1")
    assert made["metadata"]["finalizers"] == ["external-attacher/ebs-csi-aws-com"]
    csi_node = cluster.api.store.get("csinodes.storage.k8s.io", "", "n1")
    assert csi_node is not None
    assert csi_node["spec"]["drivers"][0]["allocatable"] == {"count": 25}


def test_a_second_node_waits_until_the_first_has_unmounted(cluster: Cluster) -> None:
    attached_to_first(cluster)
    assert cluster.where() == [("n1", True)]
    said = 'Multi-Attach error for volume "pv" Volume is already used by pod(s) a'
    assert cluster.events("b") == [("FailedAttachVolume", said)]
    cluster.delete("a")
    cluster.run(30)
    assert cluster.where() == [("n1", True)]  # still mounted there
    cluster.uses("n1")
    cluster.run(10)
    assert cluster.where() == [("n2", True)]
    assert "volumesAttached" not in cluster.node("n1")["status"]
    assert cluster.events("b")[-1][0] == "SuccessfulAttachVolume"


def test_a_dead_node_keeps_its_volume_while_its_pod_is_there_and_six_minutes_longer(cluster: Cluster) -> None:
    attached_to_first(cluster)
    cluster.fail("n1")
    cluster.run(900)
    assert cluster.where() == [("n1", True)]
    cluster.delete("a")  # by force: no kubelet is left that would confirm it
    cluster.run(350)
    assert cluster.where() == [("n1", True)]
    cluster.run(20)
    assert cluster.where() == [("n2", True)]


def test_a_healthy_node_that_says_it_has_mounted_the_volume_keeps_it(cluster: Cluster) -> None:
    attached_to_first(cluster)
    cluster.delete("a")
    cluster.run(1000)
    assert cluster.where() == [("n1", True)]


def test_a_node_out_of_service_loses_its_volumes_at_once(cluster: Cluster) -> None:
    attached_to_first(cluster)
    cluster.fail("n1")
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
    cluster.user.patch("nodes", "", "n1", {"spec": {"taints": [taint]}}, kind="merge")
    cluster.delete("a")
    cluster.run(10)
    assert cluster.where() == [("n2", True)]


def test_a_node_without_the_driver_refuses(cluster: Cluster) -> None:
    cluster.driver()
    cluster.user.delete("pods", "default", "node-1", grace_period_s=0)
    cluster.pod("a", "n1")
    cluster.run(5)
    why = f'AttachVolume.Attach failed for volume "pv" : CSINode n1 does not contain driver {DRIVER}'
    assert ("FailedAttachVolume", why) in cluster.events("a")


@pytest.mark.parametrize("modes", [["ReadWriteMany"], ["ReadOnlyMany"]])
def test_shared_volumes_are_attached_everywhere(cluster: Cluster, modes: list[str]) -> None:
    change: dict[str, Any] = {"spec": {"accessModes": modes}}
    cluster.user.patch("persistentvolumes", "", "pv", change, kind="merge")
    attached_to_first(cluster)
    assert sorted(cluster.where()) == [("n1", True), ("n2", True)]
