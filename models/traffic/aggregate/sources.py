"""Where requests come from: open, closed and replayed loads, as counts per tick.

Open and replayed arrivals are whole numbers. Of closed loads the users who think are a number;
who finished thinking comes as a whole number too. Thinking times are spread over quantiles of
their law.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic
from simcluster.engine.streams import (
    Streams,
    binomial_from_uniform,
    poisson_from_uniform,
    uniform_at,
    uniforms_at,
)
from simcluster.models.traffic.aggregate.durations import VALUES
from simcluster.models.traffic.aggregate.layout import Edge, Graph
from simcluster.models.traffic.graph.load import CURVE_STEP_NS, Load

Array = NDArray[np.float64]

#: Quantiles by which a thinking time is represented.
_QUANTILES = 64


class Source:
    """One load.

    Attributes:
        factor: of its rate (events); `fixed`: the rate that an event sets, or None.
    """

    def __init__(self, name: str, load: Load, edges: list[Edge], graph: Graph, tick_ns: int, seed: int) -> None:
        self.name = name
        self.load = load
        self.edges = [edge.index for edge in edges]
        self.weights = [edge.weight for edge in edges]
        self.factor = 1.0
        self.fixed: float | None = None
        self._tick_ns = tick_ns
        streams = Streams(seed)
        self._keys = [streams.key("traffic", "load", name, i) for i in range(len(edges) + 2)]
        self._alike = self._by_weight()
        self._table_mean, self._table = -1.0, np.zeros(0)
        self._burst = streams.stream("traffic", "burst", name)
        self._bursting = False
        self._burst_ends = 0.0
        self._carried = 0.0
        self._instants = np.array(load.replay.instants() if load.replay is not None else [], dtype=np.int64)
        self.thinking = 0.0
        self.due = 0.0
        self._rate_tick, self._rate = -1, 0.0
        if load.closed is not None:
            self._start_thinking(load, graph)
        if load.open is not None and load.open.burst is not None:
            self._burst_ends = self._burst.exponential(float(load.open.burst.off))

    def _by_weight(self) -> list[tuple[float, list[int], NDArray[np.uint64]]]:
        """Targets of equal weight, which draw from one table."""
        places: dict[float, list[int]] = {}
        for place, weight in enumerate(self.weights):
            places.setdefault(weight, []).append(place)
        return [
            (weight, here, np.array([self._keys[i] for i in here], dtype=np.uint64)) for weight, here in places.items()
        ]

    def _start_thinking(self, load: Load, graph: Graph) -> None:
        assert load.closed is not None
        values = graph.values_of(load.closed.think) / self._tick_ns
        self._delays = np.maximum(values[VALUES // (2 * _QUANTILES) :: VALUES // _QUANTILES], 0.0)
        self._ring = np.zeros(int(self._delays[-1]) + 3)
        mean = load.closed.think.mean_ns / self._tick_ns
        spread = max(1, min(int(mean), len(self._ring) - 1))
        self._ring[:spread] += load.closed.users / spread
        self.thinking = float(load.closed.users)

    def arrivals(self, tick: int) -> list[float]:
        """Requests that begin in a tick, for each of its edges."""
        if self.load.closed is not None:
            return self._split(self._closed(tick), tick)
        if self.load.replay is not None:
            begin, end = np.searchsorted(self._instants, (tick * self._tick_ns, (tick + 1) * self._tick_ns))
            return self._split(int(end - begin), tick)
        mean = self.mean(tick)
        assert self.load.open is not None
        if self.load.open.arrivals == "even":
            self._carried += mean
            whole = math.floor(self._carried)
            self._carried -= whole
            return self._split(whole, tick)
        found = [0.0] * len(self.weights)
        for weight, places, keys in self._alike:
            counts = self._poisson(mean * weight, uniforms_at(keys, tick + 1))
            for place, count in zip(places, counts, strict=True):
                found[place] = float(count)
        return found

    def _poisson(self, mean: float, u: Array) -> list[int]:
        """Poisson counts of one mean by inversion, as `poisson_from_uniform` has them."""
        if mean <= 0.0 or mean > 64.0:
            return [poisson_from_uniform(mean, x) for x in u.tolist()]
        if mean != self._table_mean:
            self._table_mean = mean
            self._table = np.cumsum(self._probabilities(mean))
        counts: list[int] = np.searchsorted(self._table, u, side="left").tolist()
        return counts

    @staticmethod
    def _probabilities(mean: float) -> Array:
        most = int(mean + 12.0 * math.sqrt(mean) + 24.0)
        found = np.empty(most)
        probability = arithmetic.exp(-mean)
        for count in range(most):
            found[count] = probability
            probability = probability * mean / (count + 1)
        return found

    def mean(self, tick: int) -> float:
        """Expected requests in a tick of an open load."""
        t_ns = tick * self._tick_ns
        if self.fixed is not None:
            rate = self.fixed
        else:
            step = t_ns // CURVE_STEP_NS if self.load.is_curved() else tick
            if step != self._rate_tick:
                at = step * CURVE_STEP_NS + CURVE_STEP_NS // 2 if self.load.is_curved() else t_ns
                self._rate_tick, self._rate = step, self.load.rate_at(at)
            rate = self._rate
        assert self.load.open is not None
        burst = self.load.open.burst
        if burst is not None:
            while t_ns >= self._burst_ends:
                self._bursting = not self._bursting
                self._burst_ends += self._burst.exponential(float(burst.on if self._bursting else burst.off))
            rate *= burst.factor if self._bursting else 1.0
        return rate * self.factor * self._tick_ns / 1e9

    def _split(self, count: int, tick: int) -> list[float]:
        found, left, weight = [], count, 1.0
        for index, share in enumerate(self.weights):
            last = index == len(self.weights) - 1
            p = min(1.0, share / weight) if weight > 0.0 else 1.0
            here = left if last else binomial_from_uniform(left, p, uniform_at(self._keys[index], tick + 1))
            left -= here
            weight -= share
            found.append(float(here))
        return found

    def _closed(self, tick: int) -> int:
        slot = tick % len(self._ring)
        self.due += self._ring[slot]
        self._ring[slot] = 0.0
        u = uniform_at(self._keys[-1], tick + 1)
        count = poisson_from_uniform(self.due, u) if self.due > 0.0 else 0
        if self.load.closed is not None and self.load.closed.think.scv < 0.01:
            count = math.floor(self.due + u)
        count = min(count, math.floor(self.thinking + 1e-6))
        self.due -= count
        self.thinking -= count
        return count

    def returned(self, tick: int, users: float) -> None:
        """So many users got their answer (or gave up) and begin to think."""
        if users == 0.0:
            return
        size = len(self._ring)
        slots = (tick + 1 + self._delays.astype(np.int64)) % size
        np.add.at(self._ring, slots, users / len(self._delays))
        self.thinking += users
