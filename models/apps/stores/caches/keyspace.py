"""What a cache holds in memory: bytes by data set, a limit, and what goes when it is full.

Keys of a data set are asked for and written at random; once all of them were written the set is as large
as it gets. Left out: single keys, times to live, fragmentation beyond a fixed share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from simcluster.models.apps.stores.demand import DataSet, IoModel

#: Memory around a value: key, dictionary entry, allocator (a magnitude for small hashes).
OVERHEAD_BYTES = 96


class Keyspace:
    """The keys of one server.

    Attributes:
        used: bytes by data set; `limit` of all together, 0 is none.
        evicts: whether keys go when the limit is reached; otherwise writes are refused.
        hits, misses, evicted, written: counts since the start.
    """

    def __init__(self, described: Mapping[str, DataSet]) -> None:
        self._described = described
        self.used: dict[str, float] = {}
        self.limit = 0
        self.evicts = False
        self.hits = self.misses = self.evicted = self.written = 0.0

    @property
    def bytes(self) -> float:
        """All that is held."""
        return math.fsum(self.used.values())

    @property
    def full(self) -> bool:
        """Whether a write would be refused."""
        return bool(self.limit) and not self.evicts and self.bytes >= self.limit

    def keys(self) -> int:
        """How many keys there are."""
        counts = [int(used) // (self.described(name).document + OVERHEAD_BYTES) for name, used in self.used.items()]
        return sum(counts)  # integers

    def described(self, name: str) -> DataSet:
        """What is known of a data set."""
        return self._described.get(name) or DataSet(size=16 << 20)

    def apply(self, io: IoModel, count: int) -> None:
        """Operations of one kind."""
        described = self.described(io.data)
        whole = described.size * (1.0 + OVERHEAD_BYTES / described.document)
        held = self.used.get(io.data, 0.0)
        share = min(1.0, held / whole) if whole > 0.0 else 1.0
        reads = count * io.reads
        self.hits += reads * share
        self.misses += reads * (1.0 - share)
        if io.writes and not self.full:
            self.written += count * io.writes
            fresh = whole - held
            added = count * io.writes * (described.document + OVERHEAD_BYTES) * (1.0 - share)
            self.used[io.data] = held + min(fresh, added)
            self._evict()

    def aside(self, io: IoModel, count: int, held: float) -> None:
        """The same of a data set of which callers know which share is held: what they miss they put there."""
        described = self.described(io.data)
        whole = described.size * (1.0 + OVERHEAD_BYTES / described.document)
        reads = count * io.reads
        self.hits += reads * held
        self.misses += reads * (1.0 - held)
        self.written += reads * (1.0 - held) + count * io.writes
        self.used[io.data] = max(self.used.get(io.data, 0.0), whole * held)
        self._evict()

    def _evict(self) -> None:
        excess = self.bytes - self.limit
        if not self.limit or not self.evicts or excess <= 0.0:
            return
        total = self.bytes
        for name, used in self.used.items():
            gone = excess * used / total
            self.used[name] = used - gone
            self.evicted += gone / (self.described(name).document + OVERHEAD_BYTES)
