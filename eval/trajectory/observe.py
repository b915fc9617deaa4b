"""Looks at a world at the four observation depths. Looking changes nothing.

D1: pods of the application ready. D2: the protected Services have ready endpoints. D3: a
request from inside the cluster is answered with 200. D4: the critical pods of the control
plane run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from simcluster.api.objects import (
    ApiObject,
    condition,
    is_pod_ready,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
)
from simcluster.api.store import Store
from simcluster.engine import SECOND, parse_rfc3339
from simcluster.faults.target import pods_of, ready_pods_of
from simcluster.models.machine.container import Container
from simcluster.models.traffic.cluster.resolve import container_at
from simcluster.models.traffic.cluster.server import Server

if TYPE_CHECKING:
    from simcluster.world import World

#: A D3 request that takes longer counts as unanswered (system-trajectories paper, appendix A).
D3_TIMEOUT_NS = 3 * SECOND

#: Values of the labels `component` and `k8s-app` that make a kube-system pod critical (same source).
CRITICAL = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-dns",
    "kube-proxy",
    "kindnet",
)
#: A replacement of a critical pod may take this long to start while another one of its component
#: runs. The kubelet's own start-up objective for a pod is 5 s; this allows for one image pull.
CRITICAL_START_GRACE_NS = 30 * SECOND


_WORKLOADS = ("deployments.apps", "statefulsets.apps", "daemonsets.apps")
#: Taints that controllers give by a node's conditions (Kubernetes, "Taints and Tolerations").
CONDITIONS = tuple(
    f"node.kubernetes.io/{name}"
    for name in ("not-ready", "unreachable", "memory-pressure", "disk-pressure", "pid-pressure", "network-unavailable",
                 "unschedulable")
)  # fmt: skip


class Readiness(NamedTuple):
    """D1. `wanted` counts the replicas that were wanted before the incident."""

    ready: int
    wanted: int
    not_ready: tuple[str, ...]

    @property
    def availability(self) -> float:
        """Share of the wanted pods that is ready, 0 to 1."""
        return 1.0 if not self.wanted else round(self.ready / self.wanted, 4)


class Reach(NamedTuple):
    """One D3 request: the HTTP status (0 when nobody answered) and how long it took."""

    reachable: bool
    status: int
    latency_ns: int


def wanted_replicas(store: Store, namespace: str) -> dict[str, int]:
    """Deployment -> replicas it asks for now."""
    return {name_of(d): d["spec"].get("replicas", 1) for d in store.objects("deployments.apps", namespace)}


def readiness(store: Store, namespace: str, wanted: dict[str, int]) -> Readiness:
    """D1, against what was wanted before the incident: scaling to zero is no way to be available."""
    ready = 0
    for name, replicas in wanted.items():
        workload = store.get("deployments.apps", namespace, name)
        if workload is not None:
            ready += min(replicas, len(ready_pods_of(store, workload)))
    not_ready = [
        name_of(pod)
        for pod in store.objects("pods", namespace)
        if not is_terminating(pod) and not is_pod_ready(pod) and not _is_over(pod)
    ]
    return Readiness(ready, sum(wanted.values()), tuple(not_ready))


def wanted_everywhere(store: Store) -> dict[str, int]:
    """`resource/namespace/name` of every workload of the cluster, and of pods that no controller replaces -> pods."""
    found = {}
    for resource in _WORKLOADS:
        for one in store.objects(resource):
            asked = one["spec"].get("replicas", 1)
            if resource == "daemonsets.apps":
                asked = (one.get("status") or {}).get("desiredNumberScheduled", 0)
            found[f"{resource}/{namespace_of(one)}/{name_of(one)}"] = asked
    for pod in store.objects("pods"):
        if all(owner["kind"] == "Node" for owner in pod["metadata"].get("ownerReferences") or ()):
            found[f"pods/{namespace_of(pod)}/{name_of(pod)}"] = 1
    return found


def readiness_everywhere(store: Store, wanted: dict[str, int]) -> Readiness:
    """D1 of the whole cluster; a pod that is being deleted is not ready, as its endpoints are not."""
    ready = 0
    for key, replicas in wanted.items():
        resource, namespace, name = key.split("/")
        one = store.get(resource, namespace, name)
        if one is not None:
            pods = [one] if resource == "pods" else pods_of(store, one)
            serving = sum(is_pod_ready(pod) and not is_terminating(pod) for pod in pods)  # integers
            ready += min(replicas, serving)
    not_ready = [
        name_of(pod)
        for pod in store.objects("pods")
        if not is_terminating(pod) and not is_pod_ready(pod) and not _is_over(pod)
    ]
    return Readiness(ready, sum(wanted.values()), tuple(not_ready))  # integers


def _is_over(pod: ApiObject) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def ready_endpoints(store: Store, namespace: str, service: str) -> list[str]:
    """D2: addresses of the Service's ready endpoints, sorted."""
    found: dict[str, None] = {}
    for piece in store.objects("endpointslices.discovery.k8s.io", namespace):
        if labels_of(piece).get("kubernetes.io/service-name") != service:
            continue
        for endpoint in piece.get("endpoints") or ():
            if (endpoint.get("conditions") or {}).get("ready", True) is not False:
                found.update(dict.fromkeys(endpoint["addresses"]))
    return sorted(found)


