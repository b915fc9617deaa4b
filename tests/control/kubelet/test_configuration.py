"""Environment and volumes: what a container sees, and what is missing."""

import base64

import pytest

from simcluster.api.authentication.tokens import holder_of
from simcluster.engine import SECOND
from simcluster.models.machine.shell.tree import FileTree
from tests.clusters.nodes import NodeBench


@pytest.fixture
def bench():
    bench = NodeBench()
    bench.machine.images.preload("acme/app:1.0")
    bench.run(30)
    return bench


def put(bench, resource, kind, name, **fields):
    body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "shop"}, **fields}
    return bench.admin.create(resource, "shop", body)


def container(bench, name="app"):
    return bench.machine.runtime.newest(bench.get(name)["metadata"]["uid"], "c")


def test_environment_comes_from_everywhere(bench):
    put(bench, "configmaps", "ConfigMap", "settings", data={"COLOR": "blue", "SIZE": "9"})
    put(bench, "secrets", "Secret", "keys", data={"password": base64.b64encode(b"hush").decode()})
    ports = [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}]
    put(bench, "services", "Service", "web-front", spec={"clusterIP": "10.96.0.50", "ports": ports})
    env = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)-$(COLOR)-$(NOPE)-$$(A)"},
        {"name": "URL", "value": "http://$(WEB_FRONT_SERVICE_HOST)/"},
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "MEM", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
        {"name": "PASS", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "password"}}},
        {"name": "OPT", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "no", "optional": True}}},
    ]
    bench.pod("two", spec={"containers": [_spec(env)]})
    bench.run(5)
    seen = container(bench, "two").spec.environment
    address = bench.get("two")["status"]["podIP"]
    assert seen["B"] == "1-blue-$(NOPE)-$(A)"
    assert seen["URL"] == "http://10.96.0.50/"
    assert (seen["POD"], seen["APP"], seen["IP"]) == ("two", "two", address)
    assert (seen["CPU"], seen["MEM"], seen["PASS"], seen["SIZE"]) == ("1", "64", "hush", "9")
    assert "OPT" not in seen
    assert seen["WEB_FRONT_PORT_80_TCP_ADDR"] == "10.96.0.50"
    assert seen["WEB_FRONT_SERVICE_PORT_HTTP"] == "80"
    assert container(bench, "two").spec.args == ("--color=blue",)


def _spec(env):
    return {
        "name": "c",
        "image": "acme/app:1.0",
        "imagePullPolicy": "IfNotPresent",
        "env": env,
        "envFrom": [{"configMapRef": {"name": "settings"}}],
        "args": ["--color=$(COLOR)"],
        "resources": {"limits": {"cpu": "250m", "memory": "64Mi"}},
    }


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"envFrom": [{"secretRef": {"name": "nope"}}]}, 'secret "nope" not found'),
        ({"envFrom": [{"configMapRef": {"name": "nope"}}]}, 'configmap "nope" not found'),
    ],
)
def test_missing_sources_are_config_errors(bench, more, message):
    bench.pod(**more)
    bench.run(20)
    assert bench.container_status()["state"]["waiting"] == {"reason": "CreateContainerConfigError", "message": message}
    failed = [(m, n) for r, m, n in bench.events() if r == "Failed"]
    assert failed[0][0] == f"Error: {message}"
    assert 2 <= failed[0][1] <= 4
    assert bench.conditions()["PodReadyToStartContainers"] == "True"


def test_missing_key(bench):
    put(bench, "secrets", "Secret", "partial", data={"a": ""})
    env = [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "partial", "key": "nokey"}}}]
    bench.pod(spec={"containers": [{"name": "c", "image": "acme/app:1.0", "env": env}]})
    bench.run(6)
    waiting = bench.container_status()["state"]["waiting"]
    assert waiting["message"] == "couldn't find key nokey in Secret shop/partial"


def test_a_secret_that_appears_ends_the_wait(bench):
    bench.pod(envFrom=[{"secretRef": {"name": "late"}}])
    bench.run(20)
    put(bench, "secrets", "Secret", "late", data={"K": base64.b64encode(b"v").decode()})
    bench.run(17)
    assert bench.container_status()["ready"]
    assert container(bench).spec.environment["K"] == "v"


