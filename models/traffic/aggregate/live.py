"""The engine inside something that lives: a cluster whose pods come and go.

A `LiveTraffic` runs the ticks of a graph up to an instant, then lets speeds, endpoints, failures of
edges, rates and policies be changed, and tells what happened since it was asked last. When pods or
services come or go it is built anew and takes over what goes on: queues by the pod's name, attempts in
flight by the edge (calling operation, called operation, place among the calls).

Left out: events of the spec (whoever changes the world calls the methods instead).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.carry import carry_over
from simcluster.models.traffic.aggregate.layout import Layout
from simcluster.models.traffic.aggregate.prompt import Foresight
from simcluster.models.traffic.aggregate.record import Recorder
from simcluster.models.traffic.aggregate.run import AggregateRun
from simcluster.models.traffic.aggregate.silence import silenced
from simcluster.models.traffic.aggregate.state import Options
from simcluster.models.traffic.graph.histogram import Histogram
from simcluster.models.traffic.graph.result import FAILURES
from simcluster.models.traffic.graph.spec import GraphSpec

Array = NDArray[np.float64]

#: Latencies are drawn as if windows were so long.
WINDOW_NS = 5_000_000_000
_FOREVER_NS = 1 << 60
#: Requests are looked at when they are so many times as old as requests live now.
RIPE = 1.5


@dataclass
class EdgeCounts:
    """What happened on an edge; `calls_failed` are calls given up, after all attempts."""

    attempts: float = 0.0
    ok: float = 0.0
    timeout: float = 0.0
    rejected: float = 0.0
    error: float = 0.0
    refused: float = 0.0
    calls_failed: float = 0.0


@dataclass
class PodCounts:
    """What a pod did; `waiting` and `pause_s` (of one request) as they are now, `busy` the mean number of workers."""

    arrived: float = 0.0
    finished: float = 0.0
    rejected: float = 0.0
    waiting: float = 0.0
    busy: float = 0.0
    cpu_s: float = 0.0
    pause_s: float = 0.0


@dataclass
class LoadCounts:
    """What the users saw; `failed` counts requests by their last attempt's failure."""

    arrivals: float = 0.0
    attempts: float = 0.0
    ok: float = 0.0
    failed: dict[str, float] = field(default_factory=dict)
    latency: Histogram = field(default_factory=Histogram)


@dataclass
class ServiceTimes:
    """Waits and sojourns at a service, weighted to what it served."""

    wait: Histogram = field(default_factory=Histogram)
    sojourn: Histogram = field(default_factory=Histogram)


@dataclass
class Taken:
    """Everything since the last time it was asked for."""

    seconds: float
    edges: dict[tuple[str, str], EdgeCounts]
    pods: dict[str, PodCounts]
    loads: dict[str, LoadCounts]
    services: dict[str, ServiceTimes]


@dataclass
class Tally:
    """The same as arrays: a row for each field of `EdgeCounts` and `PodCounts`, a column for each edge and pod
    of the engine. `final`: calls given up, by what failed their last attempt (a row each) and edge. Of every service
    and load the durations met (ticks) and for how many requests each stands.
    """

    seconds: float
    edges: Array
    final: Array
    pods: Array
    loads: dict[str, LoadCounts]
    sojourns: dict[str, Array] = field(default_factory=dict)
    latencies: dict[str, Array] = field(default_factory=dict)


class UnderWay(NamedTuple):
    """Calls and attempts that have not ended, by edge of the engine.

    Attributes:
        attempts: made and neither answered nor given up; `calls` those and the ones that wait to be tried again.
        early: attempts that have been answered well though the engine has not judged them yet; below 0 where it has
            judged all, as wide ticks do, though some are not answered.
    """

    attempts: Array
    calls: Array
    early: Array


_EDGE_FIELDS = tuple(each.name for each in fields(EdgeCounts))


@dataclass
class _Sums:
    """Sums over ticks: of edges [attempts, refused, succeeded], pods [waiting, held,
    finished], lanes [left, refused]."""

    edges: Array
    failed: Array
    final: Array
    fresh: Array
    pods: Array
    lanes: Array
    done: Array
    ticks: int


class _Counter(Recorder):
    """Counts without windows; nothing grows while nobody asks."""

    def __init__(self, spec: GraphSpec, layout: Layout) -> None:
        run = spec.run.model_copy(update={"duration": WINDOW_NS, "window": WINDOW_NS})
        super().__init__(spec.model_copy(update={"run": run}), layout)
        self.spec = spec
        self.windows = 0
        self.done = np.zeros(len(self.roots))

    def answered(self, t_ns: Array, amounts: Array) -> None:
        self.done += amounts

    def _reset(self) -> None:
        super()._reset()
        self._ticks = 0

    def drain(self) -> _Sums:
        """The sums so far; they begin again."""
        found = _Sums(
            self._edge_sums,
            self._failed,
            self._final,
            self._fresh,
            self._pod_sums,
            self._lane_sums,
            self.done,
            self._ticks,
        )
        self._reset()
        self.done = np.zeros(len(self.roots))
        return found


