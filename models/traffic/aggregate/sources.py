"""Where requests come from: open, closed and replayed loads, as counts per tick.

Open and replayed arrivals are whole numbers. Of closed loads the answers that come back are counts, and
for each whole one a thinking time is drawn; of many at once equal parts think for each of its law's quantiles,
and only the rest is drawn.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic
from simcluster.engine.streams import (
    Streams,
    binomial_from_uniform,
    uniform_at,
    uniforms_at,
)
from simcluster.models.traffic.aggregate.draws import normals, uniforms
from simcluster.models.traffic.aggregate.durations import VALUES
from simcluster.models.traffic.aggregate.layout import Edge, Graph
from simcluster.models.traffic.graph.load import CURVE_STEP_NS, Load

Array = NDArray[np.float64]

#: Quantiles by which a thinking time is represented.
_QUANTILES = 64
#: Tables of the Poisson law that are kept.
_TABLES = 64


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
        self._tables: dict[float, Array] = {}  # of the means that were asked for last
        self._burst = streams.stream("traffic", "burst", name)
        self._bursting = False
        self._burst_ends = 0.0
        self._carried = 0.0
        self._instants = np.array(load.replay.instants() if load.replay is not None else [], dtype=np.int64)
        self.thinking = 0.0
        self.due = 0.0
        self._back = 0.0
        self._drawn = 0
        self.users = 0
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
        self._values = values
        self._delays = np.maximum(values[VALUES // (2 * _QUANTILES) :: VALUES // _QUANTILES], 0.0)
        self._ring = np.zeros(int(values[-1]) + 3)
        mean = load.closed.think.mean_ns / self._tick_ns
        spread = max(1, min(int(mean), len(self._ring) - 1))
        self._ring[:spread] += load.closed.users / spread
        self.users = load.closed.users
        self.thinking = float(load.closed.users)

    @property
    def wild(self) -> bool:
        """Whether the rate jumps by chance, so that queues are never stationary."""
        return self.load.replay is not None or (self.load.open is not None and self.load.open.burst is not None)

    def rates(self, tick: int) -> list[float]:
        """Expected requests in a tick, for each of its edges; of a replay those of the coming second."""
        if self.load.replay is not None:
            span = max(1, 1_000_000_000 // self._tick_ns)
            begin, end = np.searchsorted(self._instants, (tick * self._tick_ns, (tick + span) * self._tick_ns))
            mean = float(end - begin) / span
        else:
            mean = self.mean(tick)
        return [mean * weight for weight in self.weights]

    def steady_until(self, tick: int) -> int:
        """The tick before which the rate does not change."""
        if self.load.open is None or self.fixed is not None:
            return 1 << 60
        now = tick * self._tick_ns
        ends = [at for at in self.load.change_points() if at > now]
        if self.load.is_curved():
            ends.append((now // CURVE_STEP_NS + 1) * CURVE_STEP_NS)
        if self.load.open.burst is not None:
            self.mean(tick)
            ends.append(int(self._burst_ends))
        return max(tick + 1, min(ends) // self._tick_ns) if ends else 1 << 60

    def arrivals(self, tick: int, ticks: int = 1) -> list[float]:
        """Requests that begin in a tick (or several), for each of its edges."""
        if self.load.closed is not None:
            return self._split(self._closed(tick), tick)
        if self.load.replay is not None:
            begin, end = np.searchsorted(self._instants, (tick * self._tick_ns, (tick + ticks) * self._tick_ns))
            return self._split(int(end - begin), tick)
        mean = self.mean(tick) * ticks
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

    def arrivals_each(self, tick: int, ticks: int) -> Array:
        """The same of each of several ticks: [tick, edge]."""
        plain = self.load.open is not None and self.load.open.arrivals != "even" and not self.wild
        if not plain or self.steady_until(tick) < tick + ticks:
            return np.array([self.arrivals(at) for at in range(tick, tick + ticks)])
        found, mean = np.zeros((ticks, len(self.weights))), self.mean(tick)
        counters = np.arange(tick + 1, tick + 1 + ticks, dtype=np.uint64)[:, None]
        for weight, places, keys in self._alike:
            counts = self._poisson(mean * weight, uniforms(keys[None, :], counters).ravel())
            found[:, places] = np.array(counts, dtype=np.float64).reshape(ticks, len(places))
        return found

    def _poisson(self, mean: float, u: Array) -> list[int]:
        """Poisson counts of one mean by inversion, as `poisson_from_uniform` has them."""
        if mean > 64.0:  # Cornish and Fisher: the normal quantile, corrected for skewness
            z = normals(u)
            found: list[int] = np.maximum(np.floor(mean + np.sqrt(mean) * z + (z * z - 1.0) / 6.0 + 0.5), 0.0).tolist()
            return found
        if mean <= 0.0:
            return [0] * len(u)
        table = self._tables.get(mean)
        if table is None:
            if len(self._tables) >= _TABLES:
                self._tables.clear()
            table = self._tables[mean] = np.cumsum(self._probabilities(mean))
        counts: list[int] = np.searchsorted(table, u, side="left").tolist()
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
        count = max(0, math.floor(self.due + (uniform_at(self._keys[-1], tick + 1) if self.due % 1.0 else 0.0)))
        count = min(count, math.floor(self.thinking + 1e-6))
        self.due -= count
        self.thinking -= count
        return count

    def resize(self, users: int) -> None:
        """Another number of users of a closed load: new ones think first, others leave from among who thinks."""
        more = users - self.users
        self.users = users
        if more > 0:
            spread = max(1, min(len(self._ring) - 2, int(self._delays[len(self._delays) // 2]) + 1))
            self._ring[:spread] += more / spread
        elif more < 0:
            there = float(np.cumsum(self._ring)[-1]) + self.due
            part = max(0.0, 1.0 + more / there) if there > 0.0 else 1.0
            self._ring *= part
            self.due *= part
        self.thinking = max(0.0, self.thinking + more)

    def take_over(self, old: Source) -> None:
        """Go on where the same load of an older graph stood."""
        for name in ("factor", "fixed", "thinking", "due", "_bursting", "_burst_ends", "_carried", "_back", "_drawn"):
            setattr(self, name, getattr(old, name))
        if self.load.closed is not None and old.load.closed is not None:
            users, self.users = self.users, old.users
            self._ring[:] = 0.0
            for slot, amount in enumerate(old._ring.tolist()):
                self._ring[slot % len(self._ring)] += amount
            self.resize(users)

    def returned(self, tick: int, users: float) -> None:
        """So many users got their answer (or gave up) and begin to think."""
        if users == 0.0 or self.load.closed is None:
            return
        self._back += users
        whole = max(0, math.floor(self._back + 1e-9))
        self._back -= whole
        size, rest = len(self._ring), whole % _QUANTILES
        if whole >= _QUANTILES:
            np.add.at(self._ring, (tick + 1 + self._delays.astype(np.int64)) % size, float(whole // _QUANTILES))
        if rest:
            key = np.array([self._keys[-2]], dtype=np.uint64)
            counters = np.arange(self._drawn + 1, self._drawn + rest + 1, dtype=np.uint64)
            self._drawn += rest
            delays = self._values[(uniforms(key, counters) * VALUES).astype(np.int64)]
            np.add.at(self._ring, (tick + 1 + delays.astype(np.int64)) % size, 1.0)
        self.thinking += users
