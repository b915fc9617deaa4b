"""Connection tracking: how many entries a node's table holds, of which states, and what a full one does.

An entry lives as long as its connection, and then for the timeout of the state it ended in: TIME_WAIT after an
orderly end, CLOSE after a reset, SYN_SENT where nobody answers; a name look-up (UDP) has one for its own. The timeout
that holds when an entry comes into its state is the entry's: another one changes only what comes later. An open
connection passes a packet at least every `IDLE_S`; where tcp_timeout_established is less, its entry is gone meanwhile
and made again with its next packet (nf_conntrack_tcp_loose=1), if there is room.

In a full table the packet that would make an entry looks for one to evict in eight buckets: one that is not assured
(whose connection was never established: SYN_SENT, CLOSE after it, a look-up). If it finds none, it is dropped, so
that a new connection hangs. Besides, once a minute the collector takes entries of connections that are over, as long
as the table is more than 95 % full. An entry that is there stays otherwise: a lower limit refuses new ones and evicts
no connection (net/netfilter/nf_conntrack_core.c of Linux 6.8: __nf_conntrack_alloc, early_drop, gc_worker).

Left out: entries that have ended and await the collector, the scan's uneven pace, helpers, zones; states that a
connection passes within a round trip.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from simcluster.engine import SECOND, FlatDict, Shared, Simulation
from simcluster.engine.arithmetic import exp
from simcluster.models.machine.kernel.lingering import Lingering
from simcluster.models.machine.kernel.sysctls import Sysctls

#: Entries of open connections of a node at rest: kubelet, API watches, chrony.
SYSTEM_ENTRIES = 145
#: New connections a second of a node at rest: probes, scrapes.
SYSTEM_PER_S = 1.0
#: Name look-ups a second of its daemons and of those of its pods that resolve anew.
LOOKUPS_PER_S = 0.5
#: A full table is worked off in steps of this length.
STEP_NS = SECOND
#: Keep-alive probes of Go's dialers (net.Dialer.KeepAlive) come every 15 s; kept-alive connections are used as often.
IDLE_S = 15.0
#: NF_CT_EVICTION_RANGE: buckets in which a full table looks for an entry to evict.
EVICTION_BUCKETS = 8
#: gc_worker: from which share of the limit on it takes what is over, and how often it runs (GC_SCAN_INTERVAL_MAX).
COLLECTED_FROM, COLLECT_NS = 0.95, 60 * SECOND
MAXIMUM, BUCKETS = "net.netfilter.nf_conntrack_max", "net.netfilter.nf_conntrack_buckets"
ESTABLISHED = "net.netfilter.nf_conntrack_tcp_timeout_established"
TIME_WAIT, CLOSE, SYN_SENT, UDP = "TIME_WAIT", "CLOSE", "SYN_SENT", "UDP"
#: States in which entries end by themselves, and the parameter that says how long they stay.
TIMEOUTS = {
    TIME_WAIT: "net.netfilter.nf_conntrack_tcp_timeout_time_wait",
    CLOSE: "net.netfilter.nf_conntrack_tcp_timeout_close",
    SYN_SENT: "net.netfilter.nf_conntrack_tcp_timeout_syn_sent",
    UDP: "net.netfilter.nf_conntrack_udp_timeout",
}
#: Those without IPS_ASSURED.
UNASSURED = (CLOSE, SYN_SENT, UDP)


class _Counts(NamedTuple):
    """The parts of a `Flow`."""

    new_per_s: float = 0.0
    concurrent: float = 0.0
    refused_per_s: float = 0.0
    lost_per_s: float = 0.0


class Flow(_Counts, Shared):
    """An owner's connections: new ones a second, open ones, and attempts a second that end with a reset or nothing."""

    __slots__ = ()

    def per_s(self, state: str) -> float:
        """Entries a second that come to end in a state."""
        return {TIME_WAIT: self.new_per_s, CLOSE: self.refused_per_s, SYN_SENT: self.lost_per_s}.get(state, 0.0)


class Owned(NamedTuple):
    """Entries of one owner: of open connections, and by the state in which the others end."""

    owner: str
    open: int
    ended: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        """All of them."""
        return self.open + sum([count for _, count in self.ended])  # integers


