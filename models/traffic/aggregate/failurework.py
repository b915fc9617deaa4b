"""Slow error paths: requests that fail cost work before their error is answered.

A request that fails (by itself, by a required call) leaves its error's work behind it in the queue of its pod. One
whose propagated deadline passed while it waited costs that work in place of its own when its turn comes. Work is
counted in the units of the queue, so that whoever comes behind waits for it.

Approximations: the error's work stands at the end of the queue, and the answer of an error does not wait for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.layout import Layout
from simcluster.models.traffic.aggregate.queues import Queues

Array = NDArray[np.float64]
Index = NDArray[np.int64]


def error_work(layout: Layout) -> Array:
    """Mean work of a failure at every node, in ticks."""
    found = np.zeros(len(layout.graph.nodes))
    for node in layout.graph.nodes:
        service = layout.graph.spec.services[node.service_name]
        law = service.operations[node.operation].error_work
        found[node.index] = law.mean_ns / service.speed / layout.tick_ns if law is not None else 0.0
    return found


def has_error_work(layout: Layout) -> bool:
    """Whether any failure costs work."""
    return bool((error_work(layout) > 0.0).any())


class FailureWork:
    """What failures cost, in units of the queues.

    Attributes:
        costs: whether any does.
        lane_units: of a request of each lane that fails, beside what it has cost already.
    """

    def __init__(self, layout: Layout) -> None:
        each = error_work(layout)
        self.costs = bool((each > 0.0).any())
        self._layout = layout
        unit = np.where(layout.holds, 1.0, layout.work)[layout.lane_pod]
        self.lane_units = np.where(unit > 0.0, each[layout.lane_node] / np.maximum(unit, 1e-300), 0.0)
        self.lane_units = np.where(layout.infinite[layout.lane_pod], 0.0, self.lane_units)
        travels = np.array([edge.policy.propagate for edge in layout.graph.edges], dtype=bool)
        self._stays = (self.lane_units > 0.0) & travels[layout.lane_edge]

    def broken(self, queues: Queues, edges: Index, amounts: Array) -> None:
        """Attempts on these edges have failed at the callee."""
        layout = self._layout
        failed = np.bincount(edges, amounts, layout.edges)
        units = failed[layout.lane_edge] * queues.share * self.lane_units
        self._add(queues, units)

    def expired(self, queues: Queues, amounts: Array) -> Array:
        """Of requests (by lane) whose deadline has passed in the queue, those that leave it at once.

        The others stay, with their error's work in place of their own.
        """
        layout = self._layout
        here = np.where(self._stays, np.minimum(amounts, queues.content), 0.0)
        self._add(queues, here * (self.lane_units - layout.relative))
        return np.where(self._stays, 0.0, amounts)

    def _add(self, queues: Queues, of_lanes: Array) -> None:
        units = np.bincount(self._layout.lane_pod, of_lanes, self._layout.pods)
        for array in (queues.number, queues.queued, queues.waiting):
            np.maximum(array + units, 0.0, out=array)
