"""Ephemeral ports: a client's side of connections to one destination, and what lingers in TIME_WAIT.

A port that connected to a destination stays taken for 60 s after the client closed the
connection. When all of the range are taken, connect fails at once with EADDRNOTAVAIL. Each pod
has a range of its own (its network namespace). Left out: SO_REUSEADDR tricks, several addresses.
"""

from __future__ import annotations

from simcluster.engine import SECOND, Simulation
from simcluster.models.machine.kernel.namespaces import Namespaces
from simcluster.models.machine.kernel.rates import Counters, RateHistory
from simcluster.models.machine.kernel.sysctls import Sysctls

#: TCP_TIMEWAIT_LEN; no parameter changes it.
TIME_WAIT_NS = 60 * SECOND


class EphemeralPorts:
    """Ports of all network namespaces of a machine, by an owner's name: a pod's uid, or "" for the machine's own."""

    __slots__ = ("_closed", "_lingering", "_namespaces", "_open", "_sysctls", "sim")

    def __init__(self, sim: Simulation, sysctls: Sysctls, namespaces: Namespaces) -> None:
        self.sim = sim
        self._sysctls = sysctls
        self._namespaces = namespaces
        self._lingering: dict[str, RateHistory] = {}
        self._open: dict[str, float] = {}
        self._closed = Counters()

    def booted(self) -> None:
        """A new kernel knows of no connection."""
        self._lingering.clear()
        self._open.clear()
        self._closed.booted()

    def finished(self) -> int:
        """Connections that were closed and have left TIME_WAIT since boot."""
        # What lingers is reckoned with fractions: a millionth keeps their rounding from showing.
        now = self.sim.now
        return max(0, int(self._closed.exact(now, "closed") - self.all_time_wait() + 1e-6))

    def size(self, owner: str) -> int:
        """Ports of an owner's range."""
        low, high = self._namespaces.port_range(owner) if owner else self._sysctls.port_range()
        return high - low + 1

    @property
    def smallest(self) -> int:
        """Ports of the smallest range on the machine."""
        ranges = [self._sysctls.port_range(), self._namespaces.port_range(""), *self._namespaces.ranges()]
        return min(high - low + 1 for low, high in ranges)

    def time_wait(self, owner: str) -> float:
        """Connections of an owner in TIME_WAIT now."""
        history = self._lingering.get(owner)
        return 0.0 if history is None else history.total(self.sim.now)

    @property
    def blocked_ns(self) -> int:
        """How long a port in TIME_WAIT cannot be used for the same destination again (tcp_twsk_unique)."""
        return SECOND if self._sysctls.get("net.ipv4.tcp_tw_reuse") == "1" else TIME_WAIT_NS

    def all_time_wait(self) -> float:
        """The same of all owners."""
        total = 0.0
        for owner in self._lingering:
            total += self.time_wait(owner)
        return total

    def take(self, owner: str, count: int) -> str:
        """Connect `count` times and stay connected: the error, or ""."""
        history = self._lingering.get(owner)
        taken = 0.0 if history is None else history.total(self.sim.now, self.blocked_ns)
        if self._open.get(owner, 0.0) + taken + count > self.size(owner):
            return "EADDRNOTAVAIL"
        self._open[owner] = self._open.get(owner, 0.0) + count
        return ""

    def close(self, owner: str, count: int) -> None:
        """Connections that were taken one by one end without lingering (the other side closed first)."""
        self._open[owner] = max(0.0, self._open.get(owner, 0.0) - count)

    def connecting(self, owner: str, per_s: float) -> float:
        """An owner opens and closes so many connections a second: the share of them that finds no port."""
        history = self._lingering.get(owner)
        if history is None:
            if per_s <= 0.0:
                return 0.0
            history = self._lingering[owner] = RateHistory(TIME_WAIT_NS)
        now = self.sim.now
        blocked = self.blocked_ns
        room = self.size(owner) - self._open.get(owner, 0.0) - history.total(now, blocked)
        admitted = min(per_s, max(0.0, room + history.rate_at(now - blocked)))
        history.set(now, admitted)
        self._closed.set_rate(now, f"closed/{owner}", admitted)
        if per_s <= 0.0 and history.total(now) <= 0.0:
            del self._lingering[owner]
        return 1.0 - admitted / per_s if per_s > 0.0 and admitted < per_s * 0.999 else 0.0

    def may_run_out(self, owner: str, per_s: float) -> bool:
        """Whether the range would be taken in the long run."""
        return self._open.get(owner, 0.0) + per_s * self.blocked_ns / SECOND >= self.size(owner)

    def forget(self, owner: str) -> None:
        """The namespace is gone."""
        self._closed.end(self.sim.now, "closed", owner)
        self._lingering.pop(owner, None)
        self._open.pop(owner, None)
