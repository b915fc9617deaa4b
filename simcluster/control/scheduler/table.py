"""The nodes as columns of numbers, so that one step of arithmetic looks at all of them.

A row for each node in order of name, kept up to date pod by pod. Sums are integers and the
few fractions are single operations, so that the results are those of a loop over the nodes.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simcluster.control.nodes.taints import PREFER_NO_SCHEDULE
from simcluster.control.scheduler.requests import CPU, MEMORY, PODS

if TYPE_CHECKING:
    from simcluster.control.scheduler.nodeinfo import NodeInfo, PodInfo

Integers = NDArray[np.int64]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

#: Kinds of pods, owners and images whose columns are kept; the oldest go first.
_KEPT = 256
#: Batches that are kept, and how many changes they may be behind, besides two for each node.
_BATCHES, _FOLLOWED = 16, 1000


class NodeTable:
    """Columns over the nodes.

    Attributes:
        infos: the nodes, by row.
        row: name of a node -> its row.
        columns: by name; `room` of a resource and what is `used` of it, pods included.
        prefers: whether any node has a taint PreferNoSchedule.
        batches: what is kept for pods that are alike, by their signature (`batch`).
        changes: how often pods have come to nodes or left them.
    """

    def __init__(self, infos: Sequence[NodeInfo]) -> None:
        self.infos = list(infos)
        self.row = {info.name: row for row, info in enumerate(self.infos)}
        self.prefers = False
        self.batches: dict[bytes, Any] = {}
        self.changes = 0
        self._changed: list[int] = []  # rows, in order; the last of them is change number `changes`
        self._room: dict[str, Integers] = {}
        self._used: dict[str, Integers] = {}
        self.assumed_cpu = self._zeros()
        self.assumed_memory = self._zeros()
        self._allowed: dict[bytes, Mask] = {}
        self._siblings: dict[str, Integers] = {}
        self._domains: dict[str, tuple[Integers, int]] = {}
        self._images: dict[str, Integers] = {}
        for name in (CPU, MEMORY, PODS):
            self._add_resource(name)
        for row, info in enumerate(self.infos):
            self._fill(row, info)
        self.node_changed()

    def __len__(self) -> int:
        return len(self.infos)

    # Keeping up.

    def pods_changed(self, info: NodeInfo, pod: PodInfo, sign: int) -> None:
        """A pod came to a node (sign 1) or left it (-1)."""
        row = self.row.get(info.name)
        if row is None:
            return
        self._fill(row, info)
        self.changes += 1
        if self.batches:
            self._changed.append(row)
            if len(self._changed) > _FOLLOWED + 2 * len(self.infos):
                self._changed = []
                self.batches.clear()
        counts = self._siblings.get(pod.owner)
        if counts is not None:
            counts[row] += sign

    def node_changed(self, info: NodeInfo | None = None) -> None:
        """Labels, taints or capacity of a node changed."""
        self._allowed.clear()
        self._domains.clear()
        self.batches.clear()
        self.prefers = any(taint["effect"] == PREFER_NO_SCHEDULE for one in self.infos for taint in one.taints)
        if info is not None and info.name in self.row:
            row = self.row[info.name]
            for name, column in self._room.items():
                column[row] = info.allocatable.get(name, 0)

    def images_changed(self, info: NodeInfo) -> None:
        """A node reports other images."""
        row = self.row.get(info.name)
        self.batches.clear()
        if row is not None:
            for image, column in self._images.items():
                column[row] = info.images.get(image, 0)

    def _fill(self, row: int, info: NodeInfo) -> None:
        requested = info.requested
        for name, column in self._used.items():
            column[row] = len(info.pods) if name == PODS else requested.get(name, 0)
        self.assumed_cpu[row] = info.assumed_cpu
        self.assumed_memory[row] = info.assumed_memory

    def _add_resource(self, name: str) -> None:
        self._room[name] = np.array([info.allocatable.get(name, 0) for info in self.infos], dtype=np.int64)
        used = [len(info.pods) if name == PODS else info.requested.get(name, 0) for info in self.infos]
        self._used[name] = np.array(used, dtype=np.int64)

    def _zeros(self) -> Integers:
        return np.zeros(len(self.infos), dtype=np.int64)

    def changed_since(self, change: int) -> list[int]:
        """Rows that have changed since, in order; only while there are batches."""
        return self._changed[len(self._changed) - (self.changes - change) :]

    def keep(self, signature: bytes, batch: Any) -> None:
        """Keep what was worked out for pods that are alike."""
        if not self.batches:
            self._changed = []
        elif len(self.batches) >= _BATCHES:
            del self.batches[next(iter(self.batches))]
        self.batches[signature] = batch

    # Looking.

    def room(self, resource: str) -> Integers:
        """What the nodes can allocate of a resource."""
        if resource not in self._room:
            self._add_resource(resource)
        return self._room[resource]

    def used(self, resource: str) -> Integers:
        """What is requested of it already."""
        if resource not in self._used:
            self._add_resource(resource)
        return self._used[resource]

    def with_room(self, requests: Mapping[str, int]) -> Mask:
        """Which nodes have room for one more pod with these requests."""
        mask: Mask = self._used[PODS] < self._room[PODS]
        for name, value in requests.items():
            mask &= self.room(name) - self.used(name) >= value
        return mask

    def allowed(self, facts: Any, allows: Callable[[NodeInfo], bool]) -> Mask:
        """Which nodes pods with these facts may use at all; asked once for equal facts.

        Args:
            facts: all of the pod that the answer depends on, besides the nodes.
            allows: the answer for one node.
        """
        key = marshal.dumps(facts, 2)
        mask = self._allowed.get(key)
        if mask is None:
            _trim(self._allowed)
            mask = self._allowed[key] = np.array([allows(info) for info in self.infos], dtype=np.bool_)
        return mask

    def siblings(self, owner: str, counts: Mapping[str, int]) -> Integers:
        """Pods of one owner by node; `counts` says how many there are when it is asked first."""
        column = self._siblings.get(owner)
        if column is None:
            _trim(self._siblings)
            column = self._siblings[owner] = self._zeros()
            for name, count in counts.items():
                if name in self.row:
                    column[self.row[name]] = count
        return column

    def domains(self, key: str) -> tuple[Integers, int]:
        """Number of the domain of each node under a topology key (-1: none), and how many there are."""
        found = self._domains.get(key)
        if found is None:
            numbers: dict[str, int] = {}
            column = self._zeros()
            for row, info in enumerate(self.infos):
                value = info.labels.get(key)
                column[row] = -1 if value is None else numbers.setdefault(value, len(numbers))
            found = self._domains[key] = (column, len(numbers))
        return found

    def image_sizes(self, image: str) -> Integers:
        """Bytes of an image on each node, 0 where it is not."""
        column = self._images.get(image)
        if column is None:
            _trim(self._images)
            sizes = [info.images.get(image, 0) for info in self.infos]
            column = self._images[image] = np.array(sizes, dtype=np.int64)
        return column


def _trim(kept: dict[Any, Any]) -> None:
    if len(kept) >= _KEPT:
        del kept[next(iter(kept))]
