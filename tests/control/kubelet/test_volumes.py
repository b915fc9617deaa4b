"""Volumes over time: retries, updates, subPath, and data that outlives pods."""

import json

import pytest

import simcluster
from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.tree import FileTree
from tests.clusters.nodes import NodeBench

MOUNTS = [
    {"name": "conf", "mountPath": "/etc/app"},
    {"name": "conf", "mountPath": "/etc/one", "subPath": "a"},
]


@pytest.fixture
def bench():
    bench = NodeBench()
    bench.machine.images.preload("acme/app:1.0")
    bench.run(30)
    return bench


def put(bench, resource, kind, name, namespace="shop", **fields):
    body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **fields}
    return bench.admin.create(resource, namespace, body)


def files(bench, name="app"):
    return FileTree(bench.machine.runtime.newest(bench.get(name)["metadata"]["uid"], "c"))


def test_a_mounted_config_map_follows_its_object_but_a_sub_path_does_not(bench):
    put(bench, "configmaps", "ConfigMap", "conf", data={"a": "one"})
    bench.pod(volumeMounts=MOUNTS, spec={"volumes": [{"name": "conf", "configMap": {"name": "conf"}}]})
    bench.run(20)
    bench.admin.patch("configmaps", "shop", "conf", {"data": {"a": "two"}}, kind="merge")
    bench.run(5)
    assert files(bench).read("/etc/app/a") == "one"
    bench.run(95)
    assert files(bench).read("/etc/app/a") == "two"
    assert files(bench).read("/etc/one") == "one"


def test_set_up_is_tried_ever_more_rarely_and_syncs_give_up_after_two_minutes(bench):
    bench.pod(volumeMounts=MOUNTS[:1], spec={"volumes": [{"name": "conf", "configMap": {"name": "conf"}}]})
    bench.run(100)
    message = 'MountVolume.SetUp failed for volume "conf" : configmap "conf" not found'
    assert bench.events() == [("FailedMount", message, 8)]
    bench.run(30)
    given_up = (
        "Unable to attach or mount volumes: unmounted volumes=[conf], unattached volumes=[], "
        "failed to process volumes=[]: context deadline exceeded"
    )
    assert bench.events()[1] == ("FailedMount", given_up, 1)
    bench.run(110)
    assert bench.events()[0][2] == 9  # the back-off of the set-up goes on whatever the syncs do


def test_a_missing_claim_fails_every_sync(bench):
    claim = {"name": "conf", "persistentVolumeClaim": {"claimName": "nope"}}
    bench.pod(volumeMounts=MOUNTS[:1], spec={"volumes": [claim]})
    bench.run(40)
    ((reason, message, count),) = bench.events()
    assert reason == "FailedMount"
    assert message.endswith('failed to fetch PVC from API server: persistentvolumeclaims "nope" not found')
    assert count in (3, 4)


def test_what_is_written_to_a_persistent_volume_outlives_the_pod(bench):
    volume = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/mnt"}}
    put(bench, "persistentvolumes", "PersistentVolume", "pv", "", spec=volume)
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "pv"}
    put(bench, "persistentvolumeclaims", "PersistentVolumeClaim", "data", spec=wanted)
    bound = {"status": {"phase": "Bound"}}
    bench.admin.patch("persistentvolumeclaims", "shop", "data", bound, kind="merge", subresource="status")
    spec = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "tmp"}]}
    mounts = [{"name": "data", "mountPath": "/data"}, {"name": "tmp", "mountPath": "/tmp"}]
    bench.pod("first", volumeMounts=mounts, spec=spec)
    bench.run(10)
    for path in ("/data/x", "/tmp/x"):
        files(bench, "first").write(path, "kept")
    bench.admin.delete("pods", "shop", "first")
    bench.run(10)
    bench.pod("second", volumeMounts=mounts, spec=spec)
    bench.run(10)
    assert files(bench, "second").read("/data/x") == "kept"
    with pytest.raises(FileError):
        files(bench, "second").read("/tmp/x")


def test_a_read_only_root_takes_writes_in_volumes_alone(bench):
    bench.pod(
        securityContext={"readOnlyRootFilesystem": True},
        volumeMounts=[{"name": "tmp", "mountPath": "/tmp"}],
        spec={"volumes": [{"name": "tmp", "emptyDir": {}}]},
    )
    bench.run(10)
    files(bench).write("/tmp/x", "fine")
    with pytest.raises(FileError, match="Read-only file system"):
        files(bench).write("/etc/x", "not fine")


def test_a_pod_may_not_write_more_than_its_containers_together(bench):
    limits = {"resources": {"limits": {"ephemeral-storage": "1Ki"}}}
    spec = {"volumes": [{"name": "tmp", "emptyDir": {}}]}
    bench.pod(volumeMounts=[{"name": "tmp", "mountPath": "/tmp"}], spec=spec, **limits)
    bench.run(10)
    files(bench).write("/tmp/x", "x" * 2000)
    bench.run(12)
    status = bench.get()["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
    assert status["message"] == "Pod ephemeral local storage usage exceeds the total limit of containers 1Ki. "


def test_a_path_of_the_node_is_one_place_for_the_node_and_its_pods() -> None:
    box = simcluster.sandbox(nodes=1)
    pod = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "seer", "namespace": "default"},
        "spec": {
            "nodeName": "worker-1",
            "containers": [{"name": "c", "image": "busybox:1.36", "args": ["sleep", "9999"],
                            "volumeMounts": [{"name": "d", "mountPath": "/data"}]}],
            "volumes": [{"name": "d", "hostPath": {"path": "/srv/seer", "type": "DirectoryOrCreate"}}],
        },
    }  # fmt: skip
    box.kubectl("apply -f -", stdin=json.dumps(pod))
    box.wait("30s")
    node = box.node("worker-1")
    node.sh("echo later > /srv/seer/note")
    assert box.kubectl("exec seer -- cat /data/note").stdout == "later\n"
    box.kubectl("exec seer -- sh -c 'echo inside > /data/reply'")
    assert node.sh("cat /srv/seer/reply").stdout == "inside\n"
    node.sh("rm /srv/seer/note")
    assert box.kubectl("exec seer -- ls /data").stdout == "reply\n"
