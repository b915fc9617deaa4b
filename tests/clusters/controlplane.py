"""A control plane without machines, for tests of controllers.

`FakeKubelets` stand in for all node agents: they report what is bound as running and ready
after a fixed delay and remove what is being deleted. No containers, images or probes.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, Json, is_terminating, name_of, namespace_of, thaw, uid_of
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Informer
from simcluster.engine import MILLISECOND, Simulation, format_rfc3339

_NODES = User("system:node:fake", ("system:authenticated", "system:masters"))


class FakeKubelets:
    """Reports every bound pod as Running and Ready.

    Args:
        start_ns: from binding to Ready.
        stop_ns: from the deletion request to the removal of the pod.

    Attributes:
        broken: images whose pods start but never become Ready.
        dead: nodes whose agent has stopped.
    """

    def __init__(
        self, sim: Simulation, api: Api, start_ns: int = 500 * MILLISECOND, stop_ns: int = 200 * MILLISECOND
    ) -> None:
        self.sim = sim
        self.client = Client(api, _NODES, "kubelet")
        self.start_ns = start_ns
        self.stop_ns = stop_ns
        self.broken: dict[str, None] = {}
        self.dead: dict[str, None] = {}
        self.addresses = 0
        self._seen: dict[str, bool] = {}
        api.store.subscribe("pods", Informer(sim, "fake-kubelets", "pods", self._on_pod))

    def _on_pod(self, change: Change) -> None:
        pod = change.object
        if change.kind == "DELETED" or not pod["spec"].get("nodeName"):
            return
        if is_terminating(pod):
            if not self._seen.get(uid_of(pod), False):
                self._seen[uid_of(pod)] = True
                self.sim.after(self.stop_ns, self._stop, namespace_of(pod), name_of(pod), uid_of(pod))
        elif uid_of(pod) not in self._seen:
            self._seen[uid_of(pod)] = False
            self.sim.after(self.start_ns, self._start, namespace_of(pod), name_of(pod), uid_of(pod))

    def _current(self, namespace: str, name: str, uid: str) -> ApiObject | None:
        pod = self.client.cache.get("pods", namespace, name)
        if pod is None or uid_of(pod) != uid or pod["spec"].get("nodeName", "") in self.dead:
            return None
        return pod

    def _start(self, namespace: str, name: str, uid: str) -> None:
        pod = self._current(namespace, name, uid)
        if pod is None or is_terminating(pod):
            return
        images = [container.get("image", "") for container in pod["spec"]["containers"]]
        self.report(pod, ready=not any(image in self.broken for image in images))

    def _stop(self, namespace: str, name: str, uid: str) -> None:
        if self._current(namespace, name, uid) is not None:
            self.client.delete("pods", namespace, name, uid=uid, grace_period_s=0)

    def report(self, pod: ApiObject, *, ready: bool, phase: str = "Running") -> None:
        """Write the status of a pod: an address, its phase and its conditions."""
        changed = thaw(pod)
        status = changed.setdefault("status", {})
        status["phase"] = phase
        if not status.get("podIP"):
            self.addresses += 1
            status["podIP"] = f"10.244.{self.addresses // 250}.{self.addresses % 250 + 1}"
        kept = [entry for entry in status.get("conditions") or [] if entry["type"] not in ("Ready", "ContainersReady")]
        now = format_rfc3339(self.sim.now)
        word = "True" if ready else "False"
        status["conditions"] = [
            *kept,
            {"type": "Ready", "status": word, "lastTransitionTime": now},
            {"type": "ContainersReady", "status": word, "lastTransitionTime": now},
        ]
        self.client.update_status("pods", changed)


class FakeScheduler:
    """Binds every new pod to the nodes in turn."""

    def __init__(self, sim: Simulation, api: Api, nodes: list[str]) -> None:
        self.client = Client(api, _NODES, "scheduler")
        self.nodes = nodes
        self.turn = 0
        api.store.subscribe("pods", Informer(sim, "fake-scheduler", "pods", self._on_pod))

    def _on_pod(self, change: Change) -> None:
        pod = self.client.cache.get("pods", namespace_of(change.object), name_of(change.object))
        if pod is None or pod["spec"].get("nodeName") or is_terminating(pod):
            return
        self.client.bind(pod, self.nodes[self.turn % len(self.nodes)])
        self.turn += 1


def node_object(name: str, *, cpu: str = "4", memory: str = "8Gi", pods: str = "110", **labels: str) -> Json:
    """A Ready node; keyword names become labels, `__` standing for `/` and `_` for `.`."""
    capacity = {"cpu": cpu, "memory": memory, "pods": pods, "ephemeral-storage": "100Gi"}
    extra = {key.replace("__", "/").replace("_", "."): value for key, value in labels.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **extra}},
        "spec": {},
        "status": {
            "capacity": dict(capacity),
            "allocatable": capacity,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def pod_object(name: str, namespace: str = "default", *, cpu: str = "", **spec: Any) -> Json:
    """A pod of one container; further keywords go into its spec."""
    container: Json = {"name": "c", "image": "busybox:1.36"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {"containers": [container], "schedulerName": "default-scheduler", **spec},
        "status": {"phase": "Pending"},
    }


def deployment_object(name: str, replicas: int, *, image: str = "shop/app:1.0", **spec: Any) -> Json:
    """A Deployment of one container with the server's defaults."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 10,
            "selector": {"matchLabels": {"app": name}},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
            },
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "schedulerName": "default-scheduler",
                    "containers": [{"name": "c", "image": image, "ports": [{"containerPort": 8080}]}],
                },
            },
            **spec,
        },
    }


def service_object(name: str, selector: dict[str, str], **spec: Any) -> Json:
    """A ClusterIP Service from port 80 to 8080."""
    ports = [{"port": 80, "targetPort": 8080, "protocol": "TCP"}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": selector, "type": "ClusterIP", "clusterIP": "10.96.0.10", "ports": ports, **spec},
    }
