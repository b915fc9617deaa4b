"""Topics of a broker: partitions, offsets, what lies in them by count and size, and what retention takes away.

Records are counted; a text is kept of those that somebody wrote by hand, and of those whose writer says what is in
them. Left out: replicas, transactions, compaction, indexes.
"""

from __future__ import annotations

import json
from collections import deque
from typing import NamedTuple

#: The topic in which groups keep their offsets; how it is made (OffsetConfig).
INTERNAL = "__consumer_offsets"
INTERNAL_CONFIGS = {"compression.type": "producer", "cleanup.policy": "compact", "segment.bytes": "104857600"}


class Batch(NamedTuple):
    """Records that came together.

    Attributes:
        first, records: their offsets.
        size: bytes of all.
        t_ns: when they came.
        text: of a single record, what is in it, where that is known.
    """

    first: int
    records: int
    size: int
    t_ns: int
    text: str = ""


class Partition:
    """One log.

    Attributes:
        start, end: the first offset that is kept, and the next one.
        size: bytes that are kept.
        unreadable: records that are no JSON, by offset: what every program here writes is.
    """

    def __init__(self) -> None:
        self.start = 0
        self.end = 0
        self.size = 0
        self.unreadable: dict[int, str] = {}
        self._batches: deque[Batch] = deque()

    def append(self, count: int, size: int, now: int, text: str = "") -> int:
        """Records arrive; the offset of the first one."""
        first = self.end
        last = self._batches[-1] if self._batches else None
        if last is not None and last.t_ns == now and not text and not last.text:
            self._batches.pop()
            self._batches.append(Batch(last.first, last.records + count, last.size + size, now))
        else:
            self._batches.append(Batch(first, count, size, now, text))
        self.end += count
        self.size += size
        if text and not _is_json(text):
            self.unreadable[first] = text
        return first

    def texts(self, first: int, count: int) -> dict[int, str]:
        """What is in records from an offset on, by offset, where that is known."""
        found: list[Batch] = []
        for batch in reversed(self._batches):
            if batch.first + batch.records <= first:
                break
            if batch.text and batch.first < first + count:
                found.append(batch)
        return {batch.first: batch.text for batch in reversed(found)}

    def expire(self, before_ns: int, most_bytes: int) -> int:
        """Take away what is older, or more than may be kept; how many records that were."""
        taken = 0
        while self._batches and (self._batches[0].t_ns < before_ns or 0 <= most_bytes < self.size):
            batch = self._batches.popleft()
            self.start, self.size = batch.first + batch.records, self.size - batch.size
            taken += batch.records
        self.unreadable = {offset: text for offset, text in self.unreadable.items() if offset >= self.start}
        return taken

    def drop_before(self, offset: int) -> None:
        """Records before an offset are deleted, as `kafka-delete-records.sh` does; of a batch all or nothing."""
        while self._batches and self._batches[0].first + self._batches[0].records <= offset:
            self.size -= self._batches.popleft().size
        self.start = max(self.start, min(offset, self.end))
        self.unreadable = {at: text for at, text in self.unreadable.items() if at >= self.start}

    def time_of(self, offset: int) -> int:
        """When a record came; that of the newest for one that is not there."""
        for batch in reversed(self._batches):
            if batch.first <= offset:
                return batch.t_ns
        return self._batches[0].t_ns if self._batches else 0

    def offset_at(self, t_ns: int) -> int | None:
        """The first record that came at an instant or after it."""
        return next((batch.first for batch in self._batches if batch.t_ns >= t_ns), None)

    def mean_size(self) -> float:
        """Bytes of a record, on average."""
        kept = self.end - self.start
        return self.size / kept if kept else 0.0


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class Topic:
    """Partitions under one name.

    Attributes:
        identity: its id.
        next: the partition that the next records go to.
        configs: settings that are its own.
    """

    def __init__(self, name: str, partitions: int, identity: str) -> None:
        self.name = name
        self.identity = identity
        self.partitions = [Partition() for _ in range(partitions)]
        self.next = 0
        self.configs: dict[str, str] = {}

    def append(self, count: int, size: int, now: int, text: str = "") -> None:
        """Records without a key: the sticky partitioner fills one partition after the other."""
        self.partitions[self.next].append(count, size, now, text)
        self.next = (self.next + 1) % len(self.partitions)

    def widen(self, partitions: int) -> None:
        """More partitions; none goes."""
        self.partitions += [Partition() for _ in range(partitions - len(self.partitions))]
