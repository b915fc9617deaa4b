"""What happens to a graph while it runs: events begin and end at ticks of the global grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simcluster.models.traffic.aggregate.pools import MARK, callee_of, caller_of
from simcluster.models.traffic.graph.events import Event, Outage

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.state import RunState


class Triggers:
    """The time line of a run; instants are rounded to the nearest tick, at least one tick long."""

    def __init__(self, events: tuple[Event, ...], tick_ns: int) -> None:
        self._events = events
        moments: list[tuple[int, int, int]] = []
        for index, event in enumerate(events):
            begin = (event.at + tick_ns // 2) // tick_ns
            moments.append((begin, 1, index))
            if event.lasts is not None:
                end = max(begin + 1, (event.at + event.lasts + tick_ns // 2) // tick_ns)
                moments.append((end, 0, index))
            elif event.restart is not None:
                moments.append((begin, 2, index))
        self._moments = sorted(moments)
        self._next = 0

    @property
    def next_tick(self) -> int:
        """The tick of the next change; far away if there is none."""
        return self._moments[self._next][0] if self._next < len(self._moments) else 1 << 60

    def apply(self, run: RunState, tick: int) -> bool:
        """Make the changes that are due; whether there were any."""
        changed = False
        while self.next_tick <= tick:
            _, what, index = self._moments[self._next]
            self._next += 1
            self._change(run, self._events[index], what == 1)
            changed = True
        return changed

    def _change(self, run: RunState, event: Event, begins: bool) -> None:
        if event.load is not None:
            source = run.source(event.load.name)
            source.factor = source.factor * event.load.factor if begins else self._load_factor(run, event.load.name)
        elif event.rate is not None:
            run.source(event.rate.name).fixed = event.rate.rate if begins else None
        elif event.capacity is not None:
            self._capacity(run, event.capacity.service)
        elif event.outage is not None:
            self._outage(run, event.outage, begins)
        elif event.flush is not None:
            run.caches.flush(event.flush.service, event.flush.cache)
        elif event.retries is not None:
            self._retries(run, event, begins)
        elif event.loss is not None:
            run.lose(event.loss.service, event.loss.replicas if begins else -event.loss.replicas)
        elif event.restart is not None:
            everything = len(run.pods_of(run.queues_of(event.restart.service)[0]))
            run.lose(event.restart.service, everything if begins else -everything)

    def _active(self, run: RunState) -> list[Event]:
        """Events that have begun and not ended, by what was applied so far."""
        state: dict[int, bool] = {}
        for _, what, index in self._moments[: self._next]:
            state[index] = what == 1
        return [self._events[index] for index in sorted(state) if state[index]]

    def _load_factor(self, run: RunState, name: str) -> float:
        factor = 1.0
        for event in self._active(run):
            if event.load is not None and event.load.name == name:
                factor *= event.load.factor
        return factor

    def _capacity(self, run: RunState, service: str) -> None:
        for queue in run.queues_of(service):
            self._slow(run, service, run.pods_of(queue))

    def _slow(self, run: RunState, service: str, pods: range) -> None:
        run.queues.factor[pods] = 1.0
        for event in self._active(run):
            effect = event.capacity
            if effect is not None and effect.service == service:
                chosen = [pods.start + i for i in effect.replicas] if effect.replicas is not None else pods
                run.queues.factor[chosen] *= effect.factor

    def _edges(self, run: RunState, caller: str, to: str, *, calls: bool = False) -> list[int]:
        """Edges between two services: over which messages go, or on which calls are made (before a pool)."""
        nodes, found = run.graph.nodes, []
        for e in run.graph.edges:
            child = nodes[e.child].service_name
            if caller_of(e.caller_name) == caller and callee_of(child) == to:
                pooled = MARK in (e.caller_name if calls else child)
                found += [] if pooled else [e.index]
        return found

    def _retries(self, run: RunState, event: Event, begins: bool) -> None:
        assert event.retries is not None
        edges = self._edges(run, event.retries.caller, event.retries.to, calls=True)
        limit = np.minimum(run.layout.attempts, event.retries.attempts) if begins else run.layout.attempts
        run.callers.limit[edges] = limit[edges]
        run.callers.restrict()

    def _outage(self, run: RunState, outage: Outage, begins: bool) -> None:
        for edge in self._edges(run, outage.caller, outage.to):
            run.cuts.cut(run.tick, edge, begins, outage.messages == "held")
