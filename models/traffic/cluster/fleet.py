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

from simcluster.engine import Shared
from simcluster.models.machine.container import use_cpu
from simcluster.models.traffic.cluster.queueing import Wait
from simcluster.models.traffic.cluster.server import (
    ALIKE,
    CHANCE,
    HOPELESS_CORES,
    KNOWN_REQUESTS,
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
        return _gather([server._arrivals for server in self.servers]) * (1e9 / tick_ns)

    def charge(self, work: Array) -> Index:
        """Account CPU time of requests, by server, before `advance` does; how much of it was accounted."""
        whole: Index = np.where(self.facts.alone, 0, work).astype(np.int64)
        for rows, containers in zip(self.facts.of_machine, self._containers, strict=True):
            use_cpu(containers, whole[rows].tolist())
        return whole

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
        facts, cores = self.facts, self.cores()[rows]
        servers = [self.servers[row] for row in rows.tolist()]
        idle = facts.idle[rows] * tick_ns + _gather([s._carry_ns for s in servers])
        whole_idle = np.floor(idle)
        capacity = np.floor(cores * tick_ns)
        used = np.minimum(capacity, whole_idle + np.floor(seen.cpu_ns))
        keep = _keep(servers, np.full(len(servers), ticks), seen.arrived / ticks)
        new = (1.0 - keep) / ticks
        arrivals, work = _gather([s._arrivals for s in servers]), _gather([s._work for s in servers])
        before = np.where(arrivals > 0.0, work / np.where(arrivals > 0.0, arrivals, 1.0), 0.0)
        cost = np.where(seen.finished > 0.0, seen.cpu_ns / np.where(seen.finished > 0.0, seen.finished, 1.0), 0.0)
        cost = np.where(cost > 0.0, cost, before)
        offered = _gather([s._offered for s in servers]) * keep + (seen.arrived + seen.refused) * new
        square = _gather([s._square for s in servers]) * keep + 2.0 * seen.arrived * cost * cost * new
        arrivals, work = arrivals * keep + seen.arrived * new, work * keep + seen.arrived * cost * new
        backlog = np.floor(seen.waiting * cost)
        inside = seen.waiting + seen.busy
        columns = (idle - whole_idle, arrivals, offered, work, square, inside, cores)
        for server, carry, a, o, w, q, there, share, behind in zip(
            servers, *(column.tolist() for column in columns), backlog.astype(np.int64).tolist(), strict=True
        ):
            server._carry_ns, server._arrivals, server._offered, server._work, server._square = carry, a, o, w, q
            server.in_flight, server.cores, server.backlog_ns = there, share, behind
        state = _State(arrivals, work, backlog, inside, cores)
        changed = self._publish(servers, seen, state, tick_ns // ticks)
        full = used >= np.floor(capacity * SATURATED)
        asleep = np.where(full, 1.0, _gather([s.wait.throttled for s in servers])) * facts.asleep[rows] * tick_ns
        for server, ns, lost in zip(servers, used.tolist(), asleep.tolist(), strict=True):
            server.container.use_cpu(int(ns), int(lost))
        rest = seen.waiting * cost / tick_ns
        wanted = np.minimum(used / tick_ns + rest, np.maximum(facts.most[rows], used / tick_ns))
        held = np.maximum(inside, np.where(work > 0.0, backlog * arrivals / np.where(work > 0.0, work, 1.0), 0.0))
        self._tell_machines(servers, rows, wanted, held)
        return changed, self._is_tense(servers, rows, tick_ns // ticks, state, busy)

    def _publish(self, servers: list[Server], seen: Seen, state: _State, tick_ns: int) -> bool:
        """Tell callers and probes how long they wait, where that has changed; whether it has."""
        other = ~_alike(servers, state) | (state.cores != _gather([s._judged_cores for s in servers]))
        for row in np.nonzero(other)[0].tolist():
            server = servers[row]
            server._judged_work, server._judged_cores = server._work, server.cores
            server._judged_wait = server._current(tick_ns, server.cores)[0]
        calm = _gather([s._judged_wait.mean_ns for s in servers])
        mean = np.maximum(seen.wait_ns, np.where(seen.waiting < 1.0, calm, 0.0))
        all_ = seen.arrived + seen.refused
        refused = np.minimum(np.where(seen.refused > 0.0, seen.refused / np.where(all_ > 0.0, all_, 1.0), 0.0), 0.99)
        told = _gather([s.wait.mean_ns for s in servers])
        changed = np.abs(mean - told) > NOTICEABLE_SHARE * told + NOTICEABLE_NS
        changed |= np.abs(refused - _gather([s.rejected for s in servers])) > NOTICEABLE_REFUSALS
        asleep = _gather([s._judged_wait.throttled for s in servers]) - _gather([s.wait.throttled for s in servers])
        changed |= np.abs(asleep) > NOTICEABLE_REFUSALS
        for row in np.nonzero(changed)[0].tolist():
            server, wait = servers[row], float(mean[row])
            server.wait = Wait(wait, wait * wait * 0.25, server._judged_wait.throttled)
            server.rejected = float(refused[row])
            server.published += 1
        return bool(changed.any())

    # --- queues that hardly exist ---------------------------------------------------------

    def advance(self, tick_ns: int, rows: Index, came: Arrived, busy: float) -> tuple[bool, bool]:
        """`Server.advance` for the servers of some rows to which something came; one row of `came` each.

        Args:
            tick_ns: length of one tick; busy: as of `observe`.

        Returns:
            As `observe`.
        """
        facts, cores = self.facts, self.cores()[rows]
        servers = [self.servers[row] for row in rows.tolist()]
        span = came.ticks * float(tick_ns)
        idle = facts.idle[rows] * span + _gather([s._carry_ns for s in servers])
        whole_idle = np.floor(idle)
        wanted = whole_idle + np.floor(came.work)
        behind = _gather([float(s.backlog_ns) for s in servers])
        single = facts.alone[rows] | (behind > 0.0) | (wanted >= np.floor(cores * span))
        changed = tense = False
        for row in np.nonzero(single)[0].tolist():
            server = servers[row]
            told = (int(span[row]), int(came.requests[row]), int(came.work[row]), float(came.square[row]))
            before = {"charged": int(came.charged[row])} if came.charged[row] else {}
            changed = server.advance(*told, float(came.busy[row]), 0, int(came.ticks[row]), **before) or changed
            tense = server.is_tense(tick_ns, busy) or tense
        many = np.nonzero(~single)[0]
        if len(many):
            came = Arrived(
                came.ticks[many], came.requests[many], came.work[many], came.square[many], came.busy[many],
                came.charged[many],
            )  # fmt: skip
            some = [servers[row] for row in many.tolist()]
            more, state = self._pass(
                some, rows[many], came, cores[many], (idle - whole_idle)[many], wanted[many], tick_ns
            )
            changed = changed or more
            tense = tense or self._is_tense(some, rows[many], tick_ns, state, busy)
        return changed, tense

    def _pass(
        self, servers: list[Server], rows: Index, came: Arrived, cores: Array, carry: Array, used: Array, tick_ns: int
    ) -> tuple[bool, _State]:
        """Servers that are not behind: averages, CPU and memory."""
        span = came.ticks * float(tick_ns)
        keep = _keep(servers, came.ticks, came.requests / came.ticks)
        new = (1.0 - keep) / came.ticks
        averages = [
            _gather(before) * keep + now * new
            for before, now in (
                ([s._arrivals for s in servers], came.requests),
                ([s._offered for s in servers], came.requests),
                ([s._work for s in servers], np.floor(came.work)),
                ([s._square for s in servers], came.square),
            )
        ]
        inside = _gather([s.in_flight for s in servers]) * keep + came.busy / span * (1.0 - keep)
        columns = (carry, *averages, inside, cores)
        for server, left, a, o, w, q, there, share in zip(servers, *(c.tolist() for c in columns), strict=True):
            server._carry_ns, server._arrivals, server._offered, server._work, server._square = left, a, o, w, q
            server.in_flight, server.cores = there, share
        arrivals, work = averages[0], averages[2]
        state = _State(arrivals, work, np.zeros(len(servers)), inside, cores)
        alike = _alike(servers, state) & (cores == _gather([s._judged_cores for s in servers]))
        changed = False
        for row in np.nonzero(~alike)[0].tolist():
            changed = servers[row].judge(tick_ns) or changed
        asleep = _gather([s.wait.throttled for s in servers]) * self.facts.asleep[rows] * span
        for server, ns, lost in zip(servers, (used - came.charged).tolist(), asleep.tolist(), strict=True):
            server.container.use_cpu(int(ns), int(lost))
        self._tell_machines(servers, rows, used / span, inside)
        return changed, state

    # --- both -----------------------------------------------------------------------------

    def _tell_machines(self, servers: list[Server], rows: Index, cores: Array, held: Array) -> None:
        """Demand of CPU, and memory, where they have changed."""
        facts = self.facts
        reported = _gather([s._reported for s in servers])
        for row in np.nonzero(np.abs(cores - reported) > NOTICEABLE_CORES + 0.05 * np.abs(reported))[0].tolist():
            server, wanted = servers[row], float(cores[row])
            server._reported = wanted
            server.container.machine.report_demand(server.container, wanted)
        memory = facts.base[rows] + np.floor(facts.each[rows] * held).astype(np.int64)
        memory -= memory % MEMORY_STEP
        now = np.array([s.container.memory_bytes for s in servers], dtype=np.int64)
        for row in np.nonzero(memory != now)[0].tolist():
            servers[row].container.set_memory(int(memory[row]))

    def _is_tense(self, servers: list[Server], rows: Index, tick_ns: int, state: _State, busy: float) -> bool:
        """`Server.is_tense` of any."""
        facts, arrivals, backlog = self.facts, state.arrivals, state.backlog
        cost = np.where(arrivals > 0.0, state.work / np.where(arrivals > 0.0, arrivals, 1.0), 0.0)
        trouble = backlog > np.maximum(TENSE_BACKLOG_NS * state.cores, TENSE_REQUESTS * cost)
        trouble |= _gather([s.rejected for s in servers]) > 0.0
        workers = facts.workers[rows]
        full = state.work > busy * (state.cores - facts.idle[rows]) * tick_ns
        full &= _remembered(servers, arrivals) >= KNOWN_REQUESTS
        full |= (workers > 0.0) & (state.inside > busy * workers)
        tense = np.where(trouble, (arrivals > 1e-3) | (backlog > 0.0), full)
        tense |= facts.needy[rows] & (arrivals > 1e-3)
        return bool(tense.any())


def _gather(numbers: list[float]) -> Array:
    return np.array(numbers, dtype=np.float64)


def _remembered(servers: list[Server], arrivals: Array) -> Array:
    """`Server._remembered` of all."""
    age = _gather([s._age for s in servers])
    return np.maximum(np.maximum(arrivals * MEMORY_TICKS, np.minimum(MEMORY_REQUESTS, arrivals * age)), 1.0)


def _alike(servers: list[Server], state: _State) -> NDArray[np.bool_]:
    """`Server._is_alike` of all."""
    judged = _gather([s._judged_work for s in servers])
    allowed = np.maximum(ALIKE, CHANCE / np.sqrt(_remembered(servers, state.arrivals))) * judged
    same: NDArray[np.bool_] = np.abs(state.work - judged) <= allowed
    return same


def _keep(servers: list[Server], ticks: Index, per_tick: Array) -> Array:
    """`Server._keep` of all."""
    age = np.minimum(_gather([s._age for s in servers]) + ticks, MOST_MEMORY)
    for server, now in zip(servers, age.tolist(), strict=True):
        server._age = now
    arrivals = _gather([s._arrivals for s in servers])
    surge = np.where(per_tick * ticks >= SURGE, per_tick, 0.0)
    enough = MEMORY_REQUESTS / np.maximum(np.maximum(surge, arrivals), 1e-6)
    rest = 1.0 - 1.0 / np.maximum(MEMORY_TICKS, np.minimum(enough, age))
    keep, left = np.ones(len(servers)), ticks.copy()
    while left.any():
        keep = np.where(left & 1 == 1, keep * rest, keep)
        rest, left = rest * rest, left >> 1
    return keep
