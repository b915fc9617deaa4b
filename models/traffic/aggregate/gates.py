"""What becomes of a visit by its calls: which later calls are made, and whether it can be answered well.

Both follow from the shares of calls that succeeded lately. Before any call has ended, the chances of the
operations to fail by themselves say it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.layout import Edge, Layout
from simcluster.models.traffic.aggregate.usual import usual_of

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Ticks over which shares of edges without timeout are averaged.
_MEMORY = 32.0


class Gates:
    """What share of its visits comes as far as each call, and what share of the visits ends well.

    Attributes:
        open: share of its visits that comes as far as a call, by edge.
        fine: share of the visits over an edge whose own work and required calls succeed, by edge.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.open = np.ones(layout.edges)
        self._done = np.zeros((2, layout.edges))
        self._keep = 1.0 - 1.0 / (1.0 + np.where(layout.timed, layout.timeout, _MEMORY))
        self._earlier = self._gates()
        self._gated = np.array([edge for edge, _ in self._earlier], dtype=np.int64)
        self._before = np.array([other for _, before in self._earlier for other in before], dtype=np.int64)
        sizes = [len(before) for _, before in self._earlier]
        self._starts = np.cumsum([0, *sizes[:-1]], dtype=np.int64)
        required = [e for e in layout.graph.edges if e.caller >= 0 and e.required and not e.asynchronous]
        self._called = np.array([e.index for e in required], dtype=np.int64)
        self._fails = bool((layout.node_failure > 0.0).any())
        #: whether answers without timeout can be bad ones
        self.matters = bool((~layout.timed).any()) and (self._fails or bool(required))
        self.usual = usual_of(layout, np.zeros(layout.edges))
        #: what becomes of calls if nobody is late
        self._expected = self.usual.call
        self._share = self._expected.copy()
        self.fine = self._visits(self._share)

    def _gates(self) -> list[tuple[int, list[int]]]:
        """Calls that are only made after others succeeded: (edge, the required ones before it)."""
        found = []
        for node in sorted(self.layout.children):
            edges = self.layout.children[node]
            for edge in edges:
                before = [
                    other.index
                    for other in edges
                    if other is not edge and _precedes(other, edge) and not other.asynchronous
                ]
                if before:
                    found.append((edge.index, before))
        return found

    def opened(self, share: Array) -> Array:
        """As what share of the visits comes as far as each call, if calls succeed so often."""
        found = np.ones(self.layout.edges)
        if self._earlier:
            found[self._gated] = np.multiply.reduceat(share[self._before], self._starts)
        return found

    def _visits(self, share: Array) -> Array:
        """Success of visits, given that of the calls."""
        layout = self.layout
        good = 1.0 - layout.node_failure
        if len(self._called):
            risk = np.minimum(layout.calls_per_visit[self._called], 1.0) * (1.0 - share[self._called])
            np.multiply.at(good, layout.caller[self._called], 1.0 - risk)
        result: Array = good[layout.child]
        return result

    def update(self, succeeded: Array, final: Array, *, hot: bool) -> None:
        """Later calls of an operation are made as often as the earlier ones succeed, by their recent shares."""
        if not self.matters and not self._earlier:
            return
        if not hot and not self._fails:
            self.open = np.ones(self.layout.edges)
            self._done[:] = 0.0
            self._share = self._expected
            self.fine = np.ones(self.layout.edges)
            return
        self._done *= self._keep
        self._done[0] += succeeded
        self._done[1] += succeeded + np.add.reduce(final, axis=0)
        known = np.minimum(self._done[0] / np.maximum(self._done[1], 1e-300), 1.0)
        self._share = np.where(self._done[1] > 1e-6, known, self._expected)
        self.open = self.opened(self._share)
        if self.matters:
            self.fine = self._visits(self._share)


def _precedes(first: Edge, second: Edge) -> bool:
    """Whether a call comes before another one in the same operation, in the same branch, and must succeed."""
    a, b = first.site, second.site
    if a is None or b is None or not first.required:
        return False
    if a.unit == b.unit and a.arm != b.arm:
        return False
    if a.group == b.group and a.branch != b.branch:
        return False
    return a.order < b.order and a.share >= 1.0 if a.branch != b.branch else a.order < b.order
