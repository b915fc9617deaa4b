"""Caches: what part of each popularity class they hold, and the hit rate that follows.

Items are put into classes of like popularity (the first ones alone, then growing classes). A class
is held to some part; misses fill it, and once the cache is full what comes in pushes others
out: at random eviction everyone alike, at LRU by a hazard that makes Che's approximation the stationary
state (an item is held if it was asked for within a characteristic time). Emptying and filling are
followed through time.

Source: Che, Tung, Wang, Hierarchical web caching systems, IEEE JSAC 2002.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic
from simcluster.models.traffic.aggregate.layout import Layout
from simcluster.models.traffic.graph.service import Cache

Array = NDArray[np.float64]

#: The most popular items have a class each; later classes grow by this ratio.
_ALONE, _RATIO = 64, 1.12
#: The longest time between a miss and its item, in ticks.
_LONGEST = 1024


class HeldItems:
    """One cache (of replicas that have one each: the one that stands for all)."""

    def __init__(self, cache: Cache, replicas: int, tick_ns: int) -> None:
        self.cache = cache
        self._copies = 1 if cache.shared else replicas
        starts, at = [], 0
        while at < cache.keys:
            starts.append(at)
            at += 1 if at < _ALONE else max(1, int(at * (_RATIO - 1.0)))
        begin = np.array(starts, dtype=np.float64)
        self._items = np.diff(np.append(begin, float(cache.keys)))
        middle = begin + 0.5 * (self._items - 1.0) + 1.0
        exponent = cache.exponent if cache.popularity == "zipf" else 0.0
        weight = arithmetic.exp_array(-exponent * arithmetic.log_array(middle))
        self._weight = weight / np.cumsum(self._items * weight)[-1]
        self._capacity = float(min(cache.capacity, cache.keys))
        self._hazard = self._hazards()
        self._forget = tick_ns / float(cache.ttl) if cache.ttl else 0.0
        self._missed = np.ones(_LONGEST)
        self.held = np.zeros_like(begin)
        if cache.warm:
            self.held = np.minimum(np.maximum((self._capacity - begin) / self._items, 0.0), 1.0)

    def _hazards(self) -> Array:
        """How easily an item of each class is pushed out."""
        if self.cache.eviction == "random" or self._capacity >= self.cache.keys:
            return np.ones_like(self._weight)
        low, high = 0.0, 1e18
        for _ in range(200):
            middle = 0.5 * (low + high)
            if self._sum(1.0 - arithmetic.exp_array(-self._weight * middle)) < self._capacity:
                low = middle
            else:
                high = middle
        missing = arithmetic.exp_array(-self._weight * high)
        hazard: Array = self._weight * missing / np.maximum(1.0 - missing, 1e-300)
        return hazard

    def _sum(self, per_item: Array) -> float:
        return float(np.cumsum(self._items * per_item)[-1])

    def hit_rate(self) -> float:
        """Probability that the next item asked for is held."""
        return min(1.0, self._sum(self._weight * self.held))

    def count(self) -> float:
        """How many items it holds."""
        return self._sum(self.held)

    def step(self, tick: int, stored: float, delay: float) -> None:
        """A tick in which so many items are stored, for misses `delay` ticks ago."""
        if self._forget:
            self.held = self.held * max(0.0, 1.0 - self._forget)
        self._missed[tick % _LONGEST] = 1.0 - self.hit_rate()
        missed = float(self._missed[(tick - min(int(delay), _LONGEST - 1, tick)) % _LONGEST])
        # every item is asked for in proportion to its weight; so many look-ups had that many misses
        asked = stored / max(missed, 1e-6) / self._copies
        if asked > 0.0:
            self.held = self.held + (1.0 - self.held) * (1.0 - arithmetic.exp_array(-self._weight * asked))
        for _ in range(3):
            over = self._sum(self.held) - self._capacity
            if over <= 1e-9 * self._capacity:
                return
            out = self.held * self._hazard
            part = np.minimum(over / max(self._sum(out), 1e-300) * self._hazard, 1.0)
            self.held = self.held * (1.0 - part)

    def flush(self) -> None:
        """Forget everything."""
        self.held = np.zeros_like(self.held)


class Caches:
    """All caches of a graph.

    Attributes:
        made: of each edge, the share of visits that miss all caches in front of it.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._caches: dict[tuple[str, str], HeldItems] = {}
        for name, service in layout.graph.spec.services.items():
            for cache_name, cache in service.caches.items():
                self._caches[name, cache_name] = HeldItems(cache, service.replicas, layout.tick_ns)
        self._behind = [
            (edge.index, [(edge.caller_name, name) for name in edge.site.caches])
            for edge in layout.graph.edges
            if edge.site is not None and edge.site.caches
        ]
        self._users = self._lookups()
        self.made = np.ones(layout.edges)
        self.hits: dict[int, float] = {}
        self.looked: dict[int, float] = {}

    def __bool__(self) -> bool:
        return bool(self._caches)

    def _lookups(self) -> dict[tuple[str, str], list[tuple[int, int]]]:
        """Cache -> (node that looks it up, an edge behind it)."""
        users: dict[tuple[str, str], list[tuple[int, int]]] = {key: [] for key in self._caches}
        for edge, keys in self._behind:
            caller = self._layout.graph.edges[edge].caller
            for key in keys:
                if caller not in [node for node, _ in users[key]]:
                    users[key].append((caller, edge))
        return users

    def step(self, tick: int, visits: Array, answers: Array, in_time: Array, ages: Array) -> None:
        """A tick.

        Args:
            visits: of every node; answers on every edge, in_time the share that somebody waits for.
            ages: how long ago those began that are answered now, of every edge, in ticks.
        """
        layout = self._layout
        for (service, name), cache in self._caches.items():
            lookups, stored, delay = 0.0, 0.0, 0.0
            for node, edge in self._users[service, name]:
                site = layout.graph.edges[edge].site
                lookups += float(visits[node]) * (site.reach if site is not None else 1.0)
                delay = max(delay, float(ages[edge]))
                stored += float(answers[edge]) * (1.0 if cache.cache.fill == "late" else float(in_time[edge]))
            rate = cache.hit_rate()
            index = layout.graph.service_names.index(service)
            self.hits[index] = self.hits.get(index, 0.0) + rate * lookups
            self.looked[index] = self.looked.get(index, 0.0) + lookups
            cache.step(tick, stored, delay)
        self.refresh()

    def refresh(self) -> None:
        """Work out which calls are made."""
        rates = {key: cache.hit_rate() for key, cache in self._caches.items()}
        for edge, keys in self._behind:
            miss = 1.0
            for key in keys:
                miss *= 1.0 - rates[key]
            self.made[edge] = miss

    def take_over(self, old: Caches) -> None:
        """Go on with what the caches of the same names and classes held."""
        for key, cache in self._caches.items():
            before = old._caches.get(key)
            if before is not None and len(before.held) == len(cache.held):
                cache.held, cache._missed = before.held, before._missed
        if self:
            self.refresh()

    def names(self) -> list[tuple[str, str]]:
        """Service and name of every cache."""
        return list(self._caches)

    def held(self, service: str, cache: str) -> Array:
        """What part of each class of items a cache holds."""
        return self._caches[service, cache].held

    def put(self, service: str, cache: str, held: Array) -> None:
        """Let a cache hold that; `refresh` when all are told."""
        self._caches[service, cache].held = held

    def flush(self, service: str, cache: str) -> None:
        """Empty one cache."""
        self._caches[service, cache].flush()
        self.refresh()
