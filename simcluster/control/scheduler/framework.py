"""What a scheduling plugin is.

Source: kubernetes pkg/scheduler/framework (interface.go, types.go).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from simcluster.api.store import Store
from simcluster.control.scheduler.cache import NodeCache
from simcluster.control.scheduler.nodeinfo import NodeInfo, PodInfo
from simcluster.control.scheduler.table import Integers, Mask, NodeTable, Rows

#: Highest score of a plugin for a node (MaxNodeScore).
MAX_SCORE = 100


class Rejection(NamedTuple):
    """Why a node (or a pod as a whole) was refused.

    Attributes:
        reasons: texts as they stand in the FailedScheduling message.
        final: removing pods would not help (UnschedulableAndUnresolvable).
    """

    reasons: tuple[str, ...]
    final: bool = False


class Skip(Exception):
    """A plugin has nothing to say about this pod."""


class Cycle:
    """One attempt to place one pod: what plugins computed before looking at nodes.

    Attributes:
        excluded: keys of pods to be treated as if they were gone (preemption asks "what if").
        state: per plugin name, whatever its `prepare` found.
        active: plugins whose filter has something to say in this cycle.
        refused_by: name of the plugin that refused last.
        batch: what is kept for pods like this one (`batch.Batch`), or None.
        volumes: per node name, (claim, volume) chosen for the pod's unbound claims.
    """

    __slots__ = ("active", "batch", "cache", "excluded", "info", "refused_by", "state", "store", "volumes")

    def __init__(self, info: PodInfo, cache: NodeCache, store: Store, excluded: dict[str, None] | None = None) -> None:
        self.info = info
        self.cache = cache
        self.store = store
        self.excluded = excluded or {}
        self.state: dict[str, Any] = {}
        self.active: list[Plugin] = []
        self.refused_by = ""
        self.batch: Any = None
        self.volumes: dict[str, list[tuple[str, str]]] = {}

    @property
    def spec(self) -> dict[str, Any]:
        """`spec` of the pod to place."""
        spec: dict[str, Any] = self.info.pod["spec"]
        return spec


def mask_of(
    filters: Callable[[Cycle, NodeInfo], Rejection | None], cycle: Cycle, table: NodeTable, *facts: Any
) -> Mask:
    """The mask of a filter that looks at the node itself and at these `facts` of the pod alone."""
    return table.allowed([filters.__qualname__, *facts], lambda node: filters(cycle, node) is None)


class Plugin:
    """Base of all plugins; every hook has a neutral default.

    Attributes:
        name: as in the scheduler's configuration.
        weight: of its scores.
        woken_by: cluster events after which a pod that it refused is worth another try.
        about_node: the verdict follows from the pod and the node alone, not from other pods.
    """

    name = ""
    weight = 1
    woken_by: tuple[str, ...] = ()
    about_node = True

    def prepare(self, cycle: Cycle) -> Rejection | None:
        """Look at the pod once, before any node (PreFilter).

        Returns:
            A rejection of the pod as a whole, or None.

        Raises:
            Skip: `filter` need not be called in this cycle.
        """
        return None

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Whether the node can take the pod."""
        return None

    def mask(self, cycle: Cycle, table: NodeTable) -> Mask | None:
        """`filter` for all nodes at once; None if the plugin has to be asked node by node."""
        return None

    def scores_of(self, cycle: Cycle, table: NodeTable, rows: Rows) -> Integers | None:
        """`scores` of the nodes in these rows."""
        found = self.scores(cycle, [table.infos[row] for row in rows])
        return None if found is None else np.array(found, dtype=np.int64)

    def scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> list[int] | None:
        """Normalised scores 0..100 of the nodes, or None if all are equal to it."""
        return None


def normalised(raw: Sequence[int], *, reverse: bool = False) -> list[int] | None:
    """Scores scaled to 0..100 by their maximum; None when all are 0 (DefaultNormalizeScore).

    >>> normalised([0, 5, 10]), normalised([0, 1], reverse=True), normalised([0, 0])
    ([0, 50, 100], [100, 0], None)
    """
    highest = max(raw, default=0)
    if highest == 0:
        return None
    scaled = [value * MAX_SCORE // highest for value in raw]
    return [MAX_SCORE - value for value in scaled] if reverse else scaled
