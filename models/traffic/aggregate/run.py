"""One run of the aggregate engine: the order of things in a tick.

A tick first judges the attempts whose timeout expires, then lets their retries and the new
requests run through the pods, callers before callees, and at its end notes who began service.
While every queue is so short that nobody can miss a deadline, judging is left out.

`traffic.strategies` names the ways in which ticks are made, and says which are possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.adaptive import AdaptiveLimits
from simcluster.models.traffic.aggregate.answers import Answers
from simcluster.models.traffic.aggregate.connections import Connections
from simcluster.models.traffic.aggregate.errors import Errors
from simcluster.models.traffic.aggregate.fast import kernels
from simcluster.models.traffic.aggregate.followed import Followed
from simcluster.models.traffic.aggregate.hedges import Hedges
from simcluster.models.traffic.aggregate.layout import Graph, Layout, Levels
from simcluster.models.traffic.aggregate.priorities import merge_priorities
from simcluster.models.traffic.aggregate.queues import REFRESH
from simcluster.models.traffic.aggregate.silence import silenced
from simcluster.models.traffic.aggregate.sources import Source
from simcluster.models.traffic.aggregate.state import Options, RunState
from simcluster.models.traffic.aggregate.steady import Steady
from simcluster.models.traffic.aggregate.together import Together
from simcluster.models.traffic.aggregate.triggers import Triggers
from simcluster.models.traffic.aggregate.wide import Wide
from simcluster.models.traffic.aggregate.withdrawals import Pressed, leave, withdraw
from simcluster.models.traffic.graph.result import Result
from simcluster.models.traffic.graph.spec import GraphSpec
from simcluster.models.traffic.strategies import possible

Array = NDArray[np.float64]

#: A fine tick takes about as long as so many events of `exact`.
EVENTS_OF_TICK = 60
#: With these traits, or where messages are lost, attempts of troubled times may be in flight for as long as anybody
#: waits.
_LASTING = ("budgeted", "closed", "guarded", "hedged", "impatient", "untimed", "withdrawing")
#: Without restrictions.
_ALL = Options()


class AggregateRun(RunState):
    """A call graph under load, by counts.

    Args:
        spec: the graph.
        seed: of all draws.
        tick_ns: length of a tick; None: a fraction of the shortest timeout (`grid.tick_of`).
        pods: names of the replicas of services, by which they draw; else they are numbered.

    Attributes:
        strategies: names of those that may be used; `used`: how many ticks each made (`compiled` counts as `fine`).

    Example: `AggregateRun(load_spec(path), seed=7).run().load_totals["users"].ok`.
    """

    def __init__(
        self,
        spec: GraphSpec,
        seed: int = 0,
        tick_ns: int | None = None,
        *,
        pods: Mapping[str, Sequence[str]] | None = None,
        options: Options = _ALL,
    ) -> None:
        super().__init__(spec, seed, tick_ns, pods, options)
        self.strategies = possible("aggregate", self.traits, options.strategies)
        self.used = dict.fromkeys((name for name in self.strategies if name != "compiled"), 0)
        self.triggers = Triggers(spec.events, self.tick_ns)
        self.next_event = self.triggers.next_tick
        self.stopped, self._fine = "", 0
        self._changed = False
        self._calm_limits()
        self._parts()

    def _parts(self) -> None:
        """What makes a tick, and which of it this graph needs."""
        layout, traits = self.layout, self.traits
        self._late_fresh, self._wanted, self._extra = (np.zeros(layout.edges) for _ in range(3))
        self._left = np.zeros(layout.lanes)
        self._gone = np.zeros((layout.slots, layout.edges))
        self.adaptive = AdaptiveLimits(layout)
        self.connections = Connections(layout, self.seed)
        self._errors, self._answers, self._hedges = Errors(self), Answers(self), Hedges(self)
        self._levels = Levels(layout)
        self._answering = self.waits_for_answers or not traits.isdisjoint(("untimed", "cached", "guarded"))
        self._lagging = (layout.infinite | layout.holds)[layout.lane_pod]
        self._lagging[self.queues.contended.lanes] = False
        cancels = np.array([e.policy.cancel != "no" or e.policy.propagate for e in self.graph.edges]) & layout.timed
        withdrawing = np.nonzero(cancels[layout.lane_edge])[0]
        self.followed = Followed(self, withdrawing)
        if self.followed:
            self.outcomes.followed = self.followed
            self.callers.uneven, self.callers._plain = self.followed.uneven, False
        self._withdrawing = withdrawing[~np.isin(withdrawing, self.followed.lanes)]
        in_order = self._withdrawing[~self.queues.lifo[layout.lane_pod[self._withdrawing]]]
        self.outcomes.pressed = Pressed(layout, in_order, self.seed) if len(in_order) else None
        self._watched = self.sources if self.prompt else [s for s in self.sources if s.load.closed is not None]
        self._lanes_of_root = {}  # its lanes, their pods, and its place among the roots
        for column, edge in enumerate(self.recorder.roots.tolist()):
            lanes = np.nonzero(layout.lane_edge == edge)[0]
            self._lanes_of_root[edge] = lanes, layout.lane_pod[lanes], column
        self.wide = Wide(self)
        self.sampler.ordinary = self.wide
        self.steady = Steady(self, self.wide if "wide" in self.strategies else None)
        self.together = Together(self)

    def changed(self) -> None:
        """Speeds, routes or rules were changed from outside: look at deadlines for a while."""
        self._changed = True
        self.wide.renew(self.tick)
        self.steady.forget(self)
        self.hot = self.layout.slots + 2

    def _calm_limits(self) -> None:
        """How long the waits on a request's way may be so that nobody misses a deadline."""
        layout = self.layout
        mean, peak = np.zeros(layout.edges), np.zeros(layout.edges)
        order: list[int] = []
        for height in self.outcomes.heights:
            for edge in height.edges.tolist():
                node = int(layout.child[edge])
                own = float(layout.node_own[node])
                top = float(layout.distribution._top[node])
                mean[edge] = own + 2.0 * layout.network[edge]
                peak[edge] = max(top, 1.3 * own, float(layout.ways.top[edge]))
                for child in layout.children.get(node, ()):
                    if not child.asynchronous:
                        mean[edge] += layout.calls_per_visit[child.index] * mean[child.index]
                        peak[edge] = max(peak[edge], peak[child.index])
                order.append(edge)
        #: an attempt that succeeds less often is in trouble; twice what operations fail by themselves is not
        self._usual_share = 1.0 - 1e-6 - 2.0 * (1.0 - self.gates.usual.first)
        self._slack = np.where(layout.timed, layout.timeout - mean - peak, np.inf)
        self._strained = np.zeros(layout.edges, dtype=bool)
        self.watched = np.full(layout.edges, layout.slots + 2)
        cut = self.prompt or any(event.outage or event.loss or event.restart for event in self.spec.events)
        if not cut and self.traits.isdisjoint(_LASTING):
            self.watched[:] = watched_after(self.graph, layout)

    # --- running --------------------------------------------------------------------------

    def run(self) -> Result:
        """To the end of the run, or to where it says why it stopped."""
        while self.tick < self.ticks and not self.stopped:
            self.step()
        return self.result()

    def result(self) -> Result:
        """What was seen so far."""
        self.sampler.finish(self.tick)
        self.sampler.flush()
        self._finish_open()
        self._close_window(final=True)
        end = min(self.tick * self.tick_ns, self.spec.run.duration)
        if not self.stopped:
            end = self.spec.run.duration if self.tick >= self.ticks else end
        result = self.recorder.result(self.spec.name, self.seed, end, self.stopped)
        result.strategies = tuple(name for name, ticks in self.used.items() if ticks)
        merge_priorities(result)
        for tables in (result.services, result.service_totals):
            for name in [name for name in tables if name not in self.shown]:
                del tables[name]
        return result

    def step(self, last: int | None = None) -> None:
        """One tick; `last` is the tick before which a wide one must end (by default the end of the run)."""
        if self._changed:
            self._renew()
        begin, name = self.tick, self._evaluated(self.ticks if last is None else last)
        self.used[name] += self.tick - begin
        self._maybe_close()

    def _evaluated(self, last: int) -> str:
        """Make one tick, or many at once, in the first way that the state allows; its name."""
        for name, evaluator in (("wide", self.wide), ("leap", self.steady)):
            span = evaluator.span(self, last) if name in self.strategies else 1
            if span > 1:
                evaluator.step(self, span)
                return name
        before, span = self.tick, self.together.span(self, last)
        if span:
            self.together.step(self, span)
        else:
            self._fine_tick()
        self.sampler.after(self.tick - 1)
        self._made(self.tick - before)
        return "fine"  # compiled or not: the state, to the bit, does not know

    def _renew(self) -> None:
        self._changed = False
        self.refresh()

    def _fine_tick(self) -> None:
        tick, layout, queues, callers = self.tick, self.layout, self.queues, self.callers
        if self.next_event <= tick:
            self.sampler.flush()
            self.triggers.apply(self, tick)
            self.next_event = self.triggers.next_tick
            self.changed()
            self._renew()
        elif tick % REFRESH == 0 or queues.has_holds or queues.unsteady:
            self._renew()
        compiled = "compiled" in self.strategies and not self.cuts.delays and not self.followed
        fast = kernels() if compiled else None
        queues.begin(tick, self.noise.at(tick))
        self._judge(tick)
        fresh = self._late_fresh
        self._late_fresh = np.zeros(layout.edges)
        self._arrive(tick, fresh)
        self._forward(tick, fresh, fast)
        self.below_then[tick % layout.slots] = self.below_now
        if self.cuts.any_share:
            self.refused = 1.0 - (1.0 - self.refused) * (1.0 - self.cuts.refused_share)
        if self.refused.any() or self.outcomes.refused.any():
            self.outcomes.refused += (self.refused - self.outcomes.refused) * 0.02
        attempts = callers.fly(tick, fresh, self.refused, self.cuts.dead)
        self.cuts.note(tick, attempts, self.dropped)
        self.gates.update(callers.succeeded, callers.final, hot=bool(self.hot))
        if "timed" not in self.traits:
            self.outcomes.quality = self.gates.fine
        self.flow += (attempts - self.flow) * 0.05
        queues.end(tick)
        if self.adaptive:
            self.adaptive.step(tick, queues)
        self._errors.tell(self, tick, attempts)
        self._note(tick, attempts, fresh)
        self.tick = tick + 1

    def _made(self, ticks: int) -> None:
        """So many fine ticks were made."""
        self._fine += ticks * EVENTS_OF_TICK
        if self._fine > self.spec.run.events:
            self.stopped = f"more than {self.spec.run.events // EVENTS_OF_TICK} fine ticks; run.events allows more"
        if "leap" in self.strategies:
            self.steady.watch(self)

    def fine_ticks_left(self) -> int:
        """After how many more the run stops."""
        return (self.spec.run.events - self._fine) // EVENTS_OF_TICK + 1

    def _maybe_close(self) -> None:
        if self.tick >= self.window_end():
            self._close_window()

    def _calm(self) -> bool:
        """Whether nobody can miss a deadline by the waits of now; notes on which edges somebody can."""
        self._strained[:] = True
        if self.queues.contended or (self.queues.factor < 1.0).any():
            return False
        if self.queues.stacks:  # of short queues, too, the oldest may wait for ever
            return False
        layout, outcomes = self.layout, self.outcomes
        longest = np.maximum.reduceat(self.queues.wait(), layout.service_starts)[layout.edge_service]
        way = longest
        if len(outcomes.nested):
            for _ in range(outcomes.deepest - 1):
                each = (layout.calls_per_visit * way)[outcomes.nested]
                below = np.bincount(layout.caller[outcomes.nested], each, len(self.graph.nodes))
                way = longest + below[layout.child]
        self._strained = way > self._slack
        return not bool(self._strained.any())

    def _judge(self, tick: int) -> None:
        callers = self.callers
        share = None
        if self.followed:
            self.followed.judge(self, tick)
        self.is_calm = self._calm()
        watchful = bool(self.hot) or not self.is_calm or self.cuts.any_void
        watchful |= not self.traits.isdisjoint(("hedged", "failing"))
        self.judged = watchful and "timed" in self.traits
        if self.judged:
            expiring = callers.slot_of_expiring(tick)
            share = self.outcomes.update(tick, self.queues, expiring, callers.total)
            self._hedges.judge(share)
            if len(self._withdrawing):
                withdraw(self, self._withdrawing, tick)
            if self.cuts.any_void:
                self._gone = silenced(self.cuts, self.queues, self.outcomes, tick)
                gone = self._gone[expiring, np.arange(self.layout.edges)]
                heard = 1.0 - np.where(expiring >= 0, gone, 0.0)
                share = share * heard
                callers.forgive(heard)
        in_time = np.ones(self.layout.edges)
        if callers.any_leave:
            self.answered = leave(self, self.answered, tick)
        callers.judge(tick, share, self.answered, in_time)
        self.outcomes.note(tick)
        self._cool(share)
        if self.guards:
            bad = np.add.reduce(callers.failed[:3], axis=0)
            good = self.answered * self.in_time(tick) * self.gates.fine  # known when they come
            self.guards.saw(tick, self._wanted, np.where(self.layout.timed, good, callers.succeeded), bad)
        self.recorder.failures(callers.failed, callers.final)
        self._answer(tick)

    def _cool(self, share: Array | None) -> None:
        """Stay watchful for as long as attempts of troubled times are in flight."""
        trouble = self._strained | (self.callers.retried != 0.0)
        if share is not None:
            trouble |= share < self._usual_share
        self.hot = max(self.hot - 1, int(self.watched[trouble].max(initial=0)))

    def _answer(self, tick: int) -> None:
        """Successes of root requests: into the series at their instants, and users back to thinking."""
        recorder, layout, callers = self.recorder, self.layout, self.callers
        roots = recorder.roots
        good = callers.succeeded[roots]
        begun = tick - layout.timeout_ticks[roots]
        if self.judged:
            rest = self.outcomes.own_of_edge[roots] + self.below_then[slots_of(tick, layout, roots), roots]
            took = np.minimum(np.maximum(self.outcomes.waited[roots], 0.0) + rest, layout.timeout[roots])
        else:
            took = self.outcomes.latency[roots]
        middle = np.where(layout.timed[roots], begun + 0.5 + took, tick - 0.5)
        recorder.answered(np.minimum(middle, tick) * self.tick_ns, good)
        if self._watched:
            ages = self.queues.age(tick)
            for source in self._watched:
                self._return_users(source, tick, ages)

    def _return_users(self, source: Source, tick: int, ages: Array) -> None:
        """Whose request has ended goes back to thinking."""
        callers = self.callers
        back = 0.0
        for edge in source.edges:
            gone = float(np.cumsum(callers.final[:, edge])[-1]) + float(callers.succeeded[edge])
            back += gone + self._early(edge, tick, ages)
        source.returned(tick, back)

    def _early(self, edge: int, tick: int, ages: Array) -> float:
        """Answers in this tick to users who wait for them: they do not wait for the deadline to be judged."""
        layout, queues = self.layout, self.queues
        if not layout.timed[edge]:
            return 0.0
        lanes, pods, column = self._lanes_of_root[edge]
        age = float(np.cumsum(ages[pods] * queues.share[lanes])[-1])
        took = age + float(self.outcomes.own_of_edge[edge] + self.outcomes.below[layout.child[edge]])
        took += 2.0 * float(layout.network[edge])
        amount = float(self.answered[edge]) * float(self.call_ok[edge])
        if took >= layout.timeout[edge] or amount <= 0.0:
            return 0.0
        if self.cuts.any_void and not self.prompt:  # `call_ok` knows nothing then
            amount *= 1.0 - float(self._gone[(tick - max(1, int(took))) % layout.slots, edge])
        answered = self.callers.answer(tick, edge, amount, int(took))
        amounts = np.zeros(len(self.recorder.roots))
        amounts[column] = answered
        self.recorder.judged_early(edge, answered)
        self.recorder.answered(np.full(len(amounts), float(tick) * self.tick_ns), amounts)
        return answered

    def _arrive(self, tick: int, fresh: Array) -> None:
        for source in self.sources:
            for edge, count in zip(source.edges, source.arrivals(tick), strict=True):
                fresh[edge] += count

    def _forward(self, tick: int, fresh: Array, fast: ModuleType | None) -> None:
        """Let the attempts of this tick through the graph, level by level."""
        layout, queues, callers = self.layout, self.queues, self.callers
        if self.guards:
            self._wanted = np.add.reduce(callers.issue, axis=0) + callers.repeated
            self.guards.decide(tick, self._wanted + fresh)
            issued = np.add.reduce(callers.issue, axis=0)
            callers.guard(self.guards.refused(tick, slice(0, layout.edges), issued, first=False))
        calls = np.add.reduce(callers.issue, axis=0)
        if "hedged" in self.traits:
            self._extra = self._hedges.made(tick)
            calls += self._extra
        if queues.bounded:
            queues.refused[:] = 0.0
        if self._answering:
            self.answered = np.zeros(layout.edges)
        per_visit = layout.calls_per_visit * self.outcomes.made
        if fast is not None:
            self._forward_fast(fast, calls, fresh, per_visit)
            self._after(tick, calls)
            return
        visits = np.zeros(len(self.graph.nodes)) if self.caches else None
        for level in range(layout.levels):
            edges, lanes = layout.level_edges[level], layout.level_lanes[level]
            if self.guards:
                self._guard_fresh(tick, edges, fresh)
            calls[edges] += fresh[edges]
            if self.connections:
                self.connections.step(self, tick, level, calls)
            sent = self.cuts.sent(calls)
            left = queues.step(level, sent)
            if self.followed:
                self.followed.arrive(self, tick, level, sent, fresh, left)
            self._left[lanes] = left
            if self._answering:
                self.answered += np.bincount(layout.lane_edge[lanes], left, layout.edges)
            if "lagging" in self.traits:
                left = self._later(lanes, left)
            if visits is not None:
                visits += np.bincount(layout.lane_node[lanes], left, len(visits))
            rows, below = layout.level_pairs[level]
            if len(rows):
                each = left[rows - lanes.start] * (1.0 - layout.node_failure[layout.lane_node[rows]])
                made = np.bincount(below, each * (per_visit * self.gates.open)[below], layout.edges)
                fresh += self._in_turn(np.unique(below), made.astype(np.float64, copy=False))
            rows, below = layout.level_late[level]
            if len(rows):
                self._late_fresh += np.bincount(below, left[rows - lanes.start] * per_visit[below], layout.edges)
        if self.connections:
            self.connections.rest(self)
        if visits is not None:
            ages = self.ages(tick)
            self.caches.step(tick, visits, self.answered, self.in_time(tick), ages)
        self._after(tick, calls)

    def _after(self, tick: int, calls: Array) -> None:
        """What callers are told of the attempts of this tick."""
        if self.queues.bounded:
            self._refusals(calls)
        if self._answering:
            self.flowed = self.answered
            self.answered = self._answers.given(self, tick, self.flowed)

    def _forward_fast(self, fast: ModuleType, calls: Array, fresh: Array, per_visit: Array) -> None:
        """The same of a plain graph, compiled."""
        layout, cuts = self.layout, self.cuts
        survive = (1.0 - layout.node_failure)[layout.lane_node]
        passing = (1.0 - cuts.refused_share, 1.0 - cuts.lost_share, survive, per_visit * self.gates.open)
        turns = self.outcomes.delay, self.pending
        self.queues.forward(fast, self._levels, calls, fresh, passing, self._left, turns)
        if self._answering:
            self.answered = np.bincount(layout.lane_edge, self._left, layout.edges).astype(np.float64, copy=False)

    def _guard_fresh(self, tick: int, edges: slice, fresh: Array) -> None:
        self._wanted[edges] += fresh[edges]
        refused = np.zeros(self.layout.edges)
        refused[edges] = self.guards.refused(tick, edges, fresh[edges], first=True)
        fresh[edges] -= refused[edges]
        self.callers.refuse(refused)
        if refused.any():  # they are requests all the same
            none = np.zeros(self.layout.edges)
            self.recorder.tick(none, none, refused, none, 0)

    def _refusals(self, calls: Array) -> None:
        """Shares of every edge's attempts that were told there is no place, and that fell under the table."""
        layout, queues = self.layout, self.queues
        if self.cuts.delays:  # those that an outage had held up meet the same full queue
            calls = np.maximum(calls, self.cuts.sent(calls))
        per_call = 1.0 / np.maximum(calls, 1e-300)
        dropped = np.where(queues.limits.lane_drops, queues.refused, 0.0)
        self.dropped = np.bincount(layout.lane_edge, dropped, layout.edges) * per_call
        lost = np.bincount(layout.lane_edge, queues.refused - dropped, layout.edges)
        self.refused = np.where(calls > 0.0, lost * per_call, 0.0)

    def _in_turn(self, edges: NDArray[np.int64], made: Array) -> Array:
        """Of the calls of visits that began, those made now: where other calls take long, who comes after waits."""
        if not self.outcomes.delay[edges].any() and not self.pending[edges].any():
            return made
        pool = self.pending[edges] + made[edges]
        out = pool / (1.0 + self.outcomes.delay[edges])
        self.pending[edges] = pool - out
        made[edges] = out
        return made

    def _later(self, lanes: slice, left: Array) -> Array:
        """Where a request's own time begins when it leaves the queue, its calls come that much later."""
        queues = self.queues
        if queues.contended:
            left = queues.contended.step(self.tick, lanes, left, queues.factor * queues.up)
            queues.busy[:] = queues.contended.inside()
        own = np.where(self._lagging[lanes], self.outcomes.lane_own[lanes], 0.0)
        pool = self.pool[lanes] + left
        out = np.where(own > 0.05, pool / (1.0 + own), pool)
        self.pool[lanes] = pool - out
        return out

    def _note(self, tick: int, attempts: Array, fresh: Array) -> None:
        queues, recorder = self.queues, self.recorder
        self.sampler.arrived(tick, fresh, self.refused)
        repeated = self.callers.repeated
        refused = attempts * (self.refused + self.dropped) + repeated
        recorder.tick(attempts + repeated + self._extra, refused, fresh, self.callers.succeeded)
        own = np.where(self.layout.infinite, self.stay_of_pod, queues.mean_service)
        held = np.minimum(queues.finished * own, 1e12)
        finished = queues.finished
        if queues.contended:
            held = np.where(queues.busy > 0.0, queues.busy, held)
            finished = queues.contended.finished(finished)
        recorder.pods(np.floor(queues.waiting), held, finished)
        if queues.limits.has_heap:
            recorder.paused(self.window, queues.finished * queues.limits.pause)
        recorder.lanes(self._left, queues.refused if queues.bounded else None)
        self.wide.watch(tick)

    def _finish_open(self) -> None:
        """Successes among the youngest cohorts, which are not judged: who was answered before the end."""
        layout, recorder = self.layout, self.recorder
        roots = recorder.roots
        gone = silenced(self.cuts, self.queues, self.outcomes, self.tick)
        for age in range(1, layout.slots):
            begun = self.tick - age
            if begun < 0:
                break
            ripe = layout.timed[roots] & (age <= layout.timeout_ticks[roots])
            took = self.outcomes.latency[roots]
            inside = np.add.reduce(self.callers.flying[begun % layout.slots], axis=0)[roots]
            amounts = np.where(ripe & (took <= age - 0.5), inside, 0.0)
            good = amounts * self.outcomes.quality[roots] * (1.0 - gone[begun % layout.slots, roots])
            recorder.answered((begun + 0.5 + took) * self.tick_ns, good)
        inside = np.add.reduce(self.callers.open, axis=0)[roots]
        last = np.where(layout.timed[roots], 0.0, np.minimum(self.answered[roots], inside))
        recorder.answered(np.full(len(roots), float(self.tick) * self.tick_ns), last)

    def _close_window(self, final: bool = False) -> None:
        window = self.window
        if window >= self.recorder.windows or (final and self.tick * self.tick_ns <= window * self.spec.run.window):
            return
        queues, layout = self.queues, self.layout
        share = np.where(layout.holds, queues.work / np.maximum(queues.hold, 1e-9), 1.0)
        self.recorder.close(window, queues.waiting, queues.up, np.minimum(share, 1.0))
        for service, hits in self.caches.hits.items():
            self.recorder.hits[window, service] = hits
            self.recorder.lookups[window, service] = self.caches.looked[service]
        self.caches.hits, self.caches.looked = {}, {}
        self.window += 1


