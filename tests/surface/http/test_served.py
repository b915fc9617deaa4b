"""A served sandbox, as clients meet it over TLS."""

from __future__ import annotations

import gc
import gzip
import json
import os
import pty
import re
import select
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import kubernetes
import pytest
from kubernetes.stream import stream

from simcluster.eval.episode.replay import replay
from tests.surface.http.served import ServedCluster

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}}
MAPS = "/api/v1/namespaces/default/configmaps"
needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on this machine")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedCluster]:
    served = ServedCluster(tmp_path_factory.mktemp("served") / "out", "--empty", "--nodes", "1")
    served.wait()
    yield served
    served.process.kill()
    served.process.communicate()


def test_nobody_may_read_without_credentials_and_a_wrong_token_is_believed_by_nobody(cluster: ServedCluster) -> None:
    assert cluster.ask("GET", "/api/v1/nodes", authorization="").json["reason"] == "Forbidden"
    assert cluster.ask("GET", "/api/v1/nodes", authorization="Bearer no").code == 401
    assert cluster.ask("GET", "/api/v1/nodes", authorization="Basic eDp5").code == 401
    assert cluster.ask("GET", "/version/", authorization="").json["major"] == "1"


def test_objects_are_written_read_and_refused_as_by_the_real_server(cluster: ServedCluster) -> None:
    body = json.dumps(CONFIG_MAP).encode()
    made = cluster.ask("POST", MAPS, body, content_type="application/json")
    again = cluster.ask("POST", MAPS, body, content_type="application/json")
    assert (made.code, again.json["reason"]) == (201, "AlreadyExists")
    patch = json.dumps({"data": {"a": None, "c": "d"}}).encode()
    assert cluster.ask("PATCH", f"{MAPS}/x", patch, content_type="application/merge-patch+json").json["data"] == {
        "c": "d"
    }
    assert cluster.ask("GET", f"{MAPS}/x").json["data"] == {"c": "d"}
    assert cluster.ask("DELETE", f"{MAPS}/x").json["status"] == "Success"
    assert cluster.ask("GET", f"{MAPS}/x").json["message"] == 'configmaps "x" not found'


@pytest.mark.parametrize(
    ("method", "target", "body", "kind", "code"),
    [
        ("POST", MAPS, b"{", "application/json", 400),
        ("POST", MAPS, b"k8s\x00\xff\xff", "application/vnd.kubernetes.protobuf", 400),
        ("POST", MAPS, b"a: b", "text/plain", 415),
        ("POST", MAPS, b"x" * (3 * 1024 * 1024 + 1), "application/json", 413),
        ("GET", "/nothing", None, "application/json", 404),
        ("PUT", "/version", b"{}", "application/json", 405),
        ("GET", "/api/v1/pods?limit=x", None, "application/json", 400),
    ],
)
def test_what_is_wrong_is_refused(
    cluster: ServedCluster, method: str, target: str, body: bytes | None, kind: str, code: int
) -> None:
    assert cluster.ask(method, target, body, content_type=kind).code == code


def test_large_answers_are_compressed_if_asked_for(cluster: ServedCluster) -> None:
    packed = cluster.ask("GET", "/openapi/v2", accept_encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.body))["swagger"] == "2.0"


def test_garbage_and_silence_on_a_socket_disturb_nobody(cluster: ServedCluster) -> None:
    place = urlsplit(cluster.url)
    idle = [socket.create_connection((str(place.hostname), int(place.port or 0))) for _ in range(50)]
    for one in idle[:25]:
        one.sendall(b"\x00\xff garbage\r\n\r\n")
    assert cluster.ask("GET", "/readyz").body == b"ok"
    for one in idle:
        one.close()


# the client library leaves its socket to the collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_client_libraries_execute_commands_and_follow_watches(cluster: ServedCluster) -> None:
    kubernetes.config.load_kube_config(str(cluster.out / "kubeconfig"))
    core = kubernetes.client.CoreV1Api()
    container = {"name": "c", "image": "busybox", "command": ["sleep", "3600"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "box"}, "spec": {"containers": [container]}}
    core.create_namespaced_pod("default", pod)
    assert json.loads(cluster.desk("/wait", "60s")) == {"stdout": "", "stderr": "", "exit_code": 0}
    said = stream(
        core.connect_get_namespaced_pod_exec, "box", "default", command=["sh", "-c", "echo one; echo two >&2"],
        stderr=True, stdin=False, stdout=True, tty=False,
    )  # fmt: skip
    assert sorted(said.split()) == ["one", "two"]
    seen = []
    watch = kubernetes.watch.Watch()
    for event in watch.stream(core.list_namespaced_pod, "default", timeout_seconds=3600):
        seen.append((event["type"], event["object"].metadata.name))
        watch.stop()
    core.api_client.close()
    del core, watch
    gc.collect()
    assert seen == [("ADDED", "box")]


