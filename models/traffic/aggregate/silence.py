"""Attempts that nobody will answer well: their message was lost, or that of a call which their callee waits for.

What is lost is known by cohort (`Disruptions.void`). A caller learns of it as its call's time-out expires, but whoever
asked the caller, and waits no longer than that, never hears anything: of every cohort the share is worked out which
would have been answered well by now and was not, callees before callers: who did not call, or is answered too late in
any case, misses nothing. A call that is made again is lost if each of its attempts
is that should have been answered by now; one that need not succeed holds its caller up until its last time-out.

Approximations: calls are made as long after their visit began as its work and what comes before them takes on average;
losses of the calls of a visit are independent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.disruptions import Disruptions
from simcluster.models.traffic.aggregate.outcomes import Height, Outcomes, repeated, sums_of
from simcluster.models.traffic.aggregate.queues import Queues

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Attempts of a call looked at.
_ATTEMPTS = 12


def silenced(cuts: Disruptions, queues: Queues, outcomes: Outcomes, tick: int) -> Array:
    """Of each cohort's attempts that a tick finds answered if nothing is lost, the share that is not [slot, edge]."""
    layout = outcomes.layout
    begun = tick - np.arange(1, layout.slots)
    gone = (cuts.void[begun % layout.slots] * (begun >= 0)[:, None]).T  # [edge, age from 1 tick on]
    some: NDArray[np.bool_] = np.logical_or.reduce(gone, axis=1)
    for height in outcomes.heights:
        if not height.has_calls or not some[height.called].any():
            continue
        pod = height.pod[height.row][:, None]
        before = outcomes.lane_own[height.lanes[height.row]] + outcomes.delay[height.called]
        made = tick - outcomes.instant(begun[None, :], pod, tick, queues) - before[:, None]
        usual = outcomes.call_success(height.called, made, tick)
        ended = usual * repeated(1.0 - _lost(outcomes, height.called, made, gone), layout.times[height.called])
        of, here = (height.all_ended(each, layout.inner, outcomes.branch_share) for each in (usual, ended))
        heard = np.ones((len(height.lanes), gone.shape[1]))
        heard[height.with_calls] = np.where(of > 0.0, here / np.maximum(of, 1e-300), 1.0)
        gone[height.edges] = 1.0 - (1.0 - gone[height.edges]) * _together(queues, height, heard)
        some[height.edges] = np.logical_or.reduce(gone[height.edges], axis=1)
    found = np.zeros((layout.slots, layout.edges))
    found[begun % layout.slots] = gone.T
    return found


def _lost(outcomes: Outcomes, called: Index, made: Array, gone: Array) -> Array:
    """Which share of calls has ended with nothing, or not yet, for every age of the visits that make them.

    Args:
        made: how long ago each was made, below 0 if it will be; gone: of attempts, by edge and age.
    """
    layout, last = outcomes.layout, gone.shape[1]
    attempts, period = layout.attempts[called][:, None], outcomes.period[called][:, None]
    lost = np.ones_like(made)
    for number in range(min(int(layout.attempts[called].max(initial=1)), _ATTEMPTS)):
        age = np.floor(made - number * period + 0.5)
        there = gone[called[:, None], np.minimum(np.maximum(age - 1.0, 0.0), last - 1.0).astype(np.int64)]
        if number:
            there = np.where(age >= outcomes.latency[called][:, None], there, 1.0)  # the others may have no answer yet
        lost = np.where(number < attempts, lost * there, lost)
    over = ~layout.required[called][:, None] & (made >= attempts * period)
    return np.where(over, 0.0, lost)


def _together(queues: Queues, height: Height, heard: Array) -> Array:
    """The share of an edge's attempts whose calls have ended, from that of each of its lanes."""
    weight = queues.share[height.lanes]
    total = np.bincount(height.place, weight, len(height.edges))[:, None]
    both = sums_of(height.place, heard * weight[:, None], len(height.edges))
    result: Array = np.where(total > 0.0, both / np.maximum(total, 1e-300), 1.0)
    return result
