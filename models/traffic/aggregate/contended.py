"""Servers that slow down with what is inside: how long a request takes is settled when it begins.

A pod without limit of workers whose operations know contention keeps its requests in a ring by the tick in which they
will be ready. The delay of those who begin now follows from how many are inside now, whatever comes later;
for the judgement of deadlines the slowness of each of the last ticks is remembered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.durations import VALUES
from simcluster.models.traffic.aggregate.layout import Layout

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: The own time of an operation is represented by so many quantiles; who takes longer than the ring leaves at its end.
_QUANTILES, _RING = 16, 4096


class Contended:
    """The requests inside such pods.

    Args:
        slower: ticks of work by which every other request inside slows one down, of every pod.
        slots: of the rings by which the past is remembered.

    Attributes:
        lanes: into such pods.
        ended: requests that were ready in the last tick, of every pod.
        stretches: ring [slot, pod]: how much longer than described work took that began in a tick.
    """

    def __init__(self, layout: Layout, slower: Array, slots: int) -> None:
        self.lanes = np.nonzero((slower > 0.0)[layout.lane_pod] & layout.infinite[layout.lane_pod])[0]
        self._slower = slower / np.maximum(layout.work, 1e-12)
        self._layout = layout
        if not len(self.lanes):
            return
        self._pod, node = layout.lane_pod[self.lanes], layout.lane_node[self.lanes]
        self.stretches, self.ended = np.ones((slots, layout.pods)), np.zeros(layout.pods)
        step = VALUES // _QUANTILES
        self._values = np.array([layout.graph.values[n][step // 2 :: step] / layout.tick_ns for n in node.tolist()])
        natural = np.maximum(layout.node_own[node], 1e-300)
        self._work = (layout.node_work[node] / natural)[:, None]
        self._ready = np.zeros((_RING, len(self.lanes)))
        self._rows = np.arange(len(self.lanes))[:, None]

    def __bool__(self) -> bool:
        return bool(len(self.lanes))

    def inside(self) -> Array:
        """Requests in every pod."""
        return np.bincount(self._pod, np.add.reduce(self._ready, axis=0), self._layout.pods).astype(np.float64)

    def step(self, tick: int, lanes: slice, left: Array, speed: Array) -> Array:
        """Let the arrivals of a tick begin, and those leave who are ready.

        Who begins finds as many others as are inside in the middle of the tick.

        Args:
            lanes: of a level; left: requests of theirs that begin; speed: of every pod now.

        Returns:
            `left`, with those who are ready in place of those who begin.
        """
        here = np.nonzero((self.lanes >= lanes.start) & (self.lanes < lanes.stop))[0]
        if not len(here):
            return left
        pod, pods = self._pod[here], self._layout.pods
        ready = np.bincount(pod, self._ready[tick % _RING, here], pods)
        come = np.bincount(pod, left[self.lanes[here] - lanes.start], pods)
        stretch = 1.0 + self._slower * (self.inside() + 0.5 * (come - ready))
        self.stretches[tick % len(self.stretches), pod] = stretch[pod]
        pace = (stretch / np.maximum(speed, 1e-9))[pod][:, None]
        delay = np.minimum(self._values[here] * (self._work[here] * pace + 1.0 - self._work[here]), _RING - 2.0)
        whole = np.floor(delay).astype(np.int64)
        later = delay - whole
        piece = (left[self.lanes[here] - lanes.start] / _QUANTILES)[:, None]
        rows = self._rows[here]
        np.add.at(self._ready, ((tick + whole) % _RING, rows), piece * (1.0 - later))
        np.add.at(self._ready, ((tick + whole + 1) % _RING, rows), piece * later)
        out: Array = left.copy()
        leave = self._ready[tick % _RING, here]
        out[self.lanes[here] - lanes.start] = leave
        self.ended[pod] = np.bincount(pod, leave, pods)[pod]
        self._ready[tick % _RING, here] = 0.0
        return out

    def finished(self, others: Array) -> Array:
        """How many ended in the last tick, of every pod; of `others` as given."""
        found = others.copy()
        found[self._pod] = self.ended[self._pod]
        return found

    def speeds(self, ticks: Index, speed: Array) -> Array:
        """How fast requests of these lanes (rows) were that began at these ticks (columns), against the described.

        Args:
            speed: of every pod.
        """
        then = self.stretches[np.maximum(ticks, 0) % len(self.stretches), self._pod[:, None]]
        pace = then / np.maximum(speed[self._pod], 1e-9)[:, None]
        fast: Array = 1.0 / (self._work * pace + 1.0 - self._work)
        return fast

    def lost(self, pods: Index) -> None:
        """All that the pods hold is gone."""
        self._ready[:, np.isin(self._pod, pods)] = 0.0
