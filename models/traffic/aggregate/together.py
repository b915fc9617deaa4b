"""Several fine ticks in one compiled call, to the bits of one after the other.

While deadlines are looked at and nothing is cut off, a tick needs Python only where requests walk, a window ends,
an event happens or two stretches are compared: between these, all ticks are made in one call (`fast.ticks`). What it
works on are the arrays of the run itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.errors import NEGLIGIBLE, UNKNOWN
from simcluster.models.traffic.aggregate.fast import kernels
from simcluster.models.traffic.aggregate.queues import MEMORY_REQUESTS, MEMORY_TICKS, REFRESH, Queues
from simcluster.models.traffic.aggregate.record import Recorder
from simcluster.models.traffic.aggregate.sample import Sampler
from simcluster.models.traffic.aggregate.wide import HARDLY, SETTLED

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.run import AggregateRun

Array = NDArray[np.float64]

#: With these traits a tick needs more than `fast.ticks` does.
_NEVER = (
    "adaptive", "budgeted", "closed", "contended", "costly_failures", "delay_limited", "heaped", "hedged", "impatient",
    "reordered", "sharing", "untimed", "withdrawing",
)  # fmt: skip
_OF_EDGES = (
    "succeeded", "repeated", "waited", "share", "open", "fine", "way", "longest", "judged", "calls", "sent", "fresh",
    "per_call",
)  # fmt: skip
#: Ticks of one call at most; calls in an arm, and units of a node, whose times are added up.
_MOST, _MOST_ADDED = 64, 128


class Together:
    """Decides how many ticks are made in one call, and makes them."""

    def __init__(self, run: AggregateRun) -> None:
        layout, queues, callers = run.layout, run.queues, run.callers
        plain = type(run.recorder) is Recorder and type(run.sampler) is Sampler and type(queues) is Queues
        plain &= not run.prompt and callers._plain and not queues.limits.lane_drops.any()
        plain &= len(run.outcomes.inner) > 0 and "compiled" in run.strategies
        calls, units = len(run.outcomes._sum_edges), len(run.outcomes._unit_starts)
        arms = np.diff(run.outcomes._arm_starts, append=calls), np.diff(run.outcomes._node_starts, append=units)
        plain &= calls > 0 and all(int(sizes.max(initial=0)) <= _MOST_ADDED for sizes in arms)
        self._possible = bool(plain) and run.traits.isdisjoint(_NEVER)
        self._always_judged = "failing" in run.traits
        self._scratch: dict[str, Array] | None = None
        self._there, self._found = np.zeros(0, dtype=bool), (np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
        self._place = np.searchsorted(layout.service_starts, np.arange(layout.pods), side="right") - 1

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_scratch": None}

    def span(self, run: AggregateRun, last: int) -> int:
        """How many ticks one call may make from now on; 0: this one must be made alone."""
        if not self._possible or kernels() is None:
            return 0
        cuts, tick, steady, sampler = run.cuts, run.tick, run.steady, run.sampler
        if run.next_event <= tick or run.callers._broken is None or not (run.hot or self._always_judged):
            return 0
        if cuts.any_void or cuts.any_share or cuts.delays or bool(cuts.dead.any()) or bool(run.queues.slow.any()):
            return 0
        ends = [last, run.next_event, tick + _MOST, sampler.due(tick), run.window_end(), run.outcomes.paces.due]
        if not self._always_judged:
            ends.append(tick + run.hot)
        if "leap" in run.strategies:
            ends.append(steady.due(tick))
        ends.append(tick + run.fine_ticks_left())
        return max(1, min(ends) - tick)

    def step(self, run: AggregateRun, most: int) -> None:
        """Up to so many ticks."""
        fast = kernels()
        assert fast is not None
        tick, wide = run.tick, run.wide
        noise = run.noise.rows(tick, most)
        most = len(noise[0])
        come = np.zeros((most, run.layout.edges))
        for source in run.sources:
            come[:, source.edges] += source.arrivals_each(tick, most)
        may_be_wide = "wide" in run.strategies
        flags = run.hot, wide._loud, wide._enough if wide._rare else 0, wide._odd, may_be_wide, REFRESH
        run.outcomes.paces.note(tick, run.outcomes.lane_speed)
        state = self._state(run)
        found = fast.ticks(tick, most, noise, come, state, flags)
        done, run.hot, wide._loud, wide._odd, mixed, run.is_calm = found
        run.judged = True
        self._noted(run, noise, done, mixed)
        run.tick = tick + done

    def _noted(self, run: AggregateRun, noise: tuple[Array, ...], done: int, mixed: bool) -> None:
        """What the parts keep of the last tick."""
        own, queues, callers, gates = self._here(run), run.queues, run.callers, run.gates
        queues._noise = tuple(rows[done - 1] for rows in noise)
        queues._push, queues._low, queues._drift = (own[name].copy() for name in ("push", "low", "drift"))
        queues.service, queues.noise = queues.rate, own["noise"].copy()
        queues.left_to = queues.position - queues.queued
        queues.left_from = queues.left_to - queues.finished
        callers.succeeded, callers.repeated = own["succeeded"].copy(), own["repeated"].copy()
        callers._error_mix = own["mix"].copy() if mixed else None
        run.outcomes.waited = own["waited"].copy()
        run.outcomes.paces.went_on(run.tick + done - 1)
        gates._share, gates.open, gates.fine = own["share"].copy(), own["open"].copy(), own["fine"].copy()
        run.recorder.went_on(done)
        run.sampler.noted(run.tick, own["refused_rows"][:done])

    def _here(self, run: AggregateRun) -> dict[str, Array]:
        """Arrays that are needed within a call alone."""
        if self._scratch is None:
            layout, columns = run.layout, 1 + len(run.outcomes.ages)
            found = {name: np.zeros(layout.edges) for name in _OF_EDGES}
            found |= {name: np.zeros(layout.pods) for name in ("push", "low", "drift", "waits", "noise", "places")}
            found |= {"own": np.zeros((layout.lanes, columns)), "left": np.zeros((layout.lanes, columns))}
            found |= {"mix": np.zeros((run.callers.tries, layout.edges)), "below": np.zeros(len(layout.node_own))}
            found["refused_rows"] = np.zeros((_MOST, layout.edges))
            self._scratch = found
            most = max(4 * len(run._errors._below), len(run._errors.faulty), 1)
            self._there = np.zeros(layout.edges, dtype=bool)
            self._found = np.zeros(most, dtype=np.int64), np.zeros(most), np.zeros(most)
        return self._scratch

    def _state(self, run: AggregateRun) -> tuple[Any, ...]:
        """All arrays, in the order of `fast.ticks`."""
        own, layout, queues, callers, outcomes = self._here(run), run.layout, run.queues, run.callers, run.outcomes
        gates, wide, law = run.gates, run.wide, run.layout.distribution
        mix = callers._error_mix
        own["mix"][:] = 0.0 if mix is None else mix
        own["noise"][:] = queues.noise
        own["places"][:] = np.where(layout.servers <= 1.0, layout.servers, queues.shift)
        for name, known in (("share", gates._share), ("open", gates.open), ("fine", gates.fine)):
            own[name][:] = known
        pods = (queues.borders, queues.instants, queues.position, queues.begun, queues._deviation, queues._variance2,
                queues.rate, queues.ahead, queues.near, queues.number)  # fmt: skip
        calm = (layout.edge_service, outcomes.nested, layout.caller, layout.child, layout.calls_per_visit, run._slack,
                outcomes.deepest)  # fmt: skip
        judged = queues.borders, queues.instants, queues.begun, queues.position, queues.rate, queues.waiting
        answered = layout.timed, layout.timeout, layout.timeout_ticks, float(run.tick_ns)
        recorder = run.recorder
        failures = (
            (run._errors._below, run._errors._above, run._errors.faulty, run._errors._age, (NEGLIGIBLE, UNKNOWN)),
            (layout.child, layout.timeout, layout.timed, layout.timeout_ticks, layout.node_own, layout.node_failure),
            (callers.final, callers.backoff_total, callers.limit, outcomes.latency, run.flow, callers._broken,
             callers.flying, callers.open, own["mix"]),
            (layout.lane_edge, layout.lane_pod, queues.share),
        )  # fmt: skip
        sums = (recorder._edge_sums, recorder._failed, recorder._final, recorder._fresh, recorder._pod_sums,
                recorder._lane_sums)  # fmt: skip
        return (
            (pods, (own["push"], own["low"], own["drift"])),
            (queues.factor, calm),
            (law._cdf, law._area, law._top, layout.node_failure, layout.ways.extra, layout.ways.weight),
            judged,
            self._judging(run),
            (outcomes._lane_ticks, outcomes._lane_budget, outcomes._lane_way, outcomes.lane_speed, layout.lane_pod,
             layout.lane_node, queues.share, layout.lane_edge, outcomes.paces.done, outcomes.paces.moved),
            self._attempted(run),
            (own["calls"], own["sent"], own["fresh"], run._left, queues.refused, layout.lane_edge, run.refused,
             outcomes.refused, queues.bounded, layout.calls_per_visit * outcomes.made, own["per_call"]),
            (outcomes.own_of_edge, answered, (recorder.roots, recorder._root_load, recorder.ok, recorder.window_ns)),
            self._forwarded(run),
            (callers.issue, callers.rejected, callers._again, callers._single, callers.flying, callers.total),
            (gates._fails, gates._gated, gates._before, gates._starts, gates._keep, gates._expected, gates._done,
             own["share"], own["open"], own["fine"]),
            failures,
            (queues.head, queues.position, queues.begun, queues.arrived, queues.waiting, queues.rate,
             queues.offered, queues._sum, queues._weight, queues.borders, queues.instants, MEMORY_TICKS,
             MEMORY_REQUESTS),
            ((queues.waiting, queues.finished, layout.infinite, run.stay_of_pod, queues.mean_service), sums),
            (queues.number, queues.usual, self._place, queues.rate,
             (layout.infinite, wide._usual, wide._short, wide._room, wide._unsettled, SETTLED)),
            self._renewed(run),
            (own["own"], own["left"], self._there, own["way"], own["longest"], own["below"], own["waits"],
             self._found, own["waited"],
             (own["refused_rows"], run.sampler._vain, run.sampler._arrivals, recorder.roots),
             (outcomes.past, outcomes._ended, run._usual_share, run.watched), run.below_then, run.below_now,
             gates.usual.first, HARDLY, run.flow),
        )  # fmt: skip

    def _judging(self, run: AggregateRun) -> tuple[Any, ...]:
        layout, outcomes = run.layout, run.outcomes
        return (
            outcomes._flat, outcomes._columns, outcomes.lane_own, outcomes._others, layout.timeout, outcomes.period,
            layout.attempts, layout.times, layout.inner, outcomes.branch_share, outcomes.ages, outcomes._age_index,
            outcomes._age_gap, outcomes.quality, outcomes.profile, outcomes.past, outcomes._ended, layout.required,
            layout.timeout_ticks,
        )  # fmt: skip

    def _attempted(self, run: AggregateRun) -> tuple[Any, ...]:
        own, callers = self._here(run), run.callers
        return (
            callers._keys, own["judged"], callers._broken, callers._owed, own["mix"], callers.rejected, callers.may,
            callers.on, callers.direct, callers._instant, callers._again, callers._refusals, callers.delayed,
            callers._delay_of, callers._whole_delays, own["succeeded"], callers.failed, callers.final, callers.issue,
            callers.retried, own["repeated"], callers._ring, callers.flying, callers.total,
            run.layout.timeout_ticks,
        )  # fmt: skip

    def _renewed(self, run: AggregateRun) -> tuple[Any, ...]:
        """What `RunState.refresh` works on while speeds and routes stand still."""
        own, layout, queues, outcomes = self._here(run), run.layout, run.queues, run.outcomes
        return (
            (outcomes.lane_own, queues.share, layout.lane_edge, layout.lane_pod, layout.lane_node),
            (layout.network, layout.timeout, outcomes.period, layout.attempts, layout.calls_per_visit * outcomes.made,
             layout.child),
            (outcomes._sum_edges, outcomes._arm_starts, outcomes._unit_starts, outcomes._node_starts,
             outcomes._sum_nodes, outcomes._unit_of),
            (outcomes._other_of, outcomes._other, outcomes._other_weight),
            (outcomes.latency, outcomes.duration, outcomes.below, outcomes.delay, outcomes._others, run.below_now,
             run.stay_of_pod),
            queues._tables, queues._kind, layout.servers,
            (queues.losses.usual, queues.most_inside(), queues.ahead, queues.near),
            (queues.offered, queues.shift, own["noise"], queues.usual, queues._deviation, queues._variance2,
             own["places"]),
        )  # fmt: skip

    def _forwarded(self, run: AggregateRun) -> tuple[tuple[Any, ...], ...]:
        """What `Queues.forward` hands over."""
        own, layout, queues, levels, losses = self._here(run), run.layout, run.queues, run._levels, run.queues.losses
        room = layout.bound
        places = own["places"]
        bounded = np.isfinite(np.minimum(places + room, queues.in_flight_max))
        whole, survive = np.ones(layout.edges), (1.0 - layout.node_failure)[layout.lane_node]
        return (
            (levels.pods, levels.lanes, levels.edges, levels.pairs, levels.pair_lane, levels.pair_edge,
             layout.lane_edge, layout.lane_pod),
            (whole, whole, survive, own["per_call"], queues.share, layout.relative),
            (queues.shift, places, layout.infinite, bounded, room),
            (queues._variance2, queues.offered, queues.number, queues.arrived, queues.waiting, queues.queued,
             queues.finished, queues.content, queues.refused, run._left, queues.in_flight_max,
             1.0 if queues.bounded else 0.0, queues.rate, losses.law, losses.inside, losses.usual, losses.known,
             losses.refused, losses.memory, run.outcomes.delay, run.pending, queues.owed, queues.splits.lanes,
             queues.splits.service),
            (queues.splits.owed,),
        )  # fmt: skip
