"""Calls that failed for good fail the attempt their caller was working on; and operations that fail by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.callers import ERROR
from simcluster.models.traffic.aggregate.fast import kernels_for

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.state import RunState

Array = NDArray[np.float64]

#: What is below this share of an attempt's chance to fail is nothing.
NEGLIGIBLE = 1e-9
#: Of an edge no attempt has been broken off yet.
UNKNOWN = -1.0


class Errors:
    """Calls whose failure fails the caller, each with the edges by which the caller was called.

    Attributes:
        faulty: edges to operations that fail by themselves.
    """

    def __init__(self, run: RunState) -> None:
        layout = run.layout
        into: dict[int, list[int]] = {}
        for edge in run.graph.edges:
            if not edge.asynchronous:
                into.setdefault(edge.child, []).append(edge.index)
        pairs = [
            (edge.index, above)
            for edge in run.graph.edges
            if edge.caller >= 0 and edge.required
            for above in into.get(edge.caller, ())
        ]
        self._below = np.array([p[0] for p in pairs], dtype=np.int64)
        self._above = np.array([p[1] for p in pairs], dtype=np.int64)
        self.faulty = np.nonzero(layout.node_failure[layout.child] > 0.0)[0]
        self._age = np.full(layout.edges, UNKNOWN)  # of attempts of an edge when an error last ended some, in ticks

    def tell(self, run: RunState, tick: int, attempts: Array) -> None:
        """Break off the attempts that the failures of a tick end."""
        layout, faulty = run.layout, self.faulty
        found = self._passed_on(run) if len(self._below) and bool(run.callers.final.any()) else []
        if len(faulty):
            amount = attempts[faulty] * layout.node_failure[layout.child[faulty]]
            found.append((faulty, layout.node_own[layout.child[faulty]], amount))
        if found:
            edges = np.concatenate([f[0] for f in found])
            ages = np.concatenate([f[1] for f in found])
            amounts = np.concatenate([f[2] for f in found])
            self._remember(edges, ages, amounts)
            run.callers.break_off(tick, edges, ages, amounts)
            if run.failure_work.costs:
                run.failure_work.broken(run.queues, edges, amounts)

    def _remember(self, edges: NDArray[np.int64], ages: Array, amounts: Array) -> None:
        """Keep how old attempts were that have been broken off: so late their callers hear of it."""
        total = np.bincount(edges, amounts, len(self._age))
        mean = np.bincount(edges, amounts * ages, len(self._age)) / np.maximum(total, 1e-300)
        self._age[:] = np.where(total > 0.0, mean, self._age)

    def _passed_on(self, run: RunState) -> list[tuple[NDArray[np.int64], Array, Array]]:
        """Edge, age in ticks and amount of attempts whose calls have failed."""
        layout, callers, below, above = run.layout, run.callers, self._below, self._above
        # An error is not as late as an answer: who is refused at a full queue has not waited in it.
        late = np.where(self._age == UNKNOWN, run.outcomes.latency, self._age)
        fast = kernels_for(layout.lanes)
        if fast is not None:
            most = 4 * len(below)
            edges, ages, amounts = np.empty(most, dtype=np.int64), np.empty(most), np.empty(most)
            count = fast.passed_on(
                below, above, layout.child, layout.lane_edge, layout.lane_pod, run.flow, run.queues.wait(),
                run.queues.share, layout.node_own, callers.final, callers.backoff_total, layout.timeout, callers.limit,
                late, NEGLIGIBLE, edges, ages, amounts,
            )  # fmt: skip
            return [(edges[:count], ages[:count], amounts[:count])] if count else []
        total = np.bincount(layout.child, run.flow, len(run.graph.nodes))
        part = run.flow[above] / np.maximum(total[layout.child[above]], 1e-300)
        waits = np.minimum(run.queues.wait(), 1e7)[layout.lane_pod] * run.queues.share
        base = np.bincount(layout.lane_edge, waits, layout.edges)[above] + layout.node_own[layout.child[above]]
        found = []
        for kind in range(4):
            amount = callers.final[kind][below] * part
            chosen = amount > NEGLIGIBLE
            if not chosen.any():
                continue
            spent = callers.backoff_total[below]
            if kind == 0:
                spent = spent + layout.timeout[below] * callers.limit[below]
            elif kind == ERROR:
                spent = spent + late[below]
            found.append((above[chosen], (base + spent)[chosen], amount[chosen]))
        return found
