"""Queues of several priorities before the same workers: who has a higher one goes first.

Requests of a priority and all higher ones together are a queue of their own, for nobody else is taken while one
of them waits: its length moves by the same law as that of any queue, with the same noise of service for all
priorities. What a priority has in it is the difference to the next higher one; among equals the first come is the
first served. Who finds the workers busy with lower priorities waits for what is left of their work (Cobham 1954):
`held_up` says how often, `held_for` how long.

Approximations: those delays are not in the judgement of deadlines; whoever finds no place is refused, whatever
his priority (as in `exact`), by the chance of all.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate import stationary
from simcluster.models.traffic.aggregate.layout import Layout
from simcluster.models.traffic.aggregate.priorities import MARK, base_of
from simcluster.models.traffic.aggregate.queues import Noise, Queues
from simcluster.models.traffic.aggregate.stationary import waiting_chance

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: What higher priorities leave of the rate at least, for forecasts.
_LEFT = 0.02


class RankedQueues(Queues):
    """Queues some of which are linked.

    Attributes:
        together: number in the pod with all higher priorities of its group.
    """

    def __init__(self, layout: Layout, slots: int) -> None:
        #: pods of a priority, those of the next higher one (-1: none), highest priorities first; and the lowest of each
        self._steps = _steps_of(layout)
        self._lowest = np.arange(layout.pods)
        for pods, above in reversed(self._steps):
            self._lowest[above] = self._lowest[pods]
        self.linked = np.zeros(layout.pods, dtype=bool)
        for pods, above in self._steps:
            self.linked[pods] = self.linked[above] = True
        self.together = np.zeros(layout.pods)
        self._whole = np.zeros(layout.pods)
        self.held_up = self.held_for = np.zeros(layout.pods)
        super().__init__(layout, slots)

    def _summed(self, values: Array) -> Array:
        """With those of all higher priorities."""
        result = values.copy()
        for pods, above in self._steps:
            result[pods] += result[above]
        return result

    def _own(self, values: Array) -> Array:
        """Without those of higher priorities."""
        result = values.copy()
        for pods, above in self._steps:
            result[pods] = np.maximum(values[pods] - values[above], 0.0)
        return result

    def _spread(self) -> None:
        offered = self._summed(self.offered)
        rho = np.minimum(offered / np.maximum(self.rate, 1e-12), stationary.RHO_MAX)
        row = stationary.at_utilisation(self._tables, self._kind, rho)
        self.shift = np.where(self.linked & ~self.slow, row[:, 0], self.shift)
        self.noise = np.where(self.linked, row[:, 1], self.noise)
        everybody = waiting_chance(rho[self._lowest], self.layout.servers)
        self.held_up = np.where(self.linked, np.maximum(everybody - waiting_chance(rho, self.layout.servers), 0.0), 0.0)
        self.held_for = 0.5 * (1.0 + self._scv) / np.maximum(self.rate * (1.0 - rho), 1e-12)
        own, self.offered = self.offered, offered
        super()._spread()
        self.offered, self._whole = own, self.rate.copy()
        self.rate = np.maximum(self.rate - (offered - own), _LEFT * self.rate)

    def begin(self, tick: int, noise: Noise) -> None:
        """The start of a tick."""
        left, self.rate = self.rate, self._whole
        shared = (noise[0][self._lowest], noise[1][self._lowest], noise[2][self._lowest])
        super().begin(tick, (*shared, noise[3]))
        self.rate = left

    def _slow_rates(self) -> None:
        own, self.number = self.number, self.together
        super()._slow_rates()
        self.number = own

    def step(self, level: int, calls: Array) -> Array:
        """Let the attempts of a level's edges into its pods for one tick."""
        layout = self.layout
        pods, lanes = layout.level_pods[level], layout.level_lanes[level]
        come = self.splits.fallen(level, calls[layout.lane_edge[lanes]] * self.share[lanes], self._noise[3])
        arrived = np.zeros(layout.pods)
        arrived[pods] = np.bincount(self._local[level], come * layout.relative[lanes], pods.stop - pods.start)
        units = self._summed(arrived)
        left, self.rate = self.rate, self._whole
        if self.bounded:
            come = self._refuse(level, come, arrived, units)
        else:
            x = units[pods] + self._drift[pods]
            self.together[pods] = np.maximum(self.together[pods] + x, 0.5 * (x + np.sqrt(x * x + self._low[pods])))
        self.rate = left
        if self.has_infinite:
            self.together[pods] = np.where(layout.infinite[pods], 0.0, self.together[pods])
        for here, above in self._steps:
            self.together[here] = np.maximum(self.together[here], self.together[above])
        number = self._own(self.together)
        self.number[pods], self.arrived[pods] = number[pods], arrived[pods]
        shift = self.shift
        self.shift = np.where(self.linked, number - self._own(np.maximum(self.together - shift, 0.0)), shift)
        out = self._leave(level, come, arrived[pods], number[pods])
        self.shift = shift
        return out

    def _refuse(self, level: int, come: Array, arrived: Array, units: Array) -> Array:
        """Who finds no place: the same share of all priorities. Changes `arrived`; the attempts that come in."""
        layout = self.layout
        pods, lanes = layout.level_pods[level], layout.level_lanes[level]
        own, self.number = self.number, self.together
        lifted, _, admitted = self._bound(level, come, units[pods])
        self.number = own
        share = np.zeros(layout.pods)
        share[pods] = 1.0 - admitted / np.maximum(units[pods], 1e-300)
        among = np.where(units[self._lowest] > 0.0, share[self._lowest], 0.0)
        self.together[pods] = np.maximum(lifted - np.maximum(among - share, 0.0)[pods] * units[pods], 0.0)
        arrived *= 1.0 - among
        self.refused[lanes] = come * among[layout.lane_pod[lanes]]
        return come - self.refused[lanes]

    def wait(self) -> Array:
        """Mean wait of who arrives now, in ticks: until all of his priority and higher ones have begun."""
        result: Array = self._summed(self.waiting) / np.maximum(self.rate, 1e-12)
        return result

    def withdraw(self, amounts: Array, *, oldest: bool = False) -> None:
        """Requests taken out of the queues, by lane; the `oldest` stood at the head."""
        before = self.number.copy()
        super().withdraw(amounts, oldest=oldest)
        self.together = np.maximum(self.together - self._summed(before - self.number), 0.0)

    def empty(self, pods: Index) -> None:
        """All that the pods hold is gone."""
        super().empty(pods)
        self.together = self._summed(self.number)


def has_ranks(layout: Layout) -> bool:
    """Whether a service has a queue for each of several priorities."""
    return any(MARK in name for name in layout.graph.service_names)


def _steps_of(layout: Layout) -> list[tuple[Index, Index]]:
    groups: dict[str, list[int]] = {}
    for service, name in enumerate(layout.graph.service_names):
        if MARK in name:
            groups.setdefault(base_of(name), []).append(service)
    found: list[tuple[Index, Index]] = []
    for services in groups.values():
        services.sort(key=_priority(layout), reverse=True)
        for above, here in itertools.pairwise(services):
            count = np.arange(layout.replicas[here])
            found.append((layout.first_pod[here] + count, layout.first_pod[above] + count))
    return found


class _priority:
    def __init__(self, layout: Layout) -> None:
        self._names = layout.graph.service_names

    def __call__(self, service: int) -> int:
        return int(self._names[service].partition(MARK)[2])
