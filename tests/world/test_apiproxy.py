"""Requests through the API server to pods, Services and kubelets of a whole cluster."""

from __future__ import annotations

import json

import pytest

from simcluster.engine import SECOND
from simcluster.world.identitylease import identity_of
from simcluster.world.world import World

MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers: [{name: web, image: nginx:1.27, ports: [{containerPort: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 8000, targetPort: 80}]}
"""


@pytest.fixture(scope="module", name="world")
def running() -> World:
    world = World(1, workers=1)
    world.apply(MANIFEST)
    world.run_for(20 * SECOND)
    return world


def raw(world: World, path: str) -> tuple[int, str, str]:
    result = world.kubectl().run(f"get --raw {path}")
    return result.exit_code, result.stdout, result.stderr


def test_services_and_pods(world: World) -> None:
    for path in ("services/web:8000/proxy/", "services/web:http/proxy", "pods/web/proxy/", "pods/web:80/proxy/"):
        assert raw(world, f"/api/v1/namespaces/default/{path}")[0] == 0, path


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("services/web:9/proxy/", 'no service port 9 found for service "web"'),
        (
            "services/https:web:http/proxy/",
            "error trying to reach service: http: server gave HTTP response to HTTPS client",
        ),
    ],
)
def test_refusals(world: World, path: str, text: str) -> None:
    code, _, stderr = raw(world, f"/api/v1/namespaces/default/{path}")
    assert (code, stderr) == (1, f"Error from server (ServiceUnavailable): {text}\n")


def test_nobody_listens_on_the_port(world: World) -> None:
    pod = world.api.store.get("pods", "default", "web")
    assert pod is not None
    _, _, stderr = raw(world, "/api/v1/namespaces/default/pods/web:81/proxy/")
    address = pod["status"]["podIP"]
    where = f"dial tcp {address}:81: connect: connection refused"
    assert stderr == f"Error from server (ServiceUnavailable): error trying to reach service: {where}\n"


def test_what_a_kubelet_tells(world: World) -> None:
    node = "/api/v1/nodes/worker-1/proxy"
    assert raw(world, f"{node}/healthz")[1] == "ok"
    pods = json.loads(raw(world, f"{node}/pods")[1])
    assert "web" in [pod["metadata"]["name"] for pod in pods["items"]]
    summary = json.loads(raw(world, f"{node}/stats/summary")[1])
    assert summary["node"]["nodeName"] == "worker-1"
    assert "web" in [pod["podRef"]["name"] for pod in summary["pods"]]
    assert json.loads(raw(world, f"{node}/configz")[1])["kubeletconfig"]["clusterDomain"] == "cluster.local"
    for part in ("metrics", "metrics/cadvisor", "metrics/resource", "logs/"):
        assert raw(world, f"{node}/{part}")[0] == 0, part
    assert raw(world, f"{node}/none")[2].startswith("Error from server (NotFound)")


def test_reading_through_the_proxy_changes_nothing(world: World) -> None:
    before = (world.api.store.version, world.sim.digest)
    raw(world, "/api/v1/nodes/worker-1/proxy/metrics/cadvisor")
    raw(world, "/metrics")
    assert (world.api.store.version, world.sim.digest) == before


def test_the_server_renews_its_lease(world: World) -> None:
    name = identity_of("control-plane")
    lease = world.api.store.get("leases.coordination.k8s.io", "kube-system", name)
    assert lease is not None
    assert lease["metadata"]["labels"]["apiserver.kubernetes.io/identity"] == "kube-apiserver"
    assert lease["spec"]["holderIdentity"].startswith(f"{name}_")
    world.run_for(11 * SECOND)
    renewed = world.api.store.get("leases.coordination.k8s.io", "kube-system", name)
    assert renewed is not None
    assert renewed["spec"]["renewTime"] > lease["spec"]["renewTime"]


def test_a_stopped_kubelet(world: World) -> None:
    fork = world.fork()
    fork.kubelets["worker-1"].stop()
    _, _, stderr = raw(fork, "/api/v1/nodes/worker-1/proxy/healthz")
    address = fork.machines["worker-1"].address
    where = f"dial tcp {address}:10250: connect: connection refused"
    assert stderr == f"Error from server (ServiceUnavailable): error trying to reach service: {where}\n"


def test_without_etcd_the_health_checks_say_so(world: World) -> None:
    fork = world.fork()
    fork.api.storing = False
    code, _, stderr = raw(fork, "/readyz")
    assert (code, "[-]etcd failed: reason withheld" in stderr) == (1, True)
