"""Users who are told at once: successes count when the answer comes, not when the time-out would have expired.

What is answered now is judged in advance: an attempt succeeds if its queue is shorter than its timeout and the calls
below are likely to succeed, by the attempts judged last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.callers import Callers
from simcluster.models.traffic.aggregate.layout import Edge, Layout
from simcluster.models.traffic.aggregate.outcomes import Outcomes
from simcluster.models.traffic.aggregate.queues import Queues
from simcluster.models.traffic.aggregate.record import Recorder
from simcluster.models.traffic.aggregate.sample import Sampler

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.run import AggregateRun

Array = NDArray[np.float64]

#: Attempts of a call looked at.
_ATTEMPTS = 12


def foresee(run: AggregateRun) -> Array:
    """Which share of the attempts that are answered now will have succeeded, by edge."""
    layout, outcomes = run.layout, run.outcomes
    wait = np.bincount(layout.lane_edge, run.queues.wait()[layout.lane_pod] * run.queues.share, layout.edges)
    late = layout.timed & (wait >= layout.timeout)
    unreached = run.cuts.refused_share + run.cuts.lost_share
    below = np.ones(len(layout.node_own))
    seen = np.zeros(len(layout.node_own), dtype=bool)
    good = run.call_ok.copy()
    for edge in reversed(run.graph.edges):
        node = edge.child
        if not seen[node]:
            seen[node] = True
            below[node] = _all_below(layout.children.get(node, ()), good, layout.calls_per_visit)
        attempt = 0.0 if late[edge.index] else below[node]
        if node not in layout.children:
            attempt = min(attempt, float(outcomes.quality[edge.index]))
        attempt *= max(0.0, 1.0 - float(unreached[edge.index]))
        lost = 1.0 - attempt
        if edge.caller >= 0:
            for _ in range(min(edge.policy.attempts, _ATTEMPTS) - 1):
                lost *= 1.0 - attempt
        good[edge.index] = 1.0 - lost
    return good


def _all_below(calls: Sequence[Edge], ok: Array, count: Array) -> float:
    """Chance that all required calls of a visit succeed."""
    result = 1.0
    for call in calls:
        if call.required and not call.asynchronous:
            result *= max(0.0, 1.0 - min(1.0, float(count[call.index])) * (1.0 - float(ok[call.index])))
    return result


class NoWalks(Sampler):
    """No requests walk through a large graph: its latencies are those of the state."""

    def __init__(
        self, layout: Layout, queues: Queues, outcomes: Outcomes, callers: Callers, recorder: Recorder, seed: int
    ) -> None:
        super().__init__(layout, queues, outcomes, callers, recorder, seed)
        del self._walker

    def _walk(self, until: int, newest: int) -> None:
        self._done = until

    def flush(self) -> None:
        """Forget the wide ticks so far."""
        self._calm_begin, self._calm_fresh = -1, np.zeros_like(self._calm_fresh)

    def leap(self, tick: int, ticks: int) -> None:
        """Several ticks in which nothing moves."""
        self._arrivals = np.roll(self._arrivals, ticks, axis=0)
        self._done = tick + ticks
