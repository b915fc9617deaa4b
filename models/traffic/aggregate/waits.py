"""Waits in stationary queues, drawn from their laws instead of from ticks.

While a graph is calm its ticks are wide, and who waits how long follows from theory: a request
waits with a probability (Erlang C; Kraemer and Langenbach-Belz for arrivals other than Poisson), and
then a time whose first two moments are those of M/G/1 (Pollaczek, Khinchine; Whitt for several
servers), drawn from two exponentials, one after the other or one of them.

Balancers that look at queues: of the shortest of n queues the wait is a number of services that
falls by rho^n from one to the next, after all servers are busy as in one queue for all; of two
drawn ones the fixed point of the supermarket model (Mitzenmacher 2001) with the chance to draw the
same one twice, and a tail that falls no faster than that.

Left out: departures of one queue count as Poisson arrivals of the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic
from simcluster.models.traffic.aggregate.draws import exponentials, normals
from simcluster.models.traffic.aggregate.stationary import erlang_c

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Services waited for at most, where a balancer looks at queues.
STAGES = 60
_SAME_RHO = 1 << 9
#: Of few queues two drawn ones wait longer than of many; fitted to 4 queues at 0.5, 0.7 and 0.85.
_FEW = 0.85


@dataclass(frozen=True)
class Station:
    """A queue: utilisation, servers, squared variation and E[S^3]/E[S]^3 of service, squared variation of arrivals,
    and whether who came last is served first."""

    rho: float
    servers: int
    scv: float
    third: float
    arrivals: float = 1.0
    newest_first: bool = False


@dataclass(frozen=True)
class Wait:
    """Chance to wait; then two exponentials of means `first`, `second` (in mean services): with `mixed` >= 0 the
    first one with that probability and else the second, with `mixed` below 0 one after the other."""

    chance: float
    first: float
    second: float
    mixed: float

    @property
    def mean(self) -> float:
        """Mean wait, in mean services."""
        if self.mixed < 0.0:
            return self.chance * (self.first + self.second)
        return self.chance * (self.mixed * self.first + (1.0 - self.mixed) * self.second)


def wait_of(station: Station) -> Wait:
    """The law of the wait at a station with utilisation below 1."""
    rho, c, scv, ca = station.rho, station.servers, station.scv, station.arrivals
    if rho <= 1e-9:
        return Wait(0.0, 0.0, 0.0, 0.0)
    chance = erlang_c(min(c, 2000), rho)
    mean = chance / (c * (1.0 - rho)) * 0.5 * (ca + scv)
    if ca != 1.0:
        mean *= arithmetic.exp(-2.0 * (1.0 - rho) * (1.0 - ca) * (1.0 - ca) / (3.0 * rho * max(ca + scv, 1e-9)))
        below = 1.0 + rho * (scv - 1.0) + rho * rho * (4.0 * ca + scv)
        sigma = rho + (ca - 1.0) * rho * (1.0 - rho) * (1.0 + ca + rho * scv) / max(below, 1e-9)
        chance *= min(max(sigma / rho, 0.05), 1.0)
    # Whitt 1993: squared variation of the wait of those who wait
    spread = 2.0 * rho - 1.0 + 4.0 * (1.0 - rho) * station.third / (3.0 * (scv + 1.0) * (scv + 1.0))
    if station.newest_first:  # E[W^2] is that of first come, first served, divided by 1 - rho
        spread = (1.0 + spread) / (1.0 - rho) - 1.0
    return _fitted(chance, mean / max(chance, 1e-300), spread)


def _fitted(chance: float, mean: float, spread: float) -> Wait:
    if spread > 1.0 + 1e-9:
        p = 0.5 * (1.0 + math.sqrt((spread - 1.0) / (spread + 1.0)))
        return Wait(chance, mean / (2.0 * p), mean / (2.0 * (1.0 - p)), p)
    root = math.sqrt(max(2.0 * spread - 1.0, 0.0))
    return Wait(chance, 0.5 * mean * (1.0 + root), 0.5 * mean * (1.0 - root), -1.0)


def stages_of(balancer: str, pods: int, servers: int, rho: float) -> list[float]:
    """P(at least k services to wait for), k from 1, at the queue that a balancer chooses."""
    found: list[float] = []
    tail = arithmetic.power(rho, float(pods)) if rho > 0.0 else 0.0
    if balancer == "least_requests":
        now = erlang_c(min(pods * servers, 2000), rho)
        while len(found) < STAGES and now > 1e-9:
            found.append(now)
            now *= tail
        return found
    busy = erlang_c(min(servers, 2000), rho)
    level, same = busy, 1.0 / pods
    while len(found) < STAGES:
        now = same * level + (1.0 - same) * level * level
        if found:
            now = max(now, found[-1] * tail)
        if now < 1e-9:
            break
        found.append(now)
        level = rho * now
    return found


class CalmWaits:
    """Waits of all pods of a calm graph, in ticks."""

    def __init__(self) -> None:
        self._known: dict[Station, Wait] = {}
        self._stages: dict[tuple[str, int, int, float], list[float]] = {}
        self.chance: Array = np.zeros(0)
        self.mean: Array = np.zeros(0)

    def settle(
        self, stations: list[Station], balancers: Sequence[tuple[str, int]], service: Array, longest: Array
    ) -> None:
        """Work out the laws.

        Args:
            stations: of every pod.
            balancers: of every pod, and among how many it chooses.
            service: mean time of service of every pod, in ticks.
            longest: wait in a full queue of every pod, in ticks; infinite without a bound.
        """
        self._longest = longest
        count = len(stations)
        self.chance, self._first, self._second, self._mixed = (np.zeros(count) for _ in range(4))
        self.mean = np.zeros(count)
        self._staged = np.full(count, -1, dtype=np.int64)
        self._each = np.zeros(count)
        rows: list[list[float]] = []
        for pod, station in enumerate(stations):
            rounded = Station(round(station.rho * _SAME_RHO) / _SAME_RHO, *list(station.__dict__.values())[1:])
            balancer, among = balancers[pod]
            if balancer in ("least_requests", "two_choices") and among > 1:
                key = (balancer, among, station.servers, rounded.rho)
                if key not in self._stages:
                    self._stages[key] = stages_of(*key)
                self._staged[pod] = len(rows)
                rows.append(self._stages[key])
                self._each[pod] = service[pod] / station.servers * 0.5 * (1.0 + station.scv)
                if balancer == "two_choices":
                    self._each[pod] *= 1.0 + _FEW * station.rho * station.rho * station.rho * station.rho / among
                self.mean[pod] = math.fsum(rows[-1]) * self._each[pod]
                self.chance[pod] = rows[-1][0] if rows[-1] else 0.0
                continue
            if rounded not in self._known:
                self._known[rounded] = wait_of(rounded)
            law = self._known[rounded]
            self.chance[pod], self._mixed[pod] = law.chance, law.mixed
            self._first[pod], self._second[pod] = law.first * service[pod], law.second * service[pod]
            self.mean[pod] = law.mean * service[pod]
        self._rows = np.zeros((len(rows), STAGES))
        for row, values in enumerate(rows):
            self._rows[row, : len(values)] = values

    def draw(self, pod: Index, u: Array, v: Array, w: Array) -> Array:
        """Waits of requests at these pods, from three independent uniforms each."""
        # who finds a full queue does not wait: the long waits are cut off
        scale = np.maximum(np.maximum(self._first[pod], self._second[pod]), 1e-9)
        room = np.minimum(self._longest[pod] / scale, 600.0)
        kept = 1.0 - np.where(room < 30.0, arithmetic.exp_array(-room), 0.0)
        one, two = exponentials(1.0 - kept * v), exponentials(1.0 - kept * w)
        mixed = self._mixed[pod]
        part = u / np.maximum(self.chance[pod], 1e-300)
        either = np.where(part < mixed, self._first[pod], self._second[pod]) * one
        both = self._first[pod] * one + self._second[pod] * two
        result: Array = np.where(u < self.chance[pod], np.where(mixed < 0.0, both, either), 0.0)
        staged = np.nonzero(self._staged[pod] >= 0)[0]
        if len(staged):
            rows = self._rows[self._staged[pod[staged]]]
            count = np.add.reduce((u[staged, None] < rows).astype(np.float64), axis=1)
            result[staged] = self._each[pod[staged]] * _erlang(count, v[staged], w[staged])
        return result


def _erlang(count: Array, v: Array, w: Array) -> Array:
    """Sums of `count` exponentials of mean 1: two exact, more by the cube of a normal (Wilson, Hilferty)."""
    rest = np.maximum(count - 1.0, 1e-9)
    cube = 1.0 - 1.0 / (9.0 * rest) + normals(w) / (3.0 * np.sqrt(rest))
    several = rest * np.maximum(cube, 0.0) * np.maximum(cube, 0.0) * np.maximum(cube, 0.0)
    first = exponentials(v)
    second = np.where(count == 2.0, exponentials(w), several)
    return np.where(count < 1.0, 0.0, first + np.where(count > 1.0, second, 0.0))
