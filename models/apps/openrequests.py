"""Requests of one operation that are inside a server, by the instant at which they began.

Where queues are followed, a tick tells how many requests began and how many ended, and how long such requests take.
Those that end are chosen among those that are there: each the one whose age is nearest to a duration drawn from that
law. So no request ends before it began, and none states a time that it was not there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcluster.engine.streams import uniform_run

Index = NDArray[np.int64]

#: More are not told apart: the oldest are forgotten, as if nobody waited for them any more.
MOST_OPEN = 1 << 14
#: Counts of requests are rounded tick by tick: so many more or fewer than there are say nothing.
SLACK = 16
#: Longer than anything lasts.
NEVER = 1 << 60


class OpenRequests:
    """The begins of requests, in order of time, and their numbers.

    Attributes:
        since_ns: when it became known who begins.
        patience_ns: so long callers have been seen to wait in vain; 0: never yet.
    """

    def __init__(self, since_ns: int) -> None:
        self.since_ns = since_ns
        self.starts: Index = np.zeros(0, dtype=np.int64)
        self.numbers: Index = np.zeros(0, dtype=np.int64)
        self.patience_ns = 0

    def begin(self, key: int, since_ns: int, t_ns: int, count: int, first: int) -> tuple[Index, Index]:
        """So many requests begin in a tick, numbered from `first`; their instants and numbers."""
        starts = since_ns + 1 + (np.sort(uniform_run(key, count)) * (t_ns - since_ns)).astype(np.int64)
        numbers = np.arange(first, first + count, dtype=np.int64)
        self.starts = np.concatenate((self.starts, starts))[-MOST_OPEN:]
        self.numbers = np.concatenate((self.numbers, numbers))[-MOST_OPEN:]
        return starts, numbers

    def keep(self, count: int, t_ns: int, longest_ns: int = NEVER) -> None:
        """No more than so many are there: the others were lost with a queue, the oldest first.

        Of some more nothing is known, unless they have been there for longer than any request takes: their ends were
        rounded away.
        """
        surplus = len(self.starts) - count
        gone = max(surplus - SLACK, min(surplus, int(np.searchsorted(self.starts, t_ns - longest_ns))))
        if gone > 0:
            self.starts, self.numbers = self.starts[gone:], self.numbers[gone:]

    def forget(self, before_ns: int, there: int = 0) -> None:
        """Nobody waits any more for who began before an instant, but for so many who are known to be `there`."""
        gone = min(int(np.searchsorted(self.starts, before_ns)), len(self.starts) - there)
        if gone > 0:
            self.starts, self.numbers = self.starts[gone:], self.numbers[gone:]

    def end(
        self, key: int, since_ns: int, t_ns: int, took: Index, longest_ns: int = NEVER
    ) -> tuple[Index, Index, Index, Index]:
        """Requests that take so long end in a tick: which of them do, when they began and end, and their numbers.

        Who would be there for more than `longest_ns` at its end ends first: hardly any request takes longer.
        """
        count = min(len(took), len(self.starts))
        ends = since_ns + 1 + (uniform_run(key, len(took)) * (t_ns - since_ns)).astype(np.int64)
        which = np.argsort(ends - took, kind="stable")[:count]
        ramp = np.arange(count)
        wanted = (ends - took)[which]
        place = np.searchsorted(self.starts, wanted)
        if count:
            older = np.maximum(place - 1, 0)
            place -= wanted - self.starts[older] < self.starts[np.minimum(place, len(self.starts) - 1)] - wanted
            place = np.maximum(place, 0)
        place[: int(np.searchsorted(self.starts, t_ns - longest_ns))] = 0
        place = np.maximum.accumulate(np.minimum(place, len(self.starts) - count + ramp) - ramp) + ramp
        starts, numbers = self.starts[place], self.numbers[place]
        stays = np.ones(len(self.starts), dtype=bool)
        stays[place] = False
        self.starts, self.numbers = self.starts[stays], self.numbers[stays]
        ended, drawn = starts + took[which], ends[which]
        drawn = np.where(drawn > starts, drawn, starts + (t_ns - starts) // 2)
        return which, starts, np.where((ended > since_ns) & (ended <= t_ns), ended, drawn), numbers
