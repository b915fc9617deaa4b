"""Queues out of which callers take requests back, followed request by request.

An attempt that fails comes again a timeout later, and so at the same place of the next round. Where some that stood
together were served in time there is a gap a round later, in which the server gets ahead of the deadlines and serves
more in time: successes breed successes among their neighbours. A gap is a few services wide, whatever the length of a
tick and however many requests a timeout holds; counts by tick do not know of it, and have a storm whose successes are
as far below the true ones as ticks are finer (12 in place of 15 of 209 attempts a round at a utilisation of 0.8 and six
attempts, and storms that hardly ever end by themselves).

So such a queue is a list of requests with their instants, served one after the other; what comes is as many as the
counts say, and a failed attempt keeps its place in the tick unless its back-off is random. A queue that serves more
than `_MOST` requests in a tick is followed by means of fewer, each of which stands for several: where gaps are small
against the timeout their number does not matter, but chance weighs more.

Approximations: messages arrive when they are sent; of a timeout that is no whole number of ticks the rest is left out;
attempts of one number that come again take the places of those that failed, whichever.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from heapq import heapify, heapreplace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcluster.engine.streams import Streams
from simcluster.models.traffic.aggregate.draws import uniforms
from simcluster.models.traffic.aggregate.durations import VALUES

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.state import RunState

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Requests that one queue serves in a tick, at most, one by one.
_MOST = 200.0
#: Nobody waits for who was there before: he has no deadline.
_NEVER = math.inf
#: With these traits a queue is more than a line of requests, or an attempt ends otherwise than at its timeout.
_UNUSUAL = frozenset(
    ("adaptive", "cached", "closed", "contended", "costly_failures", "delay_limited", "heaped", "hedged", "impatient",
     "ranked", "rate_limited", "sticky")
)  # fmt: skip
#: A balancer that does not look at queues.
_BLIND = ("random", "round_robin")
#: Speeds below this are a standstill.
_STILL = 1e-9

WAITS, IN_TIME, LATE, GONE = range(4)


class Request:
    """One request, or several alike.

    Attributes:
        came: instant, in ticks; `limit`: when he who waits leaves the queue; `budget`: when an answer is late.
        work: at full speed, in ticks; `lane`, `number` of the attempt (from 0), `state`.
    """

    __slots__ = ("begun", "budget", "came", "lane", "limit", "number", "state", "work")

    def __init__(self, came: float, limit: float, budget: float, work: float, lane: int, number: int) -> None:
        self.came, self.limit, self.budget, self.work = came, limit, budget, work
        self.lane, self.number, self.state, self.begun = lane, number, WAITS, came


class Line:
    """The queue of one pod.

    Args:
        servers: how many it has; `stops`: whether who is served is given up at his limit, too.

    Attributes:
        waits: requests that have not begun, oldest first, with some that are gone; `waiting`: of every lane, how many.
        inside: being served, with the instants of their ends.
    """

    def __init__(self, servers: int, lanes: Sequence[int], *, stops: bool) -> None:
        self.servers, self.stops = servers, stops
        self.waits: deque[Request] = deque()
        self.waiting = dict.fromkeys(lanes, 0)
        self.inside: list[tuple[float, Request]] = []
        self._free = [0.0] * servers
        self.speed = 1.0

    def clear(self, tick: int) -> None:
        """Nothing is there."""
        self.waits.clear()
        self.inside = []
        self._free = [float(tick)] * self.servers
        for lane in self.waiting:
            self.waiting[lane] = 0

    def change(self, now: float, speed: float) -> None:
        """From now on work goes at another speed."""
        if speed == self.speed:
            return
        ratio, self.speed = self.speed / speed, speed
        rest = [(now + (end - now) * ratio if end > now else end, one) for end, one in self.inside]
        for end, one in rest:
            one.state = IN_TIME if end <= one.budget else LATE
        self.inside = rest
        ends = [end for end, _ in rest if end > now]
        self._free = ends + [now] * (self.servers - len(ends))
        heapify(self._free)

    def add(self, requests: Sequence[Request]) -> None:
        """They come, in this order."""
        for one in requests:
            self.waiting[one.lane] += 1
        self.waits.extend(requests)

    def serve(self, end: float) -> None:
        """Begin with all whose turn comes before an instant; who left before his turn is gone."""
        waits, free, waiting, speed = self.waits, self._free, self.waiting, self.speed
        while waits:
            one = waits[0]
            if one.state == GONE:
                waits.popleft()
                continue
            start = max(free[0], one.came)
            if start >= end:
                break
            waits.popleft()
            waiting[one.lane] -= 1
            if start > one.limit:
                one.state = GONE
                continue
            ended = start + one.work / speed
            one.begun, one.state = start, IN_TIME if ended <= one.budget else LATE
            if self.stops:
                ended = min(ended, max(one.limit, start))
            heapreplace(free, ended)
            self.inside.append((ended, one))

    def give_up(self, one: Request) -> None:
        """Take back who still waits."""
        if one.state == WAITS:
            one.state = GONE
            self.waiting[one.lane] -= 1

    def ended(self, end: float) -> list[Request]:
        """Requests whose service ends before an instant; they are forgotten."""
        found = [one for at, one in self.inside if at < end]
        self.inside = [each for each in self.inside if each[0] >= end]
        return found


class Followed:
    """All queues that are followed.

    Attributes:
        lanes: into their pods. `uneven`: of attempts that succeed, how much more seldom or oftener those of every
            number do than all of the edge, where cohorts are judged; [number, edge].
    """

    def __init__(self, run: RunState, withdrawing: Index) -> None:
        layout = run.layout
        self._layout, self._next = layout, -1
        named = run.layout.pods_named  # pods of a live graph come and go; what they hold is carried by counts
        usual = not named and run.traits.isdisjoint(_UNUSUAL)
        services = self._services(run, withdrawing) if usual else []
        self._pods = [pod for pod in range(layout.pods) if layout.pod_service[pod] in services]
        self.lanes: Index = np.nonzero(np.isin(layout.lane_pod, self._pods))[0]
        taken = set(withdrawing.tolist())
        self._lines: dict[int, Line] = {}
        self._weight: dict[int, float] = {}
        for pod in self._pods:
            lanes = np.nonzero(layout.lane_pod == pod)[0].tolist()
            policies = [run.graph.edges[int(layout.lane_edge[lane])].policy for lane in lanes]
            stops = any(policy.cancel == "running" for policy in policies)
            self._lines[pod] = Line(int(layout.servers[pod]), lanes, stops=stops)
            capacity = float(layout.servers[pod] / max(layout.work[pod], 1e-12))
            self._weight[pod] = max(1.0, float(math.ceil(capacity / _MOST)))
        self._withdraws = [lane for lane in self.lanes.tolist() if lane in taken]
        self._edges = np.unique(layout.lane_edge[self.lanes]).tolist()
        self._lanes_of = {edge: self.lanes[layout.lane_edge[self.lanes] == edge].tolist() for edge in self._edges}
        self._owed = np.zeros((run.callers.tries, layout.edges))
        self._cohorts: dict[int, dict[int, list[Request]]] = {lane: {} for lane in self._withdraws}
        #: places in the tick of failed attempts that come again: by edge and tick, then number
        self._places: dict[tuple[int, int], dict[int, list[float]]] = {}
        self._own: dict[int, tuple[float, float]] = {}
        self.uneven = np.ones((run.callers.tries, layout.edges))
        streams = Streams(run.seed)
        self._keys = {edge: np.array([streams.key("traffic", "followed", edge)], dtype=np.uint64)
                      for edge in self._edges}  # fmt: skip
        self._drawn = dict.fromkeys(self._edges, 0)
        self._values = {
            lane: np.maximum(layout.graph.values[int(layout.lane_node[lane])] / layout.tick_ns, 1e-12)
            for lane in self.lanes.tolist()
        }

    def __bool__(self) -> bool:
        return bool(self._pods)

    @staticmethod
    def _services(run: RunState, withdrawing: Index) -> list[int]:
        """Services all of whose pods are plain lines of requests that are taken back."""
        layout = run.layout
        found = []
        for service in sorted({layout.pod_service[pod] for pod in layout.lane_pod[withdrawing].tolist()}):
            first = layout.first_pod[service]
            described = layout.graph.spec.services[layout.graph.service_names[service]]
            here = layout.lane_pod == first
            plain = not (layout.holds[first] or layout.infinite[first] or layout.sharing[first])
            plain &= not bool(run.queues.lifo[first]) and bool(layout.work[first] > 0.0)
            plain &= bool((layout.node_wait[layout.lane_node[here]] == 0.0).all())
            if plain and (described.replicas == 1 or described.balancer in _BLIND):
                found.append(service)
        return found

    def _draw(self, edge: int, count: int) -> Array:
        """Uniforms of an edge."""
        first = self._drawn[edge] + 1
        self._drawn[edge] += count
        return uniforms(self._keys[edge], np.arange(first, first + count, dtype=np.uint64))

    # --- a tick ---------------------------------------------------------------------------

    def judge(self, run: RunState, tick: int) -> None:
        """Begin a tick: what becomes of the attempts whose timeouts end in it."""
        queues, layout = run.queues, self._layout
        if tick != self._next:
            self._begin_anew(run, tick)
        self._next = tick + 1
        for pod, line in self._lines.items():
            if queues.up[pod] <= 0.0:
                line.clear(tick)
            line.change(float(tick), max(float(queues.factor[pod] * queues.up[pod]), _STILL))
            line.serve(tick + 1.0)
        self._own = {}
        self.uneven[:] = 1.0
        for edge in self._edges:
            self._judge_edge(run, edge, tick, int(layout.timeout_ticks[edge]))

    def _judge_edge(self, run: RunState, edge: int, tick: int, ticks: int) -> None:
        good, all_ = np.zeros(len(self._owed)), np.zeros(len(self._owed))
        failed: list[Request] = []
        for lane in self._lanes_of[edge]:
            cohort = self._cohorts[lane].pop(tick - ticks, None) if lane in self._cohorts else None
            if not cohort:
                continue
            line, left, fit = self._lines[int(self._layout.lane_pod[lane])], 0.0, 0
            for one in cohort:
                line.give_up(one)
                all_[one.number] += 1.0
                if one.state == IN_TIME:
                    good[one.number] += 1.0
                    left, fit = left + (one.budget - one.begun), fit + 1
                else:
                    failed.append(one)
            self._own[lane] = fit / len(cohort), left / max(fit, 1)
        share = float(np.cumsum(good)[-1]) / max(float(np.cumsum(all_)[-1]), 1.0)
        if share > 0.0:
            each = good / np.maximum(all_, 1.0) / share
            self.uneven[:, edge] = np.where(all_ > 0.0, each, 1.0)
        self._keep_places(run, edge, tick, failed)

    def _keep_places(self, run: RunState, edge: int, tick: int, failed: Sequence[Request]) -> None:
        """A failed attempt comes again at its place of the tick, now or after a back-off without chance."""
        backoff = getattr(run.graph.edges[edge].policy.retries, "backoff", None)
        for one in failed:
            due, number = tick, one.number
            if number + 1 >= run.callers.tries:
                continue
            if run.callers.direct[number, edge] == 0.0:
                if backoff is None or backoff.jitter != "none":
                    continue
                due += int(run.callers._whole_delays[run.callers._delay_of[number, edge], 0])
            places = self._places.setdefault((edge, due), {}).setdefault(number + 1, [])
            places.append(one.came - math.floor(one.came))

    def tell(self, own: Array, left: Array, ages: Index) -> None:
        """Put what became of the expiring cohorts in the place of the law (rows: lanes; columns as in `Outcomes`)."""
        for lane, (share, rest) in self._own.items():
            own[lane, 0], left[lane, 0] = share, rest
            if own.shape[1] > 1:
                late = ages >= self._layout.timeout_ticks[self._layout.lane_edge[lane]]
                own[lane, 1:] = np.where(late, np.minimum(own[lane, 1:], share), own[lane, 1:])

    def arrive(self, run: RunState, tick: int, level: int, calls: Array, fresh: Array, left: Array) -> None:
        """Let the attempts of a tick into the lines of a level, and serve; `left` is of the level's lanes."""
        layout, queues = self._layout, run.queues
        lanes = layout.level_lanes[level]
        new: dict[int, list[Request]] = {}
        for edge in self._edges:
            if lanes.start <= self._lanes_of[edge][0] < lanes.stop:
                self._come(run, tick, edge, float(calls[edge]), float(fresh[edge]), new)
        for pod, line in self._lines.items():
            if layout.level_of_pod[pod] != level:
                continue
            weight = self._weight[pod]
            came = sorted(new.get(pod, ()), key=_came)
            line.add(came)
            line.serve(tick + 1.0)
            units, done = 0.0, 0.0
            for lane in line.waiting:
                left[lane - lanes.start] = 0.0
            for one in came:
                units += float(layout.relative[one.lane]) * weight
            for one in line.ended(tick + 1.0):
                left[one.lane - lanes.start] += weight
                done += float(layout.relative[one.lane]) * weight
            self._show(run, pod, line, units, done)
        if queues.has_holds:
            queues.inside[self._pods] = queues.number[self._pods]

    def _show(self, run: RunState, pod: int, line: Line, units: float, done: float) -> None:
        """The queue of the counts is as long as the line."""
        layout, queues, weight = self._layout, run.queues, self._weight[pod]
        served = dict.fromkeys(line.waiting, 0)
        for _, one in line.inside:
            served[one.lane] += 1
        waiting = number = 0.0
        for lane, count in line.waiting.items():
            relative = float(layout.relative[lane]) * weight
            queues.content[lane] = (count + served[lane]) * weight
            waiting += count * relative
            number += (count + served[lane]) * relative
        queues.number[pod] = queues.queued[pod] = number
        queues.waiting[pod], queues.arrived[pod], queues.finished[pod] = waiting, units, done

    def _come(
        self, run: RunState, tick: int, edge: int, calls: float, fresh: float, new: dict[int, list[Request]]
    ) -> None:
        """The requests of an edge in a tick."""
        layout, queues, lanes = self._layout, run.queues, self._lanes_of[edge]
        weight = self._weight[int(layout.lane_pod[lanes[0]])]
        come = calls * queues.share[lanes]
        if queues.bounded:
            come = np.maximum(come - queues.refused[lanes], 0.0)
        to = np.cumsum(come)
        mix = run.callers.issue[:, edge].copy()
        mix[0] += fresh
        all_ = float(np.cumsum(mix)[-1])
        places = self._places.pop((edge, tick), {})
        if to[-1] <= 0.0 or all_ <= 0.0:
            return
        owed = self._owed[:, edge]
        owed += mix * (float(to[-1]) / all_ / weight)
        counts = np.floor(owed + 1e-9)
        owed -= counts
        self._make(tick, edge, counts.astype(np.int64).tolist(), to / to[-1], places, new)

    def _make(
        self, tick: int, edge: int, counts: list[int], to: Array, places: dict[int, list[float]],
        new: dict[int, list[Request]],
    ) -> None:  # fmt: skip
        layout, lanes = self._layout, self._lanes_of[edge]
        total = sum(counts)  # integers
        drawn = self._draw(edge, 3 * total).reshape(3, total)
        which = np.minimum(np.searchsorted(to, drawn[1], side="right"), len(lanes) - 1).tolist()
        at = (drawn[2] * VALUES).astype(np.int64).tolist()
        timed = bool(layout.timed[edge])
        timeout = float(layout.timeout[edge]) if timed else _NEVER
        way = 2.0 * float(layout.network[edge])
        phases, index = drawn[0].tolist(), 0
        for number, count in enumerate(counts):
            known = places.get(number, [])
            turn = int(phases[index] * len(known)) if count and len(known) > count else 0
            for k in range(count):
                lane = lanes[which[index]]
                phase = known[(turn + k) % len(known)] if k < len(known) else phases[index]
                came, pod = tick + phase, int(layout.lane_pod[lane])
                work = float(self._values[lane][at[index]]) * self._weight[pod]
                taken = lane in self._cohorts
                one = Request(came, came + timeout if taken else _NEVER, came + timeout - way, work, lane, number)
                new.setdefault(pod, []).append(one)
                if taken:
                    self._cohorts[lane].setdefault(tick, []).append(one)
                index += 1

    def _begin_anew(self, run: RunState, tick: int) -> None:
        """After ticks of another kind: who is inside now is nobody's any more, for all calls were answered."""
        self._places.clear()
        for cohorts in self._cohorts.values():
            cohorts.clear()
        for pod, line in self._lines.items():
            line.clear(tick)
            lanes = list(line.waiting)
            lane = max(lanes, key=run.queues.content.__getitem__)
            edge = int(self._layout.lane_edge[lane])
            mean = float(run.queues.number[pod]) / self._weight[pod]
            count = int(mean + float(self._draw(edge, 1)[0]))
            works = self._values[lane][(self._draw(edge, count) * VALUES).astype(np.int64)] * self._weight[pod]
            before = tick - 1.0
            line.add([Request(before, _NEVER, _NEVER, work, lane, 0) for work in works.tolist()])


def _came(one: Request) -> float:
    return one.came
