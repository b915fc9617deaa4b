"""How fast a client of client-go may ask: a bucket of tokens, as `--kube-api-qps` and `--kube-api-burst` fill it.

Each controller has a client of its own; its requests, Events too, wait for a token, first come first served. Source:
client-go util/flowcontrol (golang.org/x/time/rate); kube-controller-manager allows 20 a second and 30 at once by
default. Left out: reads, which come from caches; that the requests of one sync wait one by one: a sync waits for the
first.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.client import Client
from simcluster.control.workqueue import WorkQueue
from simcluster.engine import SECOND, Simulation


class TokenBucket:
    """Tokens that come at a rate and are kept up to a number.

    Args:
        rate: a second; burst: most that are kept, and there at the beginning.
    """

    def __init__(self, sim: Simulation, rate: int, burst: int) -> None:
        self._sim = sim
        self._token_ns = SECOND // rate
        self._most_ns = burst * self._token_ns
        self._full_ns = 0  # when it will have been filled, if nobody takes anything

    def take(self, count: int) -> int:
        """Take tokens, those to come too; how long until the last of them is there, in ns."""
        now = self._sim.now
        self._full_ns = max(now, self._full_ns) + count * self._token_ns
        return max(0, self._full_ns - now - self._most_ns)


class Throttled:
    """What a controller's workers do with a key, once its client has a token.

    Args:
        handler: reconciles a key; how long its worker is busy.
    """

    def __init__(self, bucket: TokenBucket, client: Client, queue: WorkQueue, handler: Callable[[str], int]) -> None:
        self.bucket = bucket
        self.client = client
        self.queue = queue
        self.handler = handler
        self._promised: dict[str, None] = {}  # keys for which a token was taken
        self._asked = 0  # requests for which tokens were taken

    def __call__(self, key: str) -> int:
        """Reconcile the key, or come back to it when there is a token."""
        if key not in self._promised:
            wait_ns = self.bucket.take(1 + self._new())
            if wait_ns:
                self._promised[key] = None
                self.queue.add_after(key, wait_ns)
                return 0
        self._promised.pop(key, None)
        lasts_ns = self.handler(key)
        return lasts_ns + self.bucket.take(self._new() - 1)

    def _new(self) -> int:
        """Requests since this was asked last; Events are written a moment after the sync that they are of."""
        new = self.client.writes - self._asked
        self._asked = self.client.writes
        return new
