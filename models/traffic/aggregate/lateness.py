"""Who is late while queues are ordinary ones: the shares that follow from stationary laws, drawn as counts.

The time of an attempt is wait plus own time plus calls, whose laws are known: of every edge P(time <= t) is worked out
on a grid up to its timeout, callees before callers. Wait and own time are added exactly; of the calls of a visit all
have ended when the one that matters has, after the mean time of those before it, as in `outcomes`.

Long waits come together: while a queue is long all that arrive are late, 1/(1 - rho)^2 of them in the mean (of M/M/1
those that find a level reached, from its first crossing until the queue has left it for good). Counts are Poisson
numbers of groups of geometric size.

Where late attempts are made again their queue is lifted now and then to the length at which late attempts most likely
find it (`excursions`), and fine ticks tell what becomes of it. Half of the late ones find fewer inside, and half find
more: a wide tick has the first half, the fine ticks the other.

Source: Asmussen, Applied Probability and Queues, X and XIII; Johnson, Kemp and Kotz, Univariate Discrete Distributions,
9.7 (the Polya-Aeppli law and its recursion).

Left out: waits of different pods depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic
from simcluster.engine.streams import Streams
from simcluster.models.traffic.aggregate.draws import normals, uniforms
from simcluster.models.traffic.aggregate.outcomes import Height, repeated, sums_of
from simcluster.models.traffic.aggregate.waits import CalmWaits

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.state import RunState

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Parts of a timeout.
_PARTS = 128
#: The part of the late that a wide tick has where queues are lifted.
_FEWER = 0.5
#: Larger counts are drawn from the normal law of their mean and variance.
_MANY = 50.0


class Lateness:
    """Shares of late attempts, and how many are in a wide tick.

    Args:
        works: values, ascending and in ticks, and their probabilities of the work of every node.
    """

    def __init__(self, run: RunState, works: Sequence[tuple[Array, Array]]) -> None:
        layout = run.layout
        self._works = works
        # P(time <= t) is known at (j + 1/2) of these: the last one is the timeout
        self._step = np.where(layout.timed, layout.timeout, 1.0) / (_PARTS + 0.5)
        again = [e.policy.retries is not None and "timeout" in e.policy.retries.on for e in layout.graph.edges]
        self._tries = np.where(again, layout.attempts, 1)
        self._times = layout.times
        self._below = np.ones((layout.edges, _PARTS + 1))
        streams = Streams(run.seed)
        self._keys = np.array([streams.key("traffic", "late", i) for i in range(layout.edges)], dtype=np.uint64)

    def shares(self, run: RunState, waits: CalmWaits, lifted: Array) -> Array:
        """Of every edge which share of the attempts that could be answered well is late in wide ticks.

        Args:
            lifted: how often in a tick the queues of all pods are lifted.
        """
        layout, outcomes = run.layout, run.outcomes
        late, mean = np.zeros(layout.edges), np.zeros(layout.edges)
        others = np.zeros(layout.edges)
        self._below[:] = 1.0
        grid = np.arange(_PARTS + 1) + 0.5
        for height in outcomes.heights:
            step = self._step[height.edge]
            own = self._own(run, waits, height, step[:, None] * grid)
            part = own.copy()
            if height.has_calls:
                left = step[height.row][:, None] * grid - others[height.called][:, None]
                ended = self._ended(outcomes.period, height.called, left, late)
                all_ = height.all_ended(ended, layout.inner, outcomes.branch_share)
                part[height.with_calls] = _added(own[height.with_calls], all_)
            share = run.queues.share[height.lanes]
            found = np.minimum(sums_of(height.place, part * share[:, None], len(height.edges)), 1.0)
            self._below[height.edges] = found
            mean[height.edges] = self._step[height.edges] * np.cumsum(1.0 - found, axis=1)[:, -1]
            here = np.where(layout.timed[height.edges], 1.0 - found[:, -1], 0.0)
            late[height.edges] = here
            some = lifted[height.pod] > 0.0
            if some.any():
                place = (layout.timeout - outcomes.below[layout.child])[height.edge] / step - 0.5
                place = np.minimum(np.maximum(place, 0.0), _PARTS).astype(np.int64)
                more = np.where(some, 1.0 - own[np.arange(len(own)), place], 0.0) * share
                late[height.edges] -= _FEWER * np.minimum(np.bincount(height.place, more, len(here)), here)
            others = outcomes.time_of_others(mean)
        return late

    def _own(self, run: RunState, waits: CalmWaits, height: Height, at: Array) -> Array:
        """P(wait + own time + network <= t) of lanes, at these times of theirs."""
        layout, outcomes = run.layout, run.outcomes
        speed = outcomes.lane_speed[height.lanes]
        served = np.empty_like(at)
        for row, node in enumerate(height.node.tolist()):
            values, weights = self._works[node]
            rank = np.searchsorted(values, at[row] * speed[row], side="right")
            served[row] = np.minimum(np.concatenate(([0.0], np.cumsum(weights)))[rank], 1.0)
        way = 2.0 * layout.network[height.edge]
        if not layout.ways.vary:
            return _added(waits.below(height.pod, at - way[:, None]), served)
        travelled = np.stack([layout.ways.below(edge, at[row]) for row, edge in enumerate(height.edge.tolist())])
        return _added(_added(waits.below(height.pod, at), served), travelled)

    def _ended(self, period: Array, edges: Index, left: Array, late: Array) -> Array:
        """Probability that calls have ended after these times, well or not."""
        each = np.maximum(period[edges], 1e-9)[:, None]
        number = np.floor(np.maximum(left, 0.0) / each)
        rest = left - number * each
        power = np.ones_like(left)
        most = int(self._tries[edges].max(initial=1))
        for before in range(most - 1):
            power = np.where(number > before, power * late[edges][:, None], power)
        place = np.minimum(np.maximum(rest / self._step[edges][:, None] - 0.5, 0.0), _PARTS)
        low = np.minimum(place.astype(np.int64), _PARTS - 1)
        first, second = self._below[edges[:, None], low], self._below[edges[:, None], low + 1]
        going = power * (1.0 - (first + (place - low) * (second - first)))
        ended = np.where(number >= self._tries[edges][:, None], 1.0, 1.0 - going) * (left >= 0.0)
        return repeated(ended, self._times[edges])

    def drawn(self, tick: int, mean: Array, size: Array) -> Array:
        """How many are late in a wide tick that begins then, by edge.

        Args:
            mean: how many are on average; size: how many come together.
        """
        u = uniforms(self._keys, np.array([tick + 1], dtype=np.uint64))
        found = np.zeros(len(mean))
        many = mean > _MANY
        spread = np.sqrt(np.maximum(mean * (2.0 * size - 1.0), 0.0))
        if many.any():
            found[many] = np.maximum(np.floor(mean + spread * normals(u) + 0.5), 0.0)[many]
        groups = mean / size
        some = ~many & (u > arithmetic.exp_array(-np.minimum(groups, 600.0)))
        for edge in np.nonzero(some)[0].tolist():
            found[edge] = grouped(float(groups[edge]), 1.0 - 1.0 / float(size[edge]), float(u[edge]))
        return found


def grouped(groups: float, more: float, u: float) -> int:
    """A Poisson number of groups, each of which goes on with the same chance after every member, by inversion."""
    last, now = 0.0, arithmetic.exp(-groups)
    total, count = now, 0
    most = 60 + int(20.0 * groups / (1.0 - more))
    while u > total and count < most:
        count += 1
        last, now = (
            now,
            ((groups * (1.0 - more) + 2.0 * more * (count - 1)) * now - more * more * (count - 2) * last) / count,
        )
        total += now
    return count


def _added(first: Array, second: Array) -> Array:
    """P(X + Y <= t) at (j + 1/2) of a grid from P(X <= t) and P(Y <= t) there, a row for each."""
    mass = np.diff(first, axis=1, prepend=0.0)
    result = np.zeros_like(first)
    columns = first.shape[1]
    for place in np.nonzero(np.any(mass > 0.0, axis=0))[0].tolist():
        result[:, place:] += mass[:, place, None] * second[:, : columns - place]
    return result
