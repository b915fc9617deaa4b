"""All servers of a plan together: what a tick does to each of them, as operations on arrays.

`Server.advance` and `Server.observe` account one server; with hundreds of pods that costs more than
their queues do. Here the same happens to many at once. Servers that do more than count (stores), that
are behind, or whose state changes noticeably are still treated one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import SECOND, Shared
from simcluster.models.traffic.cluster.averages import (
    AGE,
    ARRIVALS,
    CARRY,
    CORES,
    INSIDE,
    JUDGED_CORES,
    OFFERED,
    REPORTED,
    SQUARE,
    WORK,
    AverageTable,
)
from simcluster.models.traffic.cluster.demand import Expected
from simcluster.models.traffic.cluster.queueing import followed_wait
from simcluster.models.traffic.cluster.server import (
    HOPELESS_CORES,
    MEMORY_REQUESTS,
    MEMORY_STEP,
    MEMORY_TICKS,
    MOST_MEMORY,
    NOTICEABLE_CORES,
    NOTICEABLE_NS,
    NOTICEABLE_REFUSALS,
    NOTICEABLE_SHARE,
    SATURATED,
    SURGE,
    TENSE_BACKLOG_NS,
    TENSE_REQUESTS,
    Observed,
    Server,
)

Array = NDArray[np.float64]
Index = NDArray[np.int64]


class Seen(NamedTuple):
    """`Observed`, of many servers: one array each."""

    arrived: Array
    finished: Array
    refused: Array
    cpu_ns: Array
    waiting: Array
    busy: Array
    wait_ns: Array

    def of(self, row: int) -> Observed:
        """What was seen of one server."""
        return Observed(*(float(column[row]) for column in self))


class Arrived(NamedTuple):
    """What came to many servers since they were accounted last: one array each."""

    ticks: Index
    requests: Array
    work: Array
    square: Array
    busy: Array
    charged: Index


class _State(NamedTuple):
    """Averages of many servers, CPU work that waits, requests inside and cores."""

    arrivals: Array
    work: Array
    backlog: Array
    inside: Array
    cores: Array


class _Facts(Shared):
    """What does not change about the servers of a plan."""

    def __init__(self, servers: Sequence[Server]) -> None:
        specs = [server.spec for server in servers]
        limits = [server.container.spec.cpu_limit for server in servers]
        self.idle = np.array([spec.idle_cores for spec in specs])
        self.base = np.array([spec.memory_base for spec in specs], dtype=np.int64)
        self.each = np.array([float(spec.memory_per_request) for spec in specs])
        self.most = np.array([float(spec.threads or spec.workers or HOPELESS_CORES) for spec in specs])
        self.workers = np.array([float(spec.workers or 0) for spec in specs])
        self.asleep = np.array([0.0 if limit is None else max(0.0, 1.0 - limit) for limit in limits])
        self.needy = np.array([spec.needs_state for spec in specs], dtype=bool)
        self.alone = np.array([type(server) is not Server for server in servers], dtype=bool)
        rows: dict[str, list[int]] = {}
        for row, server in enumerate(servers):
            rows.setdefault(server.node, []).append(row)
        self.machines = list(rows)
        self.of_machine = list(rows.values())
        self.machine = np.zeros(len(servers), dtype=np.int64)
        for number, here in enumerate(self.of_machine):
            self.machine[here] = number


class Fleet:
    """The servers of one plan."""

    def __init__(self, servers: list[Server]) -> None:
        self.servers = servers
        self.facts = _Facts(servers)
        self._cores = np.zeros(len(servers))
        self._containers = [[servers[row].container for row in rows] for rows in self.facts.of_machine]
        self._marks: list[object] = [None] * len(self.facts.machines)
        self.averages = AverageTable(len(servers))
        self.is_metered = False
        #: what is wanted of every server: a row for each field of `demand.Expected`
        self.wanted = np.zeros((len(Expected._fields), len(servers)))

    def expect(self, wanted: list[Expected], tick_ns: int) -> bool:
        """So much is wanted of the servers from now on; whether what callers may count on has changed."""
        if wanted:
            self.wanted = np.array(wanted).T
        changed = [server.expect(each, tick_ns) for server, each in zip(self.servers, wanted, strict=True)]
        return any(changed)

    def cores(self) -> Array:
        """Cores that every server may use now; not to be changed."""
        for number, rows in enumerate(self.facts.of_machine):
            machine = self.servers[rows[0]].container.machine
            mark = machine.cpu_mark
            if mark != self._marks[number]:
                self._marks[number] = mark
                self._cores[rows] = machine.cpu_shares(self._containers[number])
        return self._cores

    def per_second(self, tick_ns: int) -> Array:
        """Requests a second at every server, averaged over the last seconds."""
        found: Array = self.averages.numbers[ARRIVALS].copy()
        own = np.nonzero(~self.averages.held)[0].tolist()
        found[own] = [self.servers[row]._arrivals for row in own]
        found *= 1e9 / tick_ns
        return found

    def inside(self) -> Array:
        """Requests inside every server."""
        found: Array = self.averages.numbers[INSIDE].copy()
        own = np.nonzero(~self.averages.held)[0].tolist()
        found[own] = [self.servers[row].in_flight for row in own]
        return found

    def meter(self) -> None:
        """From now on count the CPU time of requests for the containers."""
        if not self.is_metered:
            self.is_metered = True
            for row in np.nonzero(~self.facts.alone)[0].tolist():
                self.servers[row].container.use_meter(self.averages, row)

    def release(self) -> None:
        """This fleet is history: containers count for themselves."""
        if self.is_metered:
            self.is_metered = False
            for row in np.nonzero(~self.facts.alone)[0].tolist():
                self.servers[row].container.use_meter(None)

    def charge(self) -> None:
        """Tell containers that leak as they work how much they worked."""
        for row in list(self.averages.leaky):
            self.servers[row].container.read_meter()

    # --- queues that others keep ----------------------------------------------------------

    def observe(self, tick_ns: int, seen: Seen, rows: Index, ticks: int, busy: float) -> tuple[bool, bool]:
        """`Server.observe` for the servers of some rows; one row of `seen` each.

        Args:
            tick_ns: length of the time that was seen, `ticks` ticks.
            busy: what is tense (`Server.is_tense`).

        Returns:
            Whether what callers may count on has changed, and whether one of them is tense.
        """
        changed = tense = False
        alone = self.facts.alone[rows]
        for place in np.nonzero(alone)[0].tolist():
            server = self.servers[rows[place]]
            before = server.published
            server.observe(tick_ns, seen.of(place), ticks)
            changed = changed or server.published != before
            tense = server.is_tense(tick_ns // ticks, busy) or tense
        if alone.any():
            rows, seen = rows[~alone], Seen(*(column[~alone] for column in seen))
        more, hot = self._observe(tick_ns, seen, rows, ticks, busy)
        return changed or more, tense or hot

    def _observe(self, tick_ns: int, seen: Seen, rows: Index, ticks: int, busy: float) -> tuple[bool, bool]:
        facts, averages, cores = self.facts, self.averages, self.cores()[rows]
        self._lend(rows[~averages.held[rows]])
        known = averages.numbers[:, rows]
        arrivals, work = known[ARRIVALS], known[WORK]
        idle = facts.idle[rows] * tick_ns + known[CARRY]
        whole_idle = np.floor(idle)
        capacity = np.floor(cores * tick_ns)
        used = np.minimum(capacity, whole_idle + np.floor(seen.cpu_ns))
        age = np.minimum(known[AGE] + ticks, MOST_MEMORY)
        keep = _kept(age, arrivals, np.full(len(rows), ticks), seen.arrived / ticks)
        new = (1.0 - keep) / ticks
        before = np.where(arrivals > 0.0, work / np.where(arrivals > 0.0, arrivals, 1.0), 0.0)
        cost = np.where(seen.finished > 0.0, seen.cpu_ns / np.where(seen.finished > 0.0, seen.finished, 1.0), 0.0)
        cost = np.where(cost > 0.0, cost, before)
        arrivals, work = arrivals * keep + seen.arrived * new, work * keep + seen.arrived * cost * new
        backlog, inside = np.floor(seen.waiting * cost), seen.waiting + seen.busy
        known[CARRY], known[ARRIVALS], known[WORK], known[AGE] = idle - whole_idle, arrivals, work, age
        known[OFFERED] = known[OFFERED] * keep + (seen.arrived + seen.refused) * new
        known[SQUARE] = known[SQUARE] * keep + 2.0 * seen.arrived * cost * cost * new
        known[INSIDE], known[CORES] = inside, cores
        averages.numbers[:, rows] = known
        self._put_behind(rows, backlog.astype(np.int64))
        state = _State(arrivals, work, backlog, inside, cores)
        changed = self._publish(rows, seen, known, tick_ns // ticks)
        full = used >= np.floor(capacity * SATURATED)
        self._account(rows, used, np.where(full, 1.0, averages.throttled[rows]) * facts.asleep[rows] * tick_ns)
        rest = seen.waiting * cost / tick_ns
        wanted = np.minimum(used / tick_ns + rest, np.maximum(facts.most[rows], used / tick_ns))
        held = np.maximum(inside, np.where(work > 0.0, backlog * arrivals / np.where(work > 0.0, work, 1.0), 0.0))
        self._tell_machines(rows, wanted, held)
        return changed, self._is_any_tense(rows, tick_ns // ticks, state, busy)

    def _lend(self, rows: Index) -> None:
        """Servers have their averages here from now on."""
        self.averages.borrow([self.servers[row] for row in rows.tolist()], rows.tolist())

    def _put_behind(self, rows: Index, backlog: Index) -> None:
        """CPU work that waits at servers."""
        behind = self.averages.behind
        for place in np.nonzero(behind[rows] != backlog)[0].tolist():
            self.servers[rows[place]].backlog_ns = int(backlog[place])
        behind[rows] = backlog

    def _publish(self, rows: Index, seen: Seen, known: Array, tick_ns: int) -> bool:
        """Tell callers and probes how long they wait, where that has changed; whether it has."""
        averages = self.averages
        alike = known[CORES] == known[JUDGED_CORES]
        for row in rows[~alike].tolist():
            server = self.servers[row]
            server._judged_cores = server.cores
            server._judged_wait = server._current(tick_ns, server.cores)[0]
        self._lend(rows[~alike])
        calm, asleep = averages.judged[:, rows]
        mean = np.maximum(seen.wait_ns, np.where(seen.waiting < 1.0, calm, 0.0))
        all_ = seen.arrived + seen.refused
        refused = np.minimum(np.where(seen.refused > 0.0, seen.refused / np.where(all_ > 0.0, all_, 1.0), 0.0), 0.99)
        mean_before = averages.published[rows]
        changed = np.abs(mean - mean_before) > NOTICEABLE_SHARE * mean_before + NOTICEABLE_NS
        changed |= np.abs(refused - averages.rejected[rows]) > NOTICEABLE_REFUSALS
        changed |= np.abs(asleep - averages.throttled[rows]) > NOTICEABLE_REFUSALS
        for place in np.nonzero(changed)[0].tolist():
            server, wait = self.servers[rows[place]], float(mean[place])
            server.wait = followed_wait(wait, server._judged_wait)
            server.rejected = float(refused[place])
            server.published += 1
        some = rows[changed]
        averages.published[some], averages.rejected[some], averages.throttled[some] = (
            mean[changed],
            refused[changed],
            asleep[changed],
        )
        return bool(changed.any())

    # --- queues that hardly exist ---------------------------------------------------------

    def advance(self, tick_ns: int, rows: Index, came: Arrived, busy: float) -> tuple[bool, bool]:
        """`Server.advance` for the servers of some rows, `Server.settle` where nothing came; one row of `came` each.

        Args:
            tick_ns: length of one tick; busy: as of `observe`.

        Returns:
            As `observe`.
        """
        facts, cores, averages = self.facts, self.cores()[rows], self.averages
        self._borrow(rows)
        span = came.ticks * float(tick_ns)
        idle = facts.idle[rows] * span + averages.numbers[CARRY, rows]
        whole_idle = np.floor(idle)
        wanted = whole_idle + np.floor(came.work)
        rests = came.requests == 0.0
        single = ~averages.held[rows] | (wanted >= np.floor(cores * span))
        quiet = rests & ~single & (averages.numbers[ARRIVALS, rows] <= 1e-3)
        single |= quiet & ((averages.published[rows] != 0.0) | (averages.rejected[rows] != 0.0))
        changed = tense = False
        for place in np.nonzero(single)[0].tolist():
            server = self.servers[rows[place]]
            if rests[place]:
                changed = server.settle(int(span[place]), int(came.ticks[place])) or changed
                continue
            here = (int(span[place]), int(came.requests[place]), int(came.work[place]), float(came.square[place]))
            before = {"charged": int(came.charged[place])} if came.charged[place] else {}
            changed = server.advance(*here, float(came.busy[place]), 0, int(came.ticks[place]), **before) or changed
            tense = server.is_tense(tick_ns, busy) or tense
        quiet &= ~single
        if quiet.any():
            self._idle(rows[quiet], (idle - whole_idle)[quiet], whole_idle[quiet])
        many = ~(single | quiet)
        if not many.all():
            rows, cores, idle, whole_idle, wanted, rests = (
                each[many] for each in (rows, cores, idle, whole_idle, wanted, rests)
            )
            came = Arrived(*(column[many] for column in came))
        if len(rows):
            more, state = self._pass(rows, came, cores, idle - whole_idle, wanted, tick_ns)
            changed = changed or more
            some = _State(*(column[~rests] for column in state))
            tense = tense or self._is_any_tense(rows[~rests], tick_ns, some, busy)
        return changed, tense

    def _idle(self, rows: Index, carry: Array, used: Array) -> None:
        """Servers of which nobody has wanted anything for long."""
        numbers = self.averages.numbers
        numbers[CARRY, rows] = carry
        self._account(rows, used, np.zeros(len(rows)))
        self._tell_machines(rows, self.facts.idle[rows], numbers[INSIDE, rows])

    def _borrow(self, rows: Index) -> None:
        """Take the averages of calm servers that have them themselves; those that are behind get theirs back."""
        for row in rows[self.averages.held[rows] & (self.averages.behind[rows] > 0)].tolist():
            self.averages.give_back(self.servers[row], row)
        fresh = rows[~self.averages.held[rows] & ~self.facts.alone[rows]].tolist()
        fresh = [row for row in fresh if not self.servers[row].backlog_ns]
        self.averages.borrow([self.servers[row] for row in fresh], fresh)

    def _pass(
        self, rows: Index, came: Arrived, cores: Array, carry: Array, used: Array, tick_ns: int
    ) -> tuple[bool, _State]:
        """Servers that are not behind and whose averages are in the table: averages, CPU and memory."""
        averages, span = self.averages, came.ticks * float(tick_ns)
        known = averages.numbers[:, rows]
        age = np.minimum(known[AGE] + came.ticks, MOST_MEMORY)
        keep = _kept(age, known[ARRIVALS], came.ticks, came.requests / came.ticks)
        new = (1.0 - keep) / came.ticks
        requests = came.requests * new
        arrivals, work = known[ARRIVALS] * keep + requests, known[WORK] * keep + np.floor(came.work) * new
        inside = known[INSIDE] * keep + came.busy / span * (1.0 - keep)
        known[CARRY], known[ARRIVALS], known[OFFERED] = carry, arrivals, known[OFFERED] * keep + requests
        known[WORK], known[SQUARE], known[AGE] = work, known[SQUARE] * keep + came.square * new, age
        known[INSIDE], known[CORES] = inside, cores
        averages.numbers[:, rows] = known
        alike = cores == known[JUDGED_CORES]
        changed = False
        for row in rows[~alike].tolist():
            changed = self.servers[row].judge(tick_ns) or changed
        self._borrow(rows[~alike])
        self._account(rows, used - came.charged, averages.throttled[rows] * self.facts.asleep[rows] * span)
        self._tell_machines(rows, used / span, inside)
        return changed, _State(arrivals, work, np.zeros(len(rows)), inside, cores)

    def _account(self, rows: Index, used: Array, asleep: Array) -> None:
        """CPU time that servers used, and time for which their quotas stopped them."""
        for place in np.nonzero(asleep >= 1.0)[0].tolist() if self.is_metered else range(len(rows)):
            amount = 0 if self.is_metered else int(used[place])
            self.servers[rows[place]].container.use_cpu(amount, int(asleep[place]))
        if self.is_metered:
            speeds = [self.servers[here[0]].container.machine.cpu_speed for here in self.facts.of_machine]
            if all(speed == 1.0 for speed in speeds):
                self.averages.settle(rows, used)
            else:
                self.averages.settle(rows, used / np.array(speeds)[self.facts.machine[rows]])

    def _tell_machines(self, rows: Index, cores: Array, held: Array) -> None:
        """Demand of CPU, and memory, of servers whose averages are in the table, where they have changed."""
        reported = self.averages.numbers[REPORTED]
        before = reported[rows]
        for place in np.nonzero(np.abs(cores - before) > NOTICEABLE_CORES + 0.05 * np.abs(before))[0].tolist():
            row, wanted = rows[place], float(cores[place])
            reported[row] = wanted
            container = self.servers[row].container
            container.machine.report_demand(container, wanted)
        memory, known = self._memory(rows, held), self.averages.memory
        for place in np.nonzero(memory != known[rows])[0].tolist():
            row = rows[place]
            known[row] = memory[place]
            self.servers[row].container.set_memory(int(memory[place]))

    def _is_any_tense(self, rows: Index, tick_ns: int, state: _State, busy: float) -> bool:
        """`Server.is_tense` of any whose averages are in the table."""
        return self._is_tense(rows, tick_ns, state, busy, self.averages.rejected[rows])

    # --- both -----------------------------------------------------------------------------

    def _memory(self, rows: Index, held: Array) -> Index:
        """Bytes that servers hold with so many requests inside."""
        facts = self.facts
        memory: Index = facts.base[rows] + np.floor(facts.each[rows] * held).astype(np.int64)
        memory -= memory % MEMORY_STEP
        return memory

    def _is_tense(self, rows: Index, tick_ns: int, state: _State, busy: float, rejected: Array) -> bool:
        """`Server.is_tense` of any."""
        facts, arrivals, backlog = self.facts, state.arrivals, state.backlog
        cost = np.where(arrivals > 0.0, state.work / np.where(arrivals > 0.0, arrivals, 1.0), 0.0)
        trouble = backlog > np.maximum(TENSE_BACKLOG_NS * state.cores, TENSE_REQUESTS * cost)
        trouble |= rejected > 0.0
        workers = facts.workers[rows]
        full = self.wanted[1, rows] > busy * (state.cores - facts.idle[rows]) * SECOND
        full |= (workers > 0.0) & (self.wanted[3, rows] > busy * workers)
        tense = np.where(trouble, (arrivals > 1e-3) | (backlog > 0.0), full)
        tense |= facts.needy[rows] & (arrivals > 1e-3)
        return bool(tense.any())


def _kept(age: Array, arrivals: Array, ticks: Index, per_tick: Array) -> Array:
    """What averages of such an age keep of their values."""
    surge = np.where(per_tick * ticks >= SURGE, per_tick, 0.0)
    enough = MEMORY_REQUESTS / np.maximum(np.maximum(surge, arrivals), 1e-6)
    rest = 1.0 - 1.0 / np.maximum(MEMORY_TICKS, np.minimum(enough, age))
    keep, left = np.ones(len(age)), ticks.copy()
    while left.any():
        keep = np.where(left & 1 == 1, keep * rest, keep)
        rest, left = rest * rest, left >> 1
    return keep
