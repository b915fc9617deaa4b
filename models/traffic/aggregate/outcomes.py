"""Did it answer in time? Judged when the deadline expires, callees before callers.

An attempt succeeds if its pod began it early enough that its own time and the calls below fit
into what was left. For the calls below a profile is kept: the probability that a call begun so
many ticks ago has succeeded by now. Operations that call nobody come first, then those that
call only them, and so on; each level reads the profiles of the one before, so that a delay deep
in the graph is seen by all callers in the same tick. Attempts whose timeout is over were judged
then: `past` remembers how. A call that need not succeed holds its caller up until it has ended.

Approximations: waits of different pods are independent given the state; of the other calls of
an operation only the mean time is subtracted from what is left for one of them.
"""

from __future__ import annotations

from types import ModuleType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import Shared
from simcluster.models.traffic.aggregate.fast import kernels_for
from simcluster.models.traffic.aggregate.layout import Edge, Layout
from simcluster.models.traffic.aggregate.paces import Paces
from simcluster.models.traffic.aggregate.queues import NEVER, Queues
from simcluster.models.traffic.aggregate.usual import usual_of
from simcluster.models.traffic.aggregate.withdrawals import Pressed

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Ages of a profile: every tick up to here, then in steps that grow.
_DENSE = 24
#: Calls are made at once if those before them take no more ticks.
_AT_ONCE = 0.5
#: Attempts of a call looked at one after the other when its caller waits longer than they do.
_ATTEMPTS = 12


class Judge(Protocol):
    """Judges some lanes' attempts by what became of each."""

    def tell(self, own: Array, left: Array, ages: Index) -> None:
        """Put it in the place of chances and times left (rows: lanes; columns: the expiring cohort, then ages)."""


class Height(Shared):
    """The nodes that stand so many calls above the ground, as index arrays."""

    def __init__(self, layout: Layout, lanes: list[int], edges: Index) -> None:
        self.lanes = np.array(lanes, dtype=np.int64)
        self.edge = layout.lane_edge[self.lanes]
        self.pod = layout.lane_pod[self.lanes]
        self.node = layout.lane_node[self.lanes]
        self.edges = edges
        self.place = np.searchsorted(edges, self.edge)  # of every lane's edge in `edges`
        rows: list[tuple[int, int, int, int]] = []
        for row, lane in enumerate(lanes):
            for edge in layout.children.get(int(layout.lane_node[lane]), ()):
                if not edge.asynchronous and edge.site is not None:
                    rows.append((row, edge.site.group, edge.site.branch, edge.index))
        rows.sort()
        self.has_calls = bool(rows)
        self.row = np.array([r[0] for r in rows], dtype=np.int64)
        self.called = np.array([r[3] for r in rows], dtype=np.int64)
        self.branch_starts = _starts([r[:3] for r in rows])
        self.branch_first = self.called[self.branch_starts] if rows else self.called
        groups = [rows[i][:2] for i in self.branch_starts]
        self.group_starts = _starts(groups)
        nodes = [groups[i][:1] for i in self.group_starts]
        self.node_starts = _starts(nodes)
        self.with_calls = np.array([nodes[i][0] for i in self.node_starts], dtype=np.int64)
        self.group_of = np.searchsorted(self.group_starts, np.arange(len(groups)), side="right") - 1

    def all_ended(self, ended: Array, inner: Array, branch_share: Array) -> Array:
        """Chance that all calls of every visit have ended, from that of each call that it has if it is made."""
        risk = (inner[self.called])[:, None] * (1.0 - ended)
        branch = np.multiply.reduceat(1.0 - risk, self.branch_starts, axis=0)
        share = (branch_share[self.branch_first])[:, None]
        group = sums_of(self.group_of, share * (1.0 - branch), len(self.group_starts))
        result: Array = np.multiply.reduceat(np.maximum(1.0 - group, 0.0), self.node_starts, axis=0)
        return result


def sums_of(groups: Index, rows: Array, count: int) -> Array:
    """Sums of rows by group, from the first row to the last."""
    columns = rows.shape[1]
    flat = (groups[:, None] * columns + np.arange(columns)).ravel()
    return np.bincount(flat, rows.ravel(), count * columns).astype(np.float64, copy=False).reshape(count, columns)


