"""How the requests of a tick fall on the replicas of a balancer that draws: on any of them, whatever waits there.

What one gets more another gets less, so that nothing comes of it for all together. Of A requests that go to a pod with
the chance p, the number has the variance A p (1 - p), and that of two pods the covariance -A p q (multinomial): A p of
independent noise for each, less its share of the sum. Nobody gets fewer than none; what a tick has too few requests for
is made good in the ticks after it.

Approximation: `two_choices` is taken for `random`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.layout import Edge, Layout

Array = NDArray[np.float64]

_DRAWING = ("random", "two_choices")


class Splits:
    """What is drawn for every pod.

    Attributes:
        pods, lanes: whether what comes is drawn; not over connections of a pool that stay with a replica.
        owed: how many units more than it got were drawn for a pod.
        service: of every pod.
    """

    def __init__(self, layout: Layout) -> None:
        services, names = layout.graph.spec.services, layout.graph.service_names
        drawing = [services[name].balancer in _DRAWING and services[name].replicas > 1 for name in names]
        self.service = np.array(layout.pod_service, dtype=np.int64)
        loose = np.array([not sticky(edge) for edge in layout.graph.edges], dtype=bool)
        self.lanes = np.array(drawing, dtype=bool)[self.service][layout.lane_pod] & loose[layout.lane_edge]
        self.pods = np.zeros(layout.pods, dtype=bool)
        self.pods[layout.lane_pod[self.lanes]] = True
        self.owed = np.zeros(layout.pods)
        self._layout = layout
        self._drawn = [bool(self.lanes[lanes].any()) for lanes in layout.level_lanes]

    def fallen(self, level: int, come: Array, noise: Array) -> Array:
        """Where the attempts of a level's lanes go that would fall evenly.

        Args:
            come: of each of its lanes; noise: a standard normal for each of all pods.
        """
        if not self._drawn[level]:
            return come
        layout = self._layout
        pods, lanes = layout.level_pods[level], layout.level_lanes[level]
        here, edge, relative = self.lanes[lanes], layout.lane_edge[lanes], layout.relative[lanes]
        local, count, service = layout.lane_pod[lanes] - pods.start, pods.stop - pods.start, self.service[pods]
        drawn = np.where(here, come, 0.0)
        mean = np.bincount(local, drawn * relative, count)
        owed = self.owed[pods] + np.sqrt(mean) * noise[pods]
        all_, sums = np.bincount(service, mean), np.bincount(service, owed)
        owed = np.where(all_[service] > 0.0, owed - mean / np.maximum(all_[service], 1e-300) * sums[service], owed)
        factor = np.maximum(mean + owed, 0.0) / np.maximum(mean, 1e-300)
        fallen = drawn * factor[local]
        before, after = np.bincount(edge, drawn), np.bincount(edge, fallen)
        some = after[edge] > 0.0
        fallen = np.where(some, fallen * (before[edge] / np.maximum(after[edge], 1e-300)), drawn)
        rest = mean + owed - np.bincount(local, fallen * relative, count)
        self.owed[pods] = np.where(mean > 0.0, rest, np.where(all_[service] > 0.0, 0.0, owed))
        result: Array = np.where(here, fallen, come)
        return result


def sticky(edge: Edge) -> bool:
    """Whether an edge's attempts go over connections that stay with a replica."""
    return edge.policy.pool is not None and edge.policy.pool.reuse is not None
