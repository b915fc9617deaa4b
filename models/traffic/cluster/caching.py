"""Caches of the workloads in a cluster: what they hold, and which calls are made because they miss.

What a cache holds is followed as bare graphs do (`aggregate.caches`). A shared cache stays when pods
come and go; of caches that each pod has for itself one stands for all, and a new pod brings an empty one. While the
traffic is hot, the live engine goes on with the same contents and hands them back.

What is left out: that two replicas of one workload hold different items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from simcluster.models.traffic.aggregate.caches import Caches, HeldItems
from simcluster.models.traffic.cluster.nodes import Edge
from simcluster.models.traffic.cluster.plan import Plan
from simcluster.models.traffic.cluster.server import Server
from simcluster.models.traffic.cluster.workload import owner_of
from simcluster.models.traffic.graph.service import Cache

#: A change of the share of requests that go on to whom is behind a cache that nobody would notice.
NOTICEABLE = 0.02


class CacheKey(NamedTuple):
    """Whose cache it is, and its name there."""

    namespace: str
    workload: str
    container: str
    cache: str


class _Kept:
    """One cache: its items and whose they are."""

    def __init__(self, cache: Cache, members: dict[str, None], tick_ns: int) -> None:
        self.cache = cache
        self.items = HeldItems(cache, len(members), tick_ns)
        self.members = members

    def reach(self, members: dict[str, None], tick_ns: int) -> None:
        """Other pods than before: who has come brings an empty cache, if it is his own."""
        if members == self.members:
            return
        stayed = len([name for name in members if name in self.members])
        held = self.items.held if self.cache.shared else self.items.held * (stayed / len(members))
        if not self.cache.shared:
            self.items = HeldItems(self.cache, len(members), tick_ns)
        self.items.held = held
        self.members = members


class CacheRoom:
    """All caches of a cluster, by workload."""

    def __init__(self, tick_ns: int) -> None:
        self._tick_ns = tick_ns
        self._tick = 0
        self._kept: dict[CacheKey, _Kept] = {}
        self._behind: dict[int, list[CacheKey]] = {}  # edges of the plan
        self._fillers: dict[CacheKey, list[int]] = {}
        self._published: list[float] = []

    def __bool__(self) -> bool:
        return bool(self._behind)

    # --- wiring ---------------------------------------------------------------------------

    def wire(self, plan: Plan) -> None:
        """The plan was made anew."""
        self._behind, self._fillers = {}, {}
        groups: dict[CacheKey, tuple[Cache, dict[str, None]]] = {}
        for server in plan.servers:
            for name, cache in server.spec.caches:
                members = groups.setdefault(key_of(server, name), (cache, {}))[1]
                members[server.container.container_id] = None
        for key, (cache, members) in groups.items():
            kept = self._kept.get(key)
            if kept is None or kept.cache != cache:
                self._kept[key] = _Kept(cache, members, self._tick_ns)
            else:
                kept.reach(members, self._tick_ns)
        if groups:
            for node in plan.nodes:
                self._find(plan.servers[node.server], [edge for step in node.steps for edge in step])
        self._published = []
        self.refresh(plan)

    def _find(self, server: Server, edges: list[Edge]) -> None:
        filled: dict[CacheKey, None] = {}
        for edge in edges:
            keys = [key_of(server, name) for name in edge.call.caches]
            keys = [key for key in keys if key in self._kept]
            if keys:
                self._behind[edge.index] = keys
            for key in keys:
                if key not in filled:  # the first call behind a look-up says how it ended
                    filled[key] = None
                    self._fillers.setdefault(key, []).append(edge.index)

    def refresh(self, plan: Plan) -> bool:
        """Tell the plan how many look-ups miss; whether that differs from what was told when this was last True."""
        rates = {key: kept.items.hit_rate() for key, kept in self._kept.items()}
        for edge, keys in self._behind.items():
            miss = 1.0
            for key in keys:
                miss *= 1.0 - rates[key]
            plan.made[edge] = miss
        now = list(plan.made.values())
        if len(self._published) == len(now) and not any(
            abs(a - b) > NOTICEABLE * max(a, b) for a, b in zip(now, self._published, strict=True)
        ):
            return False
        self._published = now
        return True

    # --- time passes ----------------------------------------------------------------------

    def step(self, plan: Plan, ok: Sequence[int], ticks: int) -> bool:
        """Ticks in which so many calls of every edge were answered well; as `refresh`."""
        if not self._behind:
            return False
        for key, kept in self._kept.items():
            fillers = self._fillers.get(key, ())
            stored = math.fsum(ok[index] / max(1.0, plan.edges[index].call.count) for index in fillers)
            for number in range(ticks):
                kept.items.step(self._tick + number, stored / ticks, 0.0)
        self._tick += ticks
        return self.refresh(plan)

    def lend(self, caches: Caches, owners: dict[str, Server]) -> None:
        """Let a live engine go on with what they hold; `owners`: a server of each of its services."""
        for service, name in caches.names():
            if service in owners:
                kept = self._kept.get(key_of(owners[service], name))
                if kept is not None:
                    caches.put(service, name, kept.items.held)
        caches.refresh()

    def take_back(self, plan: Plan, caches: Caches, owners: dict[str, Server]) -> bool:
        """Take over what a live engine made of them; as `refresh`."""
        for service, name in caches.names():
            if service in owners:
                kept = self._kept.get(key_of(owners[service], name))
                if kept is not None:
                    kept.items.held = caches.held(service, name)
        return self.refresh(plan)

    # --- from outside ---------------------------------------------------------------------

    def keys(self) -> list[CacheKey]:
        """All caches."""
        return list(self._kept)

    def find(self, namespace: str, workload: str, cache: str) -> CacheKey:
        """The key of a workload's cache. Raises LookupError, naming those that there are."""
        for key in self._kept:
            if (key.namespace, key.workload, key.cache) == (namespace, workload, cache):
                return key
        known = ", ".join(f"{key.namespace}/{key.workload}/{key.cache}" for key in self._kept) or "none"
        raise LookupError(f"no cache {namespace}/{workload}/{cache}; there are: {known}")

    def hit_rate(self, key: CacheKey) -> float:
        """Probability that the next look-up hits."""
        return self._kept[key].items.hit_rate()

    def items(self, key: CacheKey) -> float:
        """How many items it holds."""
        return self._kept[key].items.count()

    def flush(self, plan: Plan, key: CacheKey) -> None:
        """Forget everything."""
        self._kept[key].items.flush()
        self.refresh(plan)


def key_of(server: Server, cache: str) -> CacheKey:
    """The key of a server's cache."""
    namespace, pod, container = server.identity
    return CacheKey(namespace, owner_of(pod), container, cache)
