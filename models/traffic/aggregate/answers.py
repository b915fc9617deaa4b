"""Answers on edges without timeout: they come when the calls below have ended.

Where an operation makes one call, its answer comes when that call's does, if somebody still waits for it.
Where it makes several, a visit stays for the mean time of its own work and of all calls, and of the answers
as many are good as those calls succeeded lately. Bad ones are told by the calls that end badly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.state import RunState

Array = NDArray[np.float64]


class Answers:
    """The visits that have left their queues and are not answered yet."""

    def __init__(self, run: RunState) -> None:
        layout = run.layout
        self._held = layout.holds[layout.lane_pod]
        self._infinite = layout.infinite[layout.lane_pod]
        #: edges whose operation makes exactly one call: (edge, that call), callees first
        self._relayed: list[tuple[int, int]] = []
        for edge in reversed(run.graph.edges):
            calls = [c for c in layout.children.get(edge.child, ()) if not c.asynchronous]
            if len(calls) == 1 and calls[0].required and calls[0].times == 1 and not layout.timed[edge.index]:
                self._relayed.append((edge.index, calls[0].index))

    def given(self, run: RunState, tick: int, left: Array) -> Array:
        """Good answers of a tick.

        Args:
            left: visits that left their queue, by edge.
        """
        layout, queues = run.layout, run.queues
        own = np.where(self._held | self._infinite, run.outcomes.lane_own, 0.0)
        stay = own + run.outcomes.below[layout.lane_node]
        mean = np.bincount(layout.lane_edge, stay * queues.share, layout.edges)
        if run.gates.matters:
            left = left * np.where(layout.timed, 1.0, run.gates.fine)
        if self._relayed:
            alone = np.bincount(layout.lane_edge, own * queues.share, layout.edges)
            per_visit = layout.calls_per_visit * run.outcomes.made
            left, mean = left.copy(), mean.copy()
            for edge, call in self._relayed:
                fine = 1.0 - float(layout.node_failure[layout.child[edge]])
                left[edge] = run.flowed[edge] * fine * max(0.0, 1.0 - float(per_visit[call]))
                mean[edge] = alone[edge]
        pool = run.staying + left
        answered: Array = np.where(mean > 0.05, pool / (1.0 + mean), pool)
        run.staying = pool - answered
        if self._relayed:
            self._relay(run, tick, answered)
        return answered

    def _relay(self, run: RunState, tick: int, answered: Array) -> None:
        layout = run.layout
        in_time = run.in_time(tick) * np.where(layout.timed, run.gates.fine, 1.0)
        total = np.bincount(layout.child, run.flow, len(layout.node_own))
        for edge, call in self._relayed:
            among = float(total[layout.child[edge]])
            part = float(run.flow[edge]) / among if among > 0.0 else 1.0
            answered[edge] += float(answered[call] * in_time[call]) * part
