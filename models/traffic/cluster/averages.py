"""Averages of the servers of a large plan, kept as arrays while nothing special happens to them.

An average that hundreds of servers keep is a few operations on arrays, if the numbers are in arrays. As long as a
server is calm its own attributes go to this table; whoever asks for one of them gets all of them back
(`Server.__getattr__`), and they come back here when the server is accounted next. CPU time of requests is counted here
too, until it is accounted: a container's counter is its own part and what its meter has (`Container.cpu_ns`).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from simcluster.models.traffic.cluster.server import Server

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Attributes of a server that are kept here, in the order of the rows of `AverageTable.numbers`.
AVERAGES = (
    *("_carry_ns", "_arrivals", "_offered", "_work", "_square", "_age", "in_flight", "cores"),
    *("_reported", "_judged_cores"),
)
CARRY, ARRIVALS, OFFERED, WORK, SQUARE, AGE, INSIDE, CORES, REPORTED, JUDGED_CORES = range(len(AVERAGES))
_all_of = attrgetter(*AVERAGES)


class AverageTable:
    """The table of one fleet.

    Attributes:
        held: which servers' numbers are here.
        numbers: one row for each of `AVERAGES`, one column for each server.
        throttled, rejected, published: what those servers have published (the last: the mean wait).
        memory: what they hold.
        judged: mean and throttled share of the wait that was worked out last; behind: CPU work that waits.
        work: CPU time of requests that were served and not yet accounted, `charged` how much of it containers have
            got all the same; settled: what was accounted and containers have not got.
        leaky: servers whose containers leak as they work.
    """

    def __init__(self, count: int) -> None:
        self.held = np.zeros(count, dtype=bool)
        self.numbers = np.zeros((len(AVERAGES), count))
        self.throttled = np.zeros(count)
        self.rejected = np.zeros(count)
        self.published = np.zeros(count)
        self.judged = np.zeros((2, count))
        self.behind = np.zeros(count, dtype=np.int64)
        self.memory = np.zeros(count, dtype=np.int64)
        self.work = np.zeros(count)
        self.charged = np.zeros(count, dtype=np.int64)
        self.settled = np.zeros(count, dtype=np.int64)
        self.leaky: dict[int, None] = {}
        self._read: dict[float, list[int]] = {}  # what was settled and what else there is to know, by speed of cores

    # Numbers of servers.

    def borrow(self, servers: Sequence[Server], rows: Sequence[int]) -> None:
        """Take the numbers of some servers."""
        if not rows:
            return
        self.numbers[:, rows] = np.array([_all_of(server) for server in servers]).T
        self.throttled[rows] = [server.wait.throttled for server in servers]
        self.rejected[rows] = [server.rejected for server in servers]
        self.published[rows] = [server.wait.mean_ns for server in servers]
        waits = [server._judged_wait for server in servers]
        self.judged[0, rows] = [wait.mean_ns for wait in waits]
        self.judged[1, rows] = [wait.throttled for wait in waits]
        self.behind[rows] = [server.backlog_ns for server in servers]
        self.memory[rows] = [server.container.memory_bytes for server in servers]
        self.held[rows] = True
        for server, row in zip(servers, rows, strict=True):
            own = server.__dict__
            for name in AVERAGES:
                del own[name]
            own["_lender"] = (self, row)

    def give_back(self, server: Server, row: int) -> None:
        """A server has its numbers again."""
        self.held[row] = False
        own = server.__dict__
        own.update(zip(AVERAGES, self.numbers[:, row].tolist(), strict=True))
        own["_lender"] = None

    def cores(self, row: int) -> float:
        """Cores that a server has, whose numbers are here."""
        return float(self.numbers[CORES, row])

    # Meters of containers.

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_read": {}}

    def add(self, work: Array) -> None:
        """CPU time of requests, by server."""
        self.work += work
        self._read = {}

    def accounted(self, rows: Index) -> Index:
        """The work of some servers is accounted now; how much of it their containers know of."""
        charged = self.charged[rows]
        self.work[rows], self.charged[rows] = 0.0, 0
        self._read = {}
        return charged

    def settle(self, rows: Index, used: Array) -> None:
        """CPU time that was accounted."""
        self.settled[rows] += used.astype(np.int64)
        self._read = {}

    def read(self, row: int, speed: float) -> int:
        """CPU time that a container has used beside what it knows of; `speed` of its cores."""
        return self.every(speed)[row]

    def every(self, speed: float) -> list[int]:
        """The same of all rows. Not to be changed."""
        found = self._read.get(speed)
        if found is None:
            more = self.work.astype(np.int64) - self.charged
            slow = more if speed == 1.0 else (more / speed).astype(np.int64)
            found = self._read[speed] = (self.settled + slow).tolist()
        return found

    def take(self, row: int, speed: float) -> int:
        """The same; from now on the container knows of it."""
        more = int(self.work[row]) - int(self.charged[row])
        found = int(self.settled[row]) + (more if speed == 1.0 else int(more / speed))
        self.settled[row] = 0
        self.charged[row] += more
        self._read = {}
        return found

    def set_leaky(self, row: int, leaky: bool) -> None:
        """The container leaks as it works (or no longer): it wants to know of its work soon."""
        if leaky:
            self.leaky[row] = None
        else:
            self.leaky.pop(row, None)
