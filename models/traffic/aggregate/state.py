"""The state of a run of the aggregate engine, between two ticks and while one is made: what its parts work on.

`run.AggregateRun` makes it go on. Everything is plain arrays: it can be pickled and goes on with the same bits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.caches import Caches
from simcluster.models.traffic.aggregate.callers import Callers
from simcluster.models.traffic.aggregate.countable import check_countable
from simcluster.models.traffic.aggregate.disruptions import Disruptions
from simcluster.models.traffic.aggregate.draws import PodNoise
from simcluster.models.traffic.aggregate.failurework import FailureWork
from simcluster.models.traffic.aggregate.gates import Gates
from simcluster.models.traffic.aggregate.grid import tick_of
from simcluster.models.traffic.aggregate.guards import Guards
from simcluster.models.traffic.aggregate.layout import Graph, Layout
from simcluster.models.traffic.aggregate.outcomes import Outcomes
from simcluster.models.traffic.aggregate.patience import with_patience
from simcluster.models.traffic.aggregate.pools import with_pools
from simcluster.models.traffic.aggregate.priorities import base_of, with_priorities
from simcluster.models.traffic.aggregate.queues import Queues
from simcluster.models.traffic.aggregate.ranked import RankedQueues, has_ranks
from simcluster.models.traffic.aggregate.record import Recorder
from simcluster.models.traffic.aggregate.sample import NoWalks, Sampler, ring_of
from simcluster.models.traffic.aggregate.sources import Source
from simcluster.models.traffic.aggregate.traits import LONGEST_NS, Found, traits_of
from simcluster.models.traffic.graph.spec import GraphSpec

Array = NDArray[np.float64]

#: A tick that does not come.
NEVER = 1 << 60
#: After so many mean times hardly an attempt is still under way: e^-8 of an exponential law.
_STAYS = 8.0


@dataclass(frozen=True)
class Options:
    """How a run is made.

    Attributes:
        counter: what counts.
        prompt: users of open loads are told their answers at once, too (`prompt`).
        walked: of graphs of more edges no requests walk to draw latencies.
        strategies: names of those that may be used (`traffic.strategies`); None: all that are possible.
    """

    counter: type[Recorder] = Recorder
    prompt: bool = False
    walked: int | None = None
    strategies: Collection[str] | None = None


class RunState:
    """Everything that parts of a run share.

    Attributes:
        traits: of the graph, as `traffic.strategies` names them.
        hot: ticks for which deadlines are still looked at; `is_calm`: whether nobody can miss one by the waits of now.
        watched: for how many ticks they are looked at after trouble on each edge.
        judged: whether deadlines were looked at in this tick.
        flow: attempts of every edge in a tick, on average; `flowed`: visits that left their queue in this one.
        early: answers to users before their time-out is judged; `staying`: visits that are not answered yet.
        stays: mean time of the calls of a visit of every node, those included that are lost.
        below_now, below_then: what an attempt waits for besides its queue; ring of the last ticks.
        next_event: tick of the next event.
    """

    def __init__(
        self,
        spec: GraphSpec,
        seed: int,
        tick_ns: int | None,
        pods: Mapping[str, Sequence[str]] | None,
        options: Options,
    ) -> None:
        check_countable(spec)
        self.shown = list(spec.services)
        self.spec = spec = with_priorities(with_pools(with_patience(spec.in_whole_calls())))
        self.seed, self.prompt = seed, options.prompt
        self.graph = Graph(spec, seed)
        self.tick_ns = tick_ns or tick_of(self.graph)
        self.layout = layout = Layout(self.graph, self.tick_ns, pods)
        self.tick = 0
        self.ticks = max(1, spec.run.duration // self.tick_ns)
        self.longest = LONGEST_NS // self.tick_ns
        self.callers = Callers(layout, seed)
        kind = RankedQueues if has_ranks(layout) else Queues
        self.queues = kind(layout, layout.slots + ring_of(layout, spec))
        self.outcomes = Outcomes(layout, self.queues, self.callers.period)
        self.outcomes.set_shares(np.array([e.site.share if e.site is not None else 1.0 for e in self.graph.edges]))
        self.failure_work = FailureWork(layout)
        self.noise = PodNoise(seed, layout.pod_names, self.queues.splits.pods)
        self.recorder = options.counter(spec, layout)
        walks = options.walked is None or len(self.graph.edges) <= options.walked
        sampler = Sampler if walks else NoWalks
        self.sampler = sampler(layout, self.queues, self.outcomes, self.callers, self.recorder, seed)
        self.sources = [self._source(name) for name in spec.load]
        self.cuts = Disruptions(layout, self.queues, self.callers, self.outcomes)
        self.caches = Caches(layout)
        if self.caches:
            self.caches.refresh()
            self.outcomes.made = self.caches.made
        self.guards = Guards(layout, self.callers.callers, seed)
        self.gates = Gates(layout)
        self.traits = traits_of(Found(layout, self.queues, self.callers, self.sources, self.guards, self.caches))
        self.next_event = NEVER
        self._begin()

    def calm_until(self) -> int:
        """Who comes before this tick has been answered by the next event; of all others deadlines are looked at."""
        stay = min(_STAYS * float(self.outcomes.latency.max(initial=0.0)), float(self.layout.slots))
        return self.next_event - int(stay)

    def _source(self, name: str) -> Source:
        edges = [e for e in self.graph.edges if e.load == name]
        return Source(name, self.spec.load[name], edges, self.graph, self.tick_ns, self.seed)

    def _begin(self) -> None:
        layout, edges = self.layout, self.layout.edges
        self.hot, self.window = 0, 0
        self.watched = np.zeros(edges, dtype=np.int64)
        self.is_calm = self.judged = False
        self.flow, self.flowed, self.staying = np.zeros(edges), np.zeros(edges), np.zeros(edges)
        self.answered, self.refused, self.dropped = np.zeros(edges), np.zeros(edges), np.zeros(edges)
        self.pool = np.zeros(layout.lanes)
        self.call_ok = np.ones(edges)
        #: calls that will be made when those before them in their visits have ended
        self.pending = np.zeros(edges)
        self.below_now, self.below_then = np.zeros(edges), np.zeros((layout.slots, edges))
        self.stay_of_pod = np.zeros(layout.pods)
        self.stays = self.outcomes.below
        self.scv_of_edge = np.array([n.scv for n in self.graph.nodes])[layout.child]

    @property
    def waits_for_answers(self) -> bool:
        """Whether users are told when their answers come: because they wait for them, or are asked at once."""
        return self.prompt or "closed" in self.traits

    def source(self, name: str) -> Source:
        """A load by name."""
        return next(s for s in self.sources if s.name == name)

    def pods_of(self, service: str) -> range:
        """Indices of a service's pods."""
        index = self.graph.service_names.index(service)  # of a queue of priorities, one of `queues_of`
        return range(self.layout.first_pod[index], self.layout.first_pod[index] + self.layout.replicas[index])

    def queues_of(self, service: str) -> list[str]:
        """Names of what stands for a service: itself, or its queues for each priority."""
        return [name for name in self.graph.service_names if base_of(name) == service]

    def lose(self, service: str, count: int) -> None:
        """Lose replicas, or bring lost ones back (negative)."""
        for queue in self.queues_of(service):
            self.cuts.lose(self.tick, self.pods_of(queue), count)

    def window_end(self) -> int:
        """The first tick after the end of this window; never, where nobody asks for windows."""
        if self.window >= self.recorder.windows:
            return NEVER
        return -(-((self.window + 1) * self.spec.run.window) // self.tick_ns)

    def refresh(self) -> None:
        """Times, shares and speeds are worked out anew from the queues of now."""
        queues, layout = self.queues, self.layout
        self.outcomes.times(queues)
        self.below_now = self.outcomes.below[layout.child] + 2.0 * layout.network
        lost, outcomes = self.cuts.lost, self.outcomes
        self.stays = outcomes.below if lost is None else outcomes.stays(lost, self.gates.open, self.stays)
        weight = self.queues.share * np.maximum(self.flow[layout.lane_edge], 1e-12)
        stay = (self.outcomes.lane_own + self.stays[layout.lane_node]) * weight
        total = np.bincount(layout.lane_pod, weight, layout.pods)
        self.stay_of_pod = np.bincount(layout.lane_pod, stay, layout.pods) / np.maximum(total, 1e-300)
        if queues.has_holds:
            held = self.outcomes.lane_own + self.stays[layout.lane_node]
            weight = np.maximum(self.flow[layout.lane_edge], 1e-12) * queues.share
            total = np.bincount(layout.lane_pod, held * weight, layout.pods)
            amount = np.bincount(layout.lane_pod, weight, layout.pods)
            queues.hold = np.where(amount > 0.0, total / np.maximum(amount, 1e-300), queues.hold)
            # A place is one request, whichever: what it computes is the mean of those that come.
            computed = np.bincount(layout.lane_pod, layout.lane_work * weight, layout.pods)
            mean = computed / np.maximum(amount, 1e-300)
            queues.work = np.where(layout.holds & (amount > 0.0), mean, queues.work)
        queues.refresh()

    def settled(self, flow: Array) -> None:
        """After a wide tick: nothing is left of what was in flight."""
        self.flow = flow.copy()
        for amounts in (self.staying, self.answered, self.pool, self.refused, self.dropped, self.pending):
            amounts[:] = 0.0
        self.below_then[:] = self.below_now
        self.outcomes.quality[:] = 1.0
        self.outcomes.past[:] = 1.0

    def ages(self, tick: int) -> Array:
        """How long ago the attempts began that are answered now, by edge, in ticks."""
        layout, queues, outcomes = self.layout, self.queues, self.outcomes
        waited = np.bincount(layout.lane_edge, queues.age(tick)[layout.lane_pod] * queues.share, layout.edges)
        age: Array = waited + outcomes.own_of_edge + self.below_now
        return age

    def in_time(self, tick: int) -> Array:
        """Share of the answers of now that come before their deadline, per edge."""
        layout, queues = self.layout, self.queues
        most = layout.timeout - self.outcomes.own_of_edge - self.below_now  # time to wait
        lanes = queues.came_after(layout.lane_pod, tick - most[layout.lane_edge], tick)
        lanes = np.where(queues.lifo[layout.lane_pod], (most > 0.0)[layout.lane_edge], lanes)
        share = np.bincount(layout.lane_edge, lanes * queues.share, layout.edges)
        return np.where(layout.timed, np.minimum(share, 1.0), 1.0)
