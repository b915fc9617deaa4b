"""The cache: keys that are put there by whoever misses them, forgotten after a time, and evicted for want of memory.

All keys are equally popular, so that it hits for the share of them that it holds. What one takes depends on whether
values are compressed. A client whose token is out of date is denied. Magnitudes are chosen: 3,000 keys, looked up 120
times a second and kept for 300 s, are held to 92 % in 45 % of 512 MB, as in SRE-Zero's healthy cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from simcluster.apps.srezero.tuned import Share, TunedProgram, changed, refusing
from simcluster.engine import MILLISECOND
from simcluster.models.traffic.cluster.operations import ServiceSpec

KEYS, KEY_MB, UNCOMPRESSED = 3130.0, 0.08, 6.0
#: Share of the look-ups that come with the token which can expire; others have one of their own.
WITH_TOKEN = 0.71
#: A look-up takes so much longer for each eviction a second: the keeper of the list is busy.
EVICTION_NS = MILLISECOND // 5


class CacheProgram(TunedProgram):
    """The main process of the cache.

    Attributes:
        held: keys that it holds.
        evicted: a second.
    """

    SETTINGS: ClassVar[Mapping[str, int | bool | str]] = {
        "TTL_SECONDS": 300,
        "MAX_MEMORY_MB": 512,
        "COMPRESSION_ENABLED": True,
        "AUTH_TOKEN_VALID": True,
    }
    METRICS: ClassVar[Mapping[str, str]] = {
        "request_rate": "Look-ups a second.",
        "hit_rate": "Share of the look-ups that find their key.",
        "p95_latency_ms": "The 95th percentile of the time of a look-up.",
        "memory_used_pct": "Of the memory that it may use.",
        "evictions_per_min": "Keys that had to go for others.",
        "auth_denied_rate": "Share of the look-ups that are denied.",
    }
    held = 0.0
    evicted = 0.0

    @property
    def room(self) -> float:
        """Keys that fit."""
        size = KEY_MB if self.switch("COMPRESSION_ENABLED") else KEY_MB * UNCOMPRESSED
        return self.number("MAX_MEMORY_MB") / size

    @property
    def hits(self) -> float:
        """Share of the look-ups that are let in and find their key."""
        return min(1.0, self.held / KEYS)

    @property
    def turned_away(self) -> float:
        """Share of the look-ups that are denied."""
        return 0.0 if self.switch("AUTH_TOKEN_VALID") else WITH_TOKEN

    def move(self) -> None:
        """Misses fill it, time empties it; what does not fit goes."""
        filled = self.rates.get("get", 0.0) * (1.0 - self.turned_away) * (1.0 - self.hits)
        kept = self.held - self.held / max(1, self.number("TTL_SECONDS")) + filled
        self.held = max(0.0, min(kept, self.room, KEYS))
        self.evicted = max(0.0, kept - self.held) if self.room < KEYS else 0.0

    def state(self) -> tuple[float, ...]:
        """Evictions make it slow."""
        return (self.evicted,)

    def tuned(self, spec: ServiceSpec) -> ServiceSpec:
        """Who is denied, and how long a look-up takes."""
        found = next(op for op in spec.operations if op.name == "get")
        spec = changed(spec, "get", latency_ns=found.latency_ns + int(self.evicted * EVICTION_NS))
        line = "{time_s} WARN auth denied reason=token_expired client=web-server"
        return refusing(spec, "get", [Share(self.turned_away, "NOAUTH token expired", 401, line)])

    def metrics(self) -> dict[str, float]:
        """What it knows of itself."""
        room = self.room
        return {
            "request_rate": self.rate,
            "hit_rate": self.hits * (1.0 - self.turned_away),
            "p95_latency_ms": self.p95_ms,
            "memory_used_pct": 100.0 * min(1.0, self.held / room) if room else 100.0,
            "evictions_per_min": 60.0 * self.evicted,
            "auth_denied_rate": self.turned_away,
        }
