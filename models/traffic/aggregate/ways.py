"""How long requests and answers travel, where that is a matter of chance.

The mean of a way there and back is taken from what is left of a timeout; how much longer or shorter than it one is
decides, too, who is late. Of every edge the law of both ways together is known by the means of parts of its
probability, the rarest longest ones in parts of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import Shared
from simcluster.engine.streams import Streams
from simcluster.models.traffic.aggregate.durations import VALUES, Distribution, sum_of

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.layout import Graph

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Where the parts end: equal ones, and rarer and rarer ones.
_PARTS = (*(number / 32 for number in range(1, 31)), 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.994, 0.997, 0.999, 1.0)


class Ways(Shared):
    """The laws of all edges; times are in ticks.

    Attributes:
        network: mean of one way, of every edge.
        extra: how much longer than the mean ways there and back are, by edge and part; `weight` how likely that is.
            Where all ways take the same time there is one part.
        top: the most that an edge's ways are longer than their mean.
    """

    def __init__(self, graph: Graph, tick_ns: int) -> None:
        laws = [edge.policy.network or graph.spec.network for edge in graph.edges]
        self.network = np.array([law.mean_ns / tick_ns if law is not None else 0.0 for law in laws])
        self._values: dict[int, Array] = {}
        known: dict[str, Array] = {}
        for edge, law in enumerate(laws):
            if law is None or law.law == "deterministic" or law.mean_ns <= 0.0:
                continue
            name = law.model_dump_json()
            if name not in known:
                one = graph.values_of(law)
                known[name] = sum_of([(one, 1.0), (one, 1.0)], Streams(0), f"ways/{name}") / tick_ns
            self._values[edge] = known[name]
        count = len(_PARTS) if known else 1
        self.extra, self.weight = np.zeros((len(laws), count)), np.zeros((len(laws), count))
        self.weight[:, 0] = 1.0
        self.top = np.zeros(len(laws))
        for edge, values in self._values.items():
            self.extra[edge], self.weight[edge] = _parts(values)
            self.extra[edge] -= 2.0 * self.network[edge]
            self.top[edge] = float(values[-1]) - 2.0 * self.network[edge]

    @property
    def vary(self) -> bool:
        """Whether any does."""
        return bool(self._values)

    def within(
        self, law: Distribution, rows: tuple[Index, Index], left: Array, span: tuple[Array, Array] | None, speed: Array
    ) -> Array:
        """P(own time and what the ways take beyond their mean fit into a time).

        Args:
            rows: edges, and whose own time it is.
            left: the times, by row and column; of the first column all from `span[0]` to `span[1]`, if given.
            speed: by which own times are shorter.
        """
        edge, node = rows
        extra, weight = self.extra[edge], self.weight[edge]  # by row and part
        if not self.vary:
            own = law.below(node[:, None], left * speed)
            if span is not None:
                now = speed[:, 0]
                own[:, 0] = law.mean_below(node, span[0] * now, span[1] * now)
            return own
        first = 0 if span is None else 1
        own = np.zeros_like(left)
        each = (left[:, first:, None] - extra[:, None, :]) * (
            speed[:, first:, None] if speed.shape[1] > 1 else speed[:, :, None]
        )
        fits = law.below(node[:, None], each.reshape(len(node), -1)).reshape(each.shape)
        own[:, first:] = np.cumsum(fits * weight[:, None, :], axis=2)[:, :, -1]
        if span is not None:
            now = speed[:, :1]
            low, high = ((border[:, None] - extra) * now for border in span)
            own[:, 0] = np.cumsum(law.mean_below(node[:, None], low, high) * weight, axis=1)[:, -1]
        return own

    def below(self, edge: int, at: Array) -> Array:
        """P(both ways of an edge together <= t)."""
        values = self._values.get(edge)
        if values is None:
            always: Array = (at >= 2.0 * self.network[edge]).astype(np.float64)
            return always
        found: Array = np.searchsorted(values, at, side="right") / len(values)
        return found


def _parts(values: Array) -> tuple[Array, Array]:
    """Means of the parts of equally likely, ascending values, and how likely each part is."""
    ends = np.array([round(VALUES * end) for end in _PARTS])
    begins = np.concatenate(([0], ends[:-1]))
    sums = np.concatenate(([0.0], np.cumsum(values)))
    counts = ends - begins
    return (sums[ends] - sums[begins]) / counts, counts / VALUES
