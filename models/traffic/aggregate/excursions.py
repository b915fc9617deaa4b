"""Queues that grow beyond a timeout by themselves, in stretches that are otherwise made as wide ticks.

Where late attempts are made again, one long wait may be the beginning of a storm: a wide tick, in which queues are
their stationary laws, would never see it. Such waits are rare and come one by one, so their instants are drawn. On
the most likely way to a wait T more requests come and their services are longer (Cramer's change of measure: by
1/(1 - decay scv) of gamma laws, 1/rho of exponential ones), so that fewer than T rate of them are inside. That many are
there in exp(-gamma n) of the time, for 1/decay in the mean: their ratio is how often it happens (of M/M/1 exactly the
rate at which a level is crossed upwards). The wide tick ends there, the queue is lifted to that level, and fine ticks
tell what becomes of it.

Source: Asmussen, Applied Probability and Queues, chapter XIII (Cramer-Lundberg); Aldous, Probability Approximations
via the Poisson Clumping Heuristic, 1989.

Left out: calls below that take longer than usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic
from simcluster.engine.streams import Streams, uniform_at

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.state import RunState

Array = NDArray[np.float64]

#: With more of them in a second ticks had better be fine.
MOST = 1.0
#: With a smaller chance than exp of minus this a length is never seen; services longer than usual are at most so much
#: longer than residual ones.
_NEVER, _LONGER = 600.0, 4.0


class Excursions:
    """How often waits grow beyond a timeout, and when the next does.

    Attributes:
        rate: in a tick, of every pod; `total` of all.
        level: requests inside when one begins, of every pod.
    """

    def __init__(self, run: RunState) -> None:
        layout = run.layout
        again = [
            bool(layout.timed[e.index] and e.policy.retries is not None and "timeout" in e.policy.retries.on)
            for e in run.graph.edges
        ]
        lanes = np.array(again)[layout.lane_edge] & (layout.attempts[layout.lane_edge] > 1)
        #: lanes whose late attempts are made again, in queues in which nobody overtakes
        self._lanes = np.nonzero(lanes & ~(layout.infinite | run.queues.lifo)[layout.lane_pod])[0]
        self._key = Streams(run.seed).key("traffic", "excursions")
        self.rate, self.level, self.total = np.zeros(layout.pods), np.zeros(layout.pods), 0.0

    def expect(self, run: RunState, laws: Array) -> bool:
        """Work out how often they begin at the loads of now; whether that is seldom enough for wide ticks.

        Args:
            laws: rows of `stationary` (shift, noise, gamma, decay), of every pod.
        """
        layout, queues, lanes = run.layout, run.queues, self._lanes
        edges = layout.lane_edge[lanes]
        below = run.outcomes.lane_own[lanes] + run.below_now[edges]
        longest = np.full(layout.pods, np.inf)
        np.minimum.at(longest, layout.lane_pod[lanes], np.maximum(layout.timeout[edges] - below, 0.0))
        decay = laws[:, 3] * queues.rate
        scv = np.where(layout.holds, 1.0, layout.scv)
        fewer = np.maximum(1.0 - laws[:, 3] * scv, 1.0 / (1.0 + scv) / _LONGER)
        there = np.isfinite(longest)
        self.level = laws[:, 0] + np.where(there, longest, 0.0) * queues.rate * fewer
        steep = laws[:, 2] * self.level
        there &= (steep < _NEVER) & (self.level < np.minimum(layout.bound + laws[:, 0], queues.in_flight_max))
        self.rate = np.where(there, decay * arithmetic.exp_array(-np.minimum(steep, _NEVER)), 0.0)
        self.total = float(np.cumsum(self.rate)[-1])
        return self.total * 1e9 <= MOST * layout.tick_ns

    def first(self, tick: int, ticks: int) -> int | None:
        """How many of the next ticks there are before the next one begins; None: none does in so many."""
        if self.total * ticks < 1e-12:
            return None
        after = -arithmetic.log(uniform_at(self._key, 2 * tick)) / self.total
        return int(after) + 1 if after < ticks else None

    def pod(self, tick: int) -> int:
        """Whose queue it is that grows at this tick."""
        sums = np.cumsum(self.rate)
        at = int(np.searchsorted(sums, uniform_at(self._key, 2 * tick + 1) * float(sums[-1]), side="right"))
        return min(at, len(sums) - 1)
