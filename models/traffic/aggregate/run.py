"""One run of the aggregate engine: the order of things in a tick.

A tick first judges the attempts whose timeout expires, then lets their retries and the new
requests run through the pods, callers before callees, and at its end notes who began service.
While every queue is so short that nobody can miss a deadline, judging is left out.

Everything between two ticks is plain arrays: a run can be pickled and goes on with the same bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.callers import ERROR, REJECTED, Callers
from simcluster.models.traffic.aggregate.draws import PodNoise
from simcluster.models.traffic.aggregate.grid import tick_of
from simcluster.models.traffic.aggregate.layout import Graph, Layout
from simcluster.models.traffic.aggregate.outcomes import Outcomes
from simcluster.models.traffic.aggregate.queues import REFRESH, Queues
from simcluster.models.traffic.aggregate.record import Recorder
from simcluster.models.traffic.aggregate.sources import Source
from simcluster.models.traffic.aggregate.triggers import Triggers
from simcluster.models.traffic.aggregate.sample import Sampler, ring_of
from simcluster.models.traffic.graph.result import Result
from simcluster.models.traffic.graph.spec import GraphSpec

Array = NDArray[np.float64]

#: What is below this share of an attempt's chance to fail is nothing.
_NEGLIGIBLE = 1e-9


class AggregateRun:
    """A call graph under load, by counts.

    Args:
        spec: the graph.
        seed: of all draws.
        tick_ns: length of a tick; None: a fraction of the shortest timeout (`grid.tick_of`).

    Example: `AggregateRun(load_spec(path), seed=7).run().load_totals["users"].ok`.
    """

    def __init__(self, spec: GraphSpec, seed: int = 0, tick_ns: int | None = None) -> None:
        self.spec = spec
        self.seed = seed
        self.graph = Graph(spec, seed)
        self.tick_ns = tick_ns or tick_of(self.graph)
        self.layout = Layout(self.graph, self.tick_ns)
        self.tick = 0
        self.ticks = max(1, spec.run.duration // self.tick_ns)
        self.callers = Callers(self.layout)
        self.queues = Queues(self.layout, self.layout.slots + ring_of(self.layout, spec))
        self.outcomes = Outcomes(self.layout, self.queues, self.callers.period)
        self.outcomes.set_shares(np.array([e.site.share if e.site is not None else 1.0 for e in self.graph.edges]))
        self.noise = PodNoise(seed, self.layout.pod_names)
        self.triggers = Triggers(spec.events, self.tick_ns)
        self.recorder = Recorder(spec, self.layout)
        self.sampler = Sampler(self.layout, self.queues, self.outcomes, self.recorder, seed)
        self.sources = [self._source(name, seed) for name in spec.load]
        self.stopped = ""
        self._state()

    def _source(self, name: str, seed: int) -> Source:
        edges = [e for e in self.graph.edges if e.load == name]
        return Source(name, self.spec.load[name], edges, self.graph, self.tick_ns, seed)

    def _state(self) -> None:
        layout = self.layout
        edges = layout.edges
        self._hot = 0
        self._is_calm = False
        self._window = 0
        self._late_fresh = np.zeros(edges)
        self._answered = np.zeros(edges)
        self._staying = np.zeros(edges)
        self._pool = np.zeros(layout.lanes)
        self._refused = np.zeros(edges)
        self._share_of_edge = np.zeros(edges)
        self.void = np.zeros((layout.slots, edges))
        self.blocked = np.zeros(edges, dtype=bool)
        self.held = np.zeros(edges)
        self._holding = np.zeros(edges, dtype=bool)
        self._flow = np.zeros(edges)
        self._calm_limits()
        self._error_pairs()
        self._ratio = layout.calls_per_visit.copy()
        untimed = ~layout.timed & ~layout.asynchronous
        self._untimed = bool(untimed.any())
        self._own_lag = np.zeros(layout.lanes)
        lagging = (layout.infinite | layout.holds)[layout.lane_pod]
        self._lagging = lagging
        self._any_lag = bool(lagging.any())
        self._credit = np.zeros((layout.slots, edges))
        self._credited = np.zeros((layout.slots, edges))
        self._closed = [s for s in self.sources if s.load.closed is not None]

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
                peak[edge] = max(top, 1.3 * own)
                for child in layout.children.get(node, ()):
                    if not child.asynchronous:
                        mean[edge] += layout.calls_per_visit[child.index] * mean[child.index]
                        peak[edge] = max(peak[edge], peak[child.index])
                order.append(edge)
        self._slack = np.where(layout.timed, layout.timeout - mean - peak, np.inf)
        self._edge_pods = [np.nonzero(layout.lane_edge == edge)[0] for edge in range(layout.edges)]

    def _error_pairs(self) -> None:
        """Calls whose failure fails the caller, each with the edges by which the caller was called."""
        layout = self.layout
        into: dict[int, list[int]] = {}
        for edge in self.graph.edges:
            if not edge.asynchronous:
                into.setdefault(edge.child, []).append(edge.index)
        pairs = [
            (edge.index, above)
            for edge in self.graph.edges
            if edge.caller >= 0 and edge.required
            for above in into.get(edge.caller, ())
        ]
        self._pair_below = np.array([p[0] for p in pairs], dtype=np.int64)
        self._pair_above = np.array([p[1] for p in pairs], dtype=np.int64)
        self._into = np.bincount(layout.child, minlength=len(self.graph.nodes))
        self._faulty = np.nonzero(layout.node_failure[layout.child] > 0.0)[0]

    # --- what events do -------------------------------------------------------------------

    def source(self, name: str) -> Source:
        """A load by name."""
        return next(s for s in self.sources if s.name == name)

    def pods_of(self, service: str) -> range:
        """Indices of a service's pods."""
        index = self.graph.service_names.index(service)
        return range(self.layout.first_pod[index], self.layout.first_pod[index] + self.layout.replicas[index])

    # --- running --------------------------------------------------------------------------

    def run(self) -> Result:
        """To the end of the run, or to where it says why it stopped."""
        while self.tick < self.ticks and not self.stopped:
            self.step()
        return self.result()

    def result(self) -> Result:
        """What was seen so far."""
        self._close_window(final=True)
        end = min(self.tick * self.tick_ns, self.spec.run.duration)
        if not self.stopped:
            end = self.spec.run.duration if self.tick >= self.ticks else end
        return self.recorder.result(self.spec.name, self.seed, end, self.stopped)

    def step(self) -> None:
        """One tick."""
        tick, layout, queues, callers = self.tick, self.layout, self.queues, self.callers
        if self.triggers.next_tick <= tick:
            self.triggers.apply(self, tick)
            self._refresh()
            self._hot = layout.slots + 2
        elif tick % REFRESH == 0 or queues.has_holds:
            self._refresh()
        queues.begin(tick, self.noise.at(tick))
        self._judge(tick)
        fresh = self._late_fresh
        self._late_fresh = np.zeros(layout.edges)
        self._arrive(tick, fresh)
        self._forward(fresh)
        attempts = callers.fly(tick, fresh, self._refused)
        self._flow += (attempts - self._flow) * 0.05
        queues.end(tick)
        self._errors(tick, attempts)
        self._note(tick, attempts, fresh)
        self.tick = tick + 1
        if (self.tick + self.spec.run.window // self.tick_ns // 1000) * self.tick_ns >= (
            self._window + 1
        ) * self.spec.run.window:
            self._close_window()

    def _refresh(self) -> None:
        queues, layout = self.queues, self.layout
        self.outcomes.times(queues)
        if queues.has_holds:
            held = self.outcomes.lane_own + self.outcomes.below[layout.lane_node]
            weight = np.maximum(self._flow[layout.lane_edge], 1e-12) * queues.share
            total = np.bincount(layout.lane_pod, held * weight, layout.pods)
            amount = np.bincount(layout.lane_pod, weight, layout.pods)
            queues.hold = np.where(amount > 0.0, total / np.maximum(amount, 1e-300), queues.hold)
        queues.refresh()

    def _calm(self) -> bool:
        """Whether nobody can miss a deadline by the waits of now."""
        if (self.queues.factor < 1.0).any():
            return False
        layout, outcomes = self.layout, self.outcomes
        longest = np.maximum.reduceat(self.queues.wait(), layout.service_starts)[layout.edge_service]
        way = longest
        if len(outcomes.inner):
            for _ in range(outcomes.deepest - 1):
                each = (layout.calls_per_visit * way)[outcomes.inner]
                below = np.bincount(layout.caller[outcomes.inner], each, len(self.graph.nodes))
                way = longest + below[layout.child]
        return bool((way <= self._slack).all())

    def _judge(self, tick: int) -> None:
        callers = self.callers
        share = None
        self._is_calm = self._calm()
        if self._hot or not self._is_calm:
            expiring = callers.slot_of_expiring(tick)
            share = self.outcomes.update(tick, self.queues, expiring)
            if self.void.any():
                share = share * (1.0 - self.void[expiring, np.arange(self.layout.edges)])
                self.void[(tick - self.layout.slots + 1) % self.layout.slots] = 0.0
        in_time = np.ones(self.layout.edges)
        callers.judge(tick, share, self._answered, in_time)
        self._cool(share)
        self.recorder.failures(callers.failed, callers.final)
        self._answer(tick)

    def _cool(self, share: Array | None) -> None:
        """Stay watchful for as long as a cohort of troubled times is in flight."""
        trouble = share is not None and bool((share < 1.0 - 1e-6).any())
        if trouble or not self._is_calm or bool(self.callers.retried.any()):
            self._hot = self.layout.slots + 2
        elif self._hot:
            self._hot -= 1

    def _answer(self, tick: int) -> None:
        """Successes of root requests: into the series at their instants, and users back to thinking."""
        recorder, layout, callers = self.recorder, self.layout, self.callers
        roots = recorder.roots
        good = callers.succeeded[roots]
        begun = tick - layout.timeout_ticks[roots]
        middle = np.where(layout.timed[roots], begun + 0.5 + self.outcomes.latency[roots], float(tick))
        recorder.answered(np.minimum(middle, tick) * self.tick_ns, good)
        for source in self._closed:
            self._return_users(source, tick)

    def _return_users(self, source: Source, tick: int) -> None:
        layout, callers = self.layout, self.callers
        back = 0.0
        for edge in source.edges:
            back += float(np.cumsum(callers.final[:, edge])[-1])
            if not layout.timed[edge]:
                back += float(callers.succeeded[edge])
                continue
            # users of timed edges return when their answer is expected; what differs is settled at the deadline
            slot = tick % layout.slots
            back += float(self._credit[slot, edge])
            self._credit[slot, edge] = 0.0
            expired = (tick - int(layout.timeout_ticks[edge])) % layout.slots
            back += float(callers.succeeded[edge]) - float(self._credited[expired, edge])
            self._credited[expired, edge] = 0.0
        source.returned(tick, back)

    def _expect(self, tick: int) -> None:
        """When answers to what begins now are expected."""
        layout = self.layout
        for source in self._closed:
            for edge in source.edges:
                if layout.timed[edge]:
                    expected = float(self.callers.total[tick % layout.slots, edge]) * float(self.outcomes.quality[edge])
                    delay = min(int(self.outcomes.latency[edge]) + 1, int(layout.timeout_ticks[edge]))
                    self._credit[(tick + delay) % layout.slots, edge] += expected
                    self._credited[tick % layout.slots, edge] = expected

    def _arrive(self, tick: int, fresh: Array) -> None:
        for source in self.sources:
            for edge, count in zip(source.edges, source.arrivals(tick), strict=True):
                fresh[edge] += count

    def _forward(self, fresh: Array) -> None:
        """Let the attempts of this tick through the graph, level by level."""
        layout, queues = self.layout, self.queues
        calls = np.add.reduce(self.callers.issue, axis=0)
        if queues.bounded:
            queues.refused[:] = 0.0
        if self._untimed:
            self._answered = np.zeros(layout.edges)
        per_visit = layout.calls_per_visit * self.outcomes.made
        for level in range(layout.levels):
            edges, lanes = layout.level_edges[level], layout.level_lanes[level]
            calls[edges] += fresh[edges]
            sent = np.where(self.blocked, 0.0, calls) if self.blocked.any() else calls
            left = queues.step(level, sent)
            if self._untimed:
                self._answered += np.bincount(layout.lane_edge[lanes], left, layout.edges)
            if self._any_lag:
                left = self._later(lanes, left)
            rows, below = layout.level_pairs[level]
            if len(rows):
                made = left[rows - lanes.start] * (1.0 - layout.node_failure[layout.lane_node[rows]])
                fresh += np.bincount(below, made * per_visit[below], layout.edges)
            rows, below = layout.level_late[level]
            if len(rows):
                self._late_fresh += np.bincount(below, left[rows - lanes.start] * per_visit[below], layout.edges)
        if queues.bounded:
            lost = np.bincount(layout.lane_edge, queues.refused, layout.edges)
            self._refused = np.where(calls > 0.0, lost / np.maximum(calls, 1e-300), 0.0)
        if self._untimed:
            self._stay()

    def _later(self, lanes: slice, left: Array) -> Array:
        """Where a request's own time begins when it leaves the queue, its calls come that much later."""
        own = np.where(self._lagging[lanes], self.outcomes.lane_own[lanes], 0.0)
        pool = self._pool[lanes] + left
        out = np.where(own > 0.05, pool / (1.0 + own), pool)
        self._pool[lanes] = pool - out
        return out

    def _stay(self) -> None:
        """Answers on edges without timeout come when calls below, too, have ended."""
        layout, queues = self.layout, self.queues
        held = layout.holds[layout.lane_pod]
        own = np.where(layout.infinite[layout.lane_pod], self.outcomes.lane_own, 0.0)
        stay = np.where(held, self.outcomes.lane_own, own) + self.outcomes.below[layout.lane_node]
        mean = np.bincount(layout.lane_edge, stay * queues.share, layout.edges)
        pool = self._staying + self._answered
        self._answered = np.where(mean > 0.05, pool / (1.0 + mean), pool)
        self._staying = pool - self._answered

    def _errors(self, tick: int, attempts: Array) -> None:
        """Calls that failed for good fail the attempt their caller was working on."""
        layout, callers = self.layout, self.callers
        found: list[tuple[NDArray[np.int64], Array, Array]] = []
        if len(self._pair_below) and bool(callers.final.any()):
            total = np.bincount(layout.child, self._flow, len(self.graph.nodes))
            part = self._flow[self._pair_above] / np.maximum(total[layout.child[self._pair_above]], 1e-300)
            wait = np.bincount(
                layout.lane_edge, np.minimum(self.queues.wait(), 1e7)[layout.lane_pod] * self.queues.share, layout.edges
            )
            base = wait[self._pair_above] + layout.node_own[layout.child[self._pair_above]]
            for kind in range(4):
                amount = callers.final[kind][self._pair_below] * part
                if not (amount > _NEGLIGIBLE).any():
                    continue
                spent = callers.backoff_total[self._pair_below]
                if kind == 0:
                    spent = spent + layout.timeout[self._pair_below] * callers.limit[self._pair_below]
                elif kind == ERROR:
                    spent = spent + self.outcomes.latency[self._pair_below]
                chosen = amount > _NEGLIGIBLE
                found.append((self._pair_above[chosen], (base + spent)[chosen], amount[chosen]))
        if len(self._faulty):
            amount = attempts[self._faulty] * layout.node_failure[layout.child[self._faulty]]
            found.append((self._faulty, layout.node_own[layout.child[self._faulty]], amount))
        if found:
            edges = np.concatenate([f[0] for f in found])
            ages = np.concatenate([f[1] for f in found])
            callers.break_off(tick, edges, ages, np.concatenate([f[2] for f in found]))

    def _note(self, tick: int, attempts: Array, fresh: Array) -> None:
        queues, recorder = self.queues, self.recorder
        self.sampler.arrived(tick, fresh)
        refused = attempts * self._refused
        recorder.tick(attempts, refused, fresh, self.callers.succeeded)
        recorder.pods(queues.waiting, queues.number, queues.finished)
        if self._closed:
            self._expect(tick)
        if self.blocked.any():
            self.held += np.where(self.blocked & self._holding, attempts, 0.0)
            self.void[tick % self.layout.slots][self.blocked] = 1.0
        self.sampler.after(tick)

    def _close_window(self, final: bool = False) -> None:
        window = self._window
        if window >= self.recorder.windows or (final and self.tick * self.tick_ns <= window * self.spec.run.window):
            return
        if final:
            self.sampler.finish(self.tick)
        queues, layout = self.queues, self.layout
        share = np.where(layout.holds, layout.work / np.maximum(queues.hold, 1e-9), 1.0)
        self.recorder.close(window, queues.waiting, queues.up, np.minimum(share, 1.0))
        self._window += 1

