"""Cores that all requests at work share equally: processor sharing, each request on at most one core.

With n requests at work on c cores each goes on at min(1, c/n) of a core's speed. One clock of *shared work* runs at
that pace; a burst ends when the clock has moved by its length, so that arrivals and departures cost one heap
operation each (the attained-service view of Kleinrock, Queueing Systems II, section 4.4).
"""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simcluster.models.traffic.exact.calling import Attempt
    from simcluster.models.traffic.exact.replica import Replica, Work


class SharedCores:
    """The bursts of work of one replica.

    Attributes:
        cores: how many are shared.
        clock: work that each burst present all the time would have had by `since_ns`.
        turn: of changes; an end scheduled before the last one is void.
    """

    __slots__ = ("clock", "cores", "heap", "order", "replica", "since_ns", "turn")

    def __init__(self, replica: Replica, cores: float) -> None:
        self.replica = replica
        self.cores = cores
        self.heap: list[tuple[float, int, Work]] = []
        self.clock = 0.0
        self.since_ns = self.turn = self.order = 0

    def begin(self, work: Work) -> None:
        """A burst begins."""
        self.advance()
        self.order += 1
        heappush(self.heap, (self.clock + float(work.left), self.order, work))
        self._count()
        self.place()

    def stop(self, attempt: Attempt) -> None:
        """A request is stopped, with all it works on."""
        self.advance()
        kept = [entry for entry in self.heap if entry[2].attempt is not attempt]
        if len(kept) < len(self.heap):
            self.heap = kept
            heapify(self.heap)
            self._count()
            self.place()

    def clear(self) -> None:
        """All is lost; whoever counts the station's workers has taken them off."""
        self.heap = []
        self.turn += 1

    def advance(self) -> None:
        """Let the clock run until now."""
        now = self.replica.engine.loop.now
        self.clock += float(now - self.since_ns) * self._pace()
        self.since_ns = now

    def place(self) -> None:
        """Schedule the next end."""
        self.turn += 1
        pace = self._pace()
        if pace > 0.0:
            loop = self.replica.engine.loop
            rest = max(0.0, self.heap[0][0] - self.clock)
            loop.at(loop.now + math.ceil(rest / pace), self._due, self.turn)

    def _pace(self) -> float:
        count = len(self.heap)
        return self.replica.speed * min(1.0, self.cores / count) if count else 0.0

    def _count(self) -> None:
        """How many cores are at work."""
        station = self.replica.station
        station.touch()
        working = min(len(self.heap), int(self.cores))
        station.working += working - self.replica.working
        self.replica.working = working

    def _due(self, turn: int) -> None:
        if turn != self.turn:
            return
        self.advance()
        work = heappop(self.heap)[2]
        self._count()
        self.place()
        self.replica.go_on(work)
