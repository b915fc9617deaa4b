"""The session of `operations` for client libraries: what an operation asks of the API, without kubectl around it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import yaml

from tests.surface.http.matrix.client import Client, Json, RefusedError
from tests.surface.http.matrix.operations import MANIFESTS, OPERATIONS

POLLS = 200
WEB = "apps/v1/Deployment"
BOX = {"name": "extra", "image": "busybox", "command": ["sleep", "600"]}


def wait(condition: Callable[[], Any]) -> Any:
    """Ask until it is true; every question lets half a second pass."""
    for _ in range(POLLS):
        if found := condition():
            return found
    return None


def refused(code: int, call: Callable[[], Any]) -> bool:
    """Whether the server says so."""
    try:
        call()
    except RefusedError as problem:
        return problem.code == code
    return False


def objects(*files: str) -> list[Json]:
    return [found for name in files for found in yaml.safe_load_all(MANIFESTS[name])]


def review(client: Client, verb: str, **more: str) -> bool:
    attributes = {"verb": verb, "resource": "pods", "namespace": "default"}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview" if more else "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes, **more},
    }
    return bool(client.create(body, "")["status"]["allowed"])


def whoami(client: Client) -> bool:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}}
    return bool(client.create(body, "")["status"]["userInfo"]["username"] == "oncall")


def events_of(client: Client, kind: str, name: str) -> list[Json]:
    return client.list("v1/Event", fields=f"involvedObject.kind={kind},involvedObject.name={name}")


def rolled_out(client: Client) -> Any:
    def done() -> bool:
        found = client.get(WEB, "web")
        status, wanted = found.get("status") or {}, found["spec"]["replicas"]
        same = status.get("observedGeneration") == found["metadata"]["generation"]
        counts = [status.get(key) for key in ("replicas", "updatedReplicas", "availableReplicas")]
        return same and counts == [wanted] * 3

    return wait(done)


def running(client: Client, name: str) -> Any:
    return wait(lambda: client.get("v1/Pod", name)["status"].get("phase") in ("Running", "Succeeded"))


def template(**container: Any) -> Json:
    return {"spec": {"template": {"spec": {"containers": [{"name": "web", **container}]}}}}


def some_pod(client: Client, labels: str) -> str:
    return str(client.list("v1/Pod", labels=labels)[0]["metadata"]["name"])


def page(how: str) -> Callable[[Client], Any]:
    bodies: dict[str, Any] = {
        "merge": {"data": {"b": "c"}},
        "json": [{"op": "remove", "path": "/data/b"}],
        "strategic": {"data": {"greeting": "changed"}},
    }
    return lambda c: c.patch("v1/ConfigMap", "page", bodies[how], how)["metadata"]["name"] == "page"


def apply_map(client: Client, file: str, manager: str = "a") -> Any:
    body = objects(file)[0]
    return client.patch("v1/ConfigMap", "map", body, f"apply:{manager}")["data"] == body["data"]


def replaced(client: Client) -> Any:
    found = client.get("v1/ConfigMap", "page")
    return client.replace({**found, "data": {"greeting": "again"}})["data"] == {"greeting": "again"}


def undo(client: Client) -> Any:
    client.patch(WEB, "web", template(image="nginx:1.27"))
    return rolled_out(client)


def scaler() -> Json:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {"minReplicas": 3, "maxReplicas": 4, "scaleTargetRef": target, "targetCPUUtilizationPercentage": 80},
    }


def job_of(client: Client) -> Any:
    spec = client.get("batch/v1/CronJob", "nightly")["spec"]["jobTemplate"]["spec"]
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "now"}, "spec": spec}
    return client.create(body)["metadata"]["name"] == "now"


def debug(client: Client) -> Any:
    aid = {"name": "aid", "image": "busybox", "command": ["sleep", "5"]}
    body = {"spec": {"ephemeralContainers": [aid]}}
    return client.part("v1/Pod", "box", "ephemeralcontainers", body)["spec"]["ephemeralContainers"][0]["name"] == "aid"


def drain(client: Client) -> Any:
    client.patch("v1/Node", "worker-2", {"spec": {"unschedulable": True}}, "strategic", "")
    for pod in client.list("v1/Pod", "", fields="spec.nodeName=worker-2"):
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        if pod["metadata"].get("ownerReferences", [{}])[0].get("kind") != "DaemonSet":
            meta = {"name": name, "namespace": namespace}
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
            client.part("v1/Pod", name, "eviction", body, namespace)
    back = client.patch("v1/Node", "worker-2", {"spec": {"unschedulable": None}}, "merge", "")
    return not back["spec"].get("unschedulable")


def taint(client: Client) -> Any:
    body = {"spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}}
    put = client.patch("v1/Node", "worker-1", body, "strategic", "")["spec"]["taints"]
    client.patch("v1/Node", "worker-1", {"spec": {"taints": None}}, "merge", "")
    return put[0]["key"] == "a"


def token(client: Client) -> Any:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {}, "spec": {"audiences": []}}
    return client.part("v1/ServiceAccount", "default", "token", body)["status"]["token"].startswith("ey")


def removed(client: Client) -> Any:
    for body in objects("web.yaml", "map.yaml"):
        client.delete(_kind(body), body["metadata"]["name"])
    client.delete("v1/Namespace", "shop", "")
    return wait(lambda: refused(404, lambda: client.get("v1/Namespace", "shop", "")))


def service(name: str) -> Json:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def _kind(body: Json) -> str:
    return f"{body['apiVersion']}/{body['kind']}"


def _made(body: Json, namespace: str = "default") -> Callable[[Client], Any]:
    return lambda c: c.create(body, namespace)["metadata"]["name"] == body["metadata"]["name"]


_NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
_SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "shop"}, "stringData": {"a": "b"}}
_EXTRA = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "extra"}, "spec": {"containers": [BOX]}}
_COPY = "cat > /tmp/w"

_CALLS: dict[str, Callable[[Client], Any]] = {
    "version": lambda c: c.server()["minor"] == "32",
    "api-resources": lambda c: "deployments/scale" in c.raw("/apis/apps/v1"),
    "whoami": whoami,
    "can-i": lambda c: review(c, "delete") and not review(c, "list", user="nobody"),
    "get nodes": lambda c: "worker-1" in [n["metadata"]["name"] for n in c.list("v1/Node", "")],
    "create namespace": _made(_NAMESPACE, ""),
    "create secret": _made(_SECRET, "shop"),
    "apply": lambda c: [c.create(body) for body in objects("web.yaml", "pods.yaml")],
    "wait": rolled_out,
    "rollout status": rolled_out,
    "wait pods": lambda c: running(c, "box") and running(c, "talker"),
    "get": lambda c: c.get(WEB, "web")["spec"]["replicas"] == 2,
    "get -o wide": lambda c: len(c.list("v1/Pod", labels="app=web")) == 2,
    "get -o json": lambda c: c.get("v1/ConfigMap", "page")["data"] == {"greeting": "hello"},
    "get -o yaml": lambda c: c.get("v1/Service", "web")["spec"]["ports"][0]["targetPort"] == 80,
    "get -o jsonpath": lambda c: c.get(WEB, "web")["status"]["readyReplicas"] == 2,
    "get --sort-by": lambda c: len(c.list("v1/Pod", "")) > 5,
    "get --raw": lambda c: json.loads(c.raw("/api/v1/namespaces/default/pods?limit=1"))["metadata"]["continue"],
    "get missing": lambda c: refused(404, lambda: c.get("v1/Pod", "nope")),
    "get --watch": lambda c: c.watch("v1/Pod", "box") == "ADDED",
    "describe deployment": lambda c: events_of(c, "Deployment", "web")[0]["reason"] == "ScalingReplicaSet",
    "describe pod": lambda c: events_of(c, "Pod", "box"),
    "describe node": lambda c: c.list("v1/Pod", "", fields="spec.nodeName=worker-1"),
    "events": lambda c: c.list("v1/Event"),
    "logs": lambda c: c.logs("talker", tail=1, timestamps=True).endswith("Z tick\n"),
    "logs -p": lambda c: wait(lambda: c.get("v1/Pod", "crash")["status"]["containerStatuses"][0]["restartCount"])
    and "about to fail" in c.logs("crash", previous=True),
    "logs -f": lambda c: "done" in c.logs(some_pod(c, "job-name=once"), follow=True),
    "exec": lambda c: c.exec("box", ["sh", "-c", "echo out; echo err >&2; exit 3"]) == ("out\n", "err\n", 3),
    "exec -i": lambda c: c.exec("box", ["cat"], "typed\n")[0] == "typed\n",
    "attach": lambda c: "tick" in c.attach("talker"),
    "cp to": lambda c: c.exec("box", ["sh", "-c", _COPY], MANIFESTS["web.yaml"])[2] == 0,
    "cp from": lambda c: c.exec("box", ["tar", "cf", "-", "/etc/hosts"])[0].startswith("etc/hosts"),
    "port-forward": lambda c: c.forwarded(some_pod(c, "app=web"), 80).startswith("HTTP/1.1 200"),
    "proxy": lambda c: c.raw("/api/v1/namespaces/default/services/web/proxy/") is not None,
    "apply --server-side": lambda c: apply_map(c, "map.yaml"),
    "apply conflict": lambda c: refused(409, lambda: apply_map(c, "map2.yaml", "b")),
    "patch strategic": lambda c: c.patch(WEB, "web", {"spec": {"minReadySeconds": 1}})["spec"]["minReadySeconds"] == 1,
    "patch merge": page("merge"),
    "patch json": page("json"),
    "scale": lambda c: c.part(WEB, "web", "scale", {"spec": {"replicas": 3}})["spec"]["replicas"] == 3,
    "autoscale": _made(scaler()),
    "set image": lambda c: c.patch(WEB, "web", template(image="nginx:1.28"))["metadata"]["generation"],
    "set env": lambda c: c.patch(WEB, "web", template(env=[{"name": "MODE", "value": "fast"}]))["metadata"]["name"],
    "rollout history": lambda c: wait(lambda: len(c.list("apps/v1/ReplicaSet", labels="app=web")) > 2),
    "rollout undo": undo,
    "rollout restart": lambda c: c.patch(WEB, "web", {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}}),
    "label, annotate": lambda c: c.patch(
        "v1/Pod", "box", {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}, "merge"
    )["metadata"]["labels"]["a"] == "b",
    "expose": _made(service("second")),
    "run": _made(_EXTRA),
    "debug": debug,
    "edit": page("strategic"),
    "replace": replaced,
    "top": lambda c: json.loads(c.raw("/apis/metrics.k8s.io/v1beta1/nodes"))["items"],
    "create job": job_of,
    "create token": token,
    "taint": taint,
    "cordon, drain": drain,
    "delete": removed,
}
#: In the order of the table; None where there is nothing without kubectl: `explain`, `diff`.
CALLS = tuple((operation.name, _CALLS.get(operation.name)) for operation in OPERATIONS)
