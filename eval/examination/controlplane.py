"""The control plane is used as an application's owner uses it: write, read, watch, new pods, their names.

A Deployment of a pause container is made in the application's namespace. Its controllers must make a pod of it, the
scheduler must place it, its kubelet must run it, an endpoint must follow, and from within the pod the names of Services
must resolve in every way in which they are written. New pods of the workloads that are there must be taken, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, is_pod_ready, labels_of, name_of
from simcluster.api.request import Request, User, WatchStream
from simcluster.engine import SECOND
from simcluster.eval.examination.newpods import refused, starved, used
from simcluster.eval.examination.trials import Norm, Trial
from simcluster.eval.trajectory.observe import ready_endpoints
from simcluster.models.machine.container import Sandbox

if TYPE_CHECKING:
    from simcluster.world import World

PROBE = "examination-probe"
IMAGE = "registry.k8s.io/pause:3.10"
#: From the request to a ready pod; the kubelet's start-up objective is 5 s, images on the node.
READY_NS = 60 * SECOND


@dataclass(frozen=True)
class ControlPlane(Trial):
    """The cluster takes, shows and realises what is asked of it."""

    subject: str = "the cluster"
    group: ClassVar[str] = "control plane"
    verb: ClassVar[str] = "makes a new workload"

    def begin(self, world: World, norm: Norm) -> str:
        """Make the probe, read and watch it, and wait for it; then ask for names."""
        namespace, client = norm.task.namespace, world.client("kubernetes-admin", "kubectl")
        store, begun_ns, before = world.api.store, world.sim.now, used(world, norm.task.namespace)
        try:
            watch = _watched(world, client.user, namespace)
            client.create("deployments.apps", namespace, _deployment())
            client.create("services", namespace, _service())
            client.get("deployments.apps", namespace, PROBE)
        except ApiError as error:
            return f"the API server refuses a new workload: {error.message}"
        seen = [event["object"]["metadata"]["name"] for event in watch.poll() if event["type"] == "ADDED"]
        if seen != [PROBE]:
            return "a watch does not see a new workload"
        end_ns = world.sim.now + READY_NS
        while not (pods := _ready(world, namespace)) or not ready_endpoints(store, namespace, PROBE):
            if world.sim.now >= end_ns:
                return _stuck(world, namespace)
            world.run_for(2 * SECOND)
        world.run_for(5 * SECOND)
        return (
            _names(world, norm, pods[0])
            or refused(world, namespace)
            or starved(world, namespace, before, world.sim.now - begun_ns)
        )


def _watched(world: World, user: User, namespace: str) -> WatchStream:
    """An open watch of what Deployments will be there. Raises ApiError."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    query = (("watch", "true"), ("resourceVersion", str(world.api.store.version)))
    response = world.api.handle(Request("GET", path, query, user=user, user_agent="kubectl"))
    if response.stream is None:
        raise ApiError(response.code, response.body.get("reason", ""), response.body["message"])
    return response.stream


def _deployment() -> dict[str, Any]:
    labels = {"app": PROBE}
    pod = {"containers": [{"name": "pause", "image": IMAGE}], "terminationGracePeriodSeconds": 1}
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": PROBE}, "spec": spec}


def _service() -> dict[str, Any]:
    spec = {"selector": {"app": PROBE}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": PROBE}, "spec": spec}


def _pods(world: World, namespace: str) -> list[ApiObject]:
    return [pod for pod in world.api.store.objects("pods", namespace) if labels_of(pod).get("app") == PROBE]


def _ready(world: World, namespace: str) -> list[ApiObject]:
    return [pod for pod in _pods(world, namespace) if is_pod_ready(pod)]


def _stuck(world: World, namespace: str) -> str:
    """Where a new workload does not get on."""
    pods = _pods(world, namespace)
    if not pods:
        return f"no controller makes a pod of a new Deployment within {READY_NS // SECOND} s"
    if not pods[0]["spec"].get("nodeName"):
        return f"the scheduler does not place a new pod within {READY_NS // SECOND} s"
    if not is_pod_ready(pods[0]):
        return f"a new pod on {pods[0]['spec']['nodeName']} is not Ready within {READY_NS // SECOND} s"
    return f"a new Service has no endpoint within {READY_NS // SECOND} s"


def _reachable(world: World, namespace: str) -> list[str]:
    """Services whose names have an address of the cluster."""
    store = world.api.store
    return [
        name_of(one)
        for one in store.objects("services", namespace)
        if one["spec"].get("type") != "ExternalName"
        and (one["spec"].get("clusterIP") != "None" or ready_endpoints(store, namespace, name_of(one)))
    ]


def _names(world: World, norm: Norm, pod: ApiObject) -> str:
    """Ask for Services from within the new pod: for the protected ones by every spelling, for the others by one."""
    namespace = norm.task.namespace
    sandbox = world.network.sandboxes.get((pod.get("status") or {}).get("podIP", ""))
    if not isinstance(sandbox, Sandbox):
        return "a new pod has no network"
    hosts = [
        f"{name}{suffix}"
        for name in norm.task.protects
        for suffix in ("", f".{namespace}", f".{namespace}.svc.cluster.local", f".{namespace}.svc.cluster.local.")
    ]
    others = [name for name in _reachable(world, namespace) if name not in (*norm.task.protects, PROBE)]
    for host in ["kubernetes.default", *hosts, *(f"{name}.{namespace}.svc.cluster.local" for name in others)]:
        found = world.network.resolve_for(sandbox, host)
        if not found.address:
            return f"the name {host} does not resolve in a new pod: {found.outcome}"
    return ""
