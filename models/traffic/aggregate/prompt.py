"""Users who are told at once: successes count when the answer comes, not when the time-out would have expired.

What is answered now is judged in advance: an attempt succeeds if its queue is shorter than its timeout and the calls
below are likely to succeed, by the attempts judged last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import Shared
from simcluster.models.traffic.aggregate.layout import Edge, Layout

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.state import RunState

Array = NDArray[np.float64]

#: Attempts of a call looked at.
_ATTEMPTS = 12


class _Call(NamedTuple):
    """What foresight has to know of an edge: the index of its callee, attempts after the first, whom that calls."""

    edge: int
    node: int
    again: int
    calls: tuple[tuple[int, float], ...]  # required ones: edge, and how many of them a visit makes, at most 1
    is_leaf: bool


class Foresight(Shared):
    """The order in which edges are foreseen, callees first."""

    def __init__(self, layout: Layout) -> None:
        self._calls = [self._call(layout, edge) for edge in reversed(layout.graph.edges)]

    def _call(self, layout: Layout, edge: Edge) -> _Call:
        below = layout.children.get(edge.child, ())
        required = tuple(
            (call.index, min(1.0, float(layout.calls_per_visit[call.index])))
            for call in below
            if call.required and not call.asynchronous
        )
        again = min(edge.policy.attempts, _ATTEMPTS) - 1 if edge.caller >= 0 else 0
        return _Call(edge.index, edge.child, again, required, edge.child not in layout.children)

    def foresee(self, run: RunState, refused: Array) -> Array:
        """Which share of the attempts that are answered now will have succeeded, by edge.

        Args:
            refused: share of every edge's attempts that found no place lately.
        """
        layout = run.layout
        wait = np.bincount(layout.lane_edge, run.queues.wait()[layout.lane_pod] * run.queues.share, layout.edges)
        late = (layout.timed & (wait >= layout.timeout)).tolist()
        cut = np.maximum(0.0, 1.0 - (run.cuts.refused_share + run.cuts.lost_share))
        reached = (cut * (1.0 - refused)).tolist()
        quality, good = run.outcomes.quality.tolist(), run.call_ok.tolist()
        below: dict[int, float] = {}
        for edge, node, again, calls, is_leaf in self._calls:
            found = below.get(node)
            if found is None:
                found = 1.0
                for call, count in calls:
                    found *= max(0.0, 1.0 - count * (1.0 - good[call]))
                below[node] = found
            attempt = 0.0 if late[edge] else found
            if is_leaf:
                attempt = min(attempt, quality[edge])
            attempt *= reached[edge]
            lost = once = 1.0 - attempt
            for _ in range(again):
                lost *= once
            good[edge] = 1.0 - lost
        return np.array(good)
