"""Scrapes of one target: frames as they come, and blocks of columns into which they are sealed.

A group's row is kept when it changes: what stands still (most of what is said of objects) costs nothing.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import Shared
from simcluster.telemetry.metrics.columns import Columns, Group, Labels, Row
from simcluster.telemetry.promql.storage import STALE_NAN

Times = NDArray[np.int64]
Values = NDArray[np.float64]


class Frame(NamedTuple):
    """One scrape.

    Attributes:
        t_ms: its instant, Unix milliseconds.
        changed: groups whose rows are new or other than at the last scrape.
        gone: groups that are no longer there.
    """

    t_ms: int
    changed: tuple[tuple[Group, Row], ...]
    gone: tuple[Group, ...]


class Track(NamedTuple):
    """One group in a block.

    Attributes:
        at: scrapes at which the row changed (places in the block); `gone`: those at which the group was gone.
        first: the first row; `varying`: columns that change, whose numbers are `rows` (column by change).
    """

    at: NDArray[np.int32]
    gone: tuple[int, ...]
    first: Values
    varying: NDArray[np.int32]
    rows: Values

    def column(self, column: int, scrapes: int) -> tuple[NDArray[np.int64], Values]:
        """Places of the samples of a series in a block of so many scrapes, and the samples."""
        place = int(np.searchsorted(self.varying, column))
        moves = place < len(self.varying) and self.varying[place] == column
        held = self.rows[place] if moves else None
        if not self.gone and len(self.at) == scrapes:
            return np.arange(scrapes), held if held is not None else np.full(scrapes, self.first[column])
        places: list[NDArray[np.int64]] = []
        values: list[Values] = []
        starts, ends = self._stretches(scrapes)
        for low, high, last in zip(starts, ends, (*self.gone, -1), strict=False):
            here = np.arange(low, high)
            change = np.searchsorted(self.at, here, side="right") - 1
            places.append(here)
            values.append(held[change] if held is not None else np.full(high - low, self.first[column]))
            if last >= 0:
                places.append(np.array([last]))
                values.append(np.array([STALE_NAN]))
        return np.concatenate(places), np.concatenate(values)

    def _stretches(self, scrapes: int) -> tuple[list[int], list[int]]:
        """Places from which on the group was there, and those at which it no longer was."""
        ends = [*self.gone]
        starts = [int(self.at[0])]
        for end in self.gone:
            later = int(np.searchsorted(self.at, end, side="right"))
            if later < len(self.at):
                starts.append(int(self.at[later]))
        if len(starts) > len(ends):
            ends.append(scrapes)
        return starts, ends


class Block(Shared):
    """Sealed scrapes.

    Attributes:
        times: their instants.
        tracks: every group that was there, by its form.
    """

    __slots__ = ("times", "tracks")

    def __init__(self, times: Times, tracks: Mapping[Columns, Mapping[Labels, Track]]) -> None:
        self.times = times
        self.tracks = tracks

    def __reduce__(self) -> tuple[type[Block], tuple[Times, Mapping[Columns, Mapping[Labels, Track]]]]:
        return (Block, (self.times, self.tracks))

    @property
    def size_bytes(self) -> int:
        """Bytes of its numbers."""
        found = self.times.nbytes
        for by_labels in self.tracks.values():
            for track in by_labels.values():
                found += track.at.nbytes + track.first.nbytes + track.varying.nbytes + track.rows.nbytes
        return found


def block_of(base: Mapping[Group, Row], frames: Sequence[Frame], forms: Container[Columns] | None = None) -> Block:
    """The columns of some scrapes; `base` is what was there before the first. Only these `forms`, if given."""
    changes: dict[Group, list[tuple[int, Row]]] = {}
    gone: dict[Group, list[int]] = {}
    for group, row in base.items():
        if forms is None or group.columns in forms:
            changes[group] = [(0, row)]
    for place, frame in enumerate(frames):
        for group, row in frame.changed:
            if forms is None or group.columns in forms:
                changes.setdefault(group, []).append((place, row))
        for group in frame.gone:
            if group in changes:
                gone.setdefault(group, []).append(place)
    tracks: dict[Columns, dict[Labels, Track]] = {}
    for group, rows in changes.items():
        tracks.setdefault(group.columns, {})[group.labels] = _track(rows, tuple(gone.get(group, ())))
    return Block(np.array([frame.t_ms for frame in frames], dtype=np.int64), tracks)


def _track(rows: list[tuple[int, Row]], gone: tuple[int, ...]) -> Track:
    if len(rows) > 1 and rows[1][0] == 0:
        del rows[0]  # changed by the first scrape already
    at = np.array([place for place, _ in rows], dtype=np.int32)
    numbers = np.frombuffer(b"".join([row for _, row in rows])).reshape(len(rows), -1)
    varying = np.flatnonzero((numbers != numbers[0]).any(axis=0)).astype(np.int32)
    return Track(at, gone, numbers[0].copy(), varying, np.ascontiguousarray(numbers[:, varying].T))
