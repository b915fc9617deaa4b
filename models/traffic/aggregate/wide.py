"""Wide ticks: while nobody can miss a deadline, many ticks are one.

A graph is calm when the utilisations that its loads imply leave so much room before every
deadline and bound that in a second not a thousandth of a request, or one of 50,000, would miss one. Then all who
arrive are answered, queues are as long as their stationary law says, and waits are drawn from it
(`waits.CalmWaits`). Everything else is looked at in ticks that are part of the shortest timeout.

Operations that seldom fail make some attempts more, which closed forms tell (`usual`). So do the few attempts that are
late where, up to moderate utilisations, hardly anybody is: how many follows from the same laws (`lateness`). What
changes by itself in every tick (closed loads, caches, heaps, contention) keeps a graph in fine ticks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import Shared, arithmetic
from simcluster.models.traffic.aggregate import stationary
from simcluster.models.traffic.aggregate.draws import exponentials
from simcluster.models.traffic.aggregate.durations import fine_values
from simcluster.models.traffic.aggregate.excursions import Excursions
from simcluster.models.traffic.aggregate.fast import FEW_LANES
from simcluster.models.traffic.aggregate.lateness import Lateness
from simcluster.models.traffic.aggregate.sample import Ordinary
from simcluster.models.traffic.aggregate.usual import Usual, usual_of
from simcluster.models.traffic.aggregate.waits import MOST_PLACES, CalmWaits, Station

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.layout import Edge, Layout
    from simcluster.models.traffic.aggregate.state import RunState

Array = NDArray[np.float64]

#: Requests that may be expected to miss a deadline or a bound in a second, and the highest utilisation.
_MISSES, _MISSES_OF_RATE, _BUSIEST = 1e-3, 2e-5, 0.92
#: The same for users who wait for their answers: beyond it their number limits the queue.
_BUSIEST_CLOSED = 0.8
#: -ln of the chance to exceed the largest of 4096 equally likely values.
_TOP = 9.0
#: With more refused attempts than this share, retries are too many to be left out of the load.
_REFUSED = 0.005
#: The same where rates change all the time, and busy queues remember what came before.
_BUSIEST_CHANGING = 0.8
#: Ticks after which the average of what comes to a queue says something.
SETTLED = 32
#: A queue with so few places soon looks as its stationary law says, whatever its load.
_SHORT = 60
#: Shares of operations are told apart in steps of 1 over this.
_SAME_MIX = 64
#: Standard deviations by which the lengths of a service's queues together may be above their mean after a change.
_USUAL_SPREAD = 2.0
#: Quantiles by which a patience is known.
_PATIENCES = 128
#: Loads that differ by no more than this share are the same.
_SAME_LOAD = 0.05
#: Attempts succeed at least so often where operations fail: what two failures do together does not matter.
_MOSTLY = 0.95
#: Hardly anybody is late: so small a share of any edge's attempts in a tick, and utilisations up to this. Retries of
#: more late attempts than the next are part of the load.
HARDLY, _BUSIEST_LATE, _SOME_LATE = 0.02, 0.7, 1e-3
#: A queue is an ordinary one up to so many times its mean.
_ORDINARY = 12.0


class Works(tuple[tuple[Array, Array], ...], Shared):
    """Values of every node's work and their weights; forks share them."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type[Works], tuple[list[tuple[Array, Array]]]]:
        return (Works, (list(self),))


