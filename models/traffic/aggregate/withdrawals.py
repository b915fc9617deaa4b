"""Requests that leave their queues unserved: their callers cancel, lose patience, or let deadlines travel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import Shared, arithmetic
from simcluster.engine.streams import Streams
from simcluster.models.traffic.aggregate.draws import uniforms

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.layout import Layout
    from simcluster.models.traffic.aggregate.queues import Queues
    from simcluster.models.traffic.aggregate.state import RunState

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Quantiles by which the law of the time left is known.
_POINTS = 24
#: Not begun yet.
NEVER = 1e300


def withdraw(run: RunState, lanes: Index, tick: int) -> None:
    """Callers that cancel, and deadlines that travel, take out of the queues who would be served too late."""
    layout = run.layout
    edges = layout.lane_edge[lanes]
    begun = tick - layout.timeout_ticks[edges]
    cohort = np.where(begun >= 0, run.callers.total[begun % layout.slots, edges], 0.0)
    amounts = np.zeros(layout.lanes)
    amounts[lanes] = cohort * run.queues.share[lanes] * run.queues.unbegun(lanes, np.maximum(begun, 0))
    if run.failure_work.costs:
        amounts = run.failure_work.expired(run.queues, amounts)
    run.queues.withdraw(amounts, oldest=True)


class Pressed(Shared):
    """The judgement of requests that were served just before their callers took them back.

    Where a queue holds so many that the oldest are taken out at their timeout, who is served has waited nearly as
    long: the time he has left follows from the law of the offered wait just below the timeout, which rises as
    exp((lambda - mu) w). It is exponential then, of a few services at most and far less than a tick, and cut where
    the cohort began. In a storm only a share r = mu/lambda of what is served succeeds: this is why cancelling does not
    end every collapse.

    How many succeed fluctuates, and now and then ends a collapse. The times left of who is served one after the
    other are the waits of a queue of their own: X' = (X - S)+ + E with services S and the distances E of those who
    came. Its idle periods are attempts that fail, and begin it anew, so that of n served ones n r succeed with the
    variance n (r + 4 r^2), of which n r^2 is that of n and n r^3 that of how many came, which are drawn already.

    Source: Baccelli and Hebuterne, On queues with impatient customers, 1981 (M/M/c+D); Asmussen, Applied Probability
    and Queues, III.9 (the busy cycle of M/M/1) and V (renewal-reward); other services than exponential ones change
    the exponent by 2/(1 + scv), as in `lattice`.

    Args:
        lanes: whose requests are taken back or not begun after their timeouts, first come, first served.
    """

    def __init__(self, layout: Layout, lanes: Index, seed: int) -> None:
        self._layout = layout
        self.lanes = lanes
        self._pod, self._node = layout.lane_pod[lanes], layout.lane_node[lanes]
        self._ticks = layout.timeout_ticks[layout.lane_edge[lanes]]
        scv = np.where(layout.holds, 1.0, layout.scv)[self._pod]
        self._steeper = 2.0 / (1.0 + scv)
        self._points = (np.arange(_POINTS) + 0.5) / _POINTS
        streams, names = Streams(seed), layout.pod_names
        keys = [streams.key("traffic", "pressed", names[layout.lane_pod[i]], i) for i in lanes.tolist()]
        self._keys = np.array(keys, dtype=np.uint64)

    def judge(
        self, tick: int, queues: Queues, speed: Array, ages: Array, own: Array, left: Array, total: Array
    ) -> None:  # fmt: skip
        """Correct chances and times left (rows: lanes; columns: the expiring cohort, then ages) of these lanes.

        Args:
            speed: of every lane.
            total: attempts that were made on every edge, by slot of the callers' ring.
        """
        begun = np.maximum(tick - self._ticks, 0)
        unbegun = queues.unbegun(self.lanes, begun)
        pressed = np.nonzero((unbegun > 0.0) & (tick >= self._ticks))[0]
        if not len(pressed):
            return
        lanes, pod = self.lanes[pressed], self._pod[pressed]
        slot = begun[pressed] % queues.slots
        known = queues.instants[slot, pod]
        reach = np.minimum(np.maximum(np.where(known >= NEVER, 0.0, tick - known), 1e-3), 1.0 * self._ticks[pressed])
        come = queues.borders[(slot + 1) % queues.slots, pod] - queues.borders[slot, pod]
        rise = (come - queues.rate[pod]) * self._steeper[pressed] * reach
        rise = np.where(np.abs(rise) < 1e-6, 1e-6, np.maximum(rise, -600.0))
        # quantiles of the exponential law between 0 and `reach`
        missing = (1.0 - arithmetic.exp_array(-rise))[:, None] * self._points
        times = -arithmetic.log_array(np.maximum(1.0 - missing, 1e-300)) * (reach / rise)[:, None]
        fits = self._layout.distribution.below(self._node[pressed][:, None], times * speed[lanes][:, None])
        served = 1.0 - unbegun[pressed]
        share = np.cumsum(fits, axis=1)[:, -1] / _POINTS
        edges = self._layout.lane_edge[lanes]
        number = served * queues.share[lanes] * total[begun[pressed] % len(total), edges]
        own[lanes, 0] = served * self._drawn(tick, pressed, number, share)
        left[lanes, 0] = np.cumsum(times, axis=1)[:, -1] / _POINTS
        if own.shape[1] > 1:
            late = ages[None, :] >= self._ticks[pressed][:, None]
            rest = own[lanes, 1:]
            own[lanes, 1:] = np.where(late, np.minimum(rest, own[lanes, :1]), rest)

    def _drawn(self, tick: int, pressed: Index, number: Array, share: Array) -> Array:
        """Shares that succeed of so many that were served, from their mean and variance: one of two values."""
        mean = number * share
        variance = mean * (1.0 + share * (3.0 - share))
        spread = variance / np.maximum(mean * mean, 1e-300)
        rare = np.minimum(0.5, 1.0 / (1.0 + spread))  # the lower of the values is nought at least
        odds = np.sqrt(spread * (1.0 - rare) / rare)
        high = uniforms(self._keys[pressed], np.array([tick + 1], dtype=np.uint64)) < rare
        found: Array = share * np.where(high, 1.0 + odds, np.maximum(1.0 - odds * (rare / (1.0 - rare)), 0.0))
        return np.minimum(found, 1.0)


def leave(run: RunState, answered: Array, tick: int) -> Array:
    """Patience runs out: who waits leaves the queue where callers cancel; answers find some gone."""
    layout, queues, callers = run.layout, run.queues, run.callers
    waited = np.bincount(layout.lane_edge, queues.age(tick)[layout.lane_pod] * queues.share, layout.edges)
    own, scv = callers.leaving * run.outcomes.own_of_edge, np.maximum(run.scv_of_edge, 1e-3)
    served = arithmetic.log_array(1.0 + scv * own) / scv  # of times of a gamma law
    stayed = arithmetic.exp_array(-callers.leaving * waited * ~callers.takes_back - served)
    queued = callers.leaving
    if callers.impatient:
        queued = queued.copy()
        for edge, patience in callers.impatient:
            age, stay = float(waited[edge]), float(waited[edge] + run.outcomes.own_of_edge[edge])
            before = patience.stays(age) if callers.takes_back[edge] else 1.0
            stayed[edge] = patience.stays(stay) / before if before > 0.0 else 0.0
            queued[edge], callers.leaving[edge] = patience.leaves(age), patience.leaves(stay)
    found: Array = answered * stayed
    gone = 1.0 - arithmetic.exp_array(-queued)
    part = np.minimum(queues.waiting / np.maximum(queues.queued, 1e-300), 1.0)[layout.lane_pod]
    queues.withdraw(queues.content * part * (gone * callers.takes_back)[layout.lane_edge])
    return found