def test_missing_volume_sources_block_the_sandbox(bench):
    mounts = [{"name": "conf", "mountPath": "/etc/app"}]
    bench.pod(volumeMounts=mounts, spec={"volumes": [{"name": "conf", "configMap": {"name": "nope"}}]})
    bench.run(40)
    message = 'MountVolume.SetUp failed for volume "conf" : configmap "nope" not found'
    assert bench.events() == [("FailedMount", message, 7)]
    assert bench.conditions()["PodReadyToStartContainers"] == "False"
    put(bench, "configmaps", "ConfigMap", "nope", data={"app.yaml": "a: 1"})
    bench.run(40)
    assert bench.container_status()["ready"]
    mount = container(bench).mounts[0]
    assert (mount.path, mount.source, mount.files) == ("/etc/app", "configMap", (("app.yaml", "a: 1"),))


def test_mounts_of_every_kind(bench):
    put(bench, "configmaps", "ConfigMap", "conf", data={"a": "1", "b": "2"})
    bench.admin.create(
        "persistentvolumeclaims",
        "shop",
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "shop"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        },
    )
    bench.admin.patch(
        "persistentvolumeclaims", "shop", "data", {"status": {"phase": "Bound"}}, kind="merge", subresource="status"
    )
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "conf", "items": [{"key": "a", "path": "x/a"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]
    volumes = [
        {"name": "api", "projected": {"sources": sources}},
        {"name": "conf", "configMap": {"name": "conf"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "tmp", "emptyDir": {}},
    ]
    mounts = [
        {"name": "api", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True},
        {"name": "conf", "mountPath": "/etc/one.conf", "subPath": "b"},
        {"name": "data", "mountPath": "/data"},
        {"name": "tmp", "mountPath": "/tmp"},
    ]
    bench.pod(volumeMounts=mounts, spec={"volumes": volumes})
    bench.run(5)
    seen = {mount.path: mount for mount in container(bench).mounts}
    files = dict(seen["/var/run/secrets/kubernetes.io/serviceaccount"].files)
    assert files["namespace"] == "shop"
    assert files["x/a"] == "1"
    now_ns = bench.sim.now
    token = files["token"].text(now_ns)
    assert holder_of(token, bench.api.store, now_ns).user.name == "system:serviceaccount:shop:default"
    assert files["token"].text(now_ns + 2800 * SECOND) == token
    assert files["token"].text(now_ns + 2900 * SECOND) != token
    assert seen["/etc/one.conf"].files == (("", "2"),)
    assert [seen[path].source for path in ("/data", "/tmp")] == ["persistentVolumeClaim", "emptyDir"]
    assert bench.container_status()["volumeMounts"][0] == {
        "name": "api",
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
        "readOnly": True,
        "recursiveReadOnly": "Disabled",
    }


def test_changed_config_maps_reach_running_containers_with_the_next_sync(bench):
    put(bench, "configmaps", "ConfigMap", "conf", data={"a": "1"})
    mounts = [{"name": "conf", "mountPath": "/etc/app"}]
    bench.pod(volumeMounts=mounts, spec={"volumes": [{"name": "conf", "configMap": {"name": "conf"}}]})
    bench.run(5)
    bench.admin.patch("configmaps", "shop", "conf", {"data": {"a": "2"}}, kind="merge")
    bench.run(95)
    assert container(bench).mounts[0].files == (("a", "2"),)
    assert bench.container_status()["restartCount"] == 0


def test_root_against_policy(bench):
    bench.pod(securityContext={"runAsNonRoot": True, "runAsUser": 0})
    bench.run(4)
    assert "container's runAsUser breaks non-root policy" in bench.container_status()["state"]["waiting"]["message"]


def test_a_path_of_the_node_keeps_what_pods_wrote(bench: NodeBench) -> None:
    volumes = [{"name": "host", "hostPath": {"path": "/srv/data", "type": "DirectoryOrCreate"}}]
    mounts = [{"name": "host", "mountPath": "/data"}]
    bench.pod(volumeMounts=mounts, spec={"volumes": volumes})
    bench.run(5)
    FileTree(container(bench)).write("/data/kept", "yes")
    bench.admin.delete("pods", "shop", "app", grace_period_s=0)
    bench.run(5)
    bench.pod("second", volumeMounts=mounts, spec={"volumes": volumes})
    bench.run(5)
    assert FileTree(container(bench, "second")).read("/data/kept") == "yes"
