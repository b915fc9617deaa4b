"""The scheduler's picture of the nodes: what is on them and what is requested of them.

Built from watches, changed pod by pod, so that a decision costs one pass over the nodes and
no pass over the pods. A pod that was given a node counts there at once (it is *assumed*),
before its binding comes back as a watch event. Rebuildable from the API.
Source: kubernetes pkg/scheduler/backend/cache and framework/types.go.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.objects import ApiObject, labels_of, name_of, namespace_of, uid_of
from simcluster.control.pods.status import is_terminal
from simcluster.control.scheduler.nodeinfo import NodeInfo, PodInfo
from simcluster.control.scheduler.table import NodeTable


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
        self._table: NodeTable | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_table": None}  # made again where it is wanted

    @property
    def nodes(self) -> list[NodeInfo]:
        """Nodes that exist, by name."""
        if self._nodes is None:
            self._nodes = [self._infos[name] for name in sorted(self._infos) if self._infos[name].node is not None]
        return self._nodes

    @property
    def table(self) -> NodeTable:
        """The same nodes as columns."""
        if self._table is None:
            self._table = NodeTable(self.nodes)
        return self._table

    def node(self, name: str) -> NodeInfo | None:
        """The node, or None."""
        info = self._infos.get(name)
        return info if info is not None and info.node is not None else None

    def set_node(self, node: ApiObject) -> None:
        """Add or update a node."""
        name = name_of(node)
        if name not in self._infos:
            self._infos[name] = NodeInfo(name)
        info = self._infos[name]
        if info.node is None:
            self._nodes = self._table = None
        is_changed, has_new_images = info.set_node(node)
        if self._table is not None and is_changed:
            self._table.node_changed(info)
        if self._table is not None and has_new_images:
            self._table.images_changed(info)

    def remove_node(self, name: str) -> None:
        """The node is gone; its pods are counted until they are gone too."""
        info = self._infos.get(name)
        if info is None:
            return
        info.node = None
        self._nodes = self._table = None
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
                self._infos[node].pods[key] = known.of_now(pod)
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
        if self._table is not None:
            self._table.pods_changed(self._infos[node], info, 1)

    def _drop(self, key: str) -> None:
        node = self._place.pop(key, None)
        if node is None:
            return
        holder = self._infos[node]
        info = holder.pods[key]
        holder.remove(key)
        beside = self.by_namespace[info.namespace]
        beside.pop(key, None)
        if not beside:
            del self.by_namespace[info.namespace]
        if node in self.with_affinity:
            self.with_affinity[node].pop(key, None)
            if not self.with_affinity[node]:
                del self.with_affinity[node]
        if info.owner:
            self._uncount(info.owner, node)
        if self._table is not None:
            self._table.pods_changed(holder, info, -1)
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
