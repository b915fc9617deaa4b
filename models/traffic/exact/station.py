"""A service of the graph while it runs: its replicas, the choice among them, its window of figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.traffic.exact.caches import Holding
from simcluster.models.traffic.exact.callers import Caller, Connections
from simcluster.models.traffic.exact.draws import Uniforms
from simcluster.models.traffic.exact.replica import Replica
from simcluster.models.traffic.graph.result import ServiceWindow
from simcluster.models.traffic.graph.service import Service

if TYPE_CHECKING:
    from simcluster.models.traffic.exact.graph import Engine


class Station:
    """One service.

    Attributes:
        window: figures of the present window.
        waiting, busy, working: requests in queues, workers held, workers at work, over all replicas.
        up: the replicas that serve.
        tracked: whether work in progress has to be found again (its speed can change).
    """

    __slots__ = (
        "_busy_area",
        "_queue_area",
        "_work_area",
        "busy",
        "caches",
        "chance",
        "engine",
        "name",
        "replicas",
        "since_ns",
        "spec",
        "tracked",
        "up",
        "waiting",
        "window",
        "working",
    )  # fmt: skip

    def __init__(self, engine: Engine, name: str, spec: Service, tracked: bool) -> None:
        self.engine = engine
        self.name = name
        self.spec = spec
        self.tracked = tracked or spec.heap is not None
        self.window = ServiceWindow()
        self.waiting = self.busy = self.working = 0
        self.since_ns = 0
        self._queue_area = self._busy_area = self._work_area = 0
        self.chance = Uniforms(engine.key("balancer", name))
        self.caches = {
            cache: Holding(one, engine.key("cache", name, cache)) for cache, one in spec.caches.items() if one.shared
        }
        self.replicas = [Replica(self, index) for index in range(spec.replicas)]
        self.up = list(self.replicas)

    def touch(self) -> None:
        """Add up queue and workers until now; before every change of them."""
        now = self.engine.loop.now
        elapsed = now - self.since_ns
        if elapsed:
            self._queue_area += elapsed * self.waiting
            self._busy_area += elapsed * self.busy
            self._work_area += elapsed * self.working
            self.since_ns = now

    def roll(self, length_ns: int) -> ServiceWindow:
        """Close the present window and begin another."""
        self.touch()
        done = self.window
        done.queue = self._queue_area / length_ns
        done.busy = self._busy_area / length_ns
        done.working = self._work_area / length_ns
        done.queue_end = self.waiting
        done.up = len(self.up)
        self._queue_area = self._busy_area = self._work_area = 0
        self.window = ServiceWindow()
        return done

    def choose(self, caller: Caller | Connections) -> Replica | None:
        """The replica for a caller's next request; None if none serves."""
        up = self.up
        count = len(up)
        if count <= 1:
            return up[0] if up else None
        how = self.spec.balancer
        if how == "random":
            return up[int(self.chance.draw() * count)]
        if how == "round_robin":
            turn = caller.turns.get(self.name)
            if turn is None:
                turn = int(self.chance.draw() * count)
            caller.turns[self.name] = turn + 1
            return up[turn % count]
        if how == "two_choices":
            first, second = up[int(self.chance.draw() * count)], up[int(self.chance.draw() * count)]
            return second if second.inside < first.inside else first
        fewest = min(replica.inside for replica in up)
        best = [replica for replica in up if replica.inside == fewest]
        return best[int(self.chance.draw() * len(best))] if len(best) > 1 else best[0]
