"""What a run shows: counts per window, and latencies drawn from the recorded state.

Counts are added up in arrays while the run goes on; successes are entered where their answer
came, although they are judged when the deadline expires. Latencies are drawn by walking requests
through the waits of the pods at their time (`walk.Walker`), so many a window; every drawn one stands
for its share of the window's successes.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.layout import Layout
from simcluster.models.traffic.aggregate.pools import callee_of, caller_of
from simcluster.models.traffic.aggregate.rows import EdgeRows, Services
from simcluster.models.traffic.aggregate.samples import ByWindow, Samples
from simcluster.models.traffic.aggregate.wholes import whole, whole_parts
from simcluster.models.traffic.graph.policy import Policy
from simcluster.models.traffic.graph.result import FAILURES, LoadWindow, Result
from simcluster.models.traffic.graph.spec import GraphSpec

Array = NDArray[np.float64]


@dataclass
class Sums:
    """Sums over ticks: of edges [attempts, refused, succeeded], of failures by kind, of pods [waiting, servers held,
    finished], of lanes [left the queue, refused]."""

    edges: Array
    failed: Array
    final: Array
    fresh: Array
    pods: Array
    lanes: Array

    def minus(self, earlier: Sums, ticks: int) -> Sums:
        """Means in a tick since then."""
        return Sums(*((a - b) / ticks for a, b in zip(self.arrays(), earlier.arrays(), strict=True)))

    def arrays(self) -> tuple[Array, ...]:
        """All of them, in the order of the fields."""
        return self.edges, self.failed, self.final, self.fresh, self.pods, self.lanes


class Recorder:
    """Series of one run."""

    def __init__(self, spec: GraphSpec, layout: Layout) -> None:
        self.spec = spec
        self.layout = layout
        run = spec.run
        self.window_ns = run.window
        self.windows = -(-run.duration // run.window)
        loads, services = len(spec.load), len(spec.services)
        self.names = list(spec.load)
        self._load_of = np.array(
            [self.names.index(e.load) if e.load else -1 for e in layout.graph.edges], dtype=np.int64
        )
        #: edges whose callers refuse attempts, which count though nobody saw them; a retry not made is no attempt
        self._guarded = np.array([float(_guards_attempts(e.policy)) for e in layout.graph.edges])
        self.roots = np.nonzero(self._load_of >= 0)[0]
        self._root_load = self._load_of[self.roots]
        self.columns = [np.nonzero(self._root_load == load)[0].tolist() for load in range(loads)]
        self._pod_service = np.array(layout.pod_service, dtype=np.int64)
        self._edge_service = layout.node_service[layout.child]
        self.arrivals = np.zeros((self.windows, loads))
        self.attempts = np.zeros((self.windows, loads))
        self.ok = np.zeros((self.windows, loads))
        self.final = np.zeros((4, self.windows, loads))
        self.failed = np.zeros((4, self.windows, loads))
        self.come = np.zeros((self.windows, services))
        self.rejected = np.zeros((self.windows, services))
        self.served = np.zeros((self.windows, services))
        self.good = np.zeros((self.windows, services))
        self.errors = np.zeros((self.windows, services))
        self.queue = np.zeros((self.windows, services))
        self.queue_end = np.zeros((self.windows, services))
        self.busy = np.zeros((self.windows, services))
        self.working = np.zeros((self.windows, services))
        self.up = np.zeros((self.windows, services))
        self.hits = np.zeros((self.windows, services))
        self.lookups = np.zeros((self.windows, services))
        self.pause = np.zeros((self.windows, services))
        self.pairs = _pairs_of(layout)
        self._paired = np.array([edge for edges in self.pairs.values() for edge in edges], dtype=np.int64)
        self._pair_of = np.array([i for i, edges in enumerate(self.pairs.values()) for _ in edges], dtype=np.int64)
        self.edge_attempts = np.zeros((self.windows, len(self.pairs)))
        self.edge_failed = np.zeros((4, self.windows, len(self.pairs)))
        self.samples = Samples(loads, services, self.window_ns)
        self._before: Sums | None = None
        self._reset()

    @property
    def latency(self) -> list[ByWindow]:
        """Durations of the requests of every load, by window."""
        return self.samples.latency

    @property
    def wait(self) -> list[ByWindow]:
        """Waits at every service, by window."""
        return self.samples.wait

    @property
    def sojourn(self) -> list[ByWindow]:
        """Durations of the visits of every service, by window."""
        return self.samples.sojourn

    def so_far(self) -> Sums:
        """Sums since the beginning."""
        now = Sums(self._edge_sums, self._failed, self._final, self._fresh, self._pod_sums, self._lane_sums)
        if self._before is None:
            return Sums(*(a.copy() for a in now.arrays()))
        return Sums(*(a + b for a, b in zip(self._before.arrays(), now.arrays(), strict=True)))

    def add(self, means: Sums, ticks: int, scale: float, of_edge: Array) -> None:
        """Count several ticks by their means; the flows of lanes scaled, and those of every edge by its own factor."""
        factor = of_edge * ticks
        self._edge_sums += means.edges * factor
        self._failed += means.failed * factor
        self._final += means.final * factor
        self._fresh += means.fresh * factor
        self._pod_sums += means.pods * ticks
        self._lane_sums += means.lanes * (ticks * scale)
        self._ticks += ticks

    def _reset(self) -> None:
        layout = self.layout
        if hasattr(self, "_edge_sums"):
            self._before = self.so_far()
        self._edge_sums = np.zeros((3, layout.edges))  # attempts, refused, succeeded
        self._failed = np.zeros((4, layout.edges))
        self._final = np.zeros((4, layout.edges))
        self._fresh = np.zeros(layout.edges)
        self._pod_sums = np.zeros((3, layout.pods))  # waiting, servers held, finished
        self._lane_sums = np.zeros((2, layout.lanes))  # left the queue, refused
        self._ticks = 0

    def tick(self, attempts: Array, refused: Array, fresh: Array, succeeded: Array, ticks: int = 1) -> None:
        """Add the edges' counts of a tick, or of several."""
        self._edge_sums[0] += attempts
        self._edge_sums[1] += refused
        self._edge_sums[2] += succeeded
        self._fresh += fresh
        self._ticks += ticks

    def judged_early(self, edge: int, succeeded: float) -> None:
        """Add attempts of an edge that left when they were answered."""
        self._edge_sums[2, edge] += succeeded

    def went_on(self, ticks: int) -> None:
        """So many more ticks were counted."""
        self._ticks += ticks

    def failures(self, failed: Array, final: Array) -> None:
        """Add attempts and calls that failed in a tick."""
        self._failed += failed
        self._final += final

    def paused(self, window: int, ticks: Array) -> None:
        """Add how long the pods stood still in a tick."""
        row = self.pause[min(window, len(self.pause) - 1)]
        row += np.bincount(self._pod_service, ticks, len(row)) * self.layout.tick_ns

    def pods(self, waiting: Array, held: Array, finished: Array) -> None:
        """Add the pods' state at the end of a tick."""
        sums = self._pod_sums
        sums[0] += waiting
        sums[1] += held
        sums[2] += finished

    def lanes(self, left: Array, refused: Array | None) -> None:
        """Add the lanes' counts of a tick."""
        self._lane_sums[0] += left
        if refused is not None:
            self._lane_sums[1] += refused

    def answered(self, t_ns: Array, amounts: Array) -> None:
        """Root requests (one entry for each root edge) that got their answer at these instants."""
        index = np.minimum(np.maximum((t_ns // self.window_ns).astype(np.int64), 0), self.windows - 1)
        np.add.at(self.ok, (index, self._root_load), amounts)

    def close(self, window: int, waiting: Array, up: Array, work_share: Array) -> None:
        """End a window: waiting and up of every pod now, and which share of a server's time is work."""
        layout = self.layout
        loads, services = len(self.names), len(self.spec.services)
        roots, ticks = self.roots, max(1, self._ticks)
        self.arrivals[window] += np.bincount(self._root_load, self._fresh[roots], loads)
        made = self._edge_sums[0] + self._failed[3] * self._guarded
        self.attempts[window] += np.bincount(self._root_load, made[roots], loads)
        for kind in range(4):
            self.final[kind, window] += np.bincount(self._root_load, self._final[kind][roots], loads)
            self.failed[kind, window] += np.bincount(self._root_load, self._failed[kind][roots], loads)
        paired, pairs = self._paired, len(self.pairs)
        self.edge_attempts[window] += np.bincount(self._pair_of, made[paired], pairs)
        for kind in range(4):
            self.edge_failed[kind, window] += np.bincount(self._pair_of, self._failed[kind][paired], pairs)
        self.come[window] += np.bincount(self._edge_service, self._edge_sums[0], services)
        self.rejected[window] += np.bincount(self._edge_service, self._edge_sums[1], services)
        self.good[window] += np.bincount(self._edge_service, self._edge_sums[2], services)
        self.errors[window] += np.bincount(self._edge_service, self._failed[2], services)
        self.served[window] += np.bincount(self._pod_service, self._pod_sums[2], services)
        self.queue[window] = np.bincount(self._pod_service, self._pod_sums[0] / ticks, services)
        inside = self._pod_sums[1] / ticks
        self.busy[window] = np.bincount(self._pod_service, np.minimum(inside, layout.servers), services)
        self.working[window] = np.bincount(self._pod_service, np.minimum(inside, layout.servers) * work_share, services)
        self.queue_end[window] = np.bincount(self._pod_service, waiting, services)
        self.up[window] = np.bincount(self._pod_service, up, services)
        self._reset()

    def result(self, name: str, seed: int, end_ns: int, stopped: str) -> Result:
        """Everything as the tables that both engines fill."""
        enabled = gc.isenabled()
        gc.disable()  # nothing of so many small objects is in a circle
        try:
            return self._result(name, seed, end_ns, stopped)
        finally:
            if enabled:
                gc.enable()

    def _result(self, name: str, seed: int, end_ns: int, stopped: str) -> Result:
        run = self.spec.run
        result = Result(name, "aggregate", seed, run.window, run.warmup, end_ns, stopped)
        count = -(-end_ns // run.window)
        for index, load in enumerate(self.names):
            result.load[load] = self._load_rows(index, count)
        first = -(-result.warmup_ns // result.window_ns)
        figures = self._services(count)
        lengths = np.minimum(run.window, end_ns - np.arange(first, max(count, first)) * run.window)
        totals = figures.totals(first, lengths / max(1, end_ns - run.warmup))
        for index, service in enumerate(self.spec.services):
            result.services[service], result.service_totals[service] = figures.rows(index), totals[index]
        self._edges(result, count, first)
        for load, loads in result.load.items():
            total = result.load_totals[load] = LoadWindow()
            for row in loads[first:]:
                total.merge(row)
        return result

    def _edges(self, result: Result, count: int, first: int) -> None:
        counts = whole(np.concatenate((self.edge_attempts[None, :count], self.edge_failed[:, :count])), axis=1)
        for index, pair in enumerate(self.pairs):
            rows = EdgeRows(counts[:, :, index])
            result.edges[pair], result.edge_totals[pair] = rows, rows.total(first)

    def _services(self, count: int) -> Services:
        tables = (self.come, self.rejected, self.served, self.good, self.errors, self.hits, self.lookups)
        counts = whole(np.array([table[:count] for table in tables]), axis=1)
        means = (self.queue, self.queue_end, self.busy, self.working, self.up, self.pause)
        return Services(counts, np.array([table[:count] for table in means]), self.samples, self.layout.tick_ns)

    def _load_rows(self, load: int, count: int) -> list[LoadWindow]:
        begun = whole(np.vstack([table[:count, load] for table in (self.arrivals, self.attempts)]), axis=1)
        arrivals, attempts = begun.tolist()
        ok, *final = whole_parts(np.vstack([table[:count, load] for table in (self.ok, *self.final)])).tolist()
        failed = whole(self.failed[:, :count, load], axis=1).tolist()
        rows, waiting = [], 0
        known: tuple[Array, ...] = next((parts for parts in self.latency[load].values() if parts), ())
        for w in range(count):
            row = LoadWindow(arrivals[w], attempts[w], ok[w])
            row.failed = {name: final[k][w] for k, name in enumerate(FAILURES)}
            row.attempts_failed = {name: failed[k][w] for k, name in enumerate(FAILURES)}
            waiting += row.arrivals - row.ok - sum(row.failed.values())  # integers
            row.waiting = waiting
            known = self.latency[load].get(w) or known
            row.latency.stand_for(known, row.ok, self.layout.tick_ns)
            rows.append(row)
        return rows


def _pairs_of(layout: Layout) -> dict[str, list[int]]:
    """`caller -> callee` -> edges between those services; what lies behind a pool's queue belongs to the call to it."""
    pairs: dict[str, list[int]] = {}
    for edge in layout.graph.edges:
        if not edge.load and caller_of(edge.caller_name) == edge.caller_name:
            callee = callee_of(layout.graph.nodes[edge.child].service_name)
            pairs.setdefault(f"{edge.caller_name} -> {callee}", []).append(edge.index)
    return pairs


def _guards_attempts(policy: Policy) -> bool:
    return policy.throttle is not None or (policy.breaker is not None and policy.breaker.guards == "calls")
