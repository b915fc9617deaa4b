"""The callers: attempts in flight by age and number, what becomes of them, retries and their limits.

Counts are kept per edge, by tick of issue and number of the attempt. A cohort is judged when its
timeout expires; errors and rejections end attempts earlier. What may be retried comes back after
its back-off, through a ring of delays; the rest ends the call.

Of one edge all callers (replicas, clients) are taken together, but for what budgets they have left (`budgets`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic
from simcluster.engine.streams import _GAMMA as GAMMA
from simcluster.engine.streams import _MASK as MASK
from simcluster.engine.streams import Streams, uniforms_at
from simcluster.models.traffic.aggregate.budgets import Budgets
from simcluster.models.traffic.aggregate.fast import kernels_for
from simcluster.models.traffic.aggregate.grid import turned
from simcluster.models.traffic.aggregate.jitter import decorrelated, mean_of
from simcluster.models.traffic.aggregate.layout import Edge, Layout
from simcluster.models.traffic.aggregate.patience import Patience
from simcluster.models.traffic.aggregate.usual import Usual
from simcluster.models.traffic.graph.policy import Backoff

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Kinds of failure, in the order of the rows of `final` and `failed`.
TIMEOUT, REJECTED, ERROR, REFUSED = range(4)
_NAMES = ("timeout", "rejected", "error")
#: A jittered delay is spread over so many instants of equal weight.
_SPREAD = 8
#: Who was answered early is looked for among so many cohorts first.
_NEAR = 64
#: The longest delay that the ring of delays holds, in ticks; longer ones are cut.
_LONGEST = 20_000


class Callers:
    """Attempts of all edges.

    Attributes:
        flying: ring of cohorts [slot, attempt, edge]; `total` their original sizes [slot, edge].
        open: attempts of edges without timeout [attempt, edge].
        issue: attempts that begin in this tick [attempt, edge]; the row of first ones is filled on the way.
        succeeded: attempts that succeeded in this tick, per edge, as judged now.
        failed: [kind, edge] attempts that failed in this tick; `final` calls that ended with it.
    """

    def __init__(self, layout: Layout, seed: int = 0) -> None:
        self.layout = layout
        streams = Streams(seed)
        names = [f"{e.caller_name}/{e.caller}>{e.child}" for e in layout.graph.edges]
        self._keys = np.array([streams.key("traffic", "edge", i, n) for i, n in enumerate(names)], dtype=np.uint64)
        edges, tries = layout.edges, layout.max_attempts
        self.tries, self.slots = tries, layout.slots
        self.flying = np.zeros((self.slots, tries, edges))
        self.total = np.zeros((self.slots, edges))
        self.open = np.zeros((tries, edges))
        self.issue = np.zeros((tries, edges))
        self.rejected = np.zeros((tries, edges))
        self.errors = np.zeros(edges)
        self.succeeded = np.zeros(edges)
        self.failed = np.zeros((4, edges))
        self.final = np.zeros((4, edges))
        self.retried = np.zeros(edges)
        self._error_mix: Array | None = None
        #: edges some of whose attempts ended by errors, and successes they could not have so far
        self._broken: Array | None = None
        self._owed = np.zeros(edges)
        self._untimed_errors: Array | None = None
        self._refusals = np.zeros(edges)
        self._again = np.zeros(edges)
        self._left = np.zeros((tries, edges))
        self._came = np.zeros(edges)
        self.limit = layout.attempts.copy()
        self._all = np.arange(edges)
        self._tries = np.arange(tries)[:, None]
        ticks = layout.timeout_ticks
        #: if all edges have the same timeout, its ticks (a cohort then is one slot of the ring)
        self._one_timeout = int(ticks[0]) if bool((ticks == ticks[0]).all()) else 0
        #: edges whose retries are others', and those: retries of another priority
        pairs = [(e.first.index, e.index) for e in layout.graph.edges if e.first is not None]
        self.firsts = np.array([p[0] for p in pairs], dtype=np.int64)
        self.laters = np.array([p[1] for p in pairs], dtype=np.int64)
        self._policies()
        self.budgets = Budgets(layout.graph.edges, self.callers, seed)
        self.restrict()
        #: whether judging may be compiled
        unusual = self.any_leave or len(self.firsts) or self.budgets or not layout.timed.all()
        self._plain = not unusual
        #: how much more seldom or oftener attempts of each number succeed, where known [number, edge]: not compiled
        self.uneven: Array | None = None

    def _policies(self) -> None:
        layout = self.layout
        edges = layout.graph.edges
        self.on = np.zeros((3, layout.edges))
        for edge in edges:
            kinds = edge.policy.retries.on if edge.policy.retries is not None else ()
            for row, name in enumerate(_NAMES):
                self.on[row, edge.index] = float(name in kinds)
        self._delays(edges)
        self._patience()
        nodes = layout.graph.nodes
        self._single = np.array([layout.replicas[nodes[e.child].service] == 1 for e in edges])
        backoffs = [e.policy.retries.backoff if e.policy.retries is not None else None for e in edges]
        pausing = np.array([backoff is not None and backoff.base > 0 for backoff in backoffs])
        #: a rejection is known, and a retry made, within the tick and before anything else happens
        self._instant = ((layout.network < 0.25) & ~pausing).astype(np.float64)
        self.callers = np.array([self._number_of_callers(e) for e in edges])

    def _patience(self) -> None:
        """Where attempts end by lost patience: the chance by tick, and whether they leave the queue then."""
        edges = self.layout.graph.edges
        means = [e.policy.patience.mean_ns if e.policy.patience is not None else 0.0 for e in edges]
        self.leaving = np.array([self.layout.tick_ns / mean if mean > 0.0 else 0.0 for mean in means])
        #: edges whose patience is not exponential, whose chance to leave is worked out in every tick
        self.impatient = [
            (e.index, Patience(e.policy.patience, self.layout.tick_ns))
            for e in edges
            if e.policy.patience is not None and e.policy.patience.law != "exponential"
        ]
        self.takes_back = np.array([e.policy.cancel != "no" for e in edges])
        self.any_leave = bool(self.leaving.any())

    def _number_of_callers(self, edge: Edge) -> float:
        spec = self.layout.graph.spec
        if edge.load:
            return float(spec.load[edge.load].clients)
        return float(spec.services[edge.caller_name].replicas)

    def _delays(self, edges: list[Edge]) -> None:
        """Back-off of every edge and attempt: where in the ring the retries land."""
        longest = 0.0
        wanted: list[tuple[int, int, list[float]]] = []
        self.period = self.layout.timeout.copy()
        self.backoff_total = np.zeros(self.layout.edges)
        self.direct = np.ones((self.tries, self.layout.edges))
        for edge in edges:
            backoff = edge.policy.retries.backoff if edge.policy.retries is not None else None
            if backoff is None:
                continue
            sum_ = 0.0
            for number in range(edge.policy.attempts - 1):
                delays = spread(backoff, number, self.layout.tick_ns)
                middle = 0.5 * (delays[0] + delays[-1]) if backoff.jitter != "decorrelated" else mean_of(delays)
                sum_ += middle
                if delays[-1] >= 0.5:
                    wanted.append((edge.index, number, delays))
                    self.direct[number, edge.index] = 0.0
                    longest = max(longest, delays[-1])
            self.backoff_total[edge.index] = sum_
            self.period[edge.index] += sum_ / max(1, edge.policy.attempts - 1)
        #: edges whose refused attempts come again some ticks later
        self.comes_again = np.zeros(self.layout.edges, dtype=bool)
        self.comes_again[[edge for edge, _, _ in wanted if self.on[REJECTED, edge] > 0.0]] = True
        self._ring = min(int(longest) + 3, _LONGEST) if wanted else 0
        self.delayed = np.zeros((max(1, self._ring), self.tries, self.layout.edges)) if wanted else np.zeros((1, 1, 1))
        self._delayed_edge = np.array([e for e, _, _ in wanted], dtype=np.int64)
        self._delayed_number = np.array([k for _, k, _ in wanted], dtype=np.int64)
        self._delayed_ticks = np.array([d for _, _, d in wanted]) if wanted else np.zeros((0, _SPREAD))
        longest = max(self._ring - 1.0, 1.0)
        whole = np.minimum(np.maximum(np.floor(self._delayed_ticks + 0.5), 1.0), longest)
        self._whole_delays = whole.astype(np.int64)
        self._delay_of = np.full((self.tries, self.layout.edges), -1, dtype=np.int64)
        self._delay_of[self._delayed_number, self._delayed_edge] = np.arange(len(wanted))

    def restrict(self) -> None:
        """Apply the limits of attempts: who may try again after failing with his k-th attempt."""
        self.may = (self._tries < (self.limit - 1)[None, :]).astype(np.float64)

    def slot_of_expiring(self, tick: int) -> Index:
        """For each edge the ring's slot of the cohort whose timeout expires now; -1: none."""
        begun = tick - self.layout.timeout_ticks
        return np.where(self.layout.timed & (begun >= 0), begun % self.slots, -1)

    def judge(self, tick: int, share: Array | None, answered: Array, in_time: Array) -> None:
        """Decide about attempts: cohorts whose timeout expires now, and answers on edges without one.

        Args:
            share: probability of success of the expiring cohort of every edge; None: all succeed.
            answered: answers in the last tick on edges without timeout.
            in_time: share of good ones among them.
        """
        layout = self.layout
        fast = kernels_for(layout.lanes) if self._plain else None
        if fast is not None:
            self._judge_fast(fast, tick, share)
            return
        cohort, original = self._expired(tick)
        if share is None:
            good, late = cohort, None
            self.succeeded = np.add.reduce(cohort, axis=0)
        else:
            left = np.add.reduce(cohort, axis=0)
            part = self._part(share * original, left)
            part = self._whole(tick, left, part)
            if self.uneven is not None:
                part = np.minimum(part * self.uneven, 1.0)
            good = cohort * part
            late = cohort - good
            self.succeeded = np.add.reduce(good, axis=0)
        if not layout.timed.all():
            self._answers(answered, in_time)
        self._conclude(tick, late)
        self.budgets.end()
        self.budgets.succeeded(self.succeeded)

    def _judge_fast(self, fast: ModuleType, tick: int, share: Array | None) -> None:
        """The same, compiled."""
        edges = self.layout.edges
        mix = self._error_mix if self._error_mix is not None else np.zeros((self.tries, edges))
        self.succeeded, self.repeated = np.empty(edges), np.empty(edges)
        none = np.zeros(edges)
        fast.attempts(
            tick, np.uint64(((tick + 1) * GAMMA) & MASK), share is not None, self._broken is not None, self._ring > 0,
            self.layout.timeout_ticks, self.flying, self.total, none if share is None else share, self._owed,
            none if self._broken is None else self._broken, self._keys, mix,
            self.rejected, self.may, self.on, self.direct, self._instant, self._again, self._refusals, self.delayed,
            self._delay_of, self._whole_delays, self.succeeded, self.failed, self.final, self.issue, self.retried,
            self.repeated,
        )  # fmt: skip
        self._error_mix = None

    def _part(self, wanted: Array, left: Array) -> Array:
        """Which part of what is left of the cohorts succeeds.

        Errors are taken out of cohorts by their mean numbers; where that left too few to succeed, others do later.
        """
        if self._broken is None:
            part: Array = np.minimum(wanted / np.maximum(left, 1e-300), 1.0)
            return part
        wanted = wanted + self._owed
        part = np.minimum(wanted / np.maximum(left, 1e-300), 1.0)
        most = np.maximum(wanted, 1.0) * self._broken
        self._owed = np.minimum(np.maximum(wanted - left, 0.0), most)
        return part

    def forgive(self, heard: Array) -> None:
        """Only this share of what expires now can make up for successes that others could not have."""
        self._owed = self._owed * heard

    def _whole(self, tick: int, there: Array, part: Array) -> Array:
        """Of a whole number of attempts a whole number succeeds: rounded at random, the mean kept."""
        good = there * part
        whole = (there == np.floor(there)) & (good > 0.0) & (good < there)
        if not whole.any():
            return part
        rounded = np.floor(good + uniforms_at(self._keys, tick + 1))
        return np.where(whole, np.minimum(rounded / np.maximum(there, 1e-300), 1.0), part)

    def _expired(self, tick: int) -> tuple[Array, Array]:
        """The cohorts whose timeout expires, taken out of the ring; and their original sizes."""
        if self._one_timeout:
            slot = (tick - self._one_timeout) % self.slots
            cohort = self.flying[slot].copy()
            self.flying[slot] = 0.0
            return cohort, self.total[slot]
        slots = self.slot_of_expiring(tick)
        there = slots >= 0
        cohort = self.flying[slots[None, :], self._tries, self._all[None, :]] * there
        gone = self._all[there]
        self.flying[slots[there][None, :], self._tries, gone[None, :]] = 0.0
        return cohort, self.total[slots, self._all] * there

    def _answers(self, answered: Array, in_time: Array) -> None:
        """Edges without timeout: answers end attempts; the oldest and the newest mix."""
        if self.any_leave:
            # who came or is answered in the tick was there for half of it
            inside = np.add.reduce(self.open, axis=0)
            there = np.maximum(inside - 0.5 * (self._came + np.minimum(answered, inside)), 0.0)
            part = there / np.maximum(inside, 1e-300)
            self._left = self.open * ((1.0 - arithmetic.exp_array(-self.leaving)) * part)
            self.open = self.open - self._left
        there = np.add.reduce(self.open, axis=0)
        part = np.minimum(answered / np.maximum(there, 1e-300), 1.0) * ~self.layout.timed
        gone = self.open * part
        self.open = self.open - gone
        good = np.add.reduce(gone, axis=0) * in_time
        self.succeeded = self.succeeded + good
        self._untimed_errors = gone * (1.0 - in_time)

    def _conclude(self, tick: int, late: Array | None) -> None:
        """Sort failures into retries and ends of calls."""
        self.failed[:] = 0.0
        self.final[:] = 0.0
        self.issue[:] = 0.0
        self.retried[:] = 0.0
        self.repeated = np.zeros(self.layout.edges)
        if self._ring:
            slot = tick % self._ring
            self.issue += self.delayed[slot]
            self.delayed[slot] = 0.0
        if self.any_leave:
            late = self._left if late is None else late + self._left
        for kind, failures in ((TIMEOUT, late), (REJECTED, self._take_rejected()), (ERROR, self._take_errors())):
            if failures is not None:
                self._fail(tick, kind, failures)
        if len(self.firsts):
            self.issue[1:, self.laters] += self.issue[1:, self.firsts]  # each takes those of one edge
            self.issue[1:, self.firsts] = 0.0
        self.failed[REFUSED] = self.final[REFUSED] = self._refusals
        self._refusals = np.zeros(self.layout.edges)

    def _take_rejected(self) -> Array | None:
        taken = self.rejected if self.rejected.any() else None
        self.rejected = self.rejected if taken is None else np.zeros_like(self.rejected)
        return taken

    def _take_errors(self) -> Array | None:
        found, untimed = self._error_mix, self._untimed_errors
        self._error_mix = self._untimed_errors = None
        if found is None:
            return untimed if untimed is not None and untimed.any() else None
        return found if untimed is None else found + untimed

    def refuse(self, amounts: Array) -> None:
        """Attempts that the caller itself did not make: the end of their calls, told in the next tick."""
        self._refusals = self._refusals + amounts

    def guard(self, refused: Array) -> None:
        """Take so many of every edge's retries of this tick away."""
        issued = np.add.reduce(self.issue, axis=0)
        self.issue *= 1.0 - np.minimum(refused / np.maximum(issued, 1e-300), 1.0)
        self.refuse(refused)

    def _repeat(self, failures: Array) -> tuple[Array, Array]:
        """Rejections that come back within the instant meet the same full queue again.

        Returns:
            All rejected attempts with the repeated ones, and the retries that found another replica.
        """
        all_, again = failures.copy(), np.zeros_like(failures)
        part, back = self.may * self.on[REJECTED] * self.direct * self._instant, self._again
        for number in range(self.tries - 1):
            made = np.multiply(all_[number], part[number], out=again[number])
            all_[number + 1] += made * back
        return all_, again * (1.0 - back)

    def _fail(self, tick: int, kind: int, failures: Array) -> None:
        if kind == REJECTED and not self.budgets:
            first = np.add.reduce(failures, axis=0)
            failures, passed = self._repeat(failures)
            self.repeated = np.add.reduce(failures, axis=0) - first
            self.failed[kind] = np.add.reduce(failures, axis=0)
            normal = failures * (self.may * self.on[kind]) * (1.0 - self.direct * self._instant)
            self.final[kind] = self.failed[kind] - np.add.reduce(normal + passed, axis=0) - self.repeated
            self.retried += np.add.reduce(normal + passed, axis=0)
            self.issue[1:] += (normal * self.direct + passed)[:-1]
            if self._ring:
                self._delay(tick, normal)
            return
        self.failed[kind] = np.add.reduce(failures, axis=0)
        again = failures * (self.may * self.on[kind])
        if self.budgets:
            again = again * self.budgets.afford(tick, kind, np.add.reduce(again, axis=0), late=kind == TIMEOUT)
        retried = np.add.reduce(again, axis=0)
        if kind != ERROR:
            self.retried += retried
        self.final[kind] = self.failed[kind] - retried
        self.issue[1:] += (again * self.direct)[:-1]
        if self._ring:
            self._delay(tick, again)

    def _delay(self, tick: int, again: Array) -> None:
        amounts = again[self._delayed_number, self._delayed_edge]
        if not amounts.any():
            return
        slots = (tick + self._whole_delays) % self._ring
        piece = amounts / _SPREAD
        for column in range(_SPREAD):
            np.add.at(self.delayed, (slots[:, column], self._delayed_number + 1, self._delayed_edge), piece)

    def fly(self, tick: int, fresh: Array, refused: Array, dead: Array) -> Array:
        """After the attempts of a tick were sent: put them in flight.

        Args:
            fresh: first attempts of every edge in this tick.
            refused: share of every edge's attempts that found no place and were told so.
            dead: 1 for edges whose callee has no replica: their attempts see an error at once.

        Returns:
            Attempts of every edge.
        """
        self.issue[0] += fresh
        self.budgets.called(fresh)
        attempts: Array = np.add.reduce(self.issue, axis=0)
        if refused.any():
            self.rejected += self.issue * refused
            admitted = self.issue * (1.0 - refused)
            self._again = np.where(self._single, 1.0, refused)
        else:
            admitted = self.issue
        if dead.any():
            lost = admitted * dead
            admitted = admitted - lost
            self._error_mix = lost if self._error_mix is None else self._error_mix + lost
        slot = tick % self.slots
        self.flying[slot] = admitted
        self.total[slot] = np.add.reduce(admitted, axis=0)
        if not self.layout.timed.all():
            came = admitted * ~(self.layout.timed | self.layout.asynchronous)
            self.open += came
            if self.any_leave:
                self._came = np.add.reduce(came, axis=0)
        return attempts

    def shift(self, tick: int, ticks: int) -> None:
        """Go on `ticks` later with the same attempts in flight."""
        self.flying = turned(self.flying, ticks)
        self.total = turned(self.total, ticks)
        if self._ring:
            self.delayed = turned(self.delayed, ticks)

    def leave_calm(self, calls: Array, fresh: Array, usual: Usual) -> tuple[Array, Array]:
        """All calls in flight and of a wide tick end, as often well as usual.

        Returns:
            Of every edge the calls that were under way, and the attempts of all that had not begun before.
        """
        layout = self.layout
        before = self.in_flight()
        ended = before + calls * ~layout.asynchronous
        for there in (self.flying, self.total, self.open, self.issue, self.rejected, self.delayed, self._refusals):
            there[...] = 0.0
        self._error_mix = None
        self.succeeded = ended * usual.call
        lost = 1.0 - usual.attempt
        late = np.where(lost > 0.0, usual.late / np.where(lost > 0.0, lost, 1.0), 0.0)
        for found, all_ in ((self.failed, ended * usual.made), (self.final, ended)):
            found[:] = 0.0
            found[TIMEOUT] = (all_ - self.succeeded) * late
            found[ERROR] = all_ - self.succeeded - found[TIMEOUT]
        self.budgets.called(fresh)
        self.budgets.succeeded(self.succeeded)
        self.budgets.end()
        return before, calls * usual.made + before * (usual.made - 1.0)

    def answer(self, tick: int, edge: int, amount: float, age: int) -> float:
        """Attempts of about one age were answered in time and leave the ring; how many there were."""
        longest = max(1, int(self.layout.timeout_ticks[edge]) - 1)
        ages = _nearest_first(longest, min(max(age, 1), longest))
        for most in (_NEAR, longest):  # who is so near is nearly always enough
            slots = (tick - ages[:most]) % self.slots
            inside = np.add.reduce(self.flying[slots, :, edge], axis=1)
            before = np.cumsum(inside)
            if before[-1] >= amount:
                break
        gone = np.minimum(np.maximum(amount - (before - inside), 0.0), inside)
        some = gone > 0.0
        slots, gone, inside = slots[some], gone[some], inside[some]
        self.flying[slots, :, edge] *= (1.0 - gone / inside)[:, None]
        self.total[slots, edge] -= gone
        return min(amount, float(before[-1]))

    def take(self, tick: int, edge: int, age: int, amount: float, share: float) -> float:
        """Let up to `amount` attempts of one age, at most a share of them, fail with an error; how many did."""
        where = self.flying[(tick - age) % self.slots] if self.layout.timed[edge] else self.open
        column = where[:, edge]
        there = float(np.cumsum(column)[-1])
        if there <= 0.0:
            return 0.0
        part = min(share if self.layout.timed[edge] else 1.0, amount / there)
        if self._error_mix is None:
            self._error_mix = np.zeros((self.tries, self.layout.edges))
        self._error_mix[:, edge] += column * part
        where[:, edge] = column * (1.0 - part)
        return there * part

    def break_off(self, tick: int, edges: Index, ages: Array, amounts: Array) -> None:
        """Attempts that got an error answer before their timeout: by edge, age in ticks and amount.

        Where few are made, none has just that age: those nearest to it are meant.
        """
        layout = self.layout
        mix = self._error_mix if self._error_mix is not None else np.zeros((self.tries, layout.edges))
        self._error_mix = mix
        if self._broken is None:
            self._broken = np.zeros(layout.edges)
        fast = kernels_for(layout.lanes)
        if fast is not None:
            places = layout.timed, layout.timeout_ticks, self._broken
            fast.break_off(tick, edges, ages, amounts, *places, self.flying, self.open, mix)
            return
        timed = layout.timed[edges]
        alive = ~timed | (ages < layout.timeout_ticks[edges])
        edges, ages, amounts = edges[alive], ages[alive], amounts[alive]
        self._broken[edges] = 1.0
        known: dict[int, list[int]] = {}
        for edge, age, amount in zip(edges.tolist(), ages.tolist(), amounts.tolist(), strict=True):
            left = amount
            if edge not in known:
                known[edge] = self._ages(tick, edge)
            for where in self._nearest(tick, edge, int(age), known[edge]):
                column = where[:, edge]
                there = float(column.cumsum()[-1])
                if there > 0.0:
                    part = min(1.0, left / there)
                    mix[:, edge] += column * part
                    where[:, edge] = column * (1.0 - part)
                    left = left - there
                if left <= 0.0:
                    break

    def _ages(self, tick: int, edge: int) -> list[int]:
        """The ages of which an edge has attempts in flight, in ticks, ascending; none if it has no timeout."""
        if not self.layout.timed[edge]:
            return []
        last = max(1, int(self.layout.timeout_ticks[edge]) - 1)
        found = (tick - np.flatnonzero(np.any(self.flying[:, :, edge] > 0.0, axis=1))) % self.slots
        return sorted(at for at in found.tolist() if 1 <= at <= last)

    def _nearest(self, tick: int, edge: int, age: int, ages: list[int]) -> Iterator[Array]:
        """Where attempts of about an age are: the nearest first, of two equally near ones the older."""
        if not self.layout.timed[edge]:
            yield self.open
            return
        nearest = min(max(1, age), max(1, int(self.layout.timeout_ticks[edge]) - 1))
        older = bisect_left(ages, nearest)
        younger = older - 1
        while younger >= 0 or older < len(ages):
            if younger < 0 or (older < len(ages) and ages[older] - nearest <= nearest - ages[younger]):
                at, older = ages[older], older + 1
            else:
                at, younger = ages[younger], younger - 1
            yield self.flying[(tick - at) % self.slots]

    def forget(self, edge: int, share: float) -> None:
        """A share of those who made an edge's calls is gone: what they had in flight is nobody's any more."""
        for amounts in (self.flying, self.open, self.rejected, self.total, self._refusals, self._error_mix):
            if amounts is not None:
                amounts[..., edge] *= 1.0 - share
        if self._ring:
            self.delayed[..., edge] *= 1.0 - share

    def reach_ahead(self, ticks: int) -> None:
        """Make room for retries that are made in so many ticks, which nothing plans yet."""
        if ticks > self._ring:
            self._ring = ticks
            self.delayed = np.zeros((ticks, self.tries, self.layout.edges))

    def in_flight(self) -> Array:
        """Attempts of every edge whose fate is open or not counted yet, and those that wait to be made again."""
        inside = np.add.reduce(np.add.reduce(self.flying, axis=0), axis=0) * self.layout.timed
        inside = inside + np.add.reduce(self.open, axis=0) + np.add.reduce(self.rejected, axis=0) + self._refusals
        inside = inside + self.waiting()
        if self._error_mix is not None:
            inside = inside + np.add.reduce(self._error_mix, axis=0)
        result: Array = inside
        return result

    def waiting(self) -> Array:
        """Attempts of every edge that are still to be made, after a failed one."""
        if not self._ring:
            return np.zeros(self.layout.edges)
        found: Array = np.add.reduce(np.add.reduce(self.delayed, axis=0), axis=0)
        return found


@lru_cache(maxsize=1024)
def _nearest_first(longest: int, nearest: int) -> Index:
    """Ages from 1 to the longest, the nearest first, of two equally near ones the older."""
    ages = np.arange(1, longest + 1)
    found = ages[np.argsort(2 * np.abs(ages - nearest) + (ages < nearest), kind="stable")]
    found.setflags(write=False)
    return found


def spread(backoff: Backoff, number: int, tick_ns: int) -> list[float]:
    """Delays in ticks, of equal weight, before the retry that follows attempt `number` (from 0)."""
    full = float(backoff.base)
    for _ in range(number):
        full = full * backoff.factor
        if backoff.max is not None and full > backoff.max:
            break
    if backoff.max is not None:
        full = min(full, float(backoff.max))
    full /= tick_ns
    if backoff.jitter == "decorrelated":
        return decorrelated(backoff, number, tick_ns, _SPREAD)
    low = {"none": full, "full": 0.0, "equal": 0.5 * full}[backoff.jitter]
    return [low + (full - low) * (i + 0.5) / _SPREAD for i in range(_SPREAD)]
