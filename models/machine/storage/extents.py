"""Space on a partition: which blocks of 4 KiB are free, and what a file got of them."""

from __future__ import annotations

Extent = tuple[int, int]  # first block, blocks


class FreeSpace:
    """Free blocks, as sorted runs; a file continues where the one before ended, as ext4's goal block does."""

    __slots__ = ("_cursor", "_runs", "blocks")

    def __init__(self, first: int, blocks: int) -> None:
        self.blocks = blocks
        self._cursor = first
        self._runs: list[Extent] = [(first, blocks)]

    def take(self, blocks: int) -> list[Extent]:
        """Blocks for a file, in as few runs as there are; fewer than asked for when nothing is left."""
        taken: list[Extent] = []
        while blocks > 0 and self._runs:
            at = next((i for i, run in enumerate(self._runs) if run[0] + run[1] > self._cursor), 0)
            first, length = self._runs[at]
            begin = max(first, self._cursor) if self._cursor < first + length else first
            count = min(blocks, first + length - begin)
            rest = [(first, begin - first), (begin + count, first + length - begin - count)]
            self._runs[at : at + 1] = [run for run in rest if run[1]]
            taken.append((begin, count))
            self._cursor = begin + count
            blocks, self.blocks = blocks - count, self.blocks - count
        return taken

    def give_back(self, extents: list[Extent]) -> None:
        """Blocks of a file that is gone."""
        merged: list[Extent] = []
        for first, count in sorted([*self._runs, *extents]):
            if merged and merged[-1][0] + merged[-1][1] == first:
                merged[-1] = (merged[-1][0], merged[-1][1] + count)
            else:
                merged.append((first, count))
        self._runs = merged
        self.blocks += sum(count for _, count in extents)  # integers


def grown(extents: list[Extent], more: list[Extent]) -> list[Extent]:
    """A file's extents with new ones behind them; neighbours become one."""
    found = list(extents)
    for first, count in more:
        if found and found[-1][0] + found[-1][1] == first:
            found[-1] = (found[-1][0], found[-1][1] + count)
        else:
            found.append((first, count))
    return found


def cut(extents: list[Extent], blocks: int) -> tuple[list[Extent], list[Extent]]:
    """The first so many blocks of a file, and the rest."""
    kept: list[Extent] = []
    rest: list[Extent] = []
    for first, count in extents:
        here = min(count, blocks)
        if here:
            kept.append((first, here))
        if count > here:
            rest.append((first + here, count - here))
        blocks -= here
    return kept, rest


def pieces(extents: list[Extent], first: int, blocks: int) -> list[tuple[int, int, int]]:
    """Where blocks of a file lie: (block in the file, block on the partition, how many) for each run."""
    found: list[tuple[int, int, int]] = []
    place, end = 0, first + blocks
    for begin, count in extents:
        low, high = max(place, first), min(place + count, end)
        if low < high:
            found.append((low, begin + low - place, high - low))
        place += count
        if place >= end:
            break
    return found
