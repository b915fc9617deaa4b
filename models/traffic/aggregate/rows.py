"""Series of services and of edges between them, kept as arrays: a window is made when somebody looks at it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.graph.histogram import Drawn
from simcluster.models.traffic.graph.result import FAILURES, EdgeWindow, ServiceWindow

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.samples import Samples

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Row = TypeVar("Row")


class Rows(Sequence[Row], ABC, Generic[Row]):
    """A series; most of its windows are never looked at."""

    def __init__(self, count: int) -> None:
        self._made: list[Row | None] = [None] * count

    @abstractmethod
    def _make(self, window: int) -> Row:
        """A window."""

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        window = range(len(self))[index]
        row = self._made[window]
        if row is None:
            row = self._made[window] = self._make(window)
        return row


class Services:
    """Figures of all services and windows.

    Args:
        counts: whole numbers [figure, window, service] of requests that came, were rejected, served, answered well,
            failed, and of look-ups that hit, and all.
        means: [figure, window, service] of queues, queues at the end, workers held and at work, replicas up, pauses.
        samples: waits and sojourns that were drawn.
        tick_ns: length of a tick.
    """

    def __init__(self, counts: Counts, means: Array, samples: Samples, tick_ns: int) -> None:
        self._counts, self._means, self._samples, self._tick_ns = counts, means, samples, tick_ns
        self._late = late_of(counts[2] - counts[3] - counts[4])

    def rows(self, service: int) -> Rows[ServiceWindow]:
        """The series of one."""
        return _ServiceRows(self, service)

    def window(self, window: int, service: int) -> ServiceWindow:
        """One figure for each column of a window."""
        come, rejected, served, _, errors, hits, lookups = self._counts[:, window, service].tolist()
        row = ServiceWindow(come, rejected, served, errors, int(self._late[window, service]))
        queue, ends, row.busy, row.working, up, pause = self._means[:, window, service].tolist()
        row.queue, row.queue_end, row.up = queue, math.floor(ends + 0.5), math.floor(up + 0.5)
        row.hits, row.lookups, row.pause_ns = hits, lookups, math.floor(pause)
        row.wait.stand_for(self._samples.wait[service].get(window, ()), served, self._tick_ns)
        row.sojourn.stand_for(self._samples.sojourn[service].get(window, ()), served, self._tick_ns)
        return row

    def totals(self, first: int, shares: Array) -> list[ServiceWindow]:
        """Of every service all windows from `first` on, which are such shares of the whole."""
        counts, means = self._counts[:, first:], self._means[:, first:]
        if not counts.shape[1]:
            return [ServiceWindow() for _ in range(counts.shape[2])]
        late = np.add.reduce(self._late[first:], axis=0).tolist()
        sums = np.add.reduce(counts, axis=1).T.tolist()
        queue, busy, working = (np.cumsum(means[i] * shares[:, None], axis=0)[-1].tolist() for i in (0, 2, 3))
        ends, up = (np.floor(means[i, -1] + 0.5).astype(np.int64).tolist() for i in (1, 4))
        pauses = np.add.reduce(np.floor(means[5]).astype(np.int64), axis=0).tolist()
        found = []
        for service, (come, rejected, served, _, errors, hits, lookups) in enumerate(sums):
            row = ServiceWindow(come, rejected, served, errors, late[service])
            row.queue, row.busy, row.working = queue[service], busy[service], working[service]
            row.queue_end, row.up = ends[service], up[service]
            row.hits, row.lookups, row.pause_ns = hits, lookups, pauses[service]
            row.wait.stand_for_later(_Later(self, "wait", service, first))
            row.sojourn.stand_for_later(_Later(self, "sojourn", service, first))
            found.append(row)
        return found

    def drawn(self, table: str, service: int, first: int) -> list[Drawn]:
        """What was drawn for the windows of a service from `first` on, for how many requests, and the tick."""
        rows = (self._samples.wait if table == "wait" else self._samples.sojourn)[service]
        served = enumerate(self._counts[2, first:, service].tolist(), first)
        return [(rows[window], count, self._tick_ns) for window, count in served if count > 0 and rows.get(window)]


def late_of(others: Counts) -> Counts:
    """Answers that nobody waited for, from those that were not good, by window and service.

    Answers count when they are given, good ones when their deadlines are over. Where more were good than are answered,
    the windows before had too few of them: what they lack is no late answer of the next ones.
    """
    found, owed = np.zeros_like(others), np.zeros_like(others[0]) if len(others) else others
    for window, row in enumerate(others):
        rest = row + owed
        found[window], owed = np.maximum(rest, 0), np.minimum(rest, 0)
    return found


class _Later(NamedTuple):
    figures: Services
    table: str
    service: int
    first: int

    def drawn(self) -> list[Drawn]:
        return self.figures.drawn(*self[1:])


class _ServiceRows(Rows[ServiceWindow]):
    def __init__(self, figures: Services, service: int) -> None:
        super().__init__(figures._counts.shape[1])
        self._figures, self._service = figures, service

    def _make(self, window: int) -> ServiceWindow:
        return self._figures.window(window, self._service)


class EdgeRows(Rows[EdgeWindow]):
    """Attempts and failures by kind of one edge: whole numbers [figure, window]."""

    def __init__(self, counts: Counts) -> None:
        super().__init__(counts.shape[1])
        self._counts = counts

    def _make(self, window: int) -> EdgeWindow:
        attempts, *failed = self._counts[:, window].tolist()
        return EdgeWindow(attempts, dict(zip(FAILURES, failed, strict=True)))

    def total(self, first: int) -> EdgeWindow:
        """All windows from `first` on."""
        attempts, *failed = np.add.reduce(self._counts[:, first:], axis=1).tolist()
        return EdgeWindow(attempts, dict(zip(FAILURES, failed, strict=True)))