def service_port(store: Store, namespace: str, service: str, port: int | None = None) -> ApiObject | None:
    """The entry of a Service's port, by default of its first; None if there is no such."""
    found = store.get("services", namespace, service)
    entries = [] if found is None else found["spec"].get("ports") or ()
    return next((one for one in entries if port in (None, one["port"])), None)


def spoken(world: World, namespace: str, service: str, port: int | None = None) -> str:
    """The protocol of a Service's port: what the program behind it speaks, whatever the port is called.

    Where no program can be asked it is what `appProtocol` or the port's name says, as service meshes read it.
    """
    for container, number in _behind(world, namespace, service, port):
        found = container.program.speaks(number)
        if found:
            return found
    entry: Mapping[str, Any] = service_port(world.api.store, namespace, service, port) or {}
    return "grpc" if str(entry.get("appProtocol") or entry.get("name") or "").startswith("grpc") else "http"


def asked_path(world: World, namespace: str, service: str, port: int | None = None) -> str:
    """The page that a request to a Service asks for: `/`, or where no such page is, what its users ask for most."""
    loads = [one for one in world.traffic.users.values() if (one.namespace, one.service) == (namespace, service)]
    for container, _ in _behind(world, namespace, service, port) if loads else ():
        server = getattr(container.program, "server", None)
        if isinstance(server, Server) and server.spec.match("/") is None:
            asked = max(loads[0].shares(server.spec.mix), key=itemgetter(1))[0]
            return next((one.path for one in server.spec.operations if one.name == asked and one.path), "/")
    return "/"


def _behind(world: World, namespace: str, service: str, port: int | None) -> Iterator[tuple[Container, int]]:
    """The containers behind a Service's port, as its EndpointSlices say, and their port."""
    entry: Mapping[str, Any] = service_port(world.api.store, namespace, service, port) or {}
    name = str(entry.get("name") or "")
    for piece in world.api.store.objects("endpointslices.discovery.k8s.io", namespace):
        if labels_of(piece).get("kubernetes.io/service-name") != service:
            continue
        numbers = [one["port"] for one in piece.get("ports") or () if (one.get("name") or "") == name]
        addresses = [address for endpoint in piece.get("endpoints") or () for address in endpoint["addresses"]]
        for backend in itertools.product(addresses, numbers):
            container = container_at(world.network, backend)
            if container is not None:
                yield container, backend[1]


def vantage_node(world: World) -> str:
    """The node from which requests are made: the first ready worker, or the first node."""
    names = [name_of(node) for node in world.api.store.objects("nodes") if is_node_ready(node)]
    workers = [name for name in names if name in world.machines and name != "control-plane"]
    return (workers or names or sorted(world.machines))[0]


