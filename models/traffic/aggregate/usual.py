"""What becomes of attempts and calls while queues are ordinary ones: operations fail, and now and then one is late."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.layout import Edge, Layout

Array = NDArray[np.float64]


class Usual(NamedTuple):
    """Chances by edge.

    Attributes:
        first: of an attempt to succeed if it is not late and no call below is made again.
        late: of an attempt not to be answered in time, though all went well.
        attempt: of an attempt to succeed; `call`: of a call, with all its attempts; `made`: their mean number.
    """

    first: Array
    late: Array
    attempt: Array
    call: Array
    made: Array

    def with_late(self, times: Array) -> Usual:
        """The same, but so many times as many attempts are late, and all that follows from each."""
        lost = 1.0 - self.attempt
        part = np.where(lost > 0.0, self.late / np.where(lost > 0.0, lost, 1.0), 0.0)
        # no more are late than there are
        most = np.minimum(
            self.call / np.maximum((1.0 - self.call) * part, 1e-300), self.attempt / np.maximum(self.late, 1e-300)
        )
        more = np.minimum(times - 1.0, most)
        return Usual(
            self.first,
            self.late * (1.0 + more),
            self.attempt - more * self.late,
            self.call - more * (1.0 - self.call) * part,
            self.made + more * (self.made - 1.0) * part,
        )


def usual_of(layout: Layout, miss: Array) -> Usual:
    """Chances of calls, from the lowest to the highest.

    Args:
        miss: by edge, which share of the attempts that could be answered well are late.
    """
    first, late, attempt, call, made = (np.ones(layout.edges) for _ in range(5))
    late[:] = 0.0
    for edge in sorted(layout.graph.edges, key=_deepest_first):
        index = edge.index
        if edge.asynchronous:
            continue
        once = good = 1.0 - float(layout.node_failure[edge.child])
        for below in layout.children.get(edge.child, ()):
            if below.required and not below.asynchronous:
                risk, alone, all_ = float(layout.inner[below.index]), 1.0, 1.0
                for _ in range(below.times):
                    alone *= float(first[below.index])
                    all_ *= float(call[below.index])
                once *= 1.0 - risk * (1.0 - alone)
                good *= 1.0 - risk * (1.0 - all_)
        first[index], late[index] = once, good * float(miss[index])
        attempt[index] = good - late[index]
        kinds = edge.policy.retries.on if edge.policy.retries is not None else ()
        again = (1.0 - good) * ("error" in kinds) + float(late[index]) * ("timeout" in kinds)
        power = count = 1.0
        for _ in range(int(layout.attempts[index]) - 1):
            power *= again
            count += power
        call[index], made[index] = float(attempt[index]) * count, count
    return Usual(first, late, attempt, call, made)


def _deepest_first(edge: Edge) -> int:
    return -edge.level
