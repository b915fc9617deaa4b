"""Pods and nodes as the scheduler sees them: what it needs of each, computed once.

Source: kubernetes pkg/scheduler/framework/types.go.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from simcluster.api.objects import ApiObject, controller_of, labels_of, name_of, namespace_of, uid_of
from simcluster.control.nodes.taints import Taint, taints_of
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
from simcluster.engine import FlatDict, Shared


class PodInfo(Shared):
    """A pod with what scheduling needs of it, computed once and never changed."""

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

    def of_now(self, pod: ApiObject) -> PodInfo:
        """The same pod as it is stored now, in whose scheduling nothing has changed."""
        found = copy(self)
        found.pod = pod
        return found

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
        images: names of the images that the node reports -> bytes.
        with_affinity: keys of pods with inter-pod (anti-)affinity of their own.
    """

    __slots__ = (
        "allocatable",
        "assumed_cpu",
        "assumed_memory",
        "cpu",
        "images",
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
        self.images: dict[str, int] = FlatDict()
        self.taints: tuple[Taint, ...] = ()
        self.unschedulable = False
        self.allocatable: Requests = {}
        self.cpu = self.memory = 0
        self.requested: Requests = {}
        self.assumed_cpu = 0
        self.assumed_memory = 0
        self.pods: dict[str, PodInfo] = FlatDict()
        self.ports: dict[HostPort, int] = {}
        self.with_affinity: dict[str, None] = {}

    def set_node(self, node: ApiObject) -> tuple[bool, bool]:
        """Take over a version of the node; returns whether facts and whether images changed."""
        before, self.node = self.node, node
        status = node.get("status") or {}
        old = (before.get("status") or {}) if before is not None else {}
        has_new_images = before is None or status.get("images") != old.get("images")
        if has_new_images:
            self.images = FlatDict(
                {
                    name: int(entry.get("sizeBytes", 0))
                    for entry in status.get("images") or ()
                    for name in entry.get("names") or ()
                }
            )
        if before is not None and node_facts(before) == node_facts(node):
            return False, has_new_images
        self.labels = labels_of(node)
        self.taints = tuple(taints_of(node))
        self.unschedulable = bool((node.get("spec") or {}).get("unschedulable"))
        self.allocatable = parse_resources((node.get("status") or {}).get("allocatable"))
        self.cpu, self.memory = self.allocatable.get(CPU, 0), self.allocatable.get(MEMORY, 0)
        return True, has_new_images

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


def node_facts(node: ApiObject) -> tuple[Any, ...]:
    """What of a node matters to filters: heartbeats and images do not."""
    spec = node.get("spec") or {}
    return (
        node["metadata"].get("labels"),
        spec.get("unschedulable", False),
        spec.get("taints"),
        (node.get("status") or {}).get("allocatable"),
    )
