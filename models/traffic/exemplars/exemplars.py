"""Which requests of users are followed: head sampling, a few a second.

A sampler of a tracing library lets through what it lets through; of that, at most so many requests of each group of
users are followed as the tick grid can carry, all alike probable. The draws are those of a stream of its own: what the
users do is the same with and without.
"""

from __future__ import annotations

from typing import Protocol

from simcluster.engine import SECOND, Simulation, Timer
from simcluster.engine.streams import binomial_from_uniform, mix, uniform_at
from simcluster.models.traffic.cluster.nodes import Layout
from simcluster.models.traffic.cluster.server import Server
from simcluster.models.traffic.cluster.statistics import History, Tick
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.models.traffic.exemplars.follower import Follower, Traffic

#: Requests a second that are followed of each group of users: some 7 % of the time of a small application.
MOST_PER_SECOND = 0.5


class Watched(Traffic, Protocol):
    """What is sampled: besides the plan the users it was made for, and what they did."""

    history: History

    @property
    def planned(self) -> list[UserLoad]:
        """Users of the plan, in the order of its roots."""


class Exemplars:
    """Follows exemplar requests while some program of the cluster traces.

    Attributes:
        most_per_second: of each group of users.
    """

    def __init__(self, sim: Simulation, traffic: Watched, tick_ns: int) -> None:
        self._sim = sim
        self._traffic = traffic
        self._tick_ns = tick_ns
        self.most_per_second = MOST_PER_SECOND
        self._follower = Follower(traffic)
        self._timer: Timer | None = None
        self._until_ns = 0
        self._layout: Layout | None = None
        self._stopped = False

    @property
    def now_ns(self) -> int:
        """The instant up to which everything was followed, or is being followed."""
        return self._sim.now

    def watch(self) -> None:
        """Some program traces."""
        if self._timer is None and not self._stopped:
            self._until_ns = self._sim.now
            self._timer = self._sim.every(self._tick_ns, self._tick)

    def stop(self) -> None:
        """Nobody will see any of them: follow none any more, for good."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def printing(self, now_ns: int) -> dict[str, Server]:
        """Follow up to an instant; servers whose requests print something, by container id, since this was asked."""
        if self._timer is None:
            return {}
        self._follow(now_ns)
        found, self._follower.printing = self._follower.printing, {}
        return found

    def _tick(self) -> None:
        self._follow(self._sim.now)

    def _follow(self, now: int) -> None:
        traffic = self._traffic
        if traffic.plan.layout is not self._layout:
            self._layout = traffic.plan.layout
            self._follower.lose(now)
            ratios = [server.tracer.ratio for server in traffic.servers.values() if server.tracer is not None]
            self._follower.ratio = max(ratios, default=0.0)
            if not ratios and self._follower.is_idle and self._timer is not None:
                self._timer.cancel()
                self._timer = None
                return
        for tick in traffic.history.samples(self._until_ns, now):
            self._begin(tick)
            self._until_ns = tick.t_ns
        self._follower.advance(now)

    def _begin(self, tick: Tick) -> None:
        """Requests of a period that are followed."""
        start, end, ratio = self._until_ns, tick.t_ns, self._follower.ratio
        if ratio <= 0.0 or end <= start:
            return
        for index, load in enumerate(self._traffic.planned):
            record = tick.detail.loads.get(f"{load.namespace}/{load.name}")
            if record is None or not record.attempts or not self._traffic.plan.roots[index]:
                continue
            key = mix(self._sim.streams.key("exemplars", load.namespace, load.name), end)
            share = min(ratio, self.most_per_second * (end - start) / SECOND / record.attempts)
            for number in range(binomial_from_uniform(record.attempts, share, uniform_at(key, 0))):
                own = mix(key, 1 + number)
                place = self._entered(index, uniform_at(own, -1))
                began = start + int(uniform_at(own, -2) * (end - start))
                self._follower.begin(own, (load.name, place), index, began)

    def _entered(self, load: int, uniform: float) -> int:
        """By which of their operations a request of users comes."""
        edges = self._traffic.plan.roots[load]
        for place, edge in enumerate(edges):
            uniform -= edge.call.count
            if uniform <= 0.0:
                return place
        return len(edges) - 1
