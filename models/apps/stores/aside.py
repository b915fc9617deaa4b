"""How often a program's cache-aside is asked in vain: the share of the keys that nobody has put there yet.

All keys are equally popular and fit into the cache's memory, so it only lacks what nobody has asked for since it
started. The contents are those of the cache's process: they outlive the programs that ask it. What is left out:
eviction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from simcluster.engine import Shared, arithmetic
from simcluster.models.apps.stores.caches.memcached import MemcachedProgram
from simcluster.models.machine.container import Container
from simcluster.models.traffic.cluster.engine import TrafficEngine
from simcluster.models.traffic.cluster.operations import CallSpec, ServiceSpec

#: A share of missing keys that counts as none, and one of misses that is not worth a call.
FULL, FEW = 0.0005, 0.001


@dataclass(frozen=True)
class Cached(Shared):
    """What a program looks up in its cache.

    Attributes:
        keys: how many different keys are asked for; `asked` of them by one request.
    """

    keys: int
    asked: int


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


def lookups(traffic: TrafficEngine, container: Container, span_ns: int) -> float:
    """How often a program's calls asked its cache for something in the last so many nanoseconds, with success."""
    now, pod, namespace = container.sim.now, container.spec.pod_name, container.spec.namespace
    asked = 0.0
    for edge in traffic.history.between(now - span_ns, now):
        key = edge.key
        if key.pod == pod and key.namespace == namespace and key.operation.startswith("get"):
            asked += edge.ok
    return asked


def missed(spec: ServiceSpec, only: Mapping[str, tuple[str, ...]], share: float) -> ServiceSpec:
    """Calls that are made for the share which the cache does not hold: by variable, how their operations begin."""

    def kept(step: tuple[CallSpec, ...]) -> tuple[CallSpec, ...]:
        found: list[CallSpec] = []
        for call in step:
            if not call.operation.startswith(only.get(call.env, ("\0",))):
                found.append(call)
            elif share > FEW:
                found.append(replace(call, count=call.count * share))
        return tuple(found)

    operations = (replace(op, steps=tuple(s for s in map(kept, op.steps) if s)) for op in spec.operations)
    return replace(spec, operations=tuple(operations))
