"""Steady storms: what stays as it is is not worked out tick by tick.

A collapsed graph often stands still: some queues are longer than anybody waits, all others are
ordinary, and every edge makes the same number of attempts and succeeds as often as a second ago. Then
the averages of the last stretch go on for many ticks at once: the load is drawn anew and scales
them, long queues grow by what they get too much, and attempts in flight stay as they are.

A queue is beyond hope if it is longer than what is served in twice the longest timeout of its
callers. If less comes than it can serve, the leap ends before it is shorter than that. One that
stands at its bound and refuses the rest stays as it is, too.
Some ticks between the leaps check that nothing has moved. Where every queue is an ordinary one and its load allows
wide ticks (`wide`) there is no storm, and nothing is leapt over: those know who is late, and which queue grows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic
from simcluster.models.traffic.aggregate import stationary
from simcluster.models.traffic.aggregate.callers import TIMEOUT
from simcluster.models.traffic.aggregate.draws import normals
from simcluster.models.traffic.aggregate.grid import turned
from simcluster.models.traffic.aggregate.record import Sums

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.layout import Layout
    from simcluster.models.traffic.aggregate.state import RunState
    from simcluster.models.traffic.aggregate.wide import Wide

Array = NDArray[np.float64]

#: Length of the stretches that are compared, and how long leaps may follow each other without a check.
STRETCH_NS, TRUST_NS = 1_000_000_000, 20_000_000_000
#: Ticks of a check; how far attempts of two stretches may differ (share, and standard deviations).
_CHECK, _SHARE, _DEVIATIONS = 2, 0.02, 3.0
#: Where there is no storm nothing is looked at for a stretch over this.
_LOOKS = 4
#: A leap is at most so many times as long as the longest timeout.
_FARTHEST = 4
#: In a cluster so many times: as long as its periods.
_FARTHEST_PROMPT = 5
#: Requests of a stretch that are few: their number says more than the rate.
_SELDOM = 100.0
#: Requests of a stretch at least.
_REQUESTS = 200.0
#: Ticks of a stretch at least.
_FEWEST = 20
#: The utilisation of a queue beyond hope.
_HOPELESS = 1.05
#: A queue that stands at its bound is filled to this part; so many services tell its rate within 3 %.
_FILLED, _SERVICES = 0.9, 1111.0
#: The utilisation of a queue that nobody needs any more.
_FORSAKEN = 0.02
#: The mean length of a queue in a stretch, in its scale, if it was an ordinary one.
_USUAL = 4.0
#: A queue is an ordinary one up to so many times the scale of its stationary law.
_ORDINARY = 12.0
#: What an ordinary queue does to its callers stands still if a wait as long as their time-out is rarer than
#: exp(-this), or if a stretch shows so many independent pictures of the queue.
_RARE, _PICTURES = 7.0, 100.0
#: So many times more where those who were refused come again.
_ECHOES = 10.0
_PI = 3.141592653589793


class Steady:
    """Watches for stillness and leaps."""

    def __init__(self, run: RunState, wide: Wide | None) -> None:
        layout = run.layout
        self._wide = wide
        # two stretches are compared: requests that began in the first have made all their attempts in the second
        memory = int(np.max(layout.attempts * run.callers.period)) // 2 + 1
        self._stretch = max(2 * layout.slots, STRETCH_NS // run.tick_ns, memory, _FEWEST)
        self._tries = layout.attempts.astype(np.float64)
        # of many edges the one that differs most differs by more: the maximum of n normals is below sqrt(2 ln n) + 2
        self._deviations = _DEVIATIONS + math.sqrt(2.0 * arithmetic.log(max(layout.edges, 1)))
        longest = np.zeros(layout.pods)
        np.maximum.at(longest, layout.lane_pod, layout.timeout[layout.lane_edge])
        self._patience = 2.0 * longest + 2.0
        self._shortest = _shortest_wait(run)
        self._farthest = (_FARTHEST_PROMPT if run.prompt else _FARTHEST) * run.longest
        self._rho: Array = longest
        self._rate: Array = longest
        self._arrived: Array = longest
        self._gamma: Array = longest
        self._ordinary = self._forsaken = self._full = np.zeros(layout.pods, dtype=bool)
        self._places = np.minimum(layout.bound, layout.in_flight_max)
        self.forget(run)

    def forget(self, run: RunState) -> None:
        """Something was changed: begin to watch again."""
        self._begin = run.tick
        run.sampler.restless()
        self._sums: Sums | None = None
        self._last: Sums | None = None
        self._averages: Sums | None = None
        self._ended: Sums | None = None  # the same, so that as many begin as end
        self._compared: Sums | None = None  # for which `_compare` worked out what follows from it
        self._were_long: NDArray[np.bool_] | None = None
        self._until = self._awake = 0
        self._restless = 0
        self._rates: tuple[float, ...] = ()

    @property
    def is_still(self) -> bool:
        """Whether leaps are possible now."""
        return self._averages is not None

    def watch(self, run: RunState) -> None:
        """After a fine tick while deadlines are looked at."""
        if not run.judged:
            if self._sums is not None:
                self.forget(run)
            return
        if self._sums is None:
            self._begin, self._sums, self._last, self._averages = run.tick, run.recorder.so_far(), None, None
            return
        if self._averages is not None or run.tick - self._begin < self._stretch:
            return
        now = run.recorder.so_far()
        come = now.fresh[run.recorder.roots] - self._sums.fresh[run.recorder.roots]
        if math.fsum(come.tolist()) < _REQUESTS:  # so few say little about the rest
            return
        here = now.minus(self._sums, run.tick - self._begin)
        length = run.tick - self._begin
        if self._last is not None and all(self._alike(self._last.edges[i], here.edges[i], length) for i in (0, 2)):
            self._averages = here
            self._ended = _ended(here, run.layout)
            self._rates = tuple(rate for source in run.sources for rate in source.rates(run.tick))
            self._until = run.tick + TRUST_NS // run.tick_ns
        self._last, self._sums, self._begin = here, now, run.tick

    def due(self, tick: int) -> int:
        """The tick before which `watch` has nothing to do."""
        if self._sums is None or self._averages is not None:
            return max(self._awake, tick + 1)
        return max(self._begin + self._stretch, tick + 1)

    def _alike(self, first: Array, second: Array, ticks: int) -> bool:
        """Whether two stretches differ by no more than chance; one request more or less is chance on any edge."""
        spread = np.sqrt(self._tries * (np.maximum(first, second) * ticks + 1.0)) / ticks
        return bool((np.abs(first - second) <= _SHARE * second + self._deviations * spread).all())

    def span(self, run: RunState, last: int) -> int:
        """How many ticks may be leapt over now; 1 if none."""
        if self._averages is None or run.calm_until() <= run.tick or run.tick < self._awake:
            return 1
        tick = run.tick
        if tick >= self._until:
            if tick >= self._until + _CHECK:
                self._until = tick + TRUST_NS // run.tick_ns
            return 1
        end = min(tick + self._farthest, last, run.calm_until(), run.window_end(), self._until)
        for source in run.sources:
            end = min(end, source.steady_until(tick))
        rates = tuple(rate for source in run.sources for rate in source.rates(tick))
        if rates != self._rates:
            self.forget(run)
            self._rates = rates
            return 1
        return min(end - tick, self._still(run)) if end - tick > 1 else 1

    def _still(self, run: RunState) -> int:
        """For how many ticks every queue is an ordinary one, or beyond hope."""
        queues, layout = run.queues, run.layout
        self._compare(run)
        rho = self._rho
        ordinary = (queues.waiting * self._gamma <= _ORDINARY) & self._ordinary
        beyond = queues.waiting - self._patience * queues.rate
        self._long = (beyond > 0.0) & ~layout.infinite & ~self._forsaken
        if self._were_long is None:
            self._were_long = self._long.copy()
        if bool((self._were_long != self._long).any()):
            self.forget(run)
            return 1
        full = self._full & (queues.waiting >= _FILLED * self._places)
        if not bool((ordinary | full | self._long | self._forsaken | layout.infinite | (queues.up == 0.0)).all()):
            self._restless += 1
            if self._restless > self._stretch // 4:
                self.forget(run)
            return 1
        self._restless = 0
        if self._wide is not None and not bool((self._long | full).any()) and self._wide.is_safe(run):
            self._awake = run.tick + self._stretch // _LOOKS
            return 1
        shrinking = self._long & (rho < _HOPELESS) & ~np.isfinite(layout.bound)
        drained = np.where(shrinking, np.maximum(queues.rate - self._arrived, 0.05 * queues.rate), 0.0)
        left = np.maximum(beyond, 0.0) / np.where(drained > 0.0, drained, 1.0)
        ticks = float(np.min(np.where(drained > 0.0, np.minimum(left, 1e9), 1e9)))
        # what grows fills its places, and is another storm from then on
        grows = self._long & (rho > _HOPELESS) & (layout.bound - queues.waiting > 0.02 * layout.bound)
        grows &= np.isfinite(layout.bound)
        room = np.where(grows, layout.bound - queues.waiting, 1e9)
        filled = float(np.min(room / np.where(grows, self._arrived - queues.rate, 1.0)))
        if filled < 1.0:
            self.forget(run)
        ticks = min(ticks, filled)
        return int(max(ticks, 1.0))

    def _compare(self, run: RunState) -> None:
        """What the averages and the speeds of now come to."""
        queues, layout, averages = run.queues, run.layout, self._averages
        assert averages is not None
        if self._compared is averages and np.array_equal(self._rate, queues.rate):
            return
        self._compared, self._rate = averages, queues.rate
        admitted = averages.edges[0] - averages.edges[1]
        self._arrived = np.bincount(
            layout.lane_pod, admitted[layout.lane_edge] * queues.share * layout.relative, layout.pods
        ).astype(np.float64)
        rho = self._rho = self._arrived / np.maximum(queues.rate, 1e-12)
        # by the utilisation of the stretch: the queue's own average still remembers how it got so long
        laws = stationary.at_utilisation(queues._tables, queues._kind, rho)
        self._gamma, self._decay = laws[:, 2], laws[:, 3] * np.minimum(queues.rate, 1e9)
        # an ordinary queue was one in the stretch, too: one that was only just run empty has another past
        self._ordinary = (rho < 0.97) & self._is_known(run, rho) & (averages.pods[0] * self._gamma <= _USUAL)
        # one that refuses what it cannot serve stands at its bound
        refused = np.bincount(layout.lane_pod, averages.lanes[1] * layout.relative, layout.pods)
        self._full = (rho + refused / np.maximum(queues.rate, 1e-12) > _HOPELESS) & np.isfinite(self._places)
        self._full &= queues.rate * self._stretch >= _SERVICES
        self._full &= averages.pods[0] >= _FILLED * np.where(self._full, self._places, 0.0)
        # a queue to which hardly anybody comes any more runs empty, and nothing else changes by that
        self._forsaken = rho <= _FORSAKEN

    def _is_known(self, run: RunState, rho: Array) -> NDArray[np.bool_]:
        """Whether a stretch shows what a queue of this utilisation does: who is late, or that hardly anybody is."""
        bound = np.minimum(run.layout.bound, 1e9)
        rate = np.minimum(run.queues.rate, 1e9)
        # relaxation time of M/M/1/K: 1/((sqrt(mu) - sqrt(lambda))^2 + sqrt(mu lambda) (pi/(K + 1))^2)
        root = np.sqrt(np.minimum(rho, 1.0))
        pace = (1.0 - root) * (1.0 - root) + root * (_PI / (bound + 1.0)) * (_PI / (bound + 1.0))
        pace = pace / np.maximum(0.5 * (1.0 + run.layout.scv), 1.0)
        rare = (self._decay * self._shortest >= _RARE) & (self._gamma * bound >= _RARE)
        wanted = np.where(self._echoes(run) & ~rare, _ECHOES * _PICTURES, _PICTURES)
        known: NDArray[np.bool_] = rare | (pace * rate * self._stretch >= wanted)
        return known

    def _echoes(self, run: RunState) -> NDArray[np.bool_]:
        """Pods that refuse requests now and then which come again later: full times then follow full times."""
        layout = run.layout
        found = np.zeros(layout.pods, dtype=bool)
        found[layout.lane_pod[run.callers.comes_again[layout.lane_edge]]] = True
        result: NDArray[np.bool_] = found & (np.isfinite(layout.bound) | np.isfinite(layout.in_flight_max))
        return result

    def step(self, run: RunState, ticks: int) -> None:
        """Go on as before for so many ticks."""
        averages, queues, callers = self._averages, run.queues, run.callers
        assert averages is not None
        tick, end = run.tick, run.tick + ticks
        fresh, come = np.zeros(run.layout.edges), 0.0
        for source in run.sources:
            for edge, count in zip(source.edges, source.arrivals(tick, ticks), strict=True):
                fresh[edge] += count
                come += count
        # seldom requests came more or less often in the stretch than they should
        seen = math.fsum(averages.fresh[run.recorder.roots].tolist())
        if seen * self._stretch >= _SELDOM:
            seen = math.fsum(rate for source in run.sources for rate in source.rates(tick))
        usual = ticks * seen
        scale = come / usual if usual > 0.0 else 1.0
        self._count(run, ticks, scale, fresh)
        run.sampler.leap(tick, ticks)  # before the rings are turned
        before = queues.waiting.copy()
        self._queues(run, ticks, scale)
        none = np.zeros_like(before)
        middle = 0.5 * (before + queues.waiting)  # a long queue is not as long as it was in the last stretch
        run.recorder.pods(np.where(self._long, (middle - averages.pods[0]) * ticks, 0.0), none, none)
        callers.shift(tick, ticks)
        run.cuts.void = turned(run.cuts.void, ticks)
        run.below_then = turned(run.below_then, ticks)
        run.outcomes.past = turned(run.outcomes.past, ticks)
        run.tick = end
        self._begin += ticks
        queues.limits.last_empty = np.minimum(queues.limits.last_empty + ticks, float(end))

    def _count(self, run: RunState, ticks: int, scale: float, fresh: Array) -> None:
        """Enter what happens in a leap: as many requests end as begin, since as many are in flight as before."""
        ended, roots = self._ended, run.recorder.roots
        assert ended is not None
        usual, factor = ended.fresh[roots] * ticks, np.full(run.layout.edges, scale)
        seen = usual > 0.0
        factor[roots] = np.where(seen, fresh[roots] / np.where(seen, usual, 1.0), 0.0)
        run.recorder.add(ended, ticks, scale, factor)
        # of a target for which nobody asked in the stretch as many succeed as did lately
        rare = np.zeros(run.layout.edges)
        rare[roots] = np.where(seen, 0.0, fresh[roots])
        good = rare * run.outcomes.quality
        failed = np.zeros((4, run.layout.edges))
        failed[TIMEOUT] = rare - good
        run.recorder.tick(rare, np.zeros_like(rare), rare, good, 0)
        run.recorder.failures(failed, failed)
        answered = ended.edges[2][roots] * (factor[roots] * ticks) + good[roots]
        run.recorder.answered(np.full(len(roots), (run.tick + 0.5 * ticks) * run.tick_ns), answered)

    def _queues(self, run: RunState, ticks: int, scale: float) -> None:
        queues, layout = run.queues, run.layout
        units = self._arrived * (ticks * scale)
        noise = normals(run.noise.uniform(run.tick)) * np.sqrt(
            (queues.noise * np.minimum(queues.rate, 1e6) + self._arrived) * ticks
        )
        grown = np.where(self._long, units - queues.rate * ticks + noise, 0.0)
        least = self._patience * queues.rate
        limit = np.where(np.isfinite(layout.bound), np.maximum(queues.waiting, layout.bound), 1e300)
        waiting = np.where(self._long, np.minimum(np.maximum(queues.waiting + grown, least), limit), queues.waiting)
        waiting = np.where(self._forsaken, np.maximum(queues.waiting - queues.rate * ticks, 0.0), waiting)
        more = waiting - queues.waiting
        before = np.maximum(queues.queued, 1e-300)
        queues.content = queues.content * ((queues.queued + more) / before)[layout.lane_pod]
        for array in (queues.number, queues.waiting, queues.queued):
            np.maximum(array + more, 0.0, out=array)
        queues.inside += np.where(layout.holds, more, 0.0)
        moved = units - more
        queues.position = queues.position + units
        queues.begun = np.minimum(queues.begun + moved, queues.position)
        queues.shift_rings(ticks, moved, units)


def _ended(means: Sums, layout: Layout) -> Sums:
    """The means of a stretch with attempts and requests as many as those that ended in it."""
    attempts = means.edges[2] + np.add.reduce(means.failed, axis=0)
    calls = means.edges[2] + np.add.reduce(means.final, axis=0)
    edges = np.vstack((np.where(layout.asynchronous, means.edges[0], attempts), means.edges[1:]))
    return replace(means, edges=edges, fresh=np.where(layout.asynchronous, means.fresh, calls))


def _shortest_wait(run: RunState) -> Array:
    """The shortest time-out that a wait at each pod counts for: of its callers, and of theirs; in ticks."""
    layout = run.layout
    edges = np.where(layout.timed, layout.timeout, 1e9)
    above = np.full(len(layout.node_own), 1e9)
    for edge in run.graph.edges:  # callers before callees
        if edge.caller >= 0 and not edge.asynchronous:
            edges[edge.index] = min(edges[edge.index], above[edge.caller])
        above[edge.child] = min(above[edge.child], edges[edge.index])
    shortest = np.full(layout.pods, 1e9)
    np.minimum.at(shortest, layout.lane_pod, edges[layout.lane_edge])
    return shortest
