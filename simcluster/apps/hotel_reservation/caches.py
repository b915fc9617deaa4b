"""How often a program's cache is asked in vain: the share of the keys that nobody has put there yet.

All keys are equally popular and fit into the cache's memory, so it only lacks what nobody has asked for since it
started. The contents are those of the cache's process: they outlive the programs that ask it. What is left out:
eviction.
"""

from __future__ import annotations

from simcluster.apps.hotel_reservation.traits import Cached
from simcluster.engine import arithmetic
from simcluster.models.apps.stores.memcached import MemcachedProgram
from simcluster.models.machine.container import Container

#: A share of missing keys that counts as none.
FULL = 0.0005


class Warmth:
    """How full a cache is, as one program finds it.

    Args:
        owner: of the keys; programs of one name ask for the same ones.

    Attributes:
        missing: share of the keys that it does not hold; 1 at its start.
    """

    def __init__(self, cached: Cached, owner: str) -> None:
        self.missing = 1.0
        self._cached = cached
        self._owner = owner

    def follow(self, cache: Container, requests: float) -> bool:
        """So many requests asked the cache and filled it; whether the share has changed since the last look."""
        before, program = self.missing, cache.program
        if not isinstance(program, MemcachedProgram):
            self.missing = 1.0
            return self.missing != before
        missing = program.lacking.get(self._owner, 1.0)
        if requests > 0.0 and missing:
            untouched = 1.0 - self._cached.asked / self._cached.keys
            missing *= arithmetic.power(untouched, requests)
            if missing < FULL:
                missing = 0.0
        self.missing = program.lacking[self._owner] = missing
        return self.missing != before
