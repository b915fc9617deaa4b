"""Replicas that are lost and come back, and edges over which nothing, or not everything, passes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.callers import Callers
from simcluster.models.traffic.aggregate.layout import Layout
from simcluster.models.traffic.aggregate.outcomes import Outcomes
from simcluster.models.traffic.aggregate.queues import Queues

Array = NDArray[np.float64]


class Disruptions:
    """State of what is cut off.

    Attributes:
        blocked: edges over which nothing passes; `held`: attempts that will still be delivered.
        refused_share, lost_share: of every edge's attempts, that meet an error at once, and that nobody answers.
        void: ring [slot, edge]: share of a cohort that cannot succeed any more.
        dead: edges whose callee has no replica that takes requests.
        late: messages delivered after an outage, in the coming tick; nobody waits for them.
        weights: edge -> {pod: weight} where its attempts are not spread over all pods alike.
    """

    def __init__(self, layout: Layout, queues: Queues, callers: Callers, outcomes: Outcomes) -> None:
        self._layout, self._queues, self._callers, self._outcomes = layout, queues, callers, outcomes
        edges = layout.edges
        self.blocked = np.zeros(edges, dtype=bool)
        self.holding = np.zeros(edges, dtype=bool)
        self.held = np.zeros(edges)
        self.refused_share = np.zeros(edges)
        self.lost_share = np.zeros(edges)
        self.void = np.zeros((layout.slots, edges))
        self.dead = np.zeros(edges)
        self.late = np.zeros(edges)
        self.weights: dict[int, dict[int, float]] = {}
        self.any_void = False
        self.any_share = False

    @property
    def delays(self) -> bool:
        """Whether some messages are held up by an outage, or are delivered after one."""
        return bool(self.blocked.any() or self.late.any())

    @property
    def lost(self) -> Array | None:
        """Share of every edge's attempts that nobody answers now; None if all are."""
        if not self.any_share and not self.blocked.any():
            return None
        found: Array = 1.0 - (1.0 - self.lost_share) * (1.0 - self.blocked)
        return found

    def lose(self, tick: int, pods: Sequence[int], count: int) -> None:
        """The last `count` of these that are up are lost; a negative count brings the first lost ones back."""
        up = self._queues.up
        if count > 0:
            self.take_down(tick, [p for p in pods if up[p] > 0.0][-count:])
        else:
            self.bring_up([p for p in pods if up[p] == 0.0][:-count])

    def take_down(self, tick: int, pods: Sequence[int]) -> None:
        """These pods are lost with all they hold."""
        self._fail_inside(tick, pods)
        self._queues.empty(np.array(pods, dtype=np.int64))
        self._queues.up[list(pods)] = 0.0
        self._spread_all(pods)

    def bring_up(self, pods: Sequence[int]) -> None:
        """These pods serve again."""
        self._queues.up[list(pods)] = 1.0
        self._spread_all(pods)

    def _spread_all(self, pods: Sequence[int]) -> None:
        for service in dict.fromkeys(self._layout.pod_service[pod] for pod in pods):
            self.spread(service)

    def spread(self, service: int) -> None:
        """Work out which pods of a service get what share of every edge's attempts."""
        queues, layout = self._queues, self._layout
        first, count = layout.first_pod[service], layout.replicas[service]
        takes = queues.up[first : first + count] * queues.ready[first : first + count]
        here = np.nonzero((layout.lane_pod >= first) & (layout.lane_pod < first + count))[0]
        for edge in np.unique(layout.lane_edge[here]).tolist():
            lanes = here[layout.lane_edge[here] == edge]
            weights = takes[layout.lane_pod[lanes] - first]
            chosen = self.weights.get(edge)
            if chosen is not None:
                weights = weights * np.array([chosen.get(pod, 0.0) for pod in layout.lane_pod[lanes].tolist()])
            total = float(np.cumsum(weights)[-1])
            queues.share[lanes] = weights / total if total > 0.0 else 0.0
            self.dead[edge] = 0.0 if total > 0.0 else 1.0

    def _fail_inside(self, tick: int, gone: Sequence[int]) -> None:
        """Who waits for the lost replicas sees an error: their share of the youngest cohorts."""
        layout, queues, callers = self._layout, self._queues, self._callers
        for pod in gone:
            for lane in np.nonzero(layout.lane_pod == pod)[0].tolist():
                edge = int(layout.lane_edge[lane])
                amount = float(queues.content[lane])
                longest = max(1, int(layout.timeout_ticks[edge])) if layout.timed[edge] else 1
                for age in range(1, longest + 1):
                    if amount <= 1e-12:
                        break
                    taken = callers.take(tick, edge, age, amount, float(queues.share[lane]))
                    amount -= taken

    def cut(self, tick: int, edge: int, begins: bool, held: bool) -> None:
        """Begin or end an outage of an edge."""
        self.blocked[edge] = begins
        if begins:
            self.holding[edge] = held
            self._forget_answers(tick, edge, 1.0)
        else:
            self.late[edge] += self.held[edge]
            self.held[edge] = 0.0

    def lose_some(self, tick: int, edge: int, share: float) -> None:
        """From now on such a share of an edge's attempts is answered by nobody."""
        if share > self.lost_share[edge]:
            self._forget_answers(tick, edge, share)
        self.lost_share[edge] = share

    def _forget_answers(self, tick: int, edge: int, share: float) -> None:
        """Of the attempts that are not answered yet such a share never is."""
        slots = len(self.void)
        for age in range(1, min(slots - 1, int(self._outcomes.latency[edge]) + 1)):
            if tick - age >= 0:
                self.void[(tick - age) % slots, edge] = max(share, float(self.void[(tick - age) % slots, edge]))
        self.any_void = True

    def sent(self, calls: Array) -> Array:
        """Of the attempts of this tick, what reaches the pods; with what an outage had held back."""
        if self.any_share:
            calls = calls * (1.0 - self.refused_share) * (1.0 - self.lost_share)
        if not self.delays:
            return calls
        sent: Array = np.where(self.blocked, 0.0, calls) + self.late
        return sent

    def note(self, tick: int, attempts: Array, dropped: Array) -> None:
        """After a tick: its cohort, as far as it was blocked or dropped, cannot succeed."""
        self.late[:] = 0.0
        if self.any_share:
            dropped = 1.0 - (1.0 - dropped) * (1.0 - self.lost_share)
        if self.blocked.any() or dropped.any():
            self.any_void = True
            self.void[tick % len(self.void)] = np.where(self.blocked, 1.0, dropped)
            self.held += np.where(self.blocked & self.holding, attempts, 0.0)
        elif self.any_void:
            self.void[tick % len(self.void)] = 0.0
            self.any_void = bool(self.void.any())
