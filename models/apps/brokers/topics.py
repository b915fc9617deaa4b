"""Topics of a broker: partitions, offsets, what lies in them by count and size, and what retention takes away.

Records are counted; of those that somebody wrote by hand, and of those that nobody can read, the texts are kept.
Left out: replicas, transactions, compaction, indexes.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

#: Texts that a partition keeps.
TEXTS = 1000


class Batch(NamedTuple):
    """Records that came together.

    Attributes:
        first, records: their offsets.
        size: bytes of all.
        t_ns: when they came.
    """

    first: int
    records: int
    size: int
    t_ns: int


class Partition:
    """One log.

    Attributes:
        start, end: the first offset that is kept, and the next one.
        size: bytes that are kept.
        texts: records with a text that matters, by offset.
    """

    def __init__(self) -> None:
        self.start = 0
        self.end = 0
        self.size = 0
        self.texts: dict[int, str] = {}
        self._batches: deque[Batch] = deque()

    def append(self, count: int, size: int, now: int, text: str = "") -> int:
        """Records arrive; the offset of the first one."""
        first = self.end
        if self._batches and self._batches[-1].t_ns == now:
            last = self._batches.pop()
            self._batches.append(Batch(last.first, last.records + count, last.size + size, now))
        else:
            self._batches.append(Batch(first, count, size, now))
        self.end += count
        self.size += size
        if text:
            self.texts[first] = text
            for old in [offset for offset in self.texts if offset < first - TEXTS]:
                del self.texts[old]
        return first

    def expire(self, before_ns: int, most_bytes: int) -> int:
        """Take away what is older, or more than may be kept; how many records that were."""
        taken = 0
        while self._batches and (self._batches[0].t_ns < before_ns or 0 <= most_bytes < self.size):
            batch = self._batches.popleft()
            self.start, self.size = batch.first + batch.records, self.size - batch.size
            taken += batch.records
        return taken

    def mean_size(self) -> float:
        """Bytes of a record, on average."""
        kept = self.end - self.start
        return self.size / kept if kept else 0.0


class Topic:
    """Partitions under one name; `identity` is its id, `next` the partition that the next records go to."""

    def __init__(self, name: str, partitions: int, identity: str) -> None:
        self.name = name
        self.identity = identity
        self.partitions = [Partition() for _ in range(partitions)]
        self.next = 0

    def append(self, count: int, size: int, now: int, text: str = "") -> None:
        """Records without a key: the sticky partitioner fills one partition after the other."""
        self.partitions[self.next].append(count, size, now, text)
        self.next = (self.next + 1) % len(self.partitions)
