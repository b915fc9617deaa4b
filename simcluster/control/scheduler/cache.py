"""The scheduler's picture of the nodes: what is on them and what is requested of them.

Built from watches, changed pod by pod, so that a decision costs one pass over the nodes and
no pass over the pods. A pod that was given a node counts there at once (it is *assumed*),
before its binding comes back as a watch event. Rebuildable from the API.
Source: kubernetes pkg/scheduler/backend/cache and framework/types.go.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.objects import ApiObject, controller_of, labels_of, name_of, namespace_of, uid_of
from simcluster.control.nodelifecycle.taints import Taint, taints_of
from simcluster.control.replicaset.pods import is_terminal
from simcluster.control.scheduler.requests import (
    CPU,
    MEMORY,
    HostPort,
    Requests,
    assumed_requests,
    host_ports,
    parse_resources,
    pod_requests,
)


class PodInfo:
    """A pod with what scheduling needs of it, computed once."""

    __slots__ = ("assumed", "key", "namespace", "owner", "pod", "ports", "priority", "requests", "uid")

    def __init__(self, pod: ApiObject) -> None:
        self.pod = pod
        self.namespace = namespace_of(pod)
        self.key = f"{self.namespace}/{name_of(pod)}"
        self.uid = uid_of(pod)
        self.owner = (controller_of(pod) or {}).get("uid", "")
        self.requests: Requests = pod_requests(pod)
        self.assumed = assumed_requests(pod)
        self.ports: tuple[HostPort, ...] = host_ports(pod)
        self.priority = int(pod["spec"].get("priority") or 0)

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the pod."""
        return labels_of(self.pod)

    def affinity(self, kind: str) -> dict[str, Any]:
        """`spec.affinity.<kind>` (nodeAffinity, podAffinity, podAntiAffinity), or empty."""
        return (self.pod["spec"].get("affinity") or {}).get(kind) or {}


