"""Connection tracking: how many entries a node's table holds, and what a full one does.

An entry lives as long as its connection and then `nf_conntrack_tcp_timeout_time_wait`. In a full
table no new entry is made and the packet that would have made it is dropped, so that a new
connection hangs; entries that end make room for as many. An entry that is there stays: a lower
limit refuses new ones and evicts nobody (net/netfilter/nf_conntrack_core.c, __nf_conntrack_alloc
compares the count only when it makes one). An open connection without an entry gets one with its
next packet (nf_conntrack_tcp_loose=1) if there is room. Left out: the early drop of unassured
entries, timeouts of other states, helpers, zones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from simcluster.engine import SECOND, FlatDict, Shared, Simulation
from simcluster.models.machine.kernel.rates import RateHistory
from simcluster.models.machine.kernel.sysctls import Sysctls

#: Entries of a node at rest: kubelet, API watches, name look-ups, chrony.
SYSTEM_ENTRIES = 160
#: New connections a second of a node at rest: probes, scrapes, look-ups.
SYSTEM_PER_S = 1.0
#: A full table is worked off in steps of this length.
STEP_NS = SECOND
_CLOSING_NS = 120 * SECOND
MAXIMUM = "net.netfilter.nf_conntrack_max"
TIME_WAIT = "net.netfilter.nf_conntrack_tcp_timeout_time_wait"


class _Counts(NamedTuple):
    """The parts of a `Flow`."""

    new_per_s: float
    concurrent: float


class Flow(_Counts, Shared):
    """What one owner's connections come to: new ones a second, and open ones."""

    __slots__ = ()


class Conntrack:
    """The table of one node.

    Attributes:
        dropped_share: share of new connections for which there is no entry, as last worked out.
        drops_per_s: how many packets that is.
    """

    __slots__ = (
        "_changed", "_closing", "_established", "_flows", "_held", "_limit", "_sysctls",
        "dropped_share", "drops_per_s", "sim",
    )  # fmt: skip

    def __init__(self, sim: Simulation, sysctls: Sysctls, changed: Callable[[], None]) -> None:
        self.sim = sim
        self._changed = changed
        self._sysctls = sysctls
        self._flows: dict[str, Flow] = FlatDict()
        self._held: dict[str, int] = {}
        self._limit = self.maximum  # the one under which what is there came in
        self._established = float(SYSTEM_ENTRIES)  # entries of connections that are open, and of those held
        self._closing = RateHistory(_CLOSING_NS)
        self._closing.set(sim.now, SYSTEM_PER_S)
        self.dropped_share = 0.0
        self.drops_per_s = 0.0

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
        return self._open() + self._rate() * self._sysctls.number(TIME_WAIT)

    @property
    def may_fill(self) -> bool:
        """Whether it is full, or will be if everything goes on as it does."""
        return self.maximum > 0 and (self.wanted >= self.maximum or self.dropped_share > 0.0)

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
        self._closing = RateHistory(self._closing.window_ns)
        self.update()
        self._changed()

    def flow(self, owner: str, new_per_s: float, concurrent: float) -> None:
        """An owner opens so many connections a second and holds so many open; (0, 0): none any more."""
        if new_per_s or concurrent:
            self._flows[owner] = Flow(new_per_s, concurrent)
        elif self._flows.pop(owner, None) is None:
            return
        self.update()

    def update(self) -> float:
        """Work out which share of new connections is dropped now; returns it."""
        now, rate, maximum, there = self.sim.now, self._rate(), self.maximum, self._open()
        self._closing.window_ns = self._sysctls.number(TIME_WAIT) * SECOND
        if there > self._established and maximum:
            there = min(there, self._established + max(0.0, maximum - self._entries()))
        self._established = there
        self._limit = max(maximum, min(self._limit, int(self._entries()))) if maximum else 0
        room = maximum - self._entries() if maximum else rate
        ending = self._closing.rate_at(now - self._closing.window_ns)
        # What ends makes room only below the limit: above it the table shrinks first.
        admitted = min(rate, max(0.0, room * SECOND / STEP_NS + ending)) if maximum else rate
        self.dropped_share = 1.0 - admitted / rate if rate > 0.0 and admitted < rate * 0.999 else 0.0
        self.drops_per_s = rate * self.dropped_share
        self._closing.set(now, admitted)
        return self.dropped_share

    def owners(self) -> list[tuple[str, int, int]]:
        """Who has entries: name, how many, and how many of them belong to open connections; largest first."""
        lasting = self._closing.window_ns // SECOND
        kept = 1.0 - self.dropped_share
        found = [
            (owner, int(flow.concurrent + flow.new_per_s * kept * lasting), int(flow.concurrent))
            for owner, flow in self._flows.items()
        ]
        found += [(owner, entries, entries) for owner, entries in self._held.items()]
        found.append(("", SYSTEM_ENTRIES + int(SYSTEM_PER_S * lasting), SYSTEM_ENTRIES))
        return sorted(found, key=_most)

    def _rate(self) -> float:
        total = SYSTEM_PER_S
        for flow in self._flows.values():
            total += flow.new_per_s
        return total

    def _open(self) -> float:
        total = float(SYSTEM_ENTRIES)
        for flow in self._flows.values():
            total += flow.concurrent
        for entries in self._held.values():
            total += entries
        return total

    def _entries(self) -> float:
        return self._established + self._closing.total(self.sim.now)


def _most(owner: tuple[str, int, int]) -> tuple[int, str]:
    return (-owner[1], owner[0])
