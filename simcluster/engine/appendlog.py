"""An append-only sequence that forks cheaply: whatever was appended is shared, never copied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from simcluster.engine.fork import Flat, FlatList, Shared

T = TypeVar("T")


class _Block(tuple[Any, ...], Shared):
    """A sealed run of entries."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type[_Block], tuple[list[Any]]]:
        return (_Block, (list(self),))


class _Link(Shared):
    """The newest entry of an open run, and the link to the one before it.

    A list would be copied by every fork; a chain of immutable links is one shared reference.
    """

    __slots__ = ("before", "entry")

    def __init__(self, before: _Link | None, entry: Any) -> None:
        self.before = before
        self.entry = entry

    def __reduce__(self) -> Any:
        return (_chain, (_entries(self),))


def _chain(entries: list[Any]) -> _Link | None:
    link: _Link | None = None
    for entry in entries:
        link = _Link(link, entry)
    return link


def _entries(link: _Link | None) -> list[Any]:
    """Entries of a chain, oldest first."""
    entries = []
    while link is not None:
        entries.append(link.entry)
        link = link.before
    entries.reverse()
    return entries


class AppendLog(Flat, Generic[T]):
    """Entries in order of arrival; entries must be immutable.

    Args:
        block: entries a sealed block holds.
        keep_blocks: how many sealed blocks to keep, oldest dropped first; 0 keeps all.
    """

    __slots__ = ("_block", "_blocks", "_keep", "_open", "_tail", "dropped")

    def __init__(self, block: int = 256, keep_blocks: int = 0) -> None:
        self._block = block
        self._keep = keep_blocks
        self._blocks: Sequence[_Block] = ()  # a list as soon as there is one
        self._tail: _Link | None = None
        self._open = 0  # entries in the tail
        self.dropped = 0

    def copy(self) -> AppendLog[T]:
        """Another log with the same entries."""
        other: AppendLog[T] = AppendLog.__new__(AppendLog)
        other._block, other._keep, other._tail, other._open = self._block, self._keep, self._tail, self._open
        other._blocks = FlatList(self._blocks) if self._blocks else ()
        other.dropped = self.dropped
        return other

    def append(self, entry: T) -> None:
        """Add one entry at the end."""
        self._tail = _Link(self._tail, entry)
        self._open += 1
        if self._open == self._block:
            self._seal()

    def _seal(self) -> None:
        blocks = self._blocks
        if not isinstance(blocks, FlatList):
            blocks = self._blocks = FlatList()
        blocks.append(_Block(_entries(self._tail)))
        self._tail, self._open = None, 0
        if self._keep and len(blocks) > self._keep:
            self.drop_block()

    def drop_block(self) -> None:
        """Drop the oldest sealed block, if there is one."""
        if isinstance(self._blocks, FlatList) and self._blocks:
            self.dropped += len(self._blocks.pop(0))

    def drop_before(self, position: int) -> None:
        """Drop sealed blocks of which every entry lies before an absolute position."""
        while isinstance(self._blocks, FlatList) and self._blocks and self.dropped + self._block <= position:
            self.drop_block()

    def skip(self, count: int) -> None:
        """As if so many more had been appended, of which as little is kept as of those before."""
        self.dropped += len(self) + count
        self._blocks, self._tail, self._open = (), None, 0

    def __len__(self) -> int:
        """Entries held now (dropped ones not counted)."""
        return len(self._blocks) * self._block + self._open

    def __iter__(self) -> Iterator[T]:
        for block in self._blocks:
            yield from block
        yield from _entries(self._tail)

    def __reversed__(self) -> Iterator[T]:
        link = self._tail
        while link is not None:
            yield link.entry
            link = link.before
        for block in reversed(self._blocks):
            yield from reversed(block)

    def __getitem__(self, index: int) -> T:
        size = len(self)
        if index < 0:
            index += size
        if not 0 <= index < size:
            raise IndexError(f"entry {index} of {size}")
        block, offset = divmod(index, self._block)
        if block < len(self._blocks):
            entry: T = self._blocks[block][offset]
            return entry
        link = self._tail
        for _ in range(size - 1 - index):
            assert link is not None
            link = link.before
        assert link is not None
        found: T = link.entry
        return found

    def since(self, position: int) -> Iterator[T]:
        """Entries from absolute `position` on (counting dropped ones)."""
        index = max(0, position - self.dropped)
        block, offset = divmod(index, self._block)
        for sealed in self._blocks[block:]:
            yield from sealed[offset:]
            offset = 0
        if index < len(self):
            yield from _entries(self._tail)[offset:]

    @property
    def end(self) -> int:
        """Absolute position after the last entry."""
        return self.dropped + len(self._blocks) * self._block + self._open

    def last(self, count: int) -> list[T]:
        """The newest entries, in order; all of them if there are fewer."""
        found: list[T] = []
        link = self._tail
        while link is not None and len(found) < count:
            found.append(link.entry)
            link = link.before
        for block in reversed(self._blocks) if len(found) < count else ():
            found += islice(reversed(block), count - len(found))
        found.reverse()
        return found
