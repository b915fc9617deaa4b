"""Requests that leave their queues unserved: their callers cancel, lose patience, or let deadlines travel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.state import RunState

Array = NDArray[np.float64]
Index = NDArray[np.int64]


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
    run.queues.withdraw(amounts)


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