class Wide(Ordinary):
    """Decides about wide ticks and makes them; also says when queues are ordinary ones in fine ticks."""

    def __init__(self, run: RunState) -> None:
        layout = run.layout
        self._run = run
        self._odd = 0
        self._settled = 0
        self._rates: tuple[float, ...] = ()
        self._version = -1
        self._safe = False
        self._excursions, self._grows = Excursions(run), False
        self.version = 0
        self._changed = 0
        #: whether a service's queues still remember what was before a change, or a peak
        self._starts = layout.service_starts
        self._place = np.searchsorted(self._starts, np.arange(layout.pods), side="right") - 1
        self._room = np.diff(np.append(layout.service_starts, layout.pods)).astype(np.float64)
        self._room += _USUAL_SPREAD * np.sqrt(self._room)
        self._unsettled = np.zeros(len(self._starts), dtype=bool)
        self._expect(run, run.gates.usual)
        #: in so many more ticks hardly anybody may be late; after a change, and after somebody was refused
        self._loud = self._enough = max(SETTLED, layout.slots)
        self._rare = run.traits.isdisjoint(("budgeted", "guarded", "withdrawing", "untimed", "bursty", "ranked"))
        #: edges into every service
        self._into: list[list[Edge]] = [[] for _ in layout.graph.service_names]
        for edge in layout.graph.edges:
            self._into[layout.graph.nodes[edge.child].service].append(edge)
        self._moments(run)
        #: laws of wide ticks, and of stretches of fine ones
        many = layout.lanes >= FEW_LANES
        self.waits, self._then = (CalmWaits(self._nodes, compiled=many) for _ in range(2))
        changing = "bursty" in run.traits or any(source.load.is_curved() for source in run.sources)
        self._busiest = _BUSIEST_CHANGING if changing else _BUSIEST
        self._short = (layout.bound <= _SHORT) & (layout.levels == 1)
        self._impatience(run)
        self._lateness, self._at_once = Lateness(run, self._nodes), np.ones(layout.edges)
        #: queues that look as their stationary law says at any utilisation
        self._soon = run.queues.lifo | np.array([patience is not None for patience in self._patience])
        self._short |= self._soon & (layout.levels == 1)
        busy = stationary.at_utilisation(run.queues._tables, run.queues._kind, np.full(layout.pods, _BUSIEST))
        self._usual = np.where(self._short, 0.0, busy[:, 2] / _ORDINARY)

    def _moments(self, run: RunState) -> None:
        """First three moments of the work of every node, in ticks."""
        layout = run.layout
        nodes = layout.graph.nodes
        mean = layout.node_work
        scv = np.array([n.scv for n in nodes])
        third = np.zeros(len(nodes))
        self._nodes = Works(_work_of(layout, i) for i in range(len(nodes)))
        for i, node in enumerate(nodes):
            values, weights = self._nodes[i]
            plain = node.wait_ns == 0.0 and node.work_ns > 0.0
            own = float(np.cumsum(values * values * values * weights)[-1])
            rest = (1.0 + 3.0 * node.scv + 2.0 * node.scv * node.scv) * float(mean[i] * mean[i] * mean[i])
            third[i] = max(own, rest) if plain and node.scv >= 1.0 else own if plain else rest
        self._first, self._second, self._third = mean, mean * mean * (1.0 + scv), third

    def _impatience(self, run: RunState) -> None:
        """How long requests wait at most at every pod, where waiting ones leave or are not served; in ticks."""
        layout, limits, callers = run.layout, run.queues.limits, run.callers
        self._patience: list[Array | None] = [None] * layout.pods
        for pod in range(layout.pods):
            edges = np.unique(layout.lane_edge[layout.lane_pod == pod]).tolist()
            if np.isfinite(limits.delay[pod]) and limits.interval[pod] <= 0.0:
                self._patience[pod] = limits.delay[pod : pod + 1].copy()
            elif len(edges) == 1 and callers.takes_back[edges[0]] and not layout.infinite[pod]:
                policy = run.graph.edges[edges[0]].policy
                if policy.patience is not None:
                    values = layout.graph.values_of(policy.patience) / layout.tick_ns
                    self._patience[pod] = values[len(values) // (2 * _PATIENCES) :: len(values) // _PATIENCES]

    def renew(self, tick: int) -> None:
        """Speeds, routes or rules were changed at this tick."""
        self.version += 1
        self._changed = tick
        self._loud = self._enough
        self._unsettled[:] = True

    def span(self, run: RunState, last: int) -> int:
        """How many ticks the next step may take together; 1 if it must be a fine one."""
        calm = not run.hot and run.is_calm
        if not (calm or self._loud == 0) or not self._clean(run):
            return 1
        tick = run.tick
        end = min(tick + run.longest, last, run.calm_until(), run.window_end())
        for source in run.sources:
            end = min(end, source.steady_until(tick))
        if (
            end - tick < 2
            or not self.is_safe(run)
            or bool(self._unsettled.any())
            or bool((run.queues.number > self._most).any())
        ):
            return 1
        first = self._excursions.first(tick, end - tick)
        self._grows = first is not None
        return end - tick if first is None else max(first, 2)

    def is_safe(self, run: RunState) -> bool:
        """Whether wide ticks are possible at the loads of now, once queues are ordinary ones."""
        rates = tuple(rate for source in run.sources for rate in source.rates(run.tick))
        if rates != self._rates or self.version != self._version:
            self._rates, self._version = rates, self.version
            self._safe = self._settle(run)
        return self._safe

    def watch(self, tick: int) -> None:
        """After a fine tick: note when a queue was longer than it ordinarily is, or had more to do than it can."""
        queues = self._run.queues
        odd = queues.waiting * np.minimum(queues.usual, self._usual) > 1.0
        odd |= (queues.offered > queues.rate) & ~self._short & (tick > SETTLED)
        if bool(odd.any()):
            self._odd = tick + 1
            self._unsettled |= np.logical_or.reduceat(odd, self._starts)
        if bool(self._unsettled.any()):
            self._settling(tick)
        if self._rare and self._run.judged:
            run = self._run
            missed = np.maximum(1.0 - run.outcomes.quality / np.maximum(run.gates.usual.first, 1e-300), 0.0)
            refused = bool(run.refused.any()) or bool(run.dropped.any())
            some = int(run.watched[missed > HARDLY].max(initial=0))
            self._loud = max(self._enough if refused else self._loud - 1, some)

    def _expect(self, run: RunState, usual: Usual) -> None:
        self.usual = usual
        self._open = run.gates.opened(self.usual.call)

    def _settling(self, tick: int) -> None:
        """Queues are ordinary ones again when those of a service together are as long as they usually are."""
        queues = self._run.queues
        length = np.where(self._run.layout.infinite, 0.0, queues.number * (queues.usual * _ORDINARY))
        self._unsettled &= np.bincount(self._place, length, len(self._room)) > self._room
        if bool(self._unsettled.any()):
            self._odd = tick + 1

    def laws(self, since: int, until: int) -> tuple[CalmWaits | None, bool]:
        """Laws of the waits at the loads of a stretch, if there are any, and whether all its waits were theirs."""
        run, queues, layout = self._run, self._run.queues, self._run.layout
        refusing = bool((run.outcomes.refused > _REFUSED).any())
        if "ranked" in run.traits or self._changed > since or self._is_other_load(since, until):
            return None, False
        if refusing and layout.levels > 1:
            return None, False
        slowed = bool((queues.factor != 1.0).any()) or not run.traits.isdisjoint(("heaped", "contended"))
        if slowed or run.cuts.any_share:
            return None, False
        if "impatient" in run.traits and layout.levels > 1:
            return None, False
        guarded = not run.guards.quiet()
        changing = run.waits_for_answers or "cached" in run.traits
        most = _BUSIEST_CLOSED if changing else _BUSIEST
        if refusing or guarded or changing or "hedged" in run.traits or bool(queues.lifo.any()):
            left = run.flow[layout.lane_edge] * queues.share
        else:
            left = self.expected(run, since)[1]
        if changing or "rate_limited" in run.traits:
            offered = queues.offered
        else:
            offered = np.bincount(layout.lane_pod, left * layout.relative, layout.pods).astype(np.float64)
        rho = np.where(layout.infinite, 0.0, offered / np.maximum(queues.rate, 1e-12))
        if bool(((rho > most) & ~(self._short & ~queues.slow) & ~self._soon).any()):
            return None, False
        self._laws(run, rho, left, self._then)
        remembered = refusing and bool(run.callers.comes_again.any())
        shifting = bool((queues.limits.interval > 0.0).any()) or "bursty" in run.traits
        wild = guarded or remembered or shifting or bool(queues.stacks)  # those know who waits
        return self._then, not wild and self._odd <= since

    def _was_so(self, since: int, until: int) -> bool:
        """Whether queues were ordinary ones under the laws of now since a tick."""
        run = self._run
        if "bursty" in run.traits or bool((run.outcomes.refused > _REFUSED).any()):
            return since == until
        return self._changed <= since and self._odd <= since and not self._is_other_load(since, until)

    def _is_other_load(self, since: int, until: int) -> bool:
        """Whether more or less came at a tick than at another."""
        for source in self._run.sources:
            if source.load.closed is not None:
                continue
            for then, now in zip(source.rates(since), source.rates(until), strict=True):
                if abs(then - now) > _SAME_LOAD * now:
                    return True
        return False

    def expected(self, run: RunState, tick: int) -> tuple[Array, Array]:
        """Calls of all edges and requests of all lanes in a tick, by the rates of the loads."""
        fresh = np.zeros(run.layout.edges)
        for source in run.sources:
            for edge, rate in zip(source.edges, source.rates(tick), strict=True):
                fresh[edge] += rate
        return self.forward(run, fresh, self.usual)

    def _clean(self, run: RunState) -> bool:
        cuts, callers = run.cuts, run.callers
        if (
            cuts.any_share
            or cuts.any_void
            or bool(cuts.blocked.any())
            or bool(cuts.late.any())
            or bool(cuts.dead.any())
        ):
            return False
        if callers._ring and "failing" not in run.traits and bool(callers.delayed.any()):
            return False
        return run.guards.quiet() and self._rarely_fails(run)

    def _rarely_fails(self, run: RunState) -> bool:
        """Whether operations that fail by themselves cost no more than some attempts that are made again."""
        return "failing" not in run.traits or self._some_may_fail(run)

    def _some_may_fail(self, run: RunState) -> bool:
        """Whether closed forms tell what becomes of attempts that fail, if few do."""
        capped = bool((run.callers.limit < run.layout.attempts).any())
        return self._rare and not capped and bool((run.gates.usual.attempt >= _MOSTLY).all())

    def _settle(self, run: RunState) -> bool:
        """Flows, utilisations and laws for the loads of now, and who is late; whether they are safe."""
        run.sampler.flush()  # requests so far waited by the laws of their time
        self._settled += 1
        self._expect(run, run.gates.usual)
        if not self._evaluate(run):
            return False
        full, most = self._overflow(run), _MISSES + _MISSES_OF_RATE * self._come(run)
        if full + self._misses(run) < most:
            return True
        if full >= most or self._rho > _BUSIEST_LATE or not self._some_may_fail(run):
            return False
        for _ in range(2):
            late = self._lateness.shares(run, self.waits, self._excursions.rate)
            self._expect(run, usual_of(run.layout, late))
            if bool((late > HARDLY).any()) or not bool((late > _SOME_LATE).any()):
                break
            if not self._evaluate(run):  # retries are part of the load
                return False
        return bool((late <= HARDLY).all())

    def _come(self, run: RunState) -> float:
        """Attempts of users in a second."""
        return float(np.cumsum(self.flow[run.recorder.roots])[-1]) * 1e9 / run.layout.tick_ns

    def _evaluate(self, run: RunState) -> bool:
        """Flows, utilisations and laws with as many retries as usual; whether there are any, and few excursions."""
        layout, queues = run.layout, run.queues
        calls, left = self.expected(run, run.tick)
        self.flow, self._left = calls * self.usual.made, left
        offered = np.bincount(layout.lane_pod, left * layout.relative, layout.pods).astype(np.float64)
        self.offered = offered
        run.refresh()
        rho = np.where(layout.infinite, 0.0, offered / np.maximum(queues.rate, 1e-12))
        self._rho = float(rho.max())
        if self._rho > self._busiest:
            return False
        columns = stationary.at_utilisation(queues._tables, queues._kind, rho)
        self._gamma, self._decay = columns[:, 2], columns[:, 3] * queues.rate
        self._most = np.where(layout.infinite, np.inf, queues.shift + _ORDINARY / self._gamma)
        each = queues.share / ((1.0 - rho) * (1.0 - rho))[layout.lane_pod]
        self._at_once = np.maximum(np.bincount(layout.lane_edge, each, layout.edges), 1.0)
        flow = self._laws(run, rho, left, self.waits)
        self._wide_length = np.where(layout.infinite, 0.0, self.waits.mean * flow)
        return self._excursions.expect(run, columns)

    def forward(self, run: RunState, fresh: Array, usual: Usual) -> tuple[Array, Array]:
        """Calls through the graph, tried again where operations fail: calls on every edge, requests of every lane."""
        layout, queues = run.layout, run.queues
        calls, left = fresh.copy(), np.zeros(layout.lanes)
        per_visit = layout.calls_per_visit * run.outcomes.made * self._open
        survive = (1.0 - layout.node_failure)[layout.lane_node]
        for level in range(layout.levels):
            lanes = layout.level_lanes[level]
            edge = layout.lane_edge[lanes]
            left[lanes] = calls[edge] * usual.made[edge] * queues.share[lanes]
            rows, below = layout.level_pairs[level]
            if len(rows):
                calls += np.bincount(below, left[rows] * survive[rows] * per_visit[below], layout.edges)
        return calls, left

    def _laws(self, run: RunState, rho: Array, left: Array, waits: CalmWaits) -> Array:
        """Work out the laws of the waits; how many requests come to every pod in a tick."""
        layout, queues = run.layout, run.queues
        flow = np.maximum(np.bincount(layout.lane_pod, left, layout.pods), 1e-300)
        basis = np.concatenate(
            (rho, left, queues.rate, queues.hold, queues.factor, queues.up, queues.in_flight_max, layout.cores)
        )
        if np.array_equal(basis, waits.basis) and not queues.limits.has_rate:
            return flow
        waits.basis = basis
        node = layout.lane_node
        first, second, third = (
            np.bincount(layout.lane_pod, left * table[node], layout.pods) / flow
            for table in (self._first, self._second, self._third)
        )
        held = layout.holds
        scv = np.where(held, 1.0, np.maximum(second / np.maximum(first * first, 1e-300) - 1.0, 0.0))
        skew = np.where(held, 6.0, third / np.maximum(first * first * first, 1e-300))
        speed = np.maximum(queues.factor * queues.up, 1e-12)
        service = np.where(held, queues.hold, np.minimum(first / speed, 1e9))
        # of a server that holds its workers, the cores may be what requests wait for
        cpu = np.where(held, flow * first / np.maximum(layout.cores * speed, 1e-12), 0.0)
        computing = held & (cpu > flow * service / np.maximum(layout.servers, 1.0))
        rho = np.where(computing, cpu, rho)
        scv = np.where(computing, np.maximum(second / np.maximum(first * first, 1e-300) - 1.0, 0.0), scv)
        skew = np.where(computing, third / np.maximum(first * first * first, 1e-300), skew)
        service = np.where(computing, first / speed, service)
        places = np.where(computing, layout.cores, layout.servers)
        shared = layout.sharing  # as with exponential work, whatever the law
        scv, skew = np.where(shared, 1.0, scv), np.where(shared, 6.0, skew)
        mixes = self._mixes(layout, left)
        stations, balancers = [], []
        batches = self._batches(layout, left)
        for pod in range(layout.pods):
            described = layout.graph.spec.services[layout.graph.service_names[layout.pod_service[pod]]]
            among = described.replicas
            servers = 2000 if layout.infinite[pod] else max(1, int(min(places[pod], 2000)))
            own = float(rho[pod])
            newest = described.queue.discipline == "lifo"
            room = int(min(layout.bound[pod], queues.in_flight_max[pod] - servers, 1e6))
            stations.append(
                Station(
                    own,
                    servers,
                    float(scv[pod]),
                    float(skew[pod]),
                    self._regularity(run, pod, own),
                    newest,
                    max(room, 0) if room <= MOST_PLACES else None,
                    () if held[pod] or shared[pod] else mixes[pod],
                    self._patience_at(pod, float(service[pod])),
                    batches.get(pod, ()),
                )
            )
            balancers.append((described.balancer, among))
        waits.settle(stations, balancers, service)
        return flow

    def _patience_at(self, pod: int, service: float) -> tuple[float, ...]:
        values = self._patience[pod]
        return tuple((values / max(service, 1e-9)).tolist()) if values is not None else ()

    @staticmethod
    def _batches(layout: Layout, left: Array) -> dict[int, tuple[float, ...]]:
        """Of pods of one replica that the arms of forks reach together: chances of 1, 2, ... requests at once."""
        found: dict[int, tuple[float, ...]] = {}
        flow = np.bincount(layout.lane_edge, left, layout.edges)
        for service, forks in layout.forks.items():
            if layout.replicas[service] > 1:
                continue
            pod = layout.first_pod[service]
            rest = float(np.cumsum(left[layout.lane_pod == pod])[-1])
            rates = [0.0] * max(len(arms) for arms in forks)
            for arms in forks:
                each = float(min(flow[arm] for arm in arms))
                rates[len(arms) - 1] += each
                rest -= len(arms) * each
            rates[0] += max(rest, 0.0)
            total = float(np.cumsum(rates)[-1])
            if total > 0.0:
                shares = [round(rate / total * _SAME_MIX) / _SAME_MIX for rate in rates]
                shares[-1] += 1.0 - float(np.cumsum(shares)[-1])
                found[pod] = tuple(shares)
        return found

    @staticmethod
    def _mixes(layout: Layout, left: Array) -> list[tuple[tuple[int, float], ...]]:
        """Of every pod the nodes it serves, and how often each, rounded."""
        found: list[dict[int, float]] = [{} for _ in range(layout.pods)]
        flow = np.maximum(np.bincount(layout.lane_pod, left, layout.pods), 1e-300)
        share = left / flow[layout.lane_pod]
        for pod, node, part in zip(layout.lane_pod.tolist(), layout.lane_node.tolist(), share.tolist(), strict=True):
            rounded = round(part * _SAME_MIX) / _SAME_MIX
            if rounded > 0.0:
                found[pod][node] = found[pod].get(node, 0.0) + rounded
        return [tuple(mix.items()) for mix in found]

    def _regularity(self, run: RunState, pod: int, rho: float) -> float:
        """Squared variation of the times between arrivals at a pod."""
        layout = run.layout
        service = layout.graph.spec.services[layout.graph.service_names[layout.pod_service[pod]]]
        arrivals = 1.0
        if run.queues.limits.has_rate and np.isfinite(run.queues.limits.rate[pod]):
            # what a rate limit lets through is the more even the more it turns away
            come = float(np.cumsum((run.flow[layout.lane_edge] * run.queues.share)[layout.lane_pod == pod])[-1])
            return max(0.0, 1.0 - 2.0 * max(0.0, 1.0 - float(run.queues.limits.rate[pod]) / max(come, 1e-12)))
        own = self._into[layout.pod_service[pod]]
        if service.balancer == "round_robin" and service.replicas > 1:
            callers = sum(int(run.callers.callers[e.index]) for e in own)  # integers
            arrivals = 1.0 / service.replicas
        elif all(e.caller < 0 and self._is_even(run, e) for e in own):
            arrivals, callers = 1.0 - 1.0 / service.replicas, 1
        else:
            return 1.0
        weight = 1.0 / (1.0 + 4.0 * (1.0 - rho) * (1.0 - rho) * (callers - 1))
        return weight * arrivals + 1.0 - weight

    def _is_even(self, run: RunState, edge: Edge) -> bool:
        load = run.spec.load[edge.load].open
        return load is not None and load.arrivals == "even"

    def _stretched(self, run: RunState) -> Array:
        """How much longer than described the own time of every node is, at its slowest pod."""
        layout = run.layout
        slowest = np.ones(len(layout.node_own))
        own = layout.node_own[layout.lane_node]
        np.maximum.at(
            slowest, layout.lane_node, np.where(own > 0.0, run.outcomes.lane_own / np.maximum(own, 1e-12), 1.0)
        )
        return slowest

    def _overflow(self, run: RunState) -> float:
        """Requests a second that would find a full queue."""
        layout, queues = run.layout, run.queues
        bound = np.minimum(layout.bound + queues.shift, queues.in_flight_max)
        finite = np.isfinite(bound) & ~layout.infinite
        over = np.where(
            finite,
            self.offered * arithmetic.exp_array(-np.minimum(self._gamma * np.where(finite, bound, 0.0), 600.0)),
            0.0,
        )
        return float(np.cumsum(over)[-1]) * 1e9 / layout.tick_ns

    def _misses(self, run: RunState) -> float:
        """Requests a second that would miss a deadline, at most."""
        layout, left = run.layout, self._left
        slow = np.where(layout.infinite, 1e9, self._decay)
        # times in the queue and of service fall off exponentially; of service
        # the largest tabulated value says how fast
        tail = _TOP / np.maximum(layout.distribution._top * (self._stretched(run)), 1e-9)
        tail = np.where(layout.node_own > 0.0, tail, 1e9)
        lane_slow = np.where(left > 0.0, np.minimum(slow[layout.lane_pod], tail[layout.lane_node]), 1e9)
        travel = layout.ways.top  # they, too
        steepest = np.where(travel > 0.0, _TOP / np.maximum(travel, 1e-9), 1e9)
        np.minimum.at(steepest, layout.lane_edge, lane_slow)
        visits = np.ones(layout.edges)
        for height in run.outcomes.heights:
            for edge in height.edges.tolist():
                for child in layout.children.get(int(layout.child[edge]), ()):
                    if child.asynchronous:
                        continue
                    reach, i = float(layout.calls_per_visit[child.index]), child.index
                    steepest[edge] = min(steepest[edge], steepest[i])
                    visits[edge] += reach * visits[i]
        room = np.where(layout.timed, layout.timeout - 2.0 * layout.network, 1e9)
        if bool((room[self.flow > 0.0] <= 0.0).any()):
            return 1e9
        x = np.minimum(steepest * np.maximum(room, 0.0), 700.0)
        more = np.maximum(visits - 1.0, 0.0)
        power = more * arithmetic.log_array(1.0 + x / np.maximum(more, 1.0)) - x
        missed = self.flow * arithmetic.exp_array(np.maximum(np.minimum(power, 0.0), -690.0))
        return float(np.cumsum(np.where(layout.timed, missed, 0.0))[-1]) * 1e9 / layout.tick_ns

    def step(self, run: RunState, ticks: int) -> None:
        """So many ticks at once."""
        layout, queues, callers, recorder = run.layout, run.queues, run.callers, run.recorder
        tick, end = run.tick, run.tick + ticks
        since = run.sampler.since
        if not self._was_so(since, tick):
            run.sampler.finish(tick)
            since = tick
        fresh = np.zeros(layout.edges)
        for source in run.sources:
            for edge, count in zip(source.edges, source.arrivals(tick, ticks), strict=True):
                fresh[edge] += count
        usual = self._drawn(tick, ticks)
        calls, left = self.forward(run, fresh, usual)
        before, attempts = callers.leave_calm(calls, fresh, usual)
        recorder.tick(attempts, np.zeros(layout.edges), calls, callers.succeeded, ticks)
        recorder.failures(callers.failed, callers.final)
        units = np.bincount(layout.lane_pod, left * layout.relative, layout.pods).astype(np.float64)
        finished = units
        own = np.where(layout.infinite, run.stay_of_pod, queues.mean_service)
        recorder.pods(self._wide_length * ticks, np.minimum(finished * own, 1e12), finished)
        recorder.lanes(left, None)
        roots = recorder.roots
        good = usual.call[roots]
        recorder.answered(np.full(len(roots), (tick - 0.5) * run.tick_ns), before[roots] * good)
        recorder.answered(np.full(len(roots), (tick + 0.5 * ticks) * run.tick_ns), calls[roots] * good)
        if run.guards:
            run.guards.saw(end, calls, calls, np.zeros(layout.edges))
        queue = exponentials(run.noise.uniform(end)) / np.maximum(self._gamma, 1e-12)
        number = np.where(layout.infinite, 0.0, queue)
        if self._grows:
            self._grow(run, number, tick)
        queues.settle(end, number, units, self.offered, left)
        run.settled(self.flow)
        run.sampler.calm(since, end, fresh, self.waits, self._settled)
        run.tick = end

    def _drawn(self, tick: int, ticks: int) -> Usual:
        """What becomes of attempts in a wide tick, with as many late ones as chance has it."""
        mean = self.flow * self.usual.late * ticks
        if not mean.any():
            return self.usual
        found = self._lateness.drawn(tick, mean, self._at_once)
        return self.usual.with_late(np.where(mean > 0.0, found / np.where(mean > 0.0, mean, 1.0), 1.0))

    def _grow(self, run: RunState, number: Array, begin: int) -> None:
        """A queue is beyond a timeout when the wide tick that began then ends: deadlines are looked at from now on."""
        pod = self._excursions.pod(begin)
        number[pod] = max(float(number[pod]), float(self._excursions.level[pod]))
        self._unsettled[self._place[pod]] = True
        edges = run.layout.lane_edge[run.layout.lane_pod == pod]
        run.hot = self._loud = int(run.watched[edges].max())
        run.is_calm, self._odd = False, run.tick + 1


def _work_of(layout: Layout, index: int) -> tuple[Array, Array]:
    """Times of an operation's own work, ascending and in ticks, and their probabilities."""
    node = layout.graph.nodes[index]
    if len(node.flat.parts) == 1 and node.flat.parts[0].reach >= 1.0:
        values, weights = fine_values(node.flat.parts[0].law)
        mean = float(np.cumsum(values * weights)[-1])
        return values * (layout.node_own[index] / max(mean, 1e-300)), weights
    plain = layout.graph.values[index] / layout.tick_ns
    return plain, np.full(len(plain), 1.0 / len(plain))
