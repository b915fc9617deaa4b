"""Volumes that must be attached before a kubelet mounts them."""

import pytest

from tests.clusters.nodes import NodeBench

NAME = "kubernetes.io/csi/ebs.csi.aws.com^vol-1"
MOUNTS = [{"name": "data", "mountPath": "/data"}]
VOLUMES = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}


@pytest.fixture
def bench():
    bench = NodeBench()
    bench.machine.images.preload("acme/app:1.0")
    bench.run(12)
    csi = {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "csi": csi}
    bench.admin.create("persistentvolumes", "", {"metadata": {"name": "pv"}, "spec": spec})
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "pv"}
    metadata = {"name": "data", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    bench._ensure("shop")
    bench.admin.create("persistentvolumeclaims", "shop", {"metadata": metadata, "spec": wanted})
    bound = {"status": {"phase": "Bound"}}
    bench.admin.patch("persistentvolumeclaims", "shop", "data", bound, kind="merge", subresource="status")
    return bench


def node(bench):
    return bench.admin.get("nodes", "", "worker-1")


def attach(bench):
    attached = {"status": {"volumesAttached": [{"name": NAME, "devicePath": ""}]}}
    bench.admin.patch("nodes", "", "worker-1", attached, kind="merge", subresource="status")


def register(bench):
    driver = {"name": "ebs.csi.aws.com", "nodeID": "worker-1", "topologyKeys": None}
    bench.admin.patch("csinodes.storage.k8s.io", "", "worker-1", {"spec": {"drivers": [driver]}}, kind="merge")


def test_a_volume_is_reported_in_use_and_awaited(bench):
    bench.pod(volumeMounts=MOUNTS, spec=VOLUMES)
    bench.run(12)
    assert node(bench)["status"]["volumesInUse"] == [NAME]
    bench.run(115)
    given_up = (
        "Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[data], "
        "failed to process volumes=[]: context deadline exceeded"
    )
    assert bench.events() == [("FailedMount", given_up, 1)]


def test_an_attached_volume_needs_its_driver(bench):
    bench.pod(volumeMounts=MOUNTS, spec=VOLUMES)
    bench.run(12)
    attach(bench)
    bench.run(20)
    message = (
        'MountVolume.MountDevice failed for volume "pv" : kubernetes.io/csi: attacher.MountDevice failed to create '
        "newCsiDriverClient: driver name ebs.csi.aws.com not found in the list of registered CSI drivers"
    )
    assert bench.events()[0][:2] == ("FailedMount", message)
    register(bench)
    bench.run(40)
    assert bench.get()["status"]["phase"] == "Running"


def test_a_volume_is_in_use_until_its_pod_has_ended(bench):
    register(bench)
    bench.pod(volumeMounts=MOUNTS, spec={**VOLUMES, "terminationGracePeriodSeconds": 15}, env={"TERM": "ignore"})
    bench.run(12)
    attach(bench)
    bench.run(30)
    assert bench.get()["status"]["phase"] == "Running"
    bench.admin.delete("pods", "shop", "app")
    bench.run(12)
    assert node(bench)["status"]["volumesInUse"] == [NAME]
    bench.run(20)
    assert "volumesInUse" not in node(bench)["status"]
