"""What a graph has that decides by which strategies it may be evaluated (`traffic.strategies`), as parts know it."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.models.traffic.aggregate.adaptive import has_adaptive
from simcluster.models.traffic.aggregate.caches import Caches
from simcluster.models.traffic.aggregate.callers import Callers
from simcluster.models.traffic.aggregate.failurework import has_error_work
from simcluster.models.traffic.aggregate.fast import FEW_LANES
from simcluster.models.traffic.aggregate.guards import Guards
from simcluster.models.traffic.aggregate.layout import Layout
from simcluster.models.traffic.aggregate.queues import Queues
from simcluster.models.traffic.aggregate.ranked import has_ranks
from simcluster.models.traffic.aggregate.sources import Source

#: The longest tick.
LONGEST_NS = 1_000_000_000


class Found(NamedTuple):
    """The parts of a run that are asked."""

    layout: Layout
    queues: Queues
    callers: Callers
    sources: list[Source]
    guards: Guards
    caches: Caches


def traits_of(found: Found) -> frozenset[str]:
    """Names of the traits."""
    layout, queues, callers = found.layout, found.queues, found.callers
    has = {
        "failing": (layout.node_failure[layout.child] > 0.0).any(),
        "contended": (layout.node_contention > 0.0).any(),
        "cached": found.caches,
        "looped": layout.has_late,
        "reordered": queues.lifo.any(),
        "ranked": has_ranks(layout),
        "heaped": queues.limits.has_heap,
        "sharing": layout.sharing.any(),
        "adaptive": has_adaptive(layout),
        "costly_failures": has_error_work(layout),
        "rate_limited": queues.limits.has_rate,
        "delay_limited": queues.limits.has_delay,
        "holding": queues.has_holds,
        "lagging": queues.contended or (layout.infinite | layout.holds)[layout.lane_pod].any(),
        "untimed": (~layout.timed & ~layout.asynchronous).any(),
        "timed": layout.timed.any(),
        "hedged": any(edge.policy.hedge is not None for edge in layout.graph.edges),
        "impatient": callers.any_leave,
        "withdrawing": any(e.policy.cancel != "no" or e.policy.propagate for e in layout.graph.edges),
        "guarded": found.guards,
        "budgeted": callers.budgets,
        "closed": any(source.load.closed is not None for source in found.sources),
        "bursty": any(source.wild for source in found.sources),
        "coarse": layout.tick_ns * 2 > LONGEST_NS,
        "few": layout.lanes < FEW_LANES,
    }
    return frozenset(name for name, given in has.items() if given)
