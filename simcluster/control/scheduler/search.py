"""The search for a pod's node: filters, a sample of the feasible nodes, scores.

Nearly all pods find a node, and nobody asks why the other nodes were not taken. So the
filters are asked for all nodes at once where they can answer so (`Plugin.mask`), and node by
node only for the rest; the reasons are looked for when no node is left.
Source: kubernetes pkg/scheduler/schedule_one.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simcluster.control.scheduler.batch import batch_of, rows_from, totals_of
from simcluster.control.scheduler.framework import Cycle, Plugin, Rejection, Skip
from simcluster.control.scheduler.nodeinfo import NodeInfo, PodInfo
from simcluster.control.scheduler.plugins.nodeaffinity import NodeAffinity, named_nodes
from simcluster.control.scheduler.table import Mask, NodeTable, Rows
from simcluster.engine import Stream

#: minFeasibleNodesToFind and the adaptive percentage of nodes to score.
LEAST_NODES_TO_FIND = 100


def nodes_to_find(total: int) -> int:
    """How many feasible nodes are enough (numFeasibleNodesToFind).

    >>> [nodes_to_find(n) for n in (4, 100, 1000, 5000)]
    [4, 100, 420, 500]
    """
    if total <= LEAST_NODES_TO_FIND:
        return total
    percentage = max(5, 50 - total // 125)
    return max(LEAST_NODES_TO_FIND, total * percentage // 100)


class Found(NamedTuple):
    """What a search came to.

    Attributes:
        rows: feasible nodes as rows of the table, in the order in which they were met; may be an array.
        whole: refusal of the pod as such.
        refused: refusals by node; empty if there is a feasible one.
        plugins: names of the plugins that refused.
    """

    rows: Sequence[int] | Rows
    whole: Rejection | None
    refused: dict[str, Rejection]
    plugins: dict[str, None]


class Search:
    """Finds the best node for a pod.

    Attributes:
        plugins: in the order of their filters.
        nominated: pod key -> node that was cleared for it, and the pod.
    """

    def __init__(self, plugins: list[Plugin], ties: Stream) -> None:
        self.plugins = plugins
        self._scorers = [one for one in plugins if _scores(type(one))]
        self.nominated: dict[str, tuple[str, PodInfo]] = {}
        self._ties = ties
        self._turn = 0  # where the next search begins, so that all nodes get their turn

    def prepare(self, cycle: Cycle) -> Rejection | None:
        """Let every plugin look at the pod; returns a refusal of the pod as such."""
        cycle.active = []
        for plugin in self.plugins:
            try:
                refusal = plugin.prepare(cycle)
            except Skip:
                continue
            if refusal is not None:
                cycle.refused_by = plugin.name
                return refusal
            if type(plugin).filter is not Plugin.filter:
                cycle.active.append(plugin)
        return None

    def check(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """The first refusal of a node, or None."""
        for plugin in cycle.active:
            refusal = plugin.filter(cycle, node)
            if refusal is not None:
                cycle.refused_by = plugin.name
                return refusal
        return None

    def find(self, cycle: Cycle) -> Found:
        """The feasible nodes, as many as are wanted, or why there are none."""
        if not self.nominated:
            rows = self._alike(cycle)
            if len(rows):
                return Found(rows, None, {}, {})
        whole = self.prepare(cycle)
        if whole is not None:
            return Found([], whole, {}, {cycle.refused_by: None})
        table = cycle.cache.table
        held = self.nominated.get(cycle.info.key)
        if held is not None:
            # The node that was cleared for this pod is tried first.
            node = cycle.cache.node(held[0])
            if node is not None and self.check(cycle, self.with_reserved(cycle, node)) is None:
                return Found([table.row[node.name]], None, {}, {})
        if not table.infos:
            return Found([], None, {}, {})
        rows = self._feasible(cycle, table)
        if len(rows):
            return Found(rows, None, {}, {})
        refused: dict[str, Rejection] = {}
        plugins: dict[str, None] = {}
        named = named_nodes(cycle.info)
        for node in table.infos:
            if named is not None and node.name not in named:
                refused[node.name] = Rejection((NodeAffinity.REASON_ABSENT,), final=True)
                plugins[NodeAffinity.name] = None
                continue
            refusal = self.check(cycle, self.with_reserved(cycle, node))
            if refusal is not None:
                refused[node.name] = refusal
                plugins[cycle.refused_by] = None
        return Found([], None, refused, plugins)

    def _alike(self, cycle: Cycle) -> Rows | Sequence[int]:
        """The feasible nodes of a pod that is one of many; none if it is not, or if there are none."""
        table = cycle.cache.table
        batch = cycle.batch = batch_of(cycle, table) if table.infos else None
        if batch is None:
            return []
        total = len(table)
        start, wanted = self._turn % total, nodes_to_find(total)
        rows = rows_from(batch.fits.nonzero()[0], start, wanted)
        if len(rows):
            self._turn_on(rows, start, wanted, total)
        else:
            cycle.batch = None
        return rows

    def _feasible(self, cycle: Cycle, table: NodeTable) -> Sequence[int] | Rows:
        total = len(table)
        mask: Mask | None = None
        slow = []
        for plugin in cycle.active:
            one = plugin.mask(cycle, table)
            if one is None:
                slow.append(plugin)
            else:
                mask = one if mask is None else mask & one
        if mask is None:
            mask = np.ones(total, dtype=np.bool_)
        reserved = {node for key, (node, _) in self.nominated.items() if key != cycle.info.key}
        start, wanted = self._turn % total, nodes_to_find(total)
        candidates = rows_from(mask.nonzero()[0], start, total)
        if not slow and not reserved:
            found = candidates[:wanted]
            self._turn_on(found, start, wanted, total)
            return found
        rows: list[int] = []
        for row in candidates.tolist():
            node = table.infos[row]
            if slow and any(plugin.filter(cycle, node) is not None for plugin in slow):
                continue
            if node.name in reserved and self.check(cycle, self.with_reserved(cycle, node)) is not None:
                continue
            rows.append(row)
            if len(rows) == wanted:
                break
        self._turn_on(rows, start, wanted, total)
        return rows

    def _turn_on(self, rows: Sequence[int] | Rows, start: int, wanted: int, total: int) -> None:
        """The next search begins behind the last node that this one looked at."""
        looked = (int(rows[-1]) - start) % total + 1 if len(rows) == wanted else total
        self._turn = (start + looked) % total

    def with_reserved(self, cycle: Cycle, node: NodeInfo) -> NodeInfo:
        """The node as if the pods nominated for it stood there already, if they are as important."""
        info = cycle.info
        others = [
            other
            for key, (name, other) in self.nominated.items()
            if name == node.name and key != info.key and other.priority >= info.priority and key not in node.pods
        ]
        if not others:
            return node
        copy = node.without({})
        for other in others:
            copy.add(other)
        return copy

    def select(self, cycle: Cycle, rows: Sequence[int] | Rows) -> NodeInfo:
        """The node with the highest score; one of them by chance if there are several."""
        table = cycle.cache.table
        if len(rows) == 1:
            return table.infos[rows[0]]
        chosen: Rows = np.asarray(rows, dtype=np.intp)
        if cycle.batch is not None:
            totals = totals_of(cycle.batch, cycle, table, chosen)
        else:
            totals = np.zeros(len(rows), dtype=np.int64)
            for plugin in self._scorers:
                scores = plugin.scores_of(cycle, table, chosen)
                if scores is not None:
                    totals += scores if plugin.weight == 1 else plugin.weight * scores
        ties = (totals == totals.max()).nonzero()[0].tolist()
        position = ties[0] if len(ties) == 1 else self._ties.choice(ties)
        return table.infos[int(rows[position])]


def _scores(kind: type[Plugin]) -> bool:
    """Whether plugins of a kind prefer some nodes to others."""
    return kind.scores is not Plugin.scores or kind.scores_of is not Plugin.scores_of