@needs_kubectl
def test_a_session_of_the_real_kubectl(cluster: ServedCluster) -> None:
    assert cluster.kubectl("create", "deployment", "web", "--image=nginx").stdout == "deployment.apps/web created\n"
    assert "successfully rolled out" in cluster.kubectl("rollout", "status", "deployment/web").stdout
    failed = cluster.kubectl("exec", "deploy/web", "--", "sh", "-c", "echo hi; exit 3")
    assert (failed.stdout, failed.returncode) == ("hi\n", 3)
    assert cluster.kubectl("exec", "-i", "deploy/web", "--", "cat", stdin="typed\n").stdout == "typed\n"
    assert "worker-1" in cluster.kubectl("get", "pods", "-o", "wide").stdout
    assert cluster.kubectl("get", "pod", "nope").stderr == 'Error from server (NotFound): pods "nope" not found\n'
    shown = cluster.kubectl("get", "pods", "-w", "--request-timeout=20s")
    assert shown.returncode == 0  # after 30 simulated seconds without news the server ends it


@needs_kubectl
def test_a_shell_on_a_terminal_of_the_real_kubectl(cluster: ServedCluster) -> None:
    cluster.kubectl("create", "deployment", "shell", "--image=nginx")
    cluster.kubectl("rollout", "status", "deployment/shell")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "KUBECONFIG": str(cluster.out / "kubeconfig")}
    command = ["kubectl", "--cache-dir", str(cluster.out / "cache"), "exec", "-it", "deploy/shell", "--", "sh"]
    shown = b""
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as shell:
        os.close(theirs)
        for typed, answered in (
            (b"", b"/ # "),
            (b"cd /tmp; pwd\n", b"\r\n/tmp\r\n/tmp # "),
            (b"ech\x7fho hi\n", b"hi\r\n/tmp # "),
            (b"ls /none\n", b"ls: cannot access '/none': No such file or directory\r\n/tmp # "),
            (b"half\x03", b"^C\r\n/tmp # "),
        ):
            os.write(ours, typed)
            while not shown.endswith(answered):
                assert select.select([ours], [], [], 60)[0], shown
                shown += os.read(ours, 4096)
        os.write(ours, b"exit 3\n")
        assert shell.wait(30) == 3
    os.close(ours)


@needs_kubectl
def test_a_port_is_forwarded(cluster: ServedCluster) -> None:
    cluster.kubectl("create", "deployment", "page", "--image=nginx", "--port=80")
    cluster.kubectl("rollout", "status", "deployment/page")
    environment = {**os.environ, "KUBECONFIG": str(cluster.out / "kubeconfig")}
    command = ["kubectl", "--cache-dir", str(cluster.out / "cache"), "port-forward", "deploy/page", ":80"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as forward:
        assert forward.stdout is not None
        said = re.match(r"Forwarding from 127\.0\.0\.1:(\d+) -> 80", forward.stdout.readline())
        try:
            assert said is not None
            for _ in range(2):
                with urllib.request.urlopen(f"http://127.0.0.1:{said[1]}/") as answer:
                    assert answer.status == 200
        finally:
            forward.kill()


@needs_kubectl
def test_a_sequential_session_repeats_bit_for_bit_and_from_its_log(tmp_path: Path) -> None:
    ends = []
    for number in range(2):
        served = ServedCluster(tmp_path / str(number), "--empty", "--nodes", "1")
        served.wait()
        served.kubectl("create", "deployment", "web", "--image=nginx")
        served.kubectl("rollout", "status", "deployment/web")
        served.kubectl("scale", "deployment/web", "--replicas=2")
        served.kubectl("get", "pods")
        ends.append(served.end()[-1])
    assert ends[0] == ends[1]
    assert replay(tmp_path / "0" / "replay.jsonl").same