def watched_after(graph: Graph, layout: Layout) -> NDArray[np.int64]:
    """For how many ticks deadlines are looked at after trouble on each edge.

    Until those who make its calls have had their deadlines, too, and all above them who wait less than twice as long:
    an attempt that is not late keeps its caller for less than its timeout, which others have to spare. Where callers
    are late, that is trouble on their edges.
    """
    into: dict[int, list[int]] = {}
    for edge in graph.edges:
        into.setdefault(edge.child, []).append(edge.index)
    found = layout.timeout_ticks.copy()
    for edge in graph.edges:
        above = into.get(edge.caller, [])
        most = 2 * max((int(layout.timeout_ticks[i]) for i in above), default=0)
        seen: set[int] = set()
        while above:
            waiting = [i for i in above if i not in seen and int(layout.timeout_ticks[i]) < most]
            seen.update(waiting)
            found[edge.index] = max([int(found[edge.index]), *(int(layout.timeout_ticks[i]) for i in waiting)])
            above = [i for w in waiting for i in into.get(graph.edges[w].caller, [])]
    return found + 2


def slots_of(tick: int, layout: Layout, edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ring's slots of the cohorts of some edges that expire now."""
    slots: NDArray[np.int64] = np.maximum(tick - layout.timeout_ticks[edges], 0) % layout.slots
    return slots
