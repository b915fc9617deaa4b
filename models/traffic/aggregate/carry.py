"""What goes on when a live graph is built anew: state by pod, by edge and by both.

A pod goes on by its name. A service of the new graph is the one of the old graph that most of its pods belonged to,
whatever both are called. An edge goes on where the same operation calls the same one; where a call leads elsewhere
now, because its callee has got another service's place or nobody takes its calls, what is in flight goes on there.
Calls of operations that are in no graph any more are nobody's.

Rings are copied tick by tick; what reaches back further than a new time-out ends with the oldest it has.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.callers import Callers
    from simcluster.models.traffic.aggregate.layout import Edge, Layout
    from simcluster.models.traffic.aggregate.state import RunState

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_POD_ARRAYS = (
    "number", "waiting", "queued", "inside", "position", "begun", "left_from", "left_to", "head", "factor", "up",
    "ready", "stretch", "arrived", "finished", "busy", "offered", "slow", "_speed",
)  # fmt: skip
_EDGE_ARRAYS = ("blocked", "holding", "held", "refused_share", "lost_share", "dead", "late")


class Pairs(NamedTuple):
    """Edges of an old graph and those of the new one that go on for them.

    Attributes:
        same: (old, new) of which callers and callees are the same; all_: of these, and of calls that lead elsewhere.
    """

    same: tuple[Index, Index]
    all_: tuple[Index, Index]


def carry_over(old: RunState, new: RunState) -> None:
    """Let a new run go on where an old one stood; both have ticks of the same length."""
    new.tick = old.tick
    new.sampler.start(old.tick)
    pods = _places(old.layout.pod_names, new.layout.pod_names)
    pairs = edge_pairs(old.layout, new.layout)
    _pods(old, new, pods)
    _edges(old, new, pairs)
    _lanes(old, new, pairs)
    _sources(old, new)
    new.caches.take_over(old.caches)
    new.guards.take_over(old.guards, *pairs.same)
    new.cuts.any_share, new.cuts.any_void = old.cuts.any_share, old.cuts.any_void
    for service in range(len(new.graph.service_names)):
        new.cuts.spread(service)


# --- who goes on for whom -----------------------------------------------------------------


def edge_pairs(old: Layout, new: Layout) -> Pairs:
    """Which edge of a new graph goes on for each of an old one."""
    now = _services_now(old, new)
    wanted, there = _names(old, now), _names(new, {name: name for name in new.graph.service_names})
    place: dict[Hashable, int] = {}
    for edge, names in reversed(list(enumerate(there))):
        place.update(dict.fromkeys(names, edge))  # of edges of one call the first
    same, moved = [], []
    for edge, (exact, call) in enumerate(wanted):
        if exact in place:
            same.append((edge, place[exact]))
        elif call in place:
            moved.append((edge, place[call]))
    return Pairs(_index(same), _index(moved + same))


def _services_now(old: Layout, new: Layout) -> dict[str, str]:
    """What the services of an old graph are called now: by their pods, else as they were."""
    now = {pod: new.graph.service_names[service] for pod, service in zip(new.pod_names, new.pod_service, strict=True)}
    found = {}
    for service, name in enumerate(old.graph.service_names):
        first = old.first_pod[service]
        kept = [now[pod] for pod in old.pod_names[first : first + old.replicas[service]] if pod in now]
        found[name] = max(dict.fromkeys(kept), key=kept.count) if kept else name
    return found


def _names(layout: Layout, now: dict[str, str]) -> list[tuple[Hashable, Hashable]]:
    """Of every edge two names in the words of now: its own, and that of the call it belongs to."""
    seen, found = dict[Hashable, int](), list[tuple[Hashable, Hashable]]()
    for edge in layout.graph.edges:
        child = layout.graph.nodes[edge.child]
        call = _call_of(layout, edge, now)
        exact = (call[:-1], now.get(child.service_name, child.service_name), child.operation, edge.first is not None)
        seen[exact] = seen.get(exact, 0) + 1
        found.append(((exact, seen[exact]), call))
    return found


def _call_of(layout: Layout, edge: Edge, now: dict[str, str]) -> tuple[Hashable, ...]:
    """Whose requests make a call, where, and which of the calls there it is; of a load all are one."""
    caller = edge.first.caller if edge.first is not None else edge.caller
    if caller < 0:
        return (edge.load, edge.first is not None)
    node = layout.graph.nodes[caller]
    load, _, reference = node.kind.partition(" ")
    service, _, operation = reference.partition("/")
    site = edge.first.site if edge.first is not None else edge.site
    above = (load, now.get(service, service), operation, now.get(edge.caller_name, edge.caller_name), node.operation)
    return (*above, edge.first is not None, site.group if site is not None else -1)


def _places(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[Index, Index]:
    """Places of what is in both, in the order of the new one."""
    place = {key: i for i, key in enumerate(old)}
    return _index([(place[key], i) for i, key in enumerate(new) if key in place])


def _index(pairs: list[tuple[int, int]]) -> tuple[Index, Index]:
    return np.array([p[0] for p in pairs], dtype=np.int64), np.array([p[1] for p in pairs], dtype=np.int64)


# --- pods ---------------------------------------------------------------------------------


def _pods(old: RunState, new: RunState, pairs: tuple[Index, Index]) -> None:
    there, here = pairs
    for name in _POD_ARRAYS:
        getattr(new.queues, name)[here] = getattr(old.queues, name)[there]
    for name in ("_weight", "_sum", "hold", "work"):
        getattr(new.queues, name)[here] = getattr(old.queues, name)[there]
    new.queues.splits.owed[here] = old.queues.splits.owed[there]
    new.queues.limits.tokens[here] = np.minimum(
        old.queues.limits.tokens[there], new.queues.limits.burst[here] + new.queues.limits.rate[here]
    )
    # a pod that is new has heads and borders of now
    fresh = np.ones(new.layout.pods, dtype=bool)
    fresh[here] = False
    new.queues.head[fresh] = old.tick
    _ring(old.tick, old.queues.borders, new.queues.borders, pairs)
    _ring(old.tick, old.queues.instants, new.queues.instants, pairs)


def _ring(tick: int, old: Array, new: Array, pairs: tuple[Index, Index]) -> None:
    """Copy the last ticks of a ring; the pairs are places along the last axis."""
    for age in range(min(len(old), len(new)) - 1, -1, -1):
        if tick - age >= 0:
            new[(tick - age) % len(new)][pairs[1]] = old[(tick - age) % len(old)][pairs[0]]


# --- edges --------------------------------------------------------------------------------


def _edges(old: RunState, new: RunState, pairs: Pairs) -> None:
    there, here = pairs.same
    a, b = old.callers, new.callers
    _in_flight(old.tick, a, b, pairs.all_)
    _waiting(old.tick, a, b, pairs.all_)
    for name in ("_owed", "_again"):
        getattr(b, name)[here] = getattr(a, name)[there]
    np.add.at(b._refusals, pairs.all_[1], a._refusals[pairs.all_[0]])
    b.limit[here] = np.minimum(b.limit[here], np.where(a.limit < old.layout.attempts, a.limit, 1 << 30)[there])
    b.restrict()
    b.budgets.take_over(a.budgets, there, here)
    _ring(old.tick, old.outcomes.past, new.outcomes.past, pairs.same)
    _ring(old.tick, old.cuts.void, new.cuts.void, pairs.all_)
    for name in _EDGE_ARRAYS:
        getattr(new.cuts, name)[here] = getattr(old.cuts, name)[there]
    for name in ("flow", "pending", "staying", "answered"):
        getattr(new, name)[here] = getattr(old, name)[there]


def _in_flight(tick: int, a: Callers, b: Callers, pairs: tuple[Index, Index]) -> None:
    """Attempts under way, by when they began, and those of which it is not known."""
    there, here = pairs
    from_timed, to_timed = a.layout.timed[there], b.layout.timed[here]
    rows = np.minimum(np.arange(a.tries), b.tries - 1)
    last = np.where(to_timed, b.layout.timeout_ticks[here], 1)
    for age in range(1, a.slots):
        known = from_timed & (age <= a.layout.timeout_ticks[there])
        cohort = a.flying[(tick - age) % a.slots][:, there] * known
        if not cohort.any():
            continue
        slots = (tick - np.minimum(age, last)) % b.slots
        timed = cohort * to_timed
        np.add.at(b.flying, (slots[None, :], rows[:, None], here[None, :]), timed)
        np.add.at(b.total, (slots, here), a.total[(tick - age) % a.slots, there] * known * to_timed)
        np.add.at(b.open, (rows[:, None], here[None, :]), cohort - timed)
    inside = a.open[:, there]
    if inside.any():
        timed = inside * to_timed
        slots = np.full(len(here), (tick - 1) % b.slots)
        np.add.at(b.flying, (slots[None, :], rows[:, None], here[None, :]), timed)
        np.add.at(b.total, (slots, here), np.add.reduce(timed, axis=0))
        np.add.at(b.open, (rows[:, None], here[None, :]), inside - timed)


def _waiting(tick: int, a: Callers, b: Callers, pairs: tuple[Index, Index]) -> None:
    """Failures of which nobody was told yet, and attempts that will be made again."""
    there, here = pairs
    rows = np.minimum(np.arange(a.tries), b.tries - 1)[:, None]
    np.add.at(b.rejected, (rows, here[None, :]), a.rejected[:, there])
    if a._error_mix is not None:
        b._error_mix = np.zeros((b.tries, b.layout.edges))
        np.add.at(b._error_mix, (rows, here[None, :]), a._error_mix[:, there])
        b._broken = np.zeros(b.layout.edges) if b._broken is None else b._broken
    if a._broken is not None:
        b._broken = np.zeros(b.layout.edges)
        np.maximum.at(b._broken, here, a._broken[there])
    if not (a._ring and a.delayed[:, :, there].any()):
        return
    b.reach_ahead(a._ring)
    for ahead in range(a._ring):
        again = a.delayed[(tick + ahead) % a._ring][:, there]
        np.add.at(b.delayed[(tick + ahead) % b._ring], (rows, here[None, :]), again)


def _lanes(old: RunState, new: RunState, pairs: Pairs) -> None:
    """What edges have in pods: by the pod's name, for whichever edge goes on."""
    now = dict(zip(pairs.all_[0].tolist(), pairs.all_[1].tolist(), strict=True))
    there = {
        (edge, new.layout.pod_names[pod]): lane
        for lane, (edge, pod) in enumerate(
            zip(new.layout.lane_edge.tolist(), new.layout.lane_pod.tolist(), strict=True)
        )
    }
    for lane, (edge, pod) in enumerate(zip(old.layout.lane_edge.tolist(), old.layout.lane_pod.tolist(), strict=True)):
        place = there.get((now.get(edge, -1), old.layout.pod_names[pod]))
        if place is not None:
            new.queues.content[place] += old.queues.content[lane]
            new.pool[place] += old.pool[lane]


def _sources(old: RunState, new: RunState) -> None:
    known = {source.name: source for source in old.sources}
    for source in new.sources:
        if source.name in known:
            source.take_over(known[source.name])
