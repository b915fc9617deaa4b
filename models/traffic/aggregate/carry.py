"""What goes on when a live graph is built anew: state by pod, by edge and by both.

Rings are copied tick by tick, as far as the shorter of the two reaches back.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.layout import Layout
    from simcluster.models.traffic.aggregate.state import RunState

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_POD_ARRAYS = (
    "number", "waiting", "queued", "inside", "position", "begun", "left_from", "left_to", "head", "factor", "up",
    "ready", "stretch", "arrived", "finished", "busy", "offered",
)  # fmt: skip
_EDGE_ARRAYS = ("blocked", "holding", "held", "refused_share", "lost_share", "dead", "late")


def carry_over(old: RunState, new: RunState) -> None:
    """Let a new run go on where an old one stood; both have ticks of the same length."""
    new.tick = old.tick
    new.sampler.start(old.tick)
    pods = _pairs(old.layout.pod_names, new.layout.pod_names)
    edges = _pairs(edge_keys(old.layout), edge_keys(new.layout))
    lanes = _pairs(_lane_keys(old.layout), _lane_keys(new.layout))
    _pods(old, new, pods)
    _edges(old, new, edges)
    _lanes(old, new, lanes)
    _sources(old, new)
    new.caches.take_over(old.caches)
    new.flow[edges[1]] = old.flow[edges[0]]
    new.cuts.any_share, new.cuts.any_void = old.cuts.any_share, old.cuts.any_void
    for service in range(len(new.graph.service_names)):
        new.cuts.spread(service)


def edge_keys(layout: Layout) -> list[Hashable]:
    """A name for every edge that another layout of like services has, too."""
    nodes, seen, found = layout.graph.nodes, dict[Hashable, int](), list[Hashable]()
    for edge in layout.graph.edges:
        caller = nodes[edge.caller].kind if edge.caller >= 0 else edge.load
        above = nodes[edge.caller].operation if edge.caller >= 0 else ""
        child = nodes[edge.child]
        key: Hashable = (caller, edge.caller_name, above, child.service_name, child.operation)
        seen[key] = seen.get(key, 0) + 1
        found.append((key, seen[key]))
    return found


def _lane_keys(layout: Layout) -> list[Hashable]:
    edges = edge_keys(layout)
    return [
        (edges[edge], layout.pod_names[pod])
        for edge, pod in zip(layout.lane_edge.tolist(), layout.lane_pod.tolist(), strict=True)
    ]


def _pairs(old: list[str] | list[Hashable], new: list[str] | list[Hashable]) -> tuple[Index, Index]:
    """Places of what is in both, in the order of the new one."""
    place: dict[Hashable, int] = {key: i for i, key in enumerate(old)}
    both = [(place[key], i) for i, key in enumerate(new) if key in place]
    return np.array([b[0] for b in both], dtype=np.int64), np.array([b[1] for b in both], dtype=np.int64)


def _ring(tick: int, old: Array, new: Array, pairs: tuple[Index, Index]) -> None:
    """Copy the last ticks of a ring; the pairs are places along the last axis."""
    for age in range(min(len(old), len(new)) - 1, -1, -1):
        if tick - age >= 0:
            source, target = old[(tick - age) % len(old)], new[(tick - age) % len(new)]
            if source.ndim == 1:
                target[pairs[1]] = source[pairs[0]]
            else:
                rows = min(len(source), len(target))
                target[:rows, pairs[1]] = source[:rows, pairs[0]]


def _pods(old: RunState, new: RunState, pairs: tuple[Index, Index]) -> None:
    there, here = pairs
    for name in _POD_ARRAYS:
        getattr(new.queues, name)[here] = getattr(old.queues, name)[there]
    for name in ("_weight", "_sum", "hold"):
        getattr(new.queues, name)[here] = getattr(old.queues, name)[there]
    new.queues.limits.tokens[here] = np.minimum(
        old.queues.limits.tokens[there], new.queues.limits.burst[here] + new.queues.limits.rate[here]
    )
    # a pod that is new has heads and borders of now
    fresh = np.ones(new.layout.pods, dtype=bool)
    fresh[here] = False
    new.queues.head[fresh] = old.tick
    _ring(old.tick, old.queues.borders, new.queues.borders, pairs)
    _ring(old.tick, old.queues.instants, new.queues.instants, pairs)


def _edges(old: RunState, new: RunState, pairs: tuple[Index, Index]) -> None:
    there, here = pairs
    a, b = old.callers, new.callers
    _ring(old.tick, a.flying, b.flying, pairs)
    _ring(old.tick, a.total, b.total, pairs)
    _ring(old.tick, old.cuts.void, new.cuts.void, pairs)
    _ring(old.tick, old.outcomes.past, new.outcomes.past, pairs)
    if a._ring and b._ring:
        for ahead in range(min(a._ring, b._ring)):
            source, target = a.delayed[(old.tick + ahead) % a._ring], b.delayed[(old.tick + ahead) % b._ring]
            rows = min(len(source), len(target))
            target[:rows, here] = source[:rows, there]
    rows = min(a.tries, b.tries)
    for name in ("open", "rejected"):
        getattr(b, name)[:rows, here] = getattr(a, name)[:rows, there]
    b.limit[here] = np.minimum(b.limit[here], np.where(a.limit < old.layout.attempts, a.limit, 1 << 30)[there])
    b.restrict()
    for name in _EDGE_ARRAYS:
        getattr(new.cuts, name)[here] = getattr(old.cuts, name)[there]
    new.pending[here] = old.pending[there]
    _tokens(old, new, pairs)


def _tokens(old: RunState, new: RunState, pairs: tuple[Index, Index]) -> None:
    a, b = old.callers, new.callers
    known = {int(edge): float(a.tokens[i] / a._cap[i]) for i, edge in enumerate(a.budgeted)}
    back = {int(n): int(o) for o, n in zip(pairs[0], pairs[1], strict=True)}
    for i, edge in enumerate(b.budgeted.tolist()):
        share = known.get(back.get(edge, -1))
        if share is not None:
            b.tokens[i] = share * b._cap[i]


def _lanes(old: RunState, new: RunState, pairs: tuple[Index, Index]) -> None:
    there, here = pairs
    new.queues.content[here] = old.queues.content[there]
    new.pool[here] = old.pool[there]


def _sources(old: RunState, new: RunState) -> None:
    known = {source.name: source for source in old.sources}
    for source in new.sources:
        if source.name in known:
            source.take_over(known[source.name])
