"""How near the queues of a large plan are to trouble: `tension.margin_of` for all edges at once, on arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.cluster.fleet import Fleet
from simcluster.models.traffic.cluster.plan import Plan
from simcluster.models.traffic.cluster.server import NO_RISK

Array = NDArray[np.float64]


class Margins:
    """Places where edges that retry lead to.

    Args:
        fragile: those edges, by their place in the plan.
    """

    def __init__(self, plan: Plan, fragile: Sequence[int]) -> None:
        ways = [(plan.edges[edge], target.node) for edge in fragile for target in plan.edges[edge].targets]
        ways = [(edge, node) for edge, node in ways if node >= 0]
        self._nodes = np.array([node for _, node in ways], dtype=np.int64)
        self._servers = np.array([plan.nodes[node].server for _, node in ways], dtype=np.int64)
        self._timeouts = np.array([float(edge.call.timeout_ns) for edge, _ in ways])

    def smallest(self, plan: Plan, fleet: Fleet) -> float:
        """The smallest exponent of them all."""
        if not len(self._nodes):
            return NO_RISK
        latency = np.array([node.latency.mean for node in plan.nodes])[self._nodes]
        wait = np.array([server.wait.mean_ns for server in plan.servers])[self._servers]
        left = self._timeouts - np.maximum(0.0, latency - wait)
        arrivals, work = fleet.wanted[0], fleet.wanted[1]
        some = (arrivals > 0.0) & (work > 0.0)
        speed = np.maximum(fleet.cores() - fleet.facts.idle, 0.0)
        cost = np.where(some, work / np.where(some, arrivals, 1.0), 1.0)
        rate = speed / cost - arrivals * 1e-9
        found = np.where(some[self._servers], rate[self._servers] * left, NO_RISK)
        return float(np.min(np.where(left > 0.0, found, NO_RISK)))
