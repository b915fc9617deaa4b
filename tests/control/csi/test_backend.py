"""CSI drivers whose storage system refuses or does not answer."""

from __future__ import annotations

import pytest

from simcluster.control.csi import StorageBackend
from simcluster.engine import SECOND
from simcluster.world.world import World

DRIVER = "ebs.csi.aws.com"
_NODE, _ALL = ("csi-node-driver-registrar",), ("csi-provisioner", "csi-attacher")


def _pod(sidecars: tuple[str, ...]) -> str:
    path = f"--kubelet-registration-path=/var/lib/kubelet/plugins/{DRIVER}/csi.sock"
    listed = [f'{{name: {s}, image: "registry.k8s.io/sig-storage/{s}:v4.8.0", args: ["{path}"]}}' for s in sidecars]
    return f"containers: [{{name: plugin, image: 'ebs:1'}}, {', '.join(listed)}]"


MANIFESTS = f"""
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: ebs}}
provisioner: {DRIVER}
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {{name: {DRIVER}}}
spec: {{attachRequired: true}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: node, namespace: kube-system}}
spec: {{selector: {{matchLabels: {{a: n}}}}, template: {{metadata: {{labels: {{a: n}}}}, spec: {{{_pod(_NODE)}}}}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: controller, namespace: kube-system}}
spec: {{selector: {{matchLabels: {{a: c}}}}, template: {{metadata: {{labels: {{a: c}}}}, spec: {{{_pod(_ALL)}}}}}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data, namespace: default}}
spec: {{accessModes: [ReadWriteOnce], storageClassName: ebs, resources: {{requests: {{storage: 1Gi}}}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: p, namespace: default}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{{name: c, image: nginx, volumeMounts: [{{name: d, mountPath: /d}}]}}]
  volumes: [{{name: d, persistentVolumeClaim: {{claimName: data}}}}]
"""


@pytest.fixture(scope="module")
def installed() -> World:
    world = World(0, workers=1)
    world.apply(MANIFESTS)
    world.storage.fail(DRIVER, "CreateVolume", "Internal", "UnauthorizedOperation")
    world.run_for(30 * SECOND)
    return world


def _said(world: World, name: str, reason: str) -> list[str]:
    events = world.api.store.objects("events", "default")
    return [e["message"] for e in events if e["involvedObject"]["name"] == name and e["reason"] == reason]


def _phase(world: World) -> str:
    pod = world.api.store.get("pods", "default", "p")
    assert pod is not None
    return str(pod["status"]["phase"])


def test_a_volume_that_cannot_be_made_is_reported_to_the_claim(installed: World) -> None:
    text = 'failed to provision volume with StorageClass "ebs": rpc error: code = Internal desc = UnauthorizedOperation'
    assert _said(installed, "data", "ProvisioningFailed") == [text]
    assert _phase(installed) == "Pending"


def test_a_volume_that_cannot_be_attached_and_then_not_mounted(installed: World) -> None:
    world = installed.fork()
    world.storage.repair(DRIVER)
    world.storage.hang(DRIVER, "ControllerPublishVolume")
    world.run_for(90 * SECOND)
    volume = world.api.store.objects("persistentvolumes")[0]["metadata"]["name"]
    late = f'AttachVolume.Attach failed for volume "{volume}" : rpc error: code = DeadlineExceeded desc = '
    assert _said(world, "p", "FailedAttachVolume") == [f"{late}context deadline exceeded"]
    world.storage.repair(DRIVER)
    world.storage.fail(DRIVER, "NodeStageVolume", "Internal", "mount failed: exit status 32")
    world.run_for(250 * SECOND)
    said = _said(world, "p", "FailedMount")
    refused = f'MountVolume.MountDevice failed for volume "{volume}" : rpc error: code = Internal desc = mount failed'
    assert f"{refused}: exit status 32" in said
    listed = "unmounted volumes=[d], unattached volumes=[], failed to process volumes=[]"
    assert f"Unable to attach or mount volumes: {listed}: context deadline exceeded" in said
    world.storage.repair(DRIVER)
    world.run_for(130 * SECOND)
    assert _phase(world) == "Running"


def test_a_volume_that_cannot_be_deleted_stays_released(installed: World) -> None:
    world = installed.fork()
    world.storage.repair(DRIVER)
    world.run_for(60 * SECOND)
    assert _phase(world) == "Running"
    world.storage.fail(DRIVER, "DeleteVolume", "Internal", "VolumeInUse")
    world.kubectl().run("delete pod p")
    world.kubectl().run("delete pvc data")
    world.run_for(30 * SECOND)
    volume = world.api.store.objects("persistentvolumes")[0]
    assert volume["status"]["phase"] == "Released"
    assert _said(world, volume["metadata"]["name"], "VolumeFailedDelete") == [
        "rpc error: code = Internal desc = VolumeInUse"
    ]
    world.storage.repair(DRIVER)
    world.run_for(60 * SECOND)
    assert world.api.store.objects("persistentvolumes") == []


def test_nodes_without_driver_have_a_csinode_too(installed: World) -> None:
    found = {n["metadata"]["name"]: n["spec"] for n in installed.api.store.objects("csinodes.storage.k8s.io")}
    assert not found["control-plane"].get("drivers")
    assert [entry["name"] for entry in found["worker-1"]["drivers"]] == [DRIVER]


def test_what_csi_does_not_know() -> None:
    backend = StorageBackend()
    with pytest.raises(ValueError, match="no operation 'MakeVolume'"):
        backend.hang(DRIVER, "MakeVolume")
    with pytest.raises(ValueError, match="no code 'Bad'"):
        backend.fail(DRIVER, "CreateVolume", "Bad", "x")
