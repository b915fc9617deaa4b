"""The rate-limited work queue of client-go, in simulated time."""

from __future__ import annotations

from collections.abc import Callable

from simcluster.engine import MILLISECOND, SECOND, Simulation, Timer
from simcluster.telemetry.metrics.tally import Bounds, Tally

#: DefaultControllerRateLimiter: 5 ms doubling to 1000 s (client-go util/workqueue).
BACKOFF_BASE_NS = 5 * MILLISECOND
BACKOFF_MAX_NS = 1000 * SECOND
#: component-base: ExponentialBuckets(10e-9, 10, 12).
BOUNDS = Bounds.of(
    *("1e-08", "1e-07", "1e-06", "9.999999999999999e-06", "9.999999999999999e-05", "0.001", "0.01", "0.1", "1", "10"),
    *("99.99999999999999", "999.9999999999999"),
)


class WorkQueue:
    """Keys to reconcile: deduplicated, never handed to two workers at once.

    Args:
        handler: called with a key; returns how long the worker stays busy, in nanoseconds.
        workers: how many keys may be in work at once (`concurrent-*-syncs`).

    Attributes:
        adds, retried: keys that were put in, and those among them that had failed.
        waits, works: how long keys waited for a worker, and how long it took.
    """

    def __init__(self, sim: Simulation, handler: Callable[[str], int], workers: int) -> None:
        self.sim = sim
        self.handler = handler
        self.idle = workers
        self.adds = self.retried = 0
        self.waits, self.works = Tally(BOUNDS), Tally(BOUNDS)
        self._ready: dict[str, int] = {}  # key -> since when it waits
        self._busy: dict[str, bool] = {}  # key -> whether it was added again meanwhile
        self._delayed: dict[str, Timer] = {}
        self._failures: dict[str, int] = {}
        self._wake: Timer | None = None

    def add(self, key: str) -> None:
        """Put a key in; nothing happens if it waits already."""
        if key in self._busy:
            self.adds += not self._busy[key]
            self._busy[key] = True
            return
        if key not in self._ready:
            self.adds += 1
            self._ready[key] = self.sim.now
        self._schedule()

    def add_after(self, key: str, delay_ns: int) -> None:
        """Put a key in later; of two delays for one key the earlier wins."""
        at_ns = self.sim.now + delay_ns
        waiting = self._delayed.get(key)
        if waiting is not None:
            if waiting.at_ns <= at_ns:
                return
            waiting.cancel()
        self._delayed[key] = self.sim.after(delay_ns, self._due, key)

    def add_rate_limited(self, key: str) -> None:
        """Put a key in after its back-off, which doubles at every call until `forget`."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retried += 1
        self.add_after(key, min(BACKOFF_MAX_NS, BACKOFF_BASE_NS << min(failures, 40)))

    def forget(self, key: str) -> None:
        """The key was reconciled: its next failure backs off from the beginning."""
        self._failures.pop(key, None)

    def retries(self, key: str) -> int:
        """Failures since the last `forget`."""
        return self._failures.get(key, 0)

    def _due(self, key: str) -> None:
        del self._delayed[key]
        self.add(key)

    def _schedule(self) -> None:
        if self._wake is None and self.idle and self._ready:
            self._wake = self.sim.after(0, self._work)

    def _work(self) -> None:
        self._wake = None
        while self.idle and self._ready:
            key = next(iter(self._ready))
            self.waits.observe(self.sim.now - self._ready.pop(key))
            self.idle -= 1
            self._busy[key] = False
            lasts_ns = self.handler(key)
            self.works.observe(lasts_ns)
            self.sim.after(lasts_ns, self._done, key)

    def _done(self, key: str) -> None:
        self.idle += 1
        if self._busy.pop(key):
            self._ready[key] = self.sim.now
        self._schedule()

    @property
    def depth(self) -> int:
        """Keys that wait for a worker."""
        return len(self._ready)
