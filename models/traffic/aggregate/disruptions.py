"""Replicas that are lost and come back, and edges over which nothing passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.run import AggregateRun

Array = NDArray[np.float64]


class Disruptions:
    """State of what is cut off.

    Attributes:
        blocked: edges over which nothing passes; `held`: attempts that will still be delivered.
        void: ring [slot, edge]: share of a cohort that cannot succeed any more.
        dead: edges whose callee has no replica.
        late: messages delivered after an outage, in the coming tick; nobody waits for them.
    """

    def __init__(self, slots: int, edges: int) -> None:
        self.blocked = np.zeros(edges, dtype=bool)
        self.holding = np.zeros(edges, dtype=bool)
        self.held = np.zeros(edges)
        self.void = np.zeros((slots, edges))
        self.dead = np.zeros(edges)
        self.late = np.zeros(edges)
        self.any_void = False

    def lose(self, run: AggregateRun, service: str, count: int) -> None:
        """The last `count` replicas that are up are lost; a negative count brings the first lost ones back."""
        queues, layout = run.queues, run.layout
        pods = run.pods_of(service)
        if count > 0:
            gone = [p for p in pods if queues.up[p] > 0.0][-count:]
            self._fail_inside(run, gone)
            queues.empty(np.array(gone, dtype=np.int64))
            queues.up[gone] = 0.0
        else:
            back = [p for p in pods if queues.up[p] == 0.0][:-count]
            queues.up[back] = 1.0
        alive = [p for p in pods if queues.up[p] > 0.0]
        here = (layout.lane_pod >= pods.start) & (layout.lane_pod < pods.stop)
        share = queues.up / max(1, len(alive))
        queues.share[here] = share[layout.lane_pod[here]]
        edges = np.unique(layout.lane_edge[here])
        self.dead[edges] = 0.0 if alive else 1.0

    def _fail_inside(self, run: AggregateRun, gone: list[int]) -> None:
        """Who waits for the lost replicas sees an error: their share of the youngest cohorts."""
        layout, queues, callers = run.layout, run.queues, run.callers
        for pod in gone:
            for lane in np.nonzero(layout.lane_pod == pod)[0].tolist():
                edge = int(layout.lane_edge[lane])
                amount = float(queues.content[lane])
                longest = max(1, int(layout.timeout_ticks[edge])) if layout.timed[edge] else 1
                for age in range(1, longest + 1):
                    if amount <= 1e-12:
                        break
                    taken = callers.take(run.tick, edge, age, amount, float(queues.share[lane]))
                    amount -= taken

    def cut(self, run: AggregateRun, edge: int, begins: bool, held: bool) -> None:
        """Begin or end an outage of an edge."""
        self.blocked[edge] = begins
        if begins:
            self.holding[edge] = held
            slots = len(self.void)
            for age in range(1, min(slots - 1, int(run.outcomes.latency[edge]) + 1)):
                if run.tick - age >= 0:
                    self.void[(run.tick - age) % slots, edge] = 1.0
            self.any_void = True
        else:
            self.late[edge] += self.held[edge]
            self.held[edge] = 0.0

    def sent(self, calls: Array) -> Array:
        """Of the attempts of this tick, what reaches the pods; with what an outage had held back."""
        if not (self.blocked.any() or self.late.any()):
            return calls
        sent: Array = np.where(self.blocked, 0.0, calls) + self.late
        return sent

    def note(self, tick: int, attempts: Array, dropped: Array) -> None:
        """After a tick: its cohort, as far as it was blocked or dropped, cannot succeed."""
        self.late[:] = 0.0
        if self.blocked.any() or dropped.any():
            self.any_void = True
            self.void[tick % len(self.void)] = np.where(self.blocked, 1.0, dropped)
            self.held += np.where(self.blocked & self.holding, attempts, 0.0)
        elif self.any_void:
            self.void[tick % len(self.void)] = 0.0
            self.any_void = bool(self.void.any())
