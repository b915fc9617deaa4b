"""Latencies: requests that walk through the recorded waits, service times and calls.

A walked request meets at every pod the wait of somebody who arrives at that instant (read from the
instants at which positions began service), draws its own time, makes its calls in the order
of the spec, and tries again after a timeout as its policies say. Walking looks at the state and
changes nothing.

Approximations: at most `_TRIES` attempts of one call are walked; waits after the last recorded
tick are that tick's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import Shared
from simcluster.engine.streams import Streams
from simcluster.models.traffic.aggregate.callers import Callers, spread
from simcluster.models.traffic.aggregate.draws import exponentials, stratified, uniforms
from simcluster.models.traffic.aggregate.durations import VALUES
from simcluster.models.traffic.aggregate.fast import FEW_LANES, kernels
from simcluster.models.traffic.aggregate.layout import Layout
from simcluster.models.traffic.aggregate.outcomes import Outcomes
from simcluster.models.traffic.aggregate.queues import NEVER, Queues
from simcluster.models.traffic.aggregate.ranked import RankedQueues
from simcluster.models.traffic.aggregate.refusals import Refusals
from simcluster.models.traffic.aggregate.speeds import Speeds
from simcluster.models.traffic.aggregate.waits import CalmWaits
from simcluster.models.traffic.graph.policy import Hedge
from simcluster.models.traffic.graph.service import Step

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_TRIES = 6
#: Shorter waits of who is served before those that came earlier (in ticks) are drawn from their law.
_SOON = 2.0
#: Chance of an arm to wait as the other arms of its fork do. Two of them do so with chance 1/4: the longer of two
#: sojourns then has the mean (12 - rho)/8 of one at every utilisation, as it must (Nelson and Tantawi 1988, exact for
#: two M/M/1); of five and ten arms the mean and p50 to p99 come within 1 to 6 %.
_ALIKE = 0.5


@dataclass
class Branching(Shared):
    """The steps of an operation with edges in place of calls; only what concerns calls is kept."""

    edge: int = -1
    parallel: bool = False
    choices: list[tuple[float, list[Branching]]] = field(default_factory=list)
    children: list[Branching] = field(default_factory=list)
    cached_edge: int = -1


class Walker:
    """Walks many requests at once."""

    def __init__(
        self,
        layout: Layout,
        queues: Queues,
        outcomes: Outcomes,
        callers: Callers,
        past: tuple[Speeds, Refusals],
        seed: int,
    ) -> None:
        self._layout = layout
        self._queues = queues
        self._ranked = queues if isinstance(queues, RankedQueues) else None
        self._callers = callers
        self._outcomes = outcomes
        self._key = np.array([Streams(seed).key("traffic", "walk")], dtype=np.uint64)
        self._counter = 0
        self.newest = 0
        #: an attempt on an edge that begins at this tick or later ends by its timeout: nobody follows it
        self.vain = np.full(layout.edges, np.inf)
        #: whether what a visit takes may be drawn compiled
        self._plain = not (queues.limits.has_delay or layout.sharing.any()) and layout.lanes >= FEW_LANES
        #: whether requests are served as they came, which recorded waits say
        self._in_order = self._ranked is None and not queues.stacks
        #: who of the last visits waited too long to be served; None: nobody
        self._late: NDArray[np.bool_] | None = None
        #: laws of the waits, while calm stretches are walked
        self.calm: CalmWaits | None = None
        #: laws of waits that are shorter than a tick, while others are
        self.beneath: CalmWaits | None = None
        #: chance of the next wait to be one that a fork's arms have in common, and what that is drawn from
        self._common: tuple[float, list[Array]] | None = None
        #: which of the fork's arms at the same pod the next wait is of
        self._rank = 0
        self._speeds, self._refusals = past
        self._plans = self._programs()
        spec = layout.graph.spec
        tick = layout.tick_ns
        network = [e.policy.network or spec.network for e in layout.graph.edges]
        self._network = [layout.graph.values_of(law) / tick if law is not None else None for law in network]
        patience = {e.index: e.policy.patience for e in layout.graph.edges if e.policy.patience is not None}
        self._limits = {edge: layout.graph.values_of(law) / tick for edge, law in patience.items()}
        self._own = np.array([values / tick for values in layout.graph.values])
        self._first = np.array(layout.first_pod, dtype=np.int64)
        self._replicas = np.array(layout.replicas, dtype=np.int64)
        into = np.bincount(layout.node_service[layout.child], minlength=len(layout.replicas))
        sharing = (into * self._replicas)[layout.node_service[layout.child]]
        self._alike = _ALIKE / np.sqrt(np.maximum(sharing, 1.0))
        self._backoff = []
        for edge in layout.graph.edges:
            backoff = edge.policy.retries.backoff if edge.policy.retries is not None else None
            delays = [spread(backoff, k, tick) for k in range(min(_TRIES, edge.policy.attempts))] if backoff else []
            parts = backoff is not None and backoff.jitter == "decorrelated"
            self._backoff.append([_borders_of(d) if parts else np.array(_range_of(d)) for d in delays])
        #: edges of retries that have another priority
        self._later = dict(zip(callers.firsts.tolist(), callers.laters.tolist(), strict=True))
        self._paid_for = [e.index for e in layout.graph.edges if e.policy.retries and e.policy.retries.budget]

    def _programs(self) -> dict[int, list[Branching]]:
        plans = {}
        spec = self._layout.graph.spec
        for node in self._layout.graph.nodes:
            by_site = {}
            for edge in self._layout.children.get(node.index, ()):
                position = next(i for i, site in enumerate(node.flat.sites) if site is edge.site)
                by_site[position] = edge.index
            counter = [0]
            steps = spec.services[node.service_name].operations[node.operation].steps
            plans[node.index] = _branching(steps, by_site, counter)
        return plans

    def begin(self, counter: int, newest: int) -> None:
        """Fix the draws that follow, and the last tick whose waits are known."""
        self._counter = counter
        self.newest = newest

    def uniform(self, count: int) -> Array:
        """The next draws; while calm stretches are walked one from each of `count` equal parts, in random order."""
        counters = np.arange(self._counter, self._counter + count, dtype=np.uint64)
        self._counter += count
        if self.calm is None or count < 4:
            return uniforms(self._key, counters + np.uint64(1))
        return stratified(self._key, counters + np.uint64(1))

    def _draw(self, values: Array, count: int) -> Array:
        """Draws of a law, between its tabulated values too."""
        at = self.uniform(count) * VALUES - 0.5
        low = np.minimum(np.maximum(np.floor(at), 0.0), VALUES - 2).astype(np.int64)
        result: Array = values[low] + np.minimum(np.maximum(at - low, 0.0), 1.0) * (values[low + 1] - values[low])
        return result

    def call(self, edge: int, at: Array, limit: Array | None = None) -> tuple[Array, NDArray[np.bool_]]:
        """Calls on an edge at instants (ticks): how long they take, and whether they succeed.

        Args:
            limit: how long anybody waits for them; what would take longer is followed no further than that.
        """
        layout = self._layout
        count = len(at)
        if limit is None:
            limit = np.full(count, np.inf)
        spent, ok = np.zeros(count), np.zeros(count, dtype=bool)
        left = np.arange(count)
        tries = min(_TRIES, int(layout.attempts[edge]))
        for number in range(tries):
            if number == 1:
                edge = self._later.get(edge, edge)
            patient = limit[left] - spent[left]
            if layout.timed[edge]:
                patient = np.minimum(patient, layout.timeout[edge])
            begun = at[left] + spent[left]
            took, good = patient.copy(), np.zeros(len(left), dtype=bool)
            some = np.nonzero(begun < self.vain[edge])[0] if self.calm is None else np.arange(len(left))
            if 0 < len(some) < len(left) and self._common is not None:
                alike, together = self._common
                self._common = alike, [each[some] for each in together]
            if len(some):
                took[some], good[some] = self._attempt(edge, begun[some], patient[some])
            refused = self._refused(edge, begun)
            if refused is not None:
                away = self.uniform(len(left)) < refused
                took, good = np.where(away, 0.0, took), good & ~away
            hedge = layout.graph.edges[edge].policy.hedge
            if hedge is not None:
                took, good = self._hedge(edge, begun, took, good, hedge, patient)
            patience = layout.graph.edges[edge].policy.patience
            if patience is not None:
                until = self._draw(self._limits[edge], len(left))
                took, good = np.minimum(took, until), good & (took <= until)
            if layout.timed[edge]:
                good &= took <= layout.timeout[edge]
                took = np.minimum(took, layout.timeout[edge])
            spent[left] += took
            ok[left[good]] = True
            left = left[~good & (spent[left] < limit[left])]
            if edge in self._paid_for and len(left):
                left = left[self.uniform(len(left)) < self._callers.budgets.paid[edge]]
            if not len(left) or number + 1 == tries:
                break
            if self._backoff[edge]:
                borders = self._backoff[edge][min(number, len(self._backoff[edge]) - 1)]
                at_part = self.uniform(len(left)) * (len(borders) - 1)
                part = np.floor(at_part).astype(np.int64)
                spent[left] += borders[part] + (borders[part + 1] - borders[part]) * (at_part - part)
        return spent, ok

    def _refused(self, edge: int, at: Array) -> Array | float | None:
        """Which share of attempts at these instants is refused; None: none, or it shows from the wait."""
        if self.calm is None:
            return self._refusals.at(edge, at)
        usual = float(self._outcomes.refused[edge])
        return usual if usual > 1e-4 and not self._queues.limits.has_delay else None

    def _hedge(
        self, edge: int, at: Array, took: Array, good: NDArray[np.bool_], hedge: Hedge, limit: Array
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Attempts beside those that have no answer yet; the first answer counts."""
        after = hedge.after / self._layout.tick_ns
        service = int(self._layout.node_service[self._layout.child[edge]])
        first, replicas = int(self._first[service]), int(self._replicas[service])
        # one server answers in order: who stands in the same queue is not answered before the first attempt
        behind = 1.0 / replicas if self._layout.servers[first] <= 1.0 else 0.0
        for copy in range(1, hedge.extra + 1):
            late = np.nonzero(took > copy * after)[0]
            if not len(late):
                break
            second, fine = self._attempt(edge, at[late] + copy * after, limit[late] - copy * after)
            if behind > 0.0:
                fine &= self.uniform(len(late)) >= behind
            total = second + copy * after
            better = fine & (~good[late] | (total < took[late]))
            took[late] = np.where(better, total, took[late])
            good[late] |= fine
        return took, good

    def _attempt(self, edge: int, at: Array, limit: Array) -> tuple[Array, NDArray[np.bool_]]:
        layout = self._layout
        node = int(layout.child[edge])
        network = self._network[edge]
        there = self._draw(network, len(at)) if network is not None else 0.0
        back = self._draw(network, len(at)) if network is not None else 0.0
        wait, own = self.visit(node, at + there)
        late = self._late
        took = there + wait + own
        more, good = np.zeros(len(at)), took <= limit  # the calls of the others are nobody's any more
        if late is not None:
            good &= ~late
        here = np.nonzero(good)[0]
        more[here], good[here] = self._steps(self._plans[node], (at + took)[here], (limit - took)[here])
        return took + more + back, good

    def visit(self, node: int, at: Array) -> tuple[Array, Array]:
        """Wait and own time of requests that reach a pod of a node's service at these instants."""
        speed = self._speeds.constant() if self._plain and (self.calm is not None or self._in_order) else None
        fast = kernels() if speed is not None else None
        if fast is not None and speed is not None:
            return self._visit_fast(fast, node, at, speed)
        return self.visits(np.full(len(at), node, dtype=np.int64), at)

    def _visit_fast(self, fast: ModuleType, node: int, at: Array, speed: Array) -> tuple[Array, Array]:
        """The same compiled, where nothing unusual holds requests up."""
        layout, queues, count = self._layout, self._queues, len(at)
        service = layout.node_service[node]
        first, last = int(self._first[service]), int(self._first[service] + self._replicas[service] - 1)
        laws = self.beneath if self.calm is None else self.calm
        common, rank = None, 0
        if laws is not None:
            common, self._common = self._common, None
        if self.calm is not None:
            rank, self._rank = self._rank, 0
        alike, together = (common[0], np.array(common[1])) if common is not None else (-1.0, np.zeros((3, 0)))
        pods, chances = np.empty(count, dtype=np.int64), np.empty((3, count))
        wait, own = np.empty(count), np.empty(count)
        simple = laws.simple if laws is not None else (at, at, at, at)  # which nobody reads
        self._counter = fast.visit(
            self._key[0], self._counter, self.calm is not None, laws is not None, first, last,
            np.cumsum(queues.up * queues.chosen),
            alike, together, *simple, self._own[node], layout.node_own[node], layout.node_work[node], queues.stretch,
            speed, pods, chances, wait, own,
        )  # fmt: skip
        self._late = None
        nobody = wait >= NEVER
        if laws is not None:
            wait = laws.other(pods, chances, wait, rank)
        if self.calm is None:
            past, soon = np.empty(count), np.empty(count, dtype=bool)
            fast.past_waits(
                pods, at, self.newest, queues.borders, queues.instants, queues.begun, queues.rate, past, soon
            )
            wait = past if laws is None else np.where(soon & (wait < 1.0), wait, past)
        return np.where(nobody, NEVER, wait), own

    def visits(self, node: Index, at: Array) -> tuple[Array, Array]:
        """The same for requests of different nodes."""
        layout, queues = self._layout, self._queues
        service = layout.node_service[node]
        first, replicas = self._first[service], self._replicas[service]
        # which of the pods that are up: cumulated over all pods in their order
        share = np.cumsum(queues.up * queues.chosen)
        before = np.where(first > 0, share[first - 1], 0.0)
        here = share[first + replicas - 1] - before
        pod = np.searchsorted(share, before + self.uniform(len(at)) * here, side="right")
        pod = np.minimum(np.maximum(pod, first), first + replicas - 1)
        wait = np.where(here > 0.0, self._wait(pod, at), NEVER)
        position = self.uniform(len(at)) * VALUES - 0.5
        low = np.minimum(np.maximum(np.floor(position), 0.0), VALUES - 2).astype(np.int64)
        value = self._own[node, low]
        own = value + np.minimum(np.maximum(position - low, 0.0), 1.0) * (self._own[node, low + 1] - value)
        natural = np.maximum(layout.node_own[node], 1e-300)
        work = own * (layout.node_work[node] / natural)
        self._late = None
        if self.calm is not None and queues.limits.has_delay:  # not served when his turn comes
            self._late = wait > queues.limits.delay[pod]
            own, work = np.where(self._late, 0.0, own), np.where(self._late, 0.0, work)
        if layout.sharing.any():  # who has more work shares the core with others for longer
            wait = np.where(layout.sharing[pod] & (wait < NEVER), wait * (own / natural), wait)
        lasts = self._speeds.lasts(pod, at + wait, work * queues.stretch[pod], own - work)
        return wait, np.where(layout.node_own[node] > 0.0, lasts, own)

    def _chances(self, count: int) -> tuple[Array, Array, Array]:
        """Three uniforms for each wait; of the first wait of an arm now and then those that its fork has in common."""
        drawn = self.uniform(count), self.uniform(count), self.uniform(count)
        if self._common is None:
            return drawn
        (alike, together), self._common = self._common, None
        taken = self.uniform(count) < alike
        one, two, three = (np.where(taken, one, own) for one, own in zip(together, drawn, strict=True))
        return one, two, three

    def _arms(self, step: Branching, at: Array, limit: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Calls side by side: the longest counts.

        Arms begin together, so that the queues they meet were filled by the same arrivals. An arm takes the wait that
        the fork has in common with chance `_ALIKE`, times the root of the share of its queue's arrivals that forks
        bring (edges into a queue count alike). Arms into one pod stand behind each other there.
        """
        took, ok = np.zeros(len(at)), np.ones(len(at), dtype=bool)
        together = [self.uniform(len(at)) for _ in range(3)]
        seen: dict[int, int] = {}
        for arm in step.children:
            if arm.edge >= 0:
                service = int(self._layout.node_service[self._layout.child[arm.edge]])
                seen[service] = seen.get(service, 0) + 1
                single = service in self._layout.forks and self._replicas[service] == 1
                self._rank = seen[service] if single else 0
                self._common = (1.0 if single else float(self._alike[arm.edge]), together)
            more, good = self._step(arm, at, limit)
            self._common, self._rank = None, 0
            took, ok = np.maximum(took, more), ok & good
        return took, ok

    def _wait(self, pod: Index, at: Array) -> Array:
        queues = self._queues
        if self.calm is not None:
            rank, self._rank = self._rank, 0
            return self.calm.draw(pod, *self._chances(len(at)), rank=rank)
        tick, result, soon = self._past(pod, at)
        if self.beneath is not None:
            drawn = self.beneath.draw(pod, *self._chances(len(at)))
            result = np.where(soon & (drawn < 1.0), drawn, result)
        if self._ranked is not None:
            held = self.uniform(len(at)) < self._ranked.held_up[pod]
            result = result + np.where(held, exponentials(self.uniform(len(at))) * self._ranked.held_for[pod], 0.0)
        limits = queues.limits
        if limits.has_delay:  # who waits longer is given up
            result = np.where(limits.interval[pod] > 0.0, result, np.minimum(result, limits.delay[pod]))
        if queues.stacks:
            prompt = self.uniform(len(at)) >= queues.stacks.left_over(tick, pod)
            busy = np.where(queues.busy_chance[pod] > self.uniform(len(at)), 1.0, 0.0)
            rest = busy * exponentials(self.uniform(len(at))) / np.maximum(queues.rate[pod], 1e-12)
            late = queues.stacks.waits(pod, at, self.newest, self.uniform(len(at)), self.uniform(len(at)))
            late = np.where(prompt, np.minimum(rest, _SOON), late)
            if self.beneath is not None:
                drawn = self.beneath.draw(pod, *self._chances(len(at)))
                late = np.where((late < _SOON) & (drawn < _SOON), drawn, late)
            result = np.where(queues.lifo[pod], late, result)
        return result

    def _past(self, pod: Index, at: Array) -> tuple[Index, Array, NDArray[np.bool_]]:
        """Ticks of those instants, the recorded waits there, and whether they were shorter than a tick."""
        queues = self._queues
        tick = np.minimum(np.maximum(np.floor(at), self.newest - queues.slots + 2.0), float(self.newest)).astype(
            np.int64
        )
        part = np.minimum(np.maximum(at - tick, 0.0), 1.0)
        waits = []
        for border in (tick, tick + 1):
            slot = border % queues.slots
            known = queues.instants[slot, pod]
            ahead = np.maximum(queues.borders[slot, pod] - queues.begun[pod], 0.0)
            forecast = self.newest + 1.0 + ahead / np.maximum(queues.rate[pod], 1e-12)
            waits.append(np.maximum(np.where(known >= NEVER, forecast, known) - border, 0.0))
        result: Array = waits[0] + part * (waits[1] - waits[0])
        return tick, result, np.maximum(waits[0], waits[1]) < 1.0

    def _steps(self, plan: list[Branching], at: Array, limit: Array) -> tuple[Array, NDArray[np.bool_]]:
        """What the calls of a visit take, and whether all required ones succeed."""
        took, ok = np.zeros(len(at)), np.ones(len(at), dtype=bool)
        for step in plan:
            alive = np.nonzero(ok & (took <= limit))[0]
            if not len(alive):
                break
            more, good = self._step(step, at[alive] + took[alive], limit[alive] - took[alive])
            took[alive] += more
            ok[alive] &= good
        return took, ok

    def _step(self, step: Branching, at: Array, limit: Array) -> tuple[Array, NDArray[np.bool_]]:
        if step.edge >= 0:
            return self._times(step.edge, at, limit)
        if step.parallel:
            return self._arms(step, at, limit)
        if step.choices:
            return self._choose(step, at, limit)
        return self._steps(step.children, at, limit)

    def _choose(self, step: Branching, at: Array, limit: Array) -> tuple[Array, NDArray[np.bool_]]:
        took, ok = np.zeros(len(at)), np.ones(len(at), dtype=bool)
        u, low = self.uniform(len(at)), 0.0
        for probability, steps in step.choices:
            p = probability * (float(self._outcomes.made[step.cached_edge]) if step.cached_edge >= 0 else 1.0)
            chosen = np.nonzero((u >= low) & (u < low + p))[0]
            low += p
            if len(chosen):
                took[chosen], ok[chosen] = self._steps(steps, at[chosen], limit[chosen])
        return took, ok

    def _times(self, edge: int, at: Array, limit: Array) -> tuple[Array, NDArray[np.bool_]]:
        took, ok = np.zeros(len(at)), np.ones(len(at), dtype=bool)
        for _ in range(int(self._layout.times[edge])):
            more, good = self.call(edge, at + took, limit - took)
            took, ok = took + more, ok & good
        return took, ok | (not self._layout.required[edge])


def _range_of(delays: list[float]) -> tuple[float, float]:
    """Shortest and longest of delays that stand for equal parts of a range."""
    half = 0.5 * (delays[1] - delays[0])
    return delays[0] - half, delays[-1] + half


def _borders_of(delays: list[float]) -> Array:
    """Borders of the parts that delays stand for, each in the middle of its part."""
    at = np.array(delays)
    inner = 0.5 * (at[1:] + at[:-1])
    return np.concatenate(([2.0 * at[0] - inner[0]], inner, [2.0 * at[-1] - inner[-1]]))


def _branching(steps: tuple[Step, ...], edges: dict[int, int], counter: list[int]) -> list[Branching]:
    found = []
    for step in steps:
        if step.call is not None:
            found.append(Branching(edge=edges[counter[0]]))
            counter[0] += 1
        elif step.send is not None:
            counter[0] += 1
        elif step.parallel is not None:
            found.append(Branching(parallel=True, children=_branching(step.parallel, edges, counter)))
        elif step.sequence is not None:
            found.append(Branching(children=_branching(step.sequence, edges, counter)))
        elif step.choose is not None:
            found.append(Branching(choices=[(c.probability, _branching(c.steps, edges, counter)) for c in step.choose]))
        elif step.cached is not None:
            first = edges.get(counter[0], -1)
            found.append(Branching(choices=[(1.0, _branching(step.cached.miss, edges, counter))], cached_edge=first))
    return found
