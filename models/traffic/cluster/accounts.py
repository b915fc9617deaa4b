"""Calls under way: what was sent on every edge and has not ended. Sent = ended + under way, at every tick.

Whichever way a tick is filled, an outcome is counted in the tick in which the call ends. While closed forms are used,
as many calls are under way as Little's law says: who is inside for W on average stays beyond the end of a tick of
length T with the probability of an exponential law, and a failure is told as long after the call as it takes. While
queues are followed one by one (`hot`), the live engine says how many are open. The counts go on from one way to the
other and over new plans; the calls of a container that is gone end with it.

Left out: that a killed container's requests end early while closed forms are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import MILLISECOND, arithmetic
from simcluster.engine.streams import uniforms_at
from simcluster.models.traffic.cluster.causes import KIND_INDEX, RESET
from simcluster.models.traffic.cluster.nodes import EdgeKey, Layout
from simcluster.models.traffic.cluster.plan import Plan
from simcluster.models.traffic.cluster.statistics import Latencies, LoadRecord
from simcluster.models.traffic.cluster.whole import Period, Wholes
from simcluster.models.traffic.graph.result import FAILURES

Array = NDArray[np.float64]
Index = NDArray[np.int64]
#: Edge, kind (index into `KINDS`), calls.
Triple = tuple[int, int, int]

#: Failures that are known this soon are known in the tick of the call.
AT_ONCE_NS = 1.0 * MILLISECOND
#: Added to counters of draws, so that they are those of nobody else.
_DRAWS = 1 << 40


class Ended(NamedTuple):
    """Calls that ended in a tick: those that succeeded, by edge; those that failed."""

    ok: Index
    failures: list[Triple]


class HotPeriod(NamedTuple):
    """Calls of a period in which queues were followed; `due`: failures of calls that began before that."""

    calls: Period
    due: list[Triple]


class Accounts:
    """The calls of one plan after the other.

    Attributes:
        good: calls under way that will succeed, as far as is known, by edge of the plan; `bad`: those that will fail.
    """

    def __init__(self) -> None:
        self.good = np.zeros(0, dtype=np.int64)
        self.bad = np.zeros(0, dtype=np.int64)
        self._layout = Layout()
        self._later: dict[int, list[Triple]] = {}
        self._judged: tuple[Latencies, int, Array, Array] | None = None
        self._wholes: Wholes | None = None

    @property
    def open(self) -> Index:
        """Calls under way, by edge of the plan."""
        found: Index = self.good + self.bad
        return found

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        return not (self.good.any() or self.bad.any())

    def rewire(self, plan: Plan) -> list[Triple]:
        """Another plan; returns the calls of edges that are gone, by their place in the old one."""
        places = {key: place for place, key in enumerate(_numbered(plan.layout))}
        there = [places.get(key, -1) for key in _numbered(self._layout)]
        good, bad = np.zeros(len(plan.layout), dtype=np.int64), np.zeros(len(plan.layout), dtype=np.int64)
        gone: list[Triple] = []
        for old, (new, count) in enumerate(zip(there, self.open.tolist(), strict=True)):
            if new >= 0:
                good[new], bad[new] = self.good[old], self.bad[old]
            elif count:
                gone.append((old, KIND_INDEX[RESET], count))
        self._later = {
            tick: [(there[edge], kind, count) for edge, kind, count in found if there[edge] >= 0]
            for tick, found in self._later.items()
        }
        self.good, self.bad, self._layout, self._judged = good, bad, plan.layout, None
        if self._wholes is not None:
            self._wholes.rewire(_numbered(plan.layout))
        return gone

    # --- closed forms ---------------------------------------------------------------------

    def staying(self, latencies: Latencies, span_ns: int) -> tuple[Array, Array]:
        """Shares of calls that stay beyond the end of a tick: of those under way before, and of those it brought."""
        known = self._judged
        if known is None or known[0] is not latencies or known[1] != span_ns:
            mean = np.maximum(latencies.means, 1.0) / span_ns
            old = arithmetic.exp_array(-np.minimum(1.0 / mean, 600.0))
            known = self._judged = (latencies, span_ns, old, (1.0 - old) * mean)
        return known[2], known[3]

    def pass_calm(
        self, plan: Plan, tick: int, sent: Index, failing: Sequence[tuple[int, int, int, float]], latencies: Latencies,
        ticks: int, tick_ns: int,
    ) -> Ended:  # fmt: skip
        """A period that ends with a tick.

        Args:
            sent: calls on every edge, failing ones included.
            failing: edge, kind, calls, and how long after the call it is known (nanoseconds).
        """
        lost = np.zeros(len(sent), dtype=np.int64)
        for edge, kind, count, after_ns in failing:
            lost[edge] += count
            self.bad[edge] += count
            whole, rest = (0, 0.0) if after_ns <= AT_ONCE_NS else divmod(after_ns / tick_ns, 1.0)
            late = int(count * rest + 0.5)
            for delay, number in ((int(whole), count - late), (int(whole) + 1, late)):
                if number:
                    self._later.setdefault(tick + delay, []).append((edge, kind, number))
        ended = self._due(tick)
        self._wholes = None
        old, new = self.staying(latencies, ticks * tick_ns)
        came = np.maximum(sent - lost, 0)
        uniform = uniforms_at(plan.keys, _DRAWS + tick)
        rest_ = np.floor(self.good * old + came * new + uniform).astype(np.int64)
        ok = self.good + came - rest_
        self.good = rest_
        return Ended(ok, [(edge, kind, count) for (edge, kind), count in ended.items()])

    # --- queues that are followed ---------------------------------------------------------

    def pass_hot(self, tick: int, counted: Array, early: Array, most: Array, doubtful: NDArray[np.bool_]) -> HotPeriod:
        """A period that ends with a tick, whose outcomes a live engine counted: see `Wholes.settle`.

        Calls that were known to fail before queues were followed are told when it is known to their callers.
        """
        if self._wholes is None:
            self._wholes = Wholes(_numbered(self._layout), self.good, beside=len(FAILURES))
        due = self._due(tick)
        found = self._wholes.settle(self.good, counted, early, most, doubtful)
        self.good = found.left
        return HotPeriod(found, [(edge, kind, count) for (edge, kind), count in due.items()])

    def _due(self, tick: int) -> dict[tuple[int, int], int]:
        """Failures that are known by the end of a tick, by edge and kind; they are under way no more."""
        ended: dict[tuple[int, int], int] = {}
        for at in sorted(at for at in self._later if at <= tick):
            for edge, kind, count in self._later.pop(at):
                ended[edge, kind] = ended.get((edge, kind), 0) + count
                self.bad[edge] -= count
        return ended


def _numbered(layout: Layout) -> list[tuple[EdgeKey, int]]:
    """Names of edges; those of the same name are numbered."""
    seen: dict[EdgeKey, int] = {}
    found = []
    for key in layout:
        seen[key] = seen.get(key, 0) + 1
        found.append((key, seen[key]))
    return found


class Requests:
    """Requests of users under way, each with all its attempts, by `namespace/name`."""

    def __init__(self) -> None:
        self.open: dict[str, int] = {}
        self._wholes: Wholes | None = None

    def pass_hot(
        self, names: Sequence[str], due: Sequence[int], later: Sequence[int], counted: Array, early: Array, most: Array,
        doubtful: NDArray[np.bool_],
    ) -> Period:  # fmt: skip
        """A period of all users, whose outcomes a live engine counted: see `Wholes.settle`.

        Args:
            due: requests of each that fail now beside those that the engine knows; `later`: that will.
        """
        there = np.array([self.open.get(name, 0) for name in names], dtype=np.int64)
        ended = np.minimum(np.array(due, dtype=np.int64), there)
        apart = np.minimum(np.array(later, dtype=np.int64), there - ended)
        there = there - ended - apart
        if self._wholes is None:
            self._wholes = Wholes(names, there)
        elif self._wholes.names != names:
            self._wholes.rewire(names)
        found = self._wholes.settle(there, counted, early, most, doubtful)
        found = found._replace(left=found.left + apart, due=ended)
        self.open = {**self.open, **dict(zip(names, found.left.tolist(), strict=True))}
        return found

    def settle(
        self, name: str, requests: int, attempts: int, failed: Sequence[tuple[str, int]], most_open: int
    ) -> LoadRecord:
        """A period of some users.

        Args:
            failed: requests that failed, by kind; at most as many as there are count.
            most_open: requests that can be under way at its end; whoever else has not failed has succeeded.
        """
        self._wholes = None
        left = self.open.get(name, 0) + requests
        kept = []
        for kind, count in failed:
            here = min(count, left)
            left -= here
            if here:
                kept.append((kind, here))
        self.open[name] = min(left, max(0, most_open))
        return LoadRecord(requests, attempts, left - self.open[name], tuple(kept), self.open[name])

    def rewire(self, names: Sequence[str]) -> dict[str, LoadRecord]:
        """Only these users are there; what the others had under way ends with them. What there is to tell of all."""
        found = {name: LoadRecord(0, 0, 0, (), count) for name, count in self.open.items()}
        for name in [name for name in self.open if name not in names]:
            count = self.open.pop(name)
            found[name] = LoadRecord(0, 0, 0, ((RESET, count),) if count else (), 0)
        return found