class NodeInfo:
    """A node and the pods on it.

    Attributes:
        allocatable: per resource, in the integers of `requests.amount`; cpu, memory: two of them.
        requested: sums of the pods' requests.
        assumed_cpu, assumed_memory: the same sums as scoring counts them.
        ports: host ports taken -> how many pods take them.
        with_affinity: keys of pods with inter-pod (anti-)affinity of their own.
    """

    __slots__ = (
        "allocatable",
        "assumed_cpu",
        "assumed_memory",
        "cpu",
        "labels",
        "memory",
        "name",
        "node",
        "pods",
        "ports",
        "requested",
        "taints",
        "unschedulable",
        "with_affinity",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.node: ApiObject | None = None
        self.labels: dict[str, str] = {}
        self.taints: tuple[Taint, ...] = ()
        self.unschedulable = False
        self.allocatable: Requests = {}
        self.cpu = self.memory = 0
        self.requested: Requests = {}
        self.assumed_cpu = 0
        self.assumed_memory = 0
        self.pods: dict[str, PodInfo] = {}
        self.ports: dict[HostPort, int] = {}
        self.with_affinity: dict[str, None] = {}

    def set_node(self, node: ApiObject) -> None:
        """Take over a version of the node."""
        self.node = node
        self.labels = labels_of(node)
        self.taints = tuple(taints_of(node))
        self.unschedulable = bool((node.get("spec") or {}).get("unschedulable"))
        self.allocatable = parse_resources((node.get("status") or {}).get("allocatable"))
        self.cpu, self.memory = self.allocatable.get(CPU, 0), self.allocatable.get(MEMORY, 0)

    def add(self, info: PodInfo) -> None:
        """Count a pod."""
        self.pods[info.key] = info
        self._count(info, 1)
        if info.affinity("podAffinity") or info.affinity("podAntiAffinity"):
            self.with_affinity[info.key] = None

    def remove(self, key: str) -> None:
        """No longer count a pod."""
        self._count(self.pods.pop(key), -1)
        self.with_affinity.pop(key, None)

    def _count(self, info: PodInfo, sign: int) -> None:
        requested = self.requested
        for name, value in info.requests.items():
            requested[name] = requested.get(name, 0) + sign * value
        self.assumed_cpu += sign * info.assumed[0]
        self.assumed_memory += sign * info.assumed[1]
        for port in info.ports:
            count = self.ports.get(port, 0) + sign
            if count:
                self.ports[port] = count
            else:
                self.ports.pop(port, None)

    def without(self, keys: dict[str, None]) -> NodeInfo:
        """A copy on which the pods `keys` do not exist."""
        copy = NodeInfo(self.name)
        if self.node is not None:
            copy.set_node(self.node)
        for key, info in self.pods.items():
            if key not in keys:
                copy.add(info)
        return copy


class NodeCache:
    """All nodes, and indexes of their pods by namespace and by owner."""

    def __init__(self) -> None:
        self._infos: dict[str, NodeInfo] = {}
        self._place: dict[str, str] = {}  # pod key -> node name
        self._assumed: dict[str, str] = {}  # pod key -> uid, until the binding is seen
        self.by_namespace: dict[str, dict[str, str]] = {}  # namespace -> pod key -> node
        self.by_owner: dict[str, dict[str, int]] = {}  # owner uid -> node -> pods
        self.with_affinity: dict[str, dict[str, None]] = {}  # node -> pods with affinity terms
        self._nodes: list[NodeInfo] | None = None

    @property
    def nodes(self) -> list[NodeInfo]:
        """Nodes that exist, by name."""
        if self._nodes is None:
            self._nodes = [self._infos[name] for name in sorted(self._infos) if self._infos[name].node is not None]
        return self._nodes

    def node(self, name: str) -> NodeInfo | None:
        """The node, or None."""
        info = self._infos.get(name)
        return info if info is not None and info.node is not None else None

    def set_node(self, node: ApiObject) -> None:
        """Add or update a node."""
        name = name_of(node)
        if name not in self._infos:
            self._infos[name] = NodeInfo(name)
        if self._infos[name].node is None:
            self._nodes = None
        self._infos[name].set_node(node)

    def remove_node(self, name: str) -> None:
        """The node is gone; its pods are counted until they are gone too."""
        info = self._infos.get(name)
        if info is None:
            return
        info.node = None
        self._nodes = None
        if not info.pods:
            del self._infos[name]

    def place_of(self, key: str) -> str | None:
        """Node of a pod that is bound or assumed, or None."""
        return self._place.get(key)

    def assume(self, info: PodInfo, node: str) -> None:
        """Count a pod on a node before it is bound."""
        self._assumed[info.key] = info.uid
        self._put(info, node)

    def forget(self, key: str, uid: str) -> None:
        """Take back `assume`."""
        if self._assumed.get(key) == uid:
            del self._assumed[key]
            self._drop(key)

    def set_pod(self, pod: ApiObject) -> None:
        """Add or update a pod that is bound."""
        key = f"{namespace_of(pod)}/{name_of(pod)}"
        node = pod["spec"]["nodeName"]
        if self._assumed.get(key) == uid_of(pod):
            del self._assumed[key]
        if is_terminal(pod):
            self._drop(key)
            return
        if self._place.get(key) == node:
            known = self._infos[node].pods[key]
            same = known.uid == uid_of(pod) and known.labels == labels_of(pod)
            if same and known.pod["spec"]["containers"] == pod["spec"]["containers"]:
                known.pod = pod
                return
        self._put(PodInfo(pod), node)

    def remove_pod(self, key: str) -> None:
        """The pod is gone."""
        self._assumed.pop(key, None)
        self._drop(key)

    def _put(self, info: PodInfo, node: str) -> None:
        self._drop(info.key)
        if node not in self._infos:
            self._infos[node] = NodeInfo(node)
        self._infos[node].add(info)
        self._place[info.key] = node
        self.by_namespace.setdefault(info.namespace, {})[info.key] = node
        if info.key in self._infos[node].with_affinity:
            self.with_affinity.setdefault(node, {})[info.key] = None
        if info.owner:
            counts = self.by_owner.setdefault(info.owner, {})
            counts[node] = counts.get(node, 0) + 1

    def _drop(self, key: str) -> None:
        node = self._place.pop(key, None)
        if node is None:
            return
        holder = self._infos[node]
        info = holder.pods[key]
        holder.remove(key)
        self.by_namespace[info.namespace].pop(key, None)
        if node in self.with_affinity:
            self.with_affinity[node].pop(key, None)
            if not self.with_affinity[node]:
                del self.with_affinity[node]
        if info.owner:
            self._uncount(info.owner, node)
        if holder.node is None and not holder.pods:
            del self._infos[node]

    def _uncount(self, owner: str, node: str) -> None:
        counts = self.by_owner[owner]
        counts[node] -= 1
        if not counts[node]:
            del counts[node]
            if not counts:
                del self.by_owner[owner]

    def pod(self, key: str) -> PodInfo | None:
        """The pod that is counted somewhere, or None."""
        node = self._place.get(key)
        return self._infos[node].pods[key] if node is not None else None
