"""Events live an hour after their last write, then they are gone.

Source: kube-apiserver --event-ttl=1h0m0s; etcd leases are renewed by every write.
"""

from __future__ import annotations

from simcluster.api.store import Change, Store
from simcluster.engine import MINUTE, FlatDict, Simulation

TTL_NS = 60 * MINUTE
_PERIOD_NS = MINUTE


class EventExpiry:
    """Removes old Events, once a minute."""

    def __init__(self, sim: Simulation, store: Store) -> None:
        self.sim = sim
        self.store = store
        self._written: dict[tuple[str, str], int] = FlatDict()  # in order of the last write
        store.subscribe("events", self)
        sim.every(_PERIOD_NS, self.expire)

    def notify(self, change: Change) -> None:
        """Called by the store at every write of an Event."""
        metadata = change.object["metadata"]
        key = (metadata["namespace"], metadata["name"])
        self._written.pop(key, None)
        if change.kind != "DELETED":
            self._written[key] = self.sim.now

    def expire(self) -> None:
        """Remove what is an hour old."""
        oldest = self.sim.now - TTL_NS
        expired = []
        for key, written in self._written.items():
            if written > oldest:
                break
            expired.append(key)
        for namespace, name in expired:
            self.store.remove("events", namespace, name)
