"""Samples in order of time, kept for a while in sealed blocks that forks share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from simcluster.engine import AppendLog


class Sample(Protocol):
    """An immutable record of an instant."""

    @property
    def t_ns(self) -> int:
        """Simulated nanoseconds."""


S = TypeVar("S", bound=Sample)


class Series(Generic[S]):
    """Append-only; what is older than `keep_ns` goes, whole blocks at a time.

    Args:
        block: samples a block holds; `keep_blocks` how many there are at the most.
        keep_ns: how long a sample is kept at least, as long as there are blocks for it.
    """

    def __init__(self, block: int, keep_blocks: int, keep_ns: int) -> None:
        self._log: AppendLog[S] = AppendLog(block=block, keep_blocks=keep_blocks)
        self._block = block
        self._keep_ns = keep_ns

    def append(self, sample: S) -> None:
        """Add a sample that is no older than the last one."""
        samples = self._log
        samples.append(sample)
        if len(samples) > 2 * self._block and samples[self._block].t_ns < sample.t_ns - self._keep_ns:
            samples.drop_block()

    def samples(self, from_ns: int, to_ns: int) -> Iterator[S]:
        """Samples of the instants in (from_ns, to_ns]."""
        low, high = 0, len(self._log)
        while low < high:
            middle = (low + high) // 2
            if self._log[middle].t_ns <= from_ns:
                low = middle + 1
            else:
                high = middle
        for index in range(low, len(self._log)):
            sample = self._log[index]
            if sample.t_ns > to_ns:
                return
            yield sample

    def __len__(self) -> int:
        return len(self._log)
