"""Scrapes of one target: sheets as they come, and blocks of columns into which they are sealed.

A sheet holds the numbers of all groups of one form, group by group, and is kept when one of them changes: what stands
still (most of what is said of objects) costs nothing. While the same groups are there, a sheet's numbers are columns of
one table; a stretch is such a table over some scrapes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import Shared
from simcluster.telemetry.metrics.columns import Columns, Labels, Row

Times = NDArray[np.int64]
Values = NDArray[np.float64]
Places = NDArray[np.int64]


class Layout(Shared):
    """Which groups of a form a sheet has: their labels, in the order of their rows. Equal ones are one for a cache."""

    __slots__ = ("_hash", "_places", "labels")

    def __init__(self, labels: Iterable[Labels]) -> None:
        self.labels = tuple(labels)
        self._hash = zlib.crc32(repr(self.labels).encode())
        self._places: dict[Labels, int] | None = None

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Layout) and self.labels == other.labels)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Layout], tuple[tuple[Labels, ...]]]:
        return (Layout, (self.labels,))

    @property
    def places(self) -> Mapping[Labels, int]:
        """Number of every group's row."""
        if self._places is None:
            self._places = {labels: place for place, labels in enumerate(self.labels)}
        return self._places

    def without(self, other: Layout | None) -> tuple[Labels, ...]:
        """Groups that another one has not."""
        if other is None:
            return self.labels
        return () if self == other else tuple(labels for labels in self.labels if labels not in other.places)


class Sheet(NamedTuple):
    """Numbers of a form's groups at one scrape: their rows, one after the other."""

    layout: Layout
    rows: Row

    def patched(self, changes: Iterable[tuple[Labels, Row | None]]) -> Sheet | None:
        """The sheet after some groups have other rows, are new, or are gone (None); None if nothing is left."""
        places, width = self.layout.places, len(self.rows) // len(self.layout.labels)
        changes = list(changes)
        if all(row is not None and labels in places for labels, row in changes):
            rows = bytearray(self.rows)
            for labels, row in changes:
                at = places[labels] * width
                rows[at : at + width] = row or b""
            return Sheet(self.layout, bytes(rows))
        found: dict[Labels, Row] = {
            labels: self.rows[place * width : (place + 1) * width] for labels, place in places.items()
        }
        for labels, row in changes:
            if row is None:
                found.pop(labels, None)
            else:
                found[labels] = row
        return Sheet(Layout(found), b"".join(found.values())) if found else None


#: Changes of a form's sheet in a run of scrapes: the scrape's place, and the sheet, None if nothing of it is left.
Changes = tuple[tuple[int, Sheet | None], ...]


class Stretch(NamedTuple):
    """Scrapes in a row in which the same groups of a form were there.

    Attributes:
        begin, end: their places in the block.
        at: those at which the sheet changed, `begin` the first.
        first: the first sheet's numbers; `varying`: columns of it that change, whose numbers are `rows` (column by
            change).
        ended: groups that were gone at `end`.
    """

    layout: Layout
    begin: int
    end: int
    at: Places
    first: Values
    varying: Places
    rows: Values
    ended: tuple[Labels, ...]

    def values(self, columns: Places, low: int, high: int) -> Values:
        """Numbers of some columns of the sheet at the scrapes [low, high): column by scrape."""
        found: Values = np.repeat(self.first[columns][:, None], high - low, axis=1)
        if not len(self.varying):
            return found
        where = np.minimum(np.searchsorted(self.varying, columns), len(self.varying) - 1)
        here = np.flatnonzero(self.varying[where] == columns)
        if len(here):
            if len(self.at) == self.end - self.begin:
                found[here] = self.rows[where[here], low - self.begin : high - self.begin]
            else:
                change = np.searchsorted(self.at, np.arange(low, high), side="right") - 1
                found[here] = self.rows[where[here]][:, change]
        return found


class Block(Shared):
    """Sealed scrapes.

    Attributes:
        times: their instants.
        tracks: of every form that was there, its stretches.
    """

    __slots__ = ("times", "tracks")

    def __init__(self, times: Times, tracks: Mapping[Columns, tuple[Stretch, ...]]) -> None:
        self.times = times
        self.tracks = tracks

    def __reduce__(self) -> tuple[type[Block], tuple[Times, Mapping[Columns, tuple[Stretch, ...]]]]:
        return (Block, (self.times, self.tracks))

    @property
    def size_bytes(self) -> int:
        """Bytes of its numbers."""
        found = self.times.nbytes
        for stretches in self.tracks.values():
            for one in stretches:
                found += one.at.nbytes + one.first.nbytes + one.varying.nbytes + one.rows.nbytes
        return found


def block_of(base: Mapping[Columns, Sheet], times_ms: Sequence[int], changes: Mapping[Columns, Changes]) -> Block:
    """The columns of scrapes at some instants; `base` is what was there before the first."""
    forms, count = dict.fromkeys([*base, *changes]), len(times_ms)
    found = {form: tuple(stretches(base.get(form), changes.get(form, ()), (0, count), sealed=True)) for form in forms}
    return Block(np.array(times_ms, dtype=np.int64), found)


def stretches(
    base: Sheet | None, changes: Changes, span: tuple[int, int], *, sealed: bool = False
) -> Iterator[Stretch]:
    """A form's stretches over the scrapes of a span.

    Args:
        base: what was there before the first change.
        sealed: only columns that change are kept change by change.
    """
    low, high = span
    kept: list[tuple[int, Sheet]] = [] if base is None else [(0, base)]  # of the stretch that goes on
    for place, sheet in changes:
        if place >= high:
            break
        if kept and (sheet is None or sheet.layout != kept[-1][1].layout):
            ended = kept[-1][1].layout.without(None if sheet is None else sheet.layout)
            if place > low or (ended and place >= low):
                yield _stretch(kept, place, ended, sealed)
            kept = []
        if sheet is not None:
            if place <= low:
                kept.clear()
            kept.append((max(place, low), sheet))
    if kept:
        yield _stretch(kept, high, (), sealed)


def _stretch(kept: Sequence[tuple[int, Sheet]], end: int, ended: tuple[Labels, ...], sealed: bool) -> Stretch:
    at = np.array([place for place, _ in kept], dtype=np.int64)
    numbers = np.frombuffer(b"".join([sheet.rows for _, sheet in kept])).reshape(len(kept), -1)
    if not sealed:
        every = np.arange(numbers.shape[1])
        return Stretch(kept[0][1].layout, kept[0][0], end, at, numbers[0], every, numbers.T, ended)
    varying = np.flatnonzero((numbers != numbers[0]).any(axis=0))
    rows = np.ascontiguousarray(numbers[:, varying].T)
    return Stretch(kept[0][1].layout, kept[0][0], end, at, numbers[0].copy(), varying, rows, ended)
