"""What a cache beside a program holds of the keys that are asked for, and so how often it is asked in vain.

All keys are equally popular and fit into the cache's memory, so it only lacks what nobody has asked
for since it started. What is left out: eviction, and keys that another program put there.
"""

from __future__ import annotations

from simcluster.apps.hotel_reservation.traits import Cached
from simcluster.engine import arithmetic

#: A share of missing keys that counts as none.
FULL = 0.0005


class Warmth:
    """How full a cache is, as one program finds it.

    Attributes:
        missing: share of the keys that it does not hold; 1 at its start.
    """

    def __init__(self, cached: Cached) -> None:
        self.missing = 1.0
        self._cached = cached
        self._cache = ""

    def follow(self, cache: str, requests: float) -> bool:
        """Requests went to the cache server `cache` (a container); whether the share has changed."""
        before = self.missing
        if cache != self._cache:
            self._cache, self.missing = cache, 1.0
        elif requests > 0.0 and self.missing:
            untouched = 1.0 - self._cached.asked / self._cached.keys
            self.missing *= arithmetic.power(untouched, requests)
            if self.missing < FULL:
                self.missing = 0.0
        return self.missing != before