def _before(values: Array, starts: Index) -> Array:
    """Of every value the sum of those before it in its group."""
    total = np.cumsum(values) - values
    which = np.searchsorted(starts, np.arange(len(values)), side="right") - 1
    result: Array = np.maximum(total - total[starts][which], 0.0)
    return result


def _starts(keys: list[tuple[int, ...]]) -> Index:
    return np.array([i for i, key in enumerate(keys) if i == 0 or key != keys[i - 1]], dtype=np.int64)


class Outcomes:
    """Profiles of success of all edges, and mean times below all nodes.

    Attributes:
        quality: success of the attempts judged last, per edge.
        period: mean time from one attempt of a call to the next, per edge (ticks).
        latency: mean time of a successful attempt; `duration` of a call, its retries included (ticks).
        below: mean time of the calls of a visit of every node; `delay`: of those before a call, per edge.
        hit: share of look-ups that hit, by which calls below a cache are not made, per edge.
    """

    def __init__(self, layout: Layout, queues: Queues, period: Array) -> None:
        self.layout = layout
        self.period = period
        edges = layout.edges
        self.quality = np.ones(edges)
        self.refused = np.zeros(edges)
        self.made = np.ones(edges)
        callers = layout.caller >= 0
        self.inner = self.nested = np.nonzero(callers & ~layout.asynchronous)[0]
        if any(e.policy.hedge is not None for e in layout.graph.edges):
            self.inner = np.nonzero(~layout.asynchronous)[
                0
            ]  # who hedges asks after some time whether there is an answer
        self._ages()
        self.profile = np.ones((edges, len(self.ages)))
        #: success of the attempts judged in each of the last ticks, of those that ended, by edge
        self.past = np.ones((layout.slots, edges))
        #: success of a call that is no later than its callers wait: 1 where it is required (errors are failures then)
        self._ended = np.where(layout.required, 1.0, np.maximum(usual_of(layout, np.zeros(edges)).attempt, 1e-300))
        self._heights()
        self._times()
        self.latency = np.zeros(edges)
        self.duration = np.zeros(edges)
        self.below = np.zeros(len(layout.node_own))
        self._others = np.zeros(edges)
        self.lane_speed = np.ones(layout.lanes)
        self.waited = np.zeros(edges)
        self._lane_ticks = layout.timeout_ticks[layout.lane_edge]
        self._lane_way = 2.0 * layout.network[layout.lane_edge]
        self._lane_budget = layout.timeout[layout.lane_edge] - self._lane_way
        self._faulty = bool((layout.node_failure > 0.0).any())
        #: of requests that their callers take back
        self.pressed: Pressed | None = None
        #: of queues that are followed request by request
        self.followed: Judge | None = None
        for _ in range(2 + len(self.heights)):
            self.times(queues)
        self.paces = Paces(self.lane_speed, queues.slots)

    def _ages(self) -> None:
        layout = self.layout
        # nobody asks about an attempt later than its time-out; of one without, up to the time-outs above it
        asked = layout.timeout_ticks[self.inner]
        if len(asked) and not layout.timed[self.inner].all():
            asked = layout.timeout_ticks
        longest = int(asked.max()) + 1 if len(self.inner) else 0
        ages = list(range(min(longest, _DENSE) + 1))
        while ages[-1] < longest:
            ages.append(min(longest, ages[-1] + max(1, ages[-1] // 6)))
        self.ages = np.array(ages, dtype=np.int64)
        at = np.arange(longest + 2)
        self._age_index = np.minimum(np.searchsorted(self.ages, at, side="right") - 1, max(0, len(ages) - 2))
        self._asked_for()
        gaps = np.diff(self.ages).astype(np.float64) if len(ages) > 1 else np.ones(1)
        self._age_gap = gaps

    def _asked_for(self) -> None:
        """Which ages of every edge's profile are looked at: up to its time-out; of hedged and withdrawn ones all."""
        layout = self.layout
        policies = [edge.policy for edge in layout.graph.edges]
        plain = all(p.hedge is None and p.cancel == "no" and not p.propagate for p in policies)
        last = self._age_index[np.minimum(layout.timeout.astype(np.int64), len(self._age_index) - 1)] + 2
        count = np.where(layout.timed & plain, np.minimum(last, len(self.ages)), len(self.ages))
        self._asked = np.arange(len(self.ages)) < count[:, None]
        self._columns = 1 + count if len(self.inner) else np.ones(layout.edges, dtype=np.int64)

    def _heights(self) -> None:
        layout = self.layout
        height: dict[int, int] = {}
        for node in reversed(_callers_first(layout)):
            below = [height[int(layout.child[e.index])] for e in layout.children.get(node, ()) if not e.asynchronous]
            height[node] = max(below, default=-1) + 1
        self.heights = []
        for level in range(max(height.values()) + 1):
            lanes = [
                i
                for i in range(layout.lanes)
                if height[int(layout.lane_node[i])] == level and not layout.asynchronous[layout.lane_edge[i]]
            ]
            if lanes:
                edges = np.unique(layout.lane_edge[np.array(lanes, dtype=np.int64)])
                self.heights.append(Height(layout, lanes, edges))
        self.deepest = len(self.heights)
        names = (
            "lanes", "place", "edges", "row", "called", "branch_starts", "branch_first", "group_starts", "node_starts",
            "with_calls",
        )  # fmt: skip
        parts = [[getattr(height, name) for height in self.heights] for name in names]
        at = [np.cumsum([0, *(len(each) for each in rows)], dtype=np.int64) for rows in parts]
        #: the heights as one array of each kind, and where they begin
        self._flat = (np.ascontiguousarray(np.array(at).T), *(np.concatenate(rows) for rows in parts))

    def _times(self) -> None:
        """Index arrays for sums of times: calls in arms, arms in units, units in nodes."""
        layout = self.layout
        rows = []
        for node in sorted(layout.children):
            for edge in layout.children[node]:
                if not edge.asynchronous and edge.site is not None:
                    rows.append((node, edge.site.unit, edge.site.arm, edge.index))
        rows.sort()
        self._sum_edges = np.array([r[3] for r in rows], dtype=np.int64)
        self._arm_starts = _starts([r[:3] for r in rows])
        arms = [rows[i][:2] for i in self._arm_starts]
        self._unit_starts = _starts(arms)
        units = [arms[i][:1] for i in self._unit_starts]
        self._node_starts = _starts(units)
        self._sum_nodes = np.array([units[i][0] for i in self._node_starts], dtype=np.int64)
        arm_of = np.searchsorted(self._arm_starts, np.arange(len(rows)), side="right") - 1
        unit_of = np.searchsorted(self._unit_starts, np.arange(len(arms)), side="right") - 1
        self._unit_of = unit_of[arm_of] if rows else self._sum_edges
        #: how long after its visit began a call is made, because others come before it; by edge
        self.delay = np.zeros(layout.edges)
        self._other_calls()

    def _other_calls(self) -> None:
        """For each call, the calls of the same visit that take from its time, and how much of them."""
        of, other, weight = [], [], []
        for node in sorted(self.layout.children):
            calls = [e for e in self.layout.children[node] if not e.asynchronous and e.site is not None]
            for edge in calls:
                for second in calls:
                    share = _share_of_time(edge, second, calls)
                    if share > 0.0:
                        of.append(edge.index)
                        other.append(second.index)
                        weight.append(share)
        self._other_of = np.array(of, dtype=np.int64)
        self._other = np.array(other, dtype=np.int64)
        self._other_weight = np.array(weight)

    def times(self, queues: Queues) -> None:
        """Mean times of attempts, calls and visits, from the waits of now; one level deeper each time."""
        layout = self.layout
        wait = np.minimum(queues.wait(), 1e7)[layout.lane_pod]
        speed = np.maximum(queues.factor * queues.up, 1e-6)[layout.lane_pod]
        work = layout.node_work[layout.lane_node] * queues.stretch[layout.lane_pod] / speed
        own = work + layout.node_wait[layout.lane_node]
        natural = layout.node_own[layout.lane_node]
        self.lane_speed = np.where(own > 0.0, natural / np.maximum(own, 1e-300), 1.0)
        self.lane_own = own
        self.own_of_edge = np.bincount(layout.lane_edge, own * queues.share, layout.edges)
        stay = wait + own + self.below[layout.lane_node]
        mean = np.bincount(layout.lane_edge, stay * queues.share, layout.edges) + 2.0 * layout.network
        self.latency = np.where(layout.timed, np.minimum(mean, layout.timeout), np.minimum(mean, 1e7))
        self.duration = self._durations()
        if not len(self._sum_edges):
            return
        each = (layout.calls_per_visit * self.made * self.duration)[self._sum_edges]
        arms = np.add.reduceat(each, self._arm_starts)
        units = np.maximum.reduceat(arms, self._unit_starts)
        total = np.add.reduceat(units, self._node_starts)
        self.below[self._sum_nodes] = total
        earlier = _before(units, self._node_starts)[self._unit_of] + _before(each, self._arm_starts)
        self.delay[self._sum_edges] = np.where(earlier > _AT_ONCE, earlier, 0.0)
        if len(self._other):
            once = self.latency + (1.0 - np.minimum(self.quality, 1.0)) * self.period
            typical = np.minimum(self.duration, once)
            self._others = self.time_of_others(typical)

    def stays(self, lost: Array, opened: Array, before: Array) -> Array:
        """Mean time of the calls of a visit of every node, those included that wait for nothing, in ticks.

        A caller's worker waits with it: what calls over a cut way soon has none left. One level deeper each time.

        Args:
            lost: share of every edge's attempts that nobody answers; opened: of the visits that come as far as each.
            before: what this said before.
        """
        layout = self.layout
        inside = self.latency + (before - self.below)[layout.child]
        limit = np.where(layout.timed, layout.timeout, inside)
        once = (1.0 - lost) * np.minimum(inside, limit) + lost * limit
        vain = 1.0 - (1.0 - lost) * np.minimum(self.quality, 1.0)
        tries = np.minimum(layout.attempts, _ATTEMPTS)
        attempts, again = np.ones(layout.edges), np.ones(layout.edges)
        for number in range(1, int(tries.max(initial=1))):
            again = np.where(number < tries, again * vain, 0.0)
            attempts += again
        pauses = np.maximum(self.period - layout.timeout, 0.0) * layout.timed
        each = layout.calls_per_visit * self.made * opened * (attempts * once + (attempts - 1.0) * pauses)
        found = np.zeros_like(self.below)
        if len(self._sum_edges):
            arms = np.add.reduceat(each[self._sum_edges], self._arm_starts)
            found[self._sum_nodes] = np.add.reduceat(np.maximum.reduceat(arms, self._unit_starts), self._node_starts)
        return np.maximum(found, self.below)

    def time_of_others(self, times: Array) -> Array:
        """What the other calls of a visit take from the time of each, if calls take so long."""
        each = self._other_weight * times[self._other]
        return np.bincount(self._other_of, each, self.layout.edges).astype(np.float64, copy=False)

    def _durations(self) -> Array:
        """Mean time until a call ends, well or not, with the success of attempts of now."""
        layout = self.layout
        q = np.minimum(np.maximum(self.quality, 0.0), 1.0)
        fail = 1.0 - q
        attempts = np.ones(layout.edges)
        if layout.max_attempts > 1:
            # one row for each further attempt; products and sums go from the first to the last
            power = np.multiply.accumulate(np.broadcast_to(fail, (layout.max_attempts - 1, layout.edges)), axis=0)
            more = np.arange(1, layout.max_attempts)[:, None] < layout.attempts
            going: Flags = np.logical_or.reduce(more & (power > 1e-9), axis=1)
            last = len(going) if going.all() else int(going.argmin())
            terms = np.where(more[:last], power[:last], 0.0)
            attempts = np.add.accumulate(np.concatenate((attempts[None, :], terms)), axis=0)[-1]
        once = np.where(layout.timed, q * self.latency + fail * self.period, self.latency)
        return attempts * once

    def update(self, tick: int, queues: Queues, expiring: Index, total: Array) -> Array:
        """Judge: success of the cohorts that expire now, one number for each edge.

        Args:
            expiring: slot of the ring of callers for each edge, -1 for none.
            total: sizes of the cohorts in that ring.
        """
        there = expiring >= 0
        self.paces.note(tick, self.lane_speed)
        own, left = self._own_success(tick, queues)
        if self.pressed is not None:
            ages = self.ages if len(self.inner) else self.ages[:0]
            self.pressed.judge(tick, queues, self.lane_speed, np.asarray(ages, np.float64), own, left, total)
        if self.followed is not None:
            self.followed.tell(own, left, self.ages if len(self.inner) else self.ages[:0])
        weight = queues.share[:, None]
        result = self.quality
        fast = kernels_for(self.layout.lanes)
        if fast is not None:
            self._judge_fast(fast, tick, own, left, there, queues)
            return result.copy()
        for height in self.heights:
            mine = own[height.lanes]
            if height.has_calls:
                mine[height.with_calls] *= self._calls(height, left[height.lanes], tick)
            both = sums_of(height.place, mine * weight[height.lanes], len(height.edges))
            judged = np.where(there[height.edges], both[:, 0], result[height.edges])
            result[height.edges] = judged
            if len(self.inner):
                here = self.profile[height.edges]
                self.profile[height.edges] = np.where(self._asked[height.edges], both[:, 1:], here)
        return result.copy()

    def _judge_fast(self, fast: ModuleType, tick: int, own: Array, left: Array, there: Flags, queues: Queues) -> None:
        """The same, compiled."""
        layout, branch_share = self.layout, self.branch_share
        limit = np.where(layout.timed, layout.timeout, 1e12)
        fast.judge(
            *self._flat, own, left, self._columns, self.lane_own, self._others, limit, self.period, layout.attempts,
            layout.times, layout.inner, branch_share, queues.share, there, self.ages, self._age_index, self._age_gap,
            self.quality, self.profile, tick, self.past, self._ended, layout.required,
        )  # fmt: skip

    def _own_success(self, tick: int, queues: Queues) -> tuple[Array, Array]:
        """For all lanes: chance that wait and own time fit, and the time left at the beginning of service.

        The first column is of the cohorts that expire now, the others of the ages of the profile.
        """
        layout = self.layout
        fast = None if queues.contended or queues.stacks else kernels_for(layout.lanes)
        if fast is not None:
            return self._own_fast(fast, tick, queues)
        first, last = self._left(tick, queues)
        left = (0.5 * (first + last))[:, None]
        if len(self.inner):
            left = np.concatenate((left, self._age_columns(tick, queues)), axis=1)
        spent = (self._lane_budget - left[:, 0]) * queues.share
        self.waited = np.bincount(layout.lane_edge, spent, layout.edges).astype(np.float64, copy=False)
        speed = self._speed_then(tick, queues, left)
        rows = layout.lane_edge, layout.lane_node
        own = layout.ways.within(layout.distribution, rows, left, (last, first), speed)
        if queues.stacks:
            self._served_at_once(tick, queues, own)
        if self._faulty:
            own = own * (1.0 - layout.node_failure[layout.lane_node])[:, None]
        return own, left

    def _own_fast(self, fast: ModuleType, tick: int, queues: Queues) -> tuple[Array, Array]:
        """The same, compiled."""
        layout, law = self.layout, self.layout.distribution
        columns = 1 + len(self.ages) if len(self.inner) else 1
        own, left = np.zeros((layout.lanes, columns)), np.zeros((layout.lanes, columns))
        self.waited = np.zeros(layout.edges)
        fast.own_success(
            tick, self._lane_ticks, self._lane_budget, self._lane_way, self.lane_speed, layout.lane_pod,
            layout.lane_node, self.ages, queues.borders, queues.instants, queues.begun, queues.position, queues.rate,
            queues.waiting, law._cdf, law._area, law._top, queues.share, layout.lane_edge, own, left, self.waited,
            self._columns, layout.node_failure, layout.ways.extra, layout.ways.weight, self.paces.done,
            self.paces.moved,
        )  # fmt: skip
        return own, left

    def _speed_then(self, tick: int, queues: Queues, left: Array) -> Array:
        """Speeds by lane and column, since service began; where it is settled when a request begins, those of then."""
        columns = left.shape[1]
        if not (queues.contended or len(self.paces.done)):
            return self.lane_speed[:, None]
        speed = self.paces.since(tick, np.arange(self.layout.lanes), tick - (left + self._lane_way[:, None]))
        if not queues.contended:
            return speed
        lanes = queues.contended.lanes
        begun = (tick - self._lane_ticks[lanes])[:, None]
        if columns > 1:
            begun = np.concatenate((begun, np.repeat((tick - self.ages)[None, :], len(lanes), axis=0)), axis=1)
        speed[lanes] = queues.contended.speeds(begun, queues.factor * queues.up)
        return speed

    def _served_at_once(self, tick: int, queues: Queues, own: Array) -> None:
        """Last come, first served: who has begun by now; most of them hardly waited."""
        layout = self.layout
        lanes = np.nonzero(queues.lifo[layout.lane_pod])[0]
        pod, node = layout.lane_pod[lanes], layout.lane_node[lanes]
        ages = [self._lane_ticks[lanes]] + [np.full(len(lanes), age) for age in self.ages.tolist() if len(self.inner)]
        for column, age in enumerate(ages):
            share = 1.0 - queues.stacks.unserved(tick - age, pod)
            budget = self._lane_budget[lanes] if column == 0 else age - self._lane_way[lanes]
            rows, speed = (layout.lane_edge[lanes], node), self.lane_speed[lanes, None]
            prompt = layout.ways.within(layout.distribution, rows, budget[:, None], None, speed)[:, 0]
            own[lanes, column] = share * prompt

    def _left(self, tick: int, queues: Queues) -> tuple[Array, Array]:
        """Time left at the beginning of service, for the first and the last of the expiring cohort."""
        begun = tick - self._lane_ticks
        found = []
        for border in (begun, begun + 1):
            when = self.instant(border, self.layout.lane_pod, tick, queues)
            found.append(self._lane_budget - (when - border))
        return found[0], np.minimum(found[1], found[0] + 1.0)

    def instant(self, border: Index, pod: Index, tick: int, queues: Queues) -> Array:
        """When the position at a tick's start began service; a forecast for what has not begun."""
        slot = border % queues.slots
        known = queues.instants[slot, pod]
        ahead = np.maximum(queues.borders[slot, pod] - queues.begun[pod], 0.0)
        forecast = tick + ahead / np.maximum(queues.rate[pod], 1e-12)
        if queues.stacks:
            forecast = np.where(queues.lifo[pod], NEVER, forecast)
        current = border >= tick
        if current.any():  # a timeout of one tick: the border after the cohort is now
            waiting = np.maximum(queues.position[pod] - queues.begun[pod], 0.0)
            forecast = np.where(current, tick + waiting / np.maximum(queues.rate[pod], 1e-12), forecast)
        result: Array = np.where((known >= NEVER) | current, forecast, known)
        return np.maximum(result, border)

    def _age_columns(self, tick: int, queues: Queues) -> Array:
        border = tick - self.ages
        known = queues.instants[border % queues.slots]
        known[border < 0] = NEVER
        known[0] = np.where(queues.waiting > 0.0, NEVER, float(tick))
        left: Array = np.maximum(tick - known, -1e9).T[self.layout.lane_pod] - self._lane_way[:, None]
        return left

    def note(self, tick: int) -> None:
        """Remember how attempts were judged in a tick."""
        self.past[tick % len(self.past)] = np.minimum(self.quality / self._ended, 1.0)

    def _calls(self, height: Height, x: Array, tick: int) -> Array:
        """Probability that all calls of a visit have ended, the required ones well, given the time since it began."""
        layout = self.layout
        own = self.lane_own[height.lanes[height.row]]
        left = x[height.row] - (own + self._others[height.called])[:, None]
        return height.all_ended(self.call_success(height.called, left, tick), layout.inner, self.branch_share)

    @property
    def branch_share(self) -> Array:
        """Probability of the branch each edge stands in, caches considered."""
        return self._shares * self.made

    def set_shares(self, shares: Array) -> None:
        """The branches' probabilities as the spec gives them."""
        self._shares = shares

    def call_success(self, edges: Index, left: Array, tick: int) -> Array:
        """Probability that a call begun `left` ticks ago has succeeded by now, retries included.

        One that is not required has ended, well or not.
        """
        layout = self.layout
        limit = np.where(layout.timed, layout.timeout, 1e12)[edges][:, None]
        ended = self._ended[edges][:, None]
        ok = np.minimum(self._look(edges, np.minimum(left, limit)) / ended, 1.0)
        beyond = left > limit
        if beyond.any():
            period = np.maximum(self.period[edges], 1e-9)[:, None]
            attempts, rest = layout.attempts[edges][:, None], left.copy()
            power = np.ones_like(left)
            for number in range(_ATTEMPTS):
                over = beyond & (number < attempts) & (rest > limit)
                if not over.any():
                    break
                judged = np.maximum(np.floor(tick - (rest - limit)), tick + 1.0 - len(self.past)).astype(np.int64)
                then = self.past[judged % len(self.past), edges[:, None]]
                power = np.where(over, power * (1.0 - then), power)
                last = number + 1 >= attempts
                power = np.where(over & last & ~layout.required[edges][:, None], 0.0, power)
                rest = np.where(over & ~last, rest - period, np.where(over, -1.0, rest))
            flying = np.minimum(self._look(edges, np.minimum(rest, limit)) / ended, 1.0)
            ok = np.where(beyond, 1.0 - power * (1.0 - flying), ok)
        times = layout.times[edges]
        if (times > 1).any():
            ok = repeated(ok, times)
        return ok

    def success_at(self, edge: int, age: float) -> float:
        """Probability that an attempt begun so many ticks ago has succeeded by now."""
        return float(self._look(np.array([edge]), np.array([[age]]))[0, 0])

    def _look(self, edges: Index, age: Array) -> Array:
        at = np.minimum(np.maximum(age, 0.0), float(self.ages[-1]))
        index = self._age_index[at.astype(np.int64)]
        low = self.profile[edges[:, None], index]
        high = self.profile[edges[:, None], np.minimum(index + 1, len(self.ages) - 1)]
        part = (at - self.ages[index]) / self._age_gap[np.minimum(index, len(self._age_gap) - 1)]
        result: Array = low + np.minimum(part, 1.0) * (high - low)
        return np.where(age < 0.0, 0.0, result)


def _share_of_time(edge: Edge, other: Edge, calls: list[Edge]) -> float:
    """How often another call of the visit runs before or after this one, at most side by side with its like."""
    a, b = edge.site, other.site
    assert a is not None
    assert b is not None
    if edge is other:
        return float(edge.times - 1)
    if (a.unit == b.unit and a.arm != b.arm) or (a.group == b.group and a.branch != b.branch):
        return 0.0
    same = a.group == b.group and a.branch == b.branch
    arms = sorted({e.site.arm for e in calls if e.site is not None and e.site.unit == b.unit})
    beside = 1.0 if a.unit == b.unit else float(len(arms))
    return (b.inner if same else b.reach) * other.times / beside


def repeated(ok: Array, times: Index) -> Array:
    """Chances that all of so many calls, one after the other, have ended."""
    result, base, rest = np.ones_like(ok), ok.copy(), times.copy()
    while (rest > 0).any():
        result = np.where((rest & 1)[:, None] == 1, result * base, result)
        base, rest = base * base, rest >> 1
    return result


def _callers_first(layout: Layout) -> list[int]:
    """Nodes so that every caller stands before whom it calls and waits for."""
    order: list[int] = []
    seen: dict[int, bool] = {}
    for root in range(len(layout.node_own)):
        if root in seen:
            continue
        stack = [(root, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
                continue
            if node in seen:
                continue
            seen[node] = True
            stack.append((node, True))
            for edge in layout.children.get(node, ()):
                if not edge.asynchronous:
                    stack.append((int(layout.child[edge.index]), False))
    return order[::-1]