class LiveTraffic:
    """Traffic that goes on while its world changes.

    Args:
        spec: the graph, without events; its duration and windows are not looked at.
        seed: of all draws.
        tick_ns: length of a tick.
        pods: names of every service's replicas, as many as the spec says.
        start_ns: instant of the first tick, a multiple of its length.
        prompt: successes count when the answer comes, as far as they can be foreseen.
        walked: of graphs of more edges no requests walk to draw latencies.

    Raises:
        ValueError: the spec has events, or the names are not as many as the replicas.
    """

    def __init__(
        self,
        spec: GraphSpec,
        seed: int,
        tick_ns: int,
        pods: Mapping[str, Sequence[str]],
        start_ns: int = 0,
        *,
        prompt: bool = False,
        walked: int | None = None,
    ) -> None:
        self.seed, self._prompt, self._walked = seed, prompt, walked
        self.tick_ns = tick_ns
        self.engine = self._build(spec, pods)
        self.engine.tick = start_ns // tick_ns
        self.engine.sampler.start(self.engine.tick)
        self._taken_ns = start_ns

    def _build(self, spec: GraphSpec, pods: Mapping[str, Sequence[str]]) -> AggregateRun:
        if spec.events:
            raise ValueError("a live graph takes no events: change it by its methods")
        for name, service in spec.services.items():
            if name in pods and len(pods[name]) != service.replicas:
                raise ValueError(f"{name}: {len(pods[name])} pods for {service.replicas} replicas")
        run = spec.run.model_copy(update={"duration": _FOREVER_NS, "window": WINDOW_NS, "warmup": 0})
        engine = AggregateRun(
            spec.model_copy(update={"run": run}),
            self.seed,
            self.tick_ns,
            pods=pods,
            options=Options(_Counter, self._prompt, self._walked),
        )
        self._foresight = Foresight(engine.layout)
        self._refused = np.zeros(engine.layout.edges)
        self._pod_index = {name: index for index, name in enumerate(engine.layout.pod_names)}
        return engine

    @property
    def now_ns(self) -> int:
        """How far it ran."""
        return self.engine.tick * self.tick_ns

    def advance(self, until_ns: int) -> None:
        """Run all ticks that end by an instant; with `prompt` the successes of that time are foreseen at its start."""
        if self._prompt:
            self.engine.call_ok = self._foresight.foresee(self.engine, self._refused)
        last = until_ns // self.tick_ns
        while self.engine.tick < last:
            self.engine.step(last)
        self.engine.refresh()  # whoever looks now sees the waits of now

    # --- what may be changed between two ticks --------------------------------------------

    def set_pod(
        self, name: str, *, speed: float = 1.0, up: bool = True, ready: bool = True, cores: float | None = None
    ) -> None:
        """Speed of a pod's CPU (1 as described), whether it is there, and whether it gets new requests."""
        run, pod = self.engine, self._pod_index[name]
        queues = run.queues
        queues.factor[pod] = speed
        if cores is not None:
            workers = float(run.layout.workers[pod])
            run.layout.cores[pod] = min(max(cores, 1e-6), workers)
        if bool(queues.up[pod]) != up:
            run.cuts.take_down(run.tick, [pod]) if not up else run.cuts.bring_up([pod])
        if bool(queues.ready[pod]) != ready:
            queues.ready[pod] = float(ready)
            run.cuts.spread(run.layout.pod_service[pod])
        run.changed()

    def set_edge(self, caller: str, callee: str, *, refused: float = 0.0, lost: float = 0.0) -> None:
        """Shares of the attempts that meet an error at once, and that nobody ever answers."""
        cuts = self.engine.cuts
        for edge in self._edges(caller, callee):
            cuts.refused_share[edge] = refused
            cuts.lose_some(self.engine.tick, edge, lost)
        cuts.any_share = bool((cuts.refused_share + cuts.lost_share).any())
        self.engine.changed()

    def set_share(self, caller: str, callee: str, weights: Mapping[str, float] | None = None) -> None:
        """Which pods the attempts of an edge go to; None: all that are ready, alike."""
        run = self.engine
        for edge in self._edges(caller, callee):
            if weights is None:
                run.cuts.weights.pop(edge, None)
            else:
                run.cuts.weights[edge] = {self._pod_index[n]: w for n, w in weights.items() if n in self._pod_index}
            run.cuts.spread(run.graph.nodes[run.graph.edges[edge].child].service)
        run.changed()

    def set_rate(self, load: str, per_second: float | None) -> None:
        """Requests a second of an open load; None: as described."""
        self.engine.source(load).fixed = per_second
        self.engine.changed()

    def set_users(self, load: str, users: int) -> None:
        """How many users a closed load has; those who go, go when they would have asked again."""
        self.engine.source(load).resize(users)
        self.engine.changed()

    def set_attempts(self, caller: str, callee: str, attempts: int | None) -> None:
        """Cap the attempts of an edge's calls; None: as described."""
        run = self.engine
        for edge in self._edges(caller, callee):
            most = int(run.layout.attempts[edge])
            run.callers.limit[edge] = most if attempts is None else min(most, attempts)
        run.callers.restrict()
        run.changed()

    def flush(self, service: str, cache: str) -> None:
        """Empty a cache."""
        self.engine.caches.flush(service, cache)
        self.engine.changed()

    def rebuild(self, spec: GraphSpec, pods: Mapping[str, Sequence[str]]) -> None:
        """Another graph, or other pods; what there was before and after goes on.

        Counts that were not taken yet are lost for edges and pods that are gone.
        """
        old = self.engine
        for name in [n for n in old.layout.pod_names if not any(n in names for names in pods.values())]:
            if old.queues.up[self._pod_index[name]] > 0.0:
                old.cuts.take_down(old.tick, [self._pod_index[name]])
        self.engine = self._build(spec, pods)
        carry_over(old, self.engine)
        self.engine.changed()

    def _edges(self, caller: str, callee: str) -> list[int]:
        nodes = self.engine.graph.nodes
        return [
            e.index
            for e in self.engine.graph.edges
            if e.caller_name == caller and nodes[e.child].service_name == callee
        ]

    # --- what can be seen -----------------------------------------------------------------

    def waiting(self, pod: str) -> float:
        """Requests that wait in a pod now."""
        return float(self.engine.queues.waiting[self._pod_index[pod]])

    def mean_wait_ns(self, pod: str) -> int:
        """How long who arrives now waits for a worker."""
        ticks = float(self.engine.queues.wait()[self._pod_index[pod]])
        return math.floor(min(ticks, 1e9) * self.tick_ns)

    def take(self) -> Taken:
        """What happened since the last call."""
        run = self.engine
        tally, sums = self._tally()
        edges: dict[tuple[str, str], EdgeCounts] = {}
        for edge, row in zip(run.graph.edges, tally.edges.T.tolist(), strict=True):
            node = run.graph.nodes[edge.child]
            counts = edges.setdefault((edge.caller_name, f"{node.service_name}/{node.operation}"), EdgeCounts())
            for field_, amount in zip(_EDGE_FIELDS, row, strict=True):
                setattr(counts, field_, getattr(counts, field_) + amount)
        pods = {name: PodCounts(*row) for name, row in zip(run.layout.pod_names, tally.pods.T.tolist(), strict=True)}
        return Taken(tally.seconds, edges, pods, tally.loads, self._times_taken(run.layout, sums))

    def tally(self) -> Tally:
        """What happened since the last call, as arrays; waits at services are left out."""
        recorder = self.engine.recorder
        self._walk(self.engine)
        latencies = _parts_of(recorder.names, recorder.latency)
        sojourns = _parts_of(self.engine.graph.service_names, recorder.sojourn)
        tally, _ = self._tally()
        tally.latencies, tally.sojourns = latencies, sojourns
        for rows in (*recorder.wait, *recorder.sojourn):
            rows.clear()
        return tally

    def _tally(self) -> tuple[Tally, _Sums]:
        run = self.engine
        recorder = run.recorder
        assert isinstance(recorder, _Counter)
        self._walk(run)
        sums = recorder.drain()
        seconds = (self.now_ns - self._taken_ns) / 1e9
        self._taken_ns = self.now_ns
        edges = np.vstack(
            (sums.edges[0], sums.edges[2], sums.failed[0], sums.failed[1], sums.failed[2], sums.failed[3],
             np.add.reduce(sums.final, axis=0))
        )  # fmt: skip
        self._refused = np.minimum(edges[3] / np.maximum(edges[0], 1e-300), 1.0)
        return Tally(seconds, edges, sums.final, self._pods_taken(sums), self._loads_taken(sums)), sums

    def _walk(self, run: AggregateRun) -> None:
        """Let requests walk that began so long ago that most of them have ended: what they waited is known.

        Who waits in turn has begun before all who come now, so that the waits of now say how long ago that was.
        """
        roots = run.recorder.roots
        took = float(np.max(run.outcomes.latency[roots])) if len(roots) else 0.0
        longest = float(np.max(run.layout.distribution._top))
        run.sampler.finish(max(0, run.tick - math.ceil(RIPE * took + longest)), run.tick)

    def mean_waits_ns(self) -> Array:
        """How long who arrives now waits for a worker, by pod."""
        waits: Array = np.floor(np.minimum(self.engine.queues.wait(), 1e9) * self.tick_ns)
        return waits

    def quality(self) -> Array:
        """Success of attempts, by edge: of those judged last, and where messages are lost of those sent now."""
        run = self.engine
        return np.minimum(run.outcomes.quality, run.call_ok) if run.cuts.any_void else run.outcomes.quality

    def under_way(self, tally: Tally) -> UnderWay:
        """What has not ended now.

        Args:
            tally: of the time before, by whose attempts Little's law tells where none is followed.
        """
        run = self.engine
        callers = run.callers
        waiting = callers.waiting()
        inside = callers.in_flight() - waiting
        little = tally.edges[0] * run.outcomes.latency * (self.tick_ns * 1e-9 / max(tally.seconds, 1e-9))
        early: Array = np.where(inside > 0.0, self._answered(), -little)
        attempts = np.maximum(inside - early, 0.0)
        return UnderWay(attempts, attempts + waiting, early)

    def _answered(self) -> Array:
        """Of the attempts in flight of edges with a timeout, those that have been answered well and are not judged."""
        run, callers, outcomes = self.engine, self.engine.callers, self.engine.outcomes
        ages = (run.tick - 1 - np.arange(callers.slots)) % callers.slots + 1
        there = np.add.reduce(callers.flying, axis=1) * (ages[:, None] - 0.5 >= outcomes.latency)
        if run.cuts.any_void:
            there = there * (1.0 - silenced(run.cuts, run.queues, outcomes, run.tick))
        quality = np.minimum(np.maximum(outcomes.quality, 0.0), 1.0)
        found: Array = np.add.reduce(there, axis=0) * quality * run.layout.timed
        return found

    def _pods_taken(self, sums: _Sums) -> Array:
        run = self.engine
        layout, queues = run.layout, run.queues
        pods, lane_pod = layout.pods, layout.lane_pod
        work = np.bincount(lane_pod, sums.lanes[0] * layout.node_work[layout.lane_node], pods)
        return np.vstack(
            (
                np.bincount(lane_pod, sums.edges[0][layout.lane_edge] * queues.share, pods),
                np.bincount(lane_pod, sums.lanes[0], pods),
                np.bincount(lane_pod, sums.lanes[1], pods),
                queues.waiting,
                np.minimum(sums.pods[1] / max(1, sums.ticks), layout.workers),
                work * self.tick_ns / 1e9,
                queues.limits.pause * self.tick_ns / 1e9,
            )
        )

    def _loads_taken(self, sums: _Sums) -> dict[str, LoadCounts]:
        recorder = self.engine.recorder
        found = {}
        for index, name in enumerate(recorder.names):
            counts = found[name] = LoadCounts(failed=dict.fromkeys(FAILURES, 0.0))
            for column in recorder.columns[index]:
                edge = int(recorder.roots[column])
                counts.arrivals += float(sums.fresh[edge])
                counts.attempts += float(sums.edges[0, edge])
                counts.ok += float(sums.done[column])
                for kind, what in enumerate(FAILURES):
                    counts.failed[what] += float(sums.final[kind, edge])
            samples = [part for rows in recorder.latency[index].values() for part in rows]
            counts.latency.stand_for(samples, math.floor(counts.ok + 0.5), self.tick_ns)
            recorder.latency[index].clear()
        return found

    def _times_taken(self, layout: Layout, sums: _Sums) -> dict[str, ServiceTimes]:
        recorder = self.engine.recorder
        service_of_lane = np.array(layout.pod_service, dtype=np.int64)[layout.lane_pod]
        served = np.bincount(service_of_lane, sums.lanes[0], len(self.engine.spec.services))
        found = {}
        for index, name in enumerate(self.engine.graph.service_names):
            times = found[name] = ServiceTimes()
            count = math.floor(float(served[index]) + 0.5)
            for histogram, rows in ((times.wait, recorder.wait[index]), (times.sojourn, recorder.sojourn[index])):
                histogram.stand_for([part for samples in rows.values() for part in samples], count, self.tick_ns)
                rows.clear()
        return found


def _parts_of(names: Sequence[str], tables: Sequence[Mapping[int, tuple[Array, ...]]]) -> dict[str, Array]:
    """All samples by name: durations in the first row, in the second how many requests each stands for."""
    found = {}
    for name, rows in zip(names, tables, strict=True):
        parts = [part for samples in rows.values() for part in samples if part.shape[1]]
        if parts:
            found[name] = np.concatenate(parts, axis=1)
    return found
