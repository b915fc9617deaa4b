"""An append-only sequence that forks cheaply: full blocks are sealed and shared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from simcluster.engine.fork import Shared

T = TypeVar("T")


class _Block(tuple[Any, ...], Shared):
    """A sealed run of entries."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type[_Block], tuple[list[Any]]]:
        return (_Block, (list(self),))


class AppendLog(Generic[T]):
    """Entries in order of arrival; entries must be immutable.

    Args:
        block: entries a sealed block holds.
        keep_blocks: how many sealed blocks to keep, oldest dropped first; 0 keeps all.
    """

    __slots__ = ("_block", "_blocks", "_keep", "_tail", "dropped")

    def __init__(self, block: int = 256, keep_blocks: int = 0) -> None:
        self._block = block
        self._keep = keep_blocks
        self._blocks: list[_Block] = []
        self._tail: list[T] = []
        self.dropped = 0

    def append(self, entry: T) -> None:
        """Add one entry at the end."""
        self._tail.append(entry)
        if len(self._tail) == self._block:
            self._blocks.append(_Block(self._tail))
            self._tail = []
            if self._keep and len(self._blocks) > self._keep:
                self.dropped += len(self._blocks.pop(0))

    def __len__(self) -> int:
        """Entries held now (dropped ones not counted)."""
        return len(self._blocks) * self._block + len(self._tail)

    def __iter__(self) -> Iterator[T]:
        for block in self._blocks:
            yield from block
        yield from self._tail

    def __reversed__(self) -> Iterator[T]:
        yield from reversed(self._tail)
        for block in reversed(self._blocks):
            yield from reversed(block)

    def __getitem__(self, index: int) -> T:
        if index < 0:
            index += len(self)
        block, offset = divmod(index, self._block)
        if block < len(self._blocks):
            entry: T = self._blocks[block][offset]
            return entry
        return self._tail[index - len(self._blocks) * self._block]

    def since(self, position: int) -> Iterator[T]:
        """Entries from absolute `position` on (counting dropped ones)."""
        for index in range(max(0, position - self.dropped), len(self)):
            yield self[index]

    @property
    def end(self) -> int:
        """Absolute position after the last entry."""
        return self.dropped + len(self)
