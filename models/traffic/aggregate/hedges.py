"""Hedged attempts: a second one beside the first that has no answer yet; the first answer counts.

Given the queues of now, the success of one is independent of that of the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.state import RunState

Array = NDArray[np.float64]


class Hedges:
    """The edges that hedge: (edge, ticks after which, how many more)."""

    def __init__(self, run: RunState) -> None:
        self._run = run
        self._edges = [
            (e.index, max(1, int(e.policy.hedge.after / run.tick_ns + 0.5)), e.policy.hedge.extra)
            for e in run.graph.edges
            if e.policy.hedge is not None
        ]

    def __bool__(self) -> bool:
        return bool(self._edges)

    def judge(self, share: Array) -> None:
        """Raise the success of the cohorts that expire now by that of the attempts beside them."""
        for edge, after, extra in self._edges:
            age = float(self._run.layout.timeout[edge])
            share[edge] = 1.0 - self._unanswered(edge, age, after, extra, 1.0 - float(share[edge]))

    def _unanswered(self, edge: int, age: float, after: int, extra: int, first: float) -> float:
        """Chance that neither an attempt of this age nor the ones sent beside it have succeeded."""
        chance = first
        for copy in range(1, extra + 1):
            if age > copy * after:
                chance *= 1.0 - self._run.outcomes.success_at(edge, age - copy * after)
        return chance

    def made(self, tick: int) -> Array:
        """Attempts made in this tick beside unanswered ones."""
        extra_calls = np.zeros(self._run.layout.edges)
        for edge, after, extra in self._edges:
            for copy in range(1, extra + 1):
                age = copy * after
                if (
                    age >= (self._run.layout.timeout_ticks[edge] or 1 << 40)
                    or age >= self._run.layout.slots
                    or tick < age
                ):
                    break
                there = float(np.cumsum(self._run.callers.flying[(tick - age) % self._run.layout.slots][:, edge])[-1])
                first = 1.0 - self._run.outcomes.success_at(edge, float(age))
                extra_calls[edge] += there * self._unanswered(edge, float(age), after, copy - 1, first)
        return extra_calls