class Conntrack:
    """The table of one node.

    Attributes:
        dropped_share: share of new connections for which there is no entry, as last worked out.
        drops_per_s: how many packets that is; evicted_per_s: how many found an entry to evict.
        collected: entries that the collector has taken since `take_collected`.
    """

    __slots__ = (
        "_changed", "_crowded", "_ended", "_established", "_evicted_ns", "_flows", "_held", "_limit", "_looked_ns",
        "_sysctls", "collected", "dropped_share", "drops_per_s", "evicted_per_s", "sim",
    )  # fmt: skip

    def __init__(self, sim: Simulation, sysctls: Sysctls, changed: Callable[[], None]) -> None:
        self.sim = sim
        self._changed = changed
        self._sysctls = sysctls
        self._flows: dict[str, Flow] = FlatDict()
        self._held: dict[str, int] = {}
        self._limit = self.maximum  # the one under which what is there came in
        self._established = float(SYSTEM_ENTRIES)  # entries of connections that are open, and of those held
        self._ended = {state: Lingering() for state in TIMEOUTS}
        for state, rate, before_ns in ((TIME_WAIT, SYSTEM_PER_S, 0), (UDP, LOOKUPS_PER_S, self._lifetime(UDP))):
            self._ended[state].set(sim.now - before_ns, rate, self._lifetime(state))
        self.dropped_share = 0.0
        self.drops_per_s = 0.0
        self.evicted_per_s = 0.0
        self.collected = 0
        self._evicted_ns = self._looked_ns = sim.now
        self._crowded = False  # whether more than 95 % were taken when somebody looked last

    @property
    def maximum(self) -> int:
        """`nf_conntrack_max`."""
        return self._sysctls.number(MAXIMUM)

    @property
    def count(self) -> int:
        """Entries now."""
        most = max(self.maximum, self._limit)
        return min(most, int(self._entries())) if self.maximum else int(self._entries())

    @property
    def wanted(self) -> float:
        """Entries there would be in the long run if the table were large enough."""
        ended = [self._rate(state) * self._lifetime(state) / SECOND for state in TIMEOUTS]
        return self._open() + ended[0] + ended[1] + ended[2] + ended[3]

    @property
    def may_fill(self) -> bool:
        """Whether it is full, or will be if everything goes on as it does."""
        if not self.maximum:
            return False
        full = max(self.wanted, self._entries()) >= COLLECTED_FROM * self.maximum
        return full or self.dropped_share > 0.0 or self.evicted_per_s > 0.0

    def hold(self, owner: str, entries: int) -> None:
        """Entries that nobody ends, of an owner outside of the cluster's pods (0 lets them go).

        Raises:
            ValueError: a negative number.
        """
        if entries < 0:
            raise ValueError(f"a table cannot hold {entries} entries")
        if entries:
            self._held[owner] = entries
        else:
            self._held.pop(owner, None)
        self.update()
        self._changed()

    def flush(self) -> None:
        """`conntrack -F`: what is open makes an entry again with its next packet; nothing else is left."""
        self._held.clear()
        self._ended = {state: Lingering() for state in TIMEOUTS}
        self.update()
        self._changed()

    def flow(self, owner: str, new_per_s: float, concurrent: float) -> None:
        """An owner opens so many connections a second and holds so many open; (0, 0): none any more."""
        known = self._flows.get(owner, Flow())
        self._keep(owner, Flow(new_per_s, concurrent, known.refused_per_s, known.lost_per_s))

    def failing(self, owner: str, refused_per_s: float, lost_per_s: float) -> None:
        """So many of an owner's attempts to connect are answered by a reset, and so many by nobody, from now on."""
        known = self._flows.get(owner, Flow())
        self._keep(owner, Flow(known.new_per_s, known.concurrent, refused_per_s, lost_per_s))

    def forget(self, owner: str) -> None:
        """An owner is gone, and everything he opened is over."""
        self._keep(owner, Flow())

    def _keep(self, owner: str, flow: Flow) -> None:
        if any(flow):
            self._flows[owner] = flow
        elif self._flows.pop(owner, None) is None:
            return
        self.update()

    def update(self) -> float:
        """Work out which share of new connections is dropped now; returns it."""
        now, maximum, there = self.sim.now, self.maximum, self._open()
        self._evict(now)
        if there > self._established and maximum:
            there = min(there, self._established + max(0.0, maximum - self._entries()))
        self._established = there
        self._collect(now)
        self._limit = max(maximum, min(self._limit, int(self._entries()))) if maximum else 0
        rates = {state: self._rate(state) for state in TIMEOUTS}
        rate = rates[TIME_WAIT] + rates[CLOSE] + rates[SYN_SENT] + rates[UDP]
        admitted = self._admitted(now, rate) if maximum else rate
        self.dropped_share = 1.0 - admitted / rate if admitted < rate * 0.999 else 0.0
        self.drops_per_s = rate * self.dropped_share
        for state, each in rates.items():
            self._ended[state].set(now, each * admitted / rate, self._lifetime(state))
        return self.dropped_share

    def _admitted(self, now: int, rate: float) -> float:
        """New entries a second that find room: what ends makes it, but only below the limit, or one is evicted."""
        ending = 0.0
        for ended in self._ended.values():
            ending += ended.ending(now)
        free = min(rate, max(0.0, (self.maximum - self._entries()) * SECOND / STEP_NS + ending))
        self.evicted_per_s = 0.0
        if free < rate * 0.999:
            unassured = self._unassured(now)
            # An entry lies in two buckets, by either direction; how many of the eight hold one is a Poisson number.
            found = 1.0 - exp(-2.0 * EVICTION_BUCKETS * unassured / self._sysctls.number(BUCKETS))
            self.evicted_per_s = min((rate - free) * found, unassured * SECOND / STEP_NS)
        return free + self.evicted_per_s

    def _evict(self, now: int) -> None:
        """Take away what was evicted since the last time."""
        lost = self.evicted_per_s * (now - self._evicted_ns) / SECOND
        there = self._unassured(now) if lost > 0.0 else 0.0
        for state in UNASSURED if there > 0.0 else ():
            self._ended[state].thin(now, max(0.0, 1.0 - lost / there))
        self._evicted_ns = now

    def _collect(self, now: int) -> None:
        """The collector's run, if one was due: what is over goes as long as more than 95 % are taken."""
        due = self._crowded and now // COLLECT_NS > self._looked_ns // COLLECT_NS
        self._looked_ns = now
        excess = int(self._entries() - COLLECTED_FROM * self.maximum) if self.maximum else 0
        self._crowded = excess > 0
        if not due or excess <= 0:
            return
        over = sum([int(ended.total(now)) for ended in self._ended.values()])  # integers
        taken = min(excess, over)
        for ended in self._ended.values() if over else ():
            ended.thin(now, 1.0 - taken / over)
        self.collected += taken

    def take_collected(self) -> int:
        """How many entries the collector took since somebody asked last."""
        found, self.collected = self.collected, 0
        return found

    def owners(self) -> list[Owned]:
        """Who has entries, of which kind; largest first."""
        kept = 1.0 - self.dropped_share
        found = [
            Owned(owner, int(flow.concurrent * self._remembered()), self._lasting(flow, kept))
            for owner, flow in self._flows.items()
        ]
        found += [Owned(owner, entries, ()) for owner, entries in self._held.items()]
        daemons = Flow(SYSTEM_PER_S, float(SYSTEM_ENTRIES))
        lookups = (UDP, int(self._ended[UDP].total(self.sim.now)))
        found.append(Owned("", SYSTEM_ENTRIES, (*self._lasting(daemons, 1.0), lookups)))
        return sorted(found, key=_most)

    def _lasting(self, flow: Flow, kept: float) -> tuple[tuple[str, int], ...]:
        counts = [(s, int(flow.per_s(s) * kept * self._lifetime(s) / SECOND)) for s in (TIME_WAIT, CLOSE, SYN_SENT)]
        return tuple([(state, count) for state, count in counts if count])

    def _lifetime(self, state: str) -> int:
        return self._sysctls.number(TIMEOUTS[state]) * SECOND

    def _remembered(self) -> float:
        """Share of the open connections that passed a packet within tcp_timeout_established."""
        return min(1.0, self._sysctls.number(ESTABLISHED) / IDLE_S)

    def _rate(self, state: str) -> float:
        total = {TIME_WAIT: SYSTEM_PER_S, UDP: LOOKUPS_PER_S}.get(state, 0.0)
        for flow in self._flows.values():
            total += flow.per_s(state)
        return total

    def _open(self) -> float:
        total = float(SYSTEM_ENTRIES)
        for flow in self._flows.values():
            total += flow.concurrent
        for entries in self._held.values():
            total += entries
        return total * self._remembered()

    def _unassured(self, now: int) -> float:
        total = 0.0
        for state in UNASSURED:
            total += self._ended[state].total(now)
        return total

    def _entries(self) -> float:
        now, total = self.sim.now, self._established
        for ended in self._ended.values():
            total += ended.total(now)
        return max(0.0, total - self.evicted_per_s * (now - self._evicted_ns) / SECOND)


def _most(owned: Owned) -> tuple[int, str]:
    return (-owned.total, owned.owner)
