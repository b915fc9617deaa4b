"""Manifests of applications nobody described come to life, serve, roll, break and stay Pending."""

from __future__ import annotations

import marshal
from typing import Any

import pytest

import simcluster
from simcluster.api.objects import ApiObject, Json
from simcluster.api.store import Store
from simcluster.engine import SECOND
from simcluster.session import Sandbox
from simcluster.testing.recordings import beside_checkout

SHOP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: web-config}
data: {site.conf: "listen 8080;"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: ghcr.io/acme/web:2.3.1
        ports: [{name: http, containerPort: 8080}]
        env: [{name: ORDERS_URL, value: "http://orders:9000/api"}]
        resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 500m, memory: 256Mi}}
        readinessProbe: {httpGet: {path: /ready, port: http}, periodSeconds: 2}
        livenessProbe: {tcpSocket: {port: http}}
        volumeMounts: [{name: config, mountPath: /etc/web}]
      volumes: [{name: config, configMap: {name: web-config}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders}
spec:
  replicas: 2
  selector: {matchLabels: {app: orders}}
  template:
    metadata: {labels: {app: orders}}
    spec:
      containers:
      - name: orders
        image: acme/orders:1.0
        ports: [{containerPort: 9000}]
        env: [{name: WEB, value: "web:80"}]
---
apiVersion: v1
kind: Service
metadata: {name: orders}
spec: {selector: {app: orders}, ports: [{port: 9000}]}
---
apiVersion: v1
kind: Pod
metadata: {name: ticker}
spec:
  containers:
  - name: main
    image: busybox:1.36
    command: [sh, -c, "echo start; while true; do sleep 5; echo tick; done"]
"""


@pytest.fixture(scope="module")
def serving() -> Sandbox:
    """The shop, ready."""
    box = simcluster.sandbox(nodes=3)
    assert box.kubectl("apply -f -", SHOP).exit_code == 0
    for name in ("web", "orders"):
        assert box.kubectl(f"rollout status deployment/{name} --timeout=60s").exit_code == 0
    return box


def test_it_serves(serving: Sandbox) -> None:
    box = serving.fork()
    users = box.load("web", rps=40)
    box.wait("60s")
    stats = users.window(box.world.now - 50 * SECOND, box.world.now)
    assert stats.failed == 0
    assert 1800 < stats.sent < 2200
    assert "tick" in box.kubectl("logs ticker --tail=1").stdout
    assert box.kubectl("exec deploy/web -- cat /etc/web/site.conf").stdout == "listen 8080;"
    usage = box.kubectl("top pods -l app=web --no-headers").stdout.split()
    assert int(usage[1].removesuffix("m")) > 20


def test_a_rolling_update_fails_no_request(serving: Sandbox) -> None:
    box = serving.fork()
    users = box.load("web", rps=50)
    box.wait("10s")
    before = box.world.now
    box.kubectl("set image deployment/web web=ghcr.io/acme/web:2.4.0")
    assert "successfully rolled out" in box.kubectl("rollout status deployment/web").stdout
    box.wait("20s")
    stats = users.window(before, box.world.now)
    assert (stats.failed, stats.sent > 1000) == (0, True)


def test_a_changed_selector_breaks_it(serving: Sandbox) -> None:
    box = serving.fork()
    users = box.load("web", rps=40)
    box.kubectl("""patch service web -p '{"spec":{"selector":{"app":"nothing"}}}'""")
    box.wait("20s")
    stats = users.window(box.world.now - 10 * SECOND, box.world.now)
    assert stats.ok == 0
    assert stats.errors == {"refused": stats.sent}
    assert "<none>" in box.kubectl("get endpoints web").stdout


def test_too_much_stays_pending_with_the_scheduler_s_reason(serving: Sandbox) -> None:
    box = serving.fork()
    box.kubectl("set resources deployment/orders --requests=cpu=64")
    box.wait("10s")
    events = box.kubectl("get events --field-selector reason=FailedScheduling").stdout
    assert "0/4 nodes are available: 1 node(s) had untolerated taint" in events
    assert "3 Insufficient cpu." in events
    assert "Pending" in box.kubectl("get pods -l app=orders").stdout


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("replica: 3, selector: {matchLabels: {a: b}}", 'strict decoding error: unknown field "spec.replica"'),
        (
            "replicas: three",
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        ("replicas: 3", "spec.selector: Required value"),
    ],
)
def test_bad_manifests_get_the_server_s_own_message(serving: Sandbox, manifest: str, message: str) -> None:
    text = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: x}}\nspec: {{{manifest}}}\n"
    result = serving.fork().kubectl("apply -f -", text)
    assert result.exit_code == 1
    assert message in result.stderr


def test_the_recorded_online_boutique_lives_the_same_way() -> None:
    shared = beside_checkout()
    if shared is None:
        pytest.skip("no folder of recordings beside this checkout")
    box = simcluster.sandbox(nodes=3)
    box.kubectl("create namespace boutique")
    for path in sorted((shared / "data" / "online-boutique").glob("*.yaml")):
        assert box.kubectl("apply -f -", path.read_text()).exit_code == 0, path.name
    users = box.load("frontend", rps=27, namespace="boutique")
    box.wait("2m")
    stats = users.window(box.world.now - 60 * SECOND, box.world.now)
    assert (stats.failed, stats.sent > 1400) == (0, True)
    pods = [line.split() for line in box.kubectl("get pods -n boutique --no-headers").stdout.splitlines()]
    assert [(pod[1], pod[2]) for pod in pods] == [("1/1", "Running")] * 11


def test_nobody_changes_a_stored_object(monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[tuple[ApiObject, bytes]] = []
    put = Store.put

    def watched(self: Store, resource: str, obj: Json) -> ApiObject:
        kept = put(self, resource, obj)
        stored.append((kept, marshal.dumps(dict(kept), 2)))
        return kept

    monkeypatch.setattr(Store, "put", watched)
    box = simcluster.sandbox(nodes=2)
    box.kubectl("apply -f -", SHOP)
    box.wait("30s")
    box.kubectl("set image deployment/web web=ghcr.io/acme/web:9")
    box.node("worker-1").sh("systemctl stop kubelet")
    box.wait("90s")
    for command in ("get all -A -o yaml", "describe pods", "describe nodes", "delete deployment orders"):
        box.kubectl(command)
    assert len(stored) > 200
    changed = [kept for kept, seen in stored if marshal.dumps(dict(kept), 2) != seen]
    assert [(obj["kind"], obj["metadata"]["name"]) for obj in changed] == []


def test_a_frozen_object_refuses_writes() -> None:
    frozen: Any = ApiObject({"kind": "Pod"})
    with pytest.raises(TypeError, match="frozen"):
        frozen["kind"] = "Service"


def test_sandboxes_refuse_nonsense() -> None:
    with pytest.raises(ValueError, match="no fewer than 0 workers, not -1"):
        simcluster.sandbox(nodes=-1)
    box = simcluster.sandbox(nodes=1)
    with pytest.raises(ValueError, match='services "nope" not found'):
        box.load("nope", rps=1)
    with pytest.raises(ValueError, match="rps must be above zero"):
        box.load("kubernetes", rps=0)


def _waits_for(box: Sandbox, pod: str) -> str:
    path = "{.status.phase} {.status.containerStatuses[0].state.waiting.reason}"
    return box.kubectl(f"get pod {pod} -o jsonpath='{path}'").stdout.strip()


def test_images_of_a_sandbox_are_those_of_its_list() -> None:
    box = simcluster.sandbox(nodes=1, images={"registry.acme.io/api:1.4": None, "registry.acme.io/db:7": "ci:secret"})
    box.kubectl("run api --image=registry.acme.io/api:1.4")
    box.kubectl("run typo --image=registry.acme.io/api:1.5")
    box.kubectl("run db --image=registry.acme.io/db:7")
    box.wait("20s")
    assert _waits_for(box, "api") == "Running"
    for pod, why in (("typo", "not found"), ("db", "401 Unauthorized")):
        assert _waits_for(box, pod) in ("Pending ErrImagePull", "Pending ImagePullBackOff")
        assert why in box.kubectl(f"describe pod {pod}").stdout
    keys = "--docker-server=registry.acme.io --docker-username=ci --docker-password=secret"
    assert box.kubectl(f"create secret docker-registry acme {keys}").exit_code == 0
    patch = """--overrides='{"spec": {"imagePullSecrets": [{"name": "acme"}]}}'"""
    assert box.kubectl(f"run keyed --image=registry.acme.io/db:7 {patch}").exit_code == 0
    box.wait("20s")
    assert _waits_for(box, "keyed") == "Running"
    assert box.log_header()["images"] == {"registry.acme.io/api:1.4": None, "registry.acme.io/db:7": "ci:secret"}


def test_a_manifest_that_names_a_pull_secret_makes_its_registry_private() -> None:
    box = simcluster.sandbox(nodes=1)
    patch = """--overrides='{"spec": {"imagePullSecrets": [{"name": "acme"}]}}'"""
    box.kubectl(f"run api --image=registry.acme.io/api:1.4 {patch}")
    box.kubectl("run free --image=registry.acme.io/free:1.4")
    box.wait("20s")
    assert _waits_for(box, "free") == "Running"
    described = box.kubectl("describe pod api").stdout
    assert "Unable to retrieve some image pull secrets (acme)" in described
    assert "failed to authorize" in described
    keys = "--docker-server=registry.acme.io --docker-username=ci --docker-password=secret"
    box.kubectl(f"create secret docker-registry acme {keys}")
    box.wait("90s")
    assert _waits_for(box, "api") == "Running"


CLAIMANT = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  containers: [{name: c, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"""


@pytest.mark.parametrize("nodes", [0, 1])
def test_a_cluster_of_any_size_runs_pods_and_gives_them_storage(nodes: int) -> None:
    box = simcluster.sandbox(nodes=nodes)
    assert len(box.world.kubelets) == 1 + nodes
    assert box.kubectl("apply -f -", CLAIMANT).exit_code == 0
    assert "standard (default)" in box.kubectl("get storageclass").stdout
    assert box.kubectl("wait --for=condition=Ready pod/user --timeout=120s").exit_code == 0
    claim = box.world.api.store.get("persistentvolumeclaims", "default", "data")
    assert claim is not None
    assert claim["spec"]["storageClassName"] == "standard"
    assert claim["status"]["phase"] == "Bound"
    tainted = "taints" in box.world.api.store.objects("nodes")[0]["spec"]
    assert tainted == (nodes > 0)
    bound = claim["spec"]["volumeName"]
    box.kubectl("delete pod/user pvc/data --grace-period=0")
    box.wait("30s")
    assert box.world.api.store.get("persistentvolumes", "", bound) is None
