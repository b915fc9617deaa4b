"""What a cache holds, item by item, and which item is asked for next."""

from __future__ import annotations

import numpy as np

from simcluster.engine import arithmetic
from simcluster.models.traffic.exact.draws import LARGEST_BLOCK, Uniforms
from simcluster.models.traffic.graph.service import Cache


class Popularity:
    """Draws items: the k-th most popular with weight k**-exponent (0: all alike)."""

    __slots__ = ("block", "cumulative", "source")

    def __init__(self, cache: Cache, key: int) -> None:
        exponent = cache.exponent if cache.popularity == "zipf" else 0.0
        ranks = arithmetic.log_array(np.arange(1, cache.keys + 1, dtype=np.float64))
        weights = arithmetic.exp_array(-exponent * ranks)
        total = np.cumsum(weights)
        self.cumulative = total / total[-1]
        self.source = Uniforms(key)
        self.block: list[int] = []

    def draw(self) -> int:
        """Rank of the next item, from 0."""
        if not self.block:
            found = np.searchsorted(self.cumulative, self.source.array(LARGEST_BLOCK))
            self.block = found[::-1].tolist()
        return self.block.pop()


class Holding:
    """The items of one cache: item -> instant at which it was stored, least recently used first."""

    __slots__ = ("cache", "items", "order", "source")

    def __init__(self, cache: Cache, key: int) -> None:
        self.cache = cache
        self.source = Uniforms(key)
        self.items: dict[int, int] = {}
        self.order: list[int] = []  # of random eviction: every item once, in any order
        if cache.warm:
            for item in range(min(cache.capacity, cache.keys) - 1, -1, -1):
                self.store(item, 0)

    def has(self, item: int, now: int) -> bool:
        """Look an item up."""
        stored = self.items.get(item)
        if stored is None:
            return False
        if self.cache.ttl is not None and now - stored >= self.cache.ttl:
            return False
        if self.cache.eviction == "lru":
            del self.items[item]
            self.items[item] = stored
        return True

    def store(self, item: int, now: int) -> None:
        """Put an item in; another one leaves if there is no room."""
        if item in self.items:
            if self.cache.eviction == "lru":
                del self.items[item]
            self.items[item] = now
            return
        if len(self.items) >= self.cache.capacity:
            self._evict()
        self.items[item] = now
        if self.cache.eviction == "random":
            self.order.append(item)

    def flush(self) -> None:
        """Forget everything."""
        self.items.clear()
        self.order.clear()

    def _evict(self) -> None:
        if self.cache.eviction == "lru":
            del self.items[next(iter(self.items))]
            return
        index = int(self.source.draw() * len(self.order))
        gone = self.order[index]
        self.order[index] = self.order[-1]
        self.order.pop()
        del self.items[gone]