def reach(
    world: World, namespace: str, service: str, port: int | None = None, *, protocol: str = "", prober: str = ""
) -> Reach:
    """D3: one request to a Service from inside the cluster.

    Args:
        port: its first one by default.
        protocol: what is spoken there; found out by default.
        prober: `NAMESPACE/POD` that asks, under the policies of its place; by default a node does.
    """
    entry = service_port(world.api.store, namespace, service, port)
    if entry is None:
        return Reach(False, 0, 0)
    node, within, source = vantage_node(world), namespace, ""
    if prober:
        within, _, name = prober.partition("/")
        pod = world.api.store.get("pods", within, name)
        if pod is None or not is_pod_ready(pod):
            return Reach(False, 0, 0)  # nobody is there to ask
        node, source = pod["spec"]["nodeName"], pod["status"]["podIP"]
    kind = protocol or spoken(world, namespace, service, port)
    path = asked_path(world, namespace, service, port) if kind == "http" else ""
    host = f"{service}.{namespace}"
    answer = world.traffic.try_request(node, within, host, int(entry["port"]), path, kind, source)
    if answer.outcome == "timeout" or answer.delay_ns > D3_TIMEOUT_NS:
        return Reach(False, 0, D3_TIMEOUT_NS)  # the one who asks gives up
    return Reach(answer.outcome == "ok" and answer.status == 200, answer.status, answer.delay_ns)


def is_node_ready(node: ApiObject) -> bool:
    """Whether the reported condition Ready of a node is True."""
    ready = condition(node, "Ready")
    return ready is not None and ready["status"] == "True"


def component_of(pod: ApiObject) -> str:
    """Which critical component a kube-system pod belongs to, or an empty text."""
    labels = labels_of(pod)
    for key in ("component", "k8s-app"):
        if labels.get(key) in CRITICAL:
            return labels[key]
    return ""


def critical_components(store: Store) -> list[str]:
    """The critical components that have a pod now, sorted."""
    return sorted({component_of(pod) for pod in store.objects("pods", "kube-system")} - {""})


def critical_failing(store: Store, now_ns: int, expected: list[str]) -> list[str]:
    """D4: names of critical pods that do not run, and of expected components that have none running.

    A pod that is being deleted, or was created moments ago while another of its component
    runs, is not failing: that is how a Deployment replaces pods.
    """
    failing: list[str] = []
    running: dict[str, None] = {}
    starting: list[tuple[str, str]] = []
    for pod in store.objects("pods", "kube-system"):
        component = component_of(pod)
        if not component or is_terminating(pod):
            continue
        if (pod.get("status") or {}).get("phase") == "Running":
            running[component] = None
        elif now_ns - parse_rfc3339(pod["metadata"]["creationTimestamp"]) < CRITICAL_START_GRACE_NS:
            starting.append((component, name_of(pod)))
        else:
            failing.append(name_of(pod))
    failing.extend(name for component, name in starting if component not in running)
    named = [component for component, _ in starting]
    failing.extend(component for component in expected if component not in running and component not in named)
    return sorted(dict.fromkeys(failing))


def placement(store: Store, namespace: str) -> dict[str, int]:
    """Node -> ready pods of the namespace on it, sorted by node."""
    counts: dict[str, int] = {}
    for pod in store.objects("pods", namespace):
        node = pod["spec"].get("nodeName")
        if node and is_pod_ready(pod) and not is_terminating(pod):
            counts[node] = counts.get(node, 0) + 1
    return dict(sorted(counts.items()))


def users_between(world: World, from_ns: int, to_ns: int) -> dict[str, Any]:
    """Requests of all users in the traffic ticks that end in (from_ns, to_ns]: sent and ok."""
    sent = ok = 0
    for load in world.traffic.users.values():
        stats = load.window(from_ns, to_ns)
        sent += stats.ended  # those whose outcome became known
        ok += stats.ok
    return {"sent": sent, "ok": ok}
