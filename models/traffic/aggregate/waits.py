"""Waits in stationary queues, drawn from their laws instead of from ticks.

While a graph is calm its ticks are wide, and who waits how long follows from theory: a request
waits with a probability (Erlang C; Kraemer and Langenbach-Belz for arrivals other than Poisson), and
then a time whose first two moments are those of M/G/1 (Pollaczek, Khinchine; Whitt for several
servers), drawn from two exponentials, one after the other or one of them.

One server with other services than exponential ones, queues with few places, and queues that serve who came
last have their exact laws (`lattice`).

Balancers that look at queues: of the shortest of n queues the wait is a number of services that
falls by rho^n from one to the next, after all servers are busy as in one queue for all; of two
drawn ones the fixed point of the supermarket model (Mitzenmacher 2001) with the chance to draw the
same one twice, and a tail that falls no faster than that.

Left out: departures of one queue count as Poisson arrivals of the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic
from simcluster.models.traffic.aggregate.draws import exponentials
from simcluster.models.traffic.aggregate.fast import kernels
from simcluster.models.traffic.aggregate.lattice import (
    Batches,
    Busy,
    Equal,
    Line,
    Stages,
    batch_waits,
    full_waits,
    general_waits,
    impatient_waits,
    line_of,
    newest_first,
)  # fmt: skip
from simcluster.models.traffic.aggregate.stationary import erlang_c

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Law = Line | Stages | Busy | Equal

#: Places of a queue up to which its law is worked out, if it is full so often; and by how much the squared
#: variation of service may differ from 1 to be taken for an exponential law.
MOST_PLACES, _EVER_FULL, _SIMPLE = 400, 1e-4, 0.02
#: Services waited for at most, where a balancer looks at queues.
STAGES = 60
_SAME_RHO, _SAME_SCV = 1 << 9, 1 << 7
#: Laws worked out that are kept.
_REMEMBERED = 256
#: Of few queues two drawn ones wait longer than of many; fitted to 4 queues at 0.5, 0.7 and 0.85.
_FEW = 0.85


@dataclass(frozen=True)
class Station:
    """A queue: utilisation, servers, squared variation and E[S^3]/E[S]^3 of service, squared variation of arrivals,
    whether who came last is served first, places to wait (None: no bound), which operations it serves how often, and
    equally likely times (in mean services) after which who waits is not served any more (none: all are), and chances
    of 1, 2, ... requests at once (none: they come one by one).
    """

    rho: float
    servers: int
    scv: float
    third: float
    arrivals: float = 1.0
    newest_first: bool = False
    places: int | None = None
    mix: tuple[tuple[int, float], ...] = ()
    patience: tuple[float, ...] = ()
    batches: tuple[float, ...] = ()


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
    """Waits of all pods of a calm graph, in ticks.

    Args:
        nodes: values, ascending, and their probabilities of the work of every node.
        compiled: whether laws may be worked out by compiled functions.
    """

    def __init__(self, nodes: Sequence[tuple[Array, Array]] = (), *, compiled: bool = False) -> None:
        self._nodes, self._compiled = nodes, compiled
        self._known: dict[Station, Wait] = {}
        self._found: dict[Station | tuple[str, int, int, float, float], Law] = {}
        self.chance: Array = np.zeros(0)
        self.mean: Array = np.zeros(0)
        #: what the laws were worked out from, as whoever settles them knows it
        self.basis: Array = np.zeros(0)

    def settle(self, stations: list[Station], balancers: Sequence[tuple[str, int]], service: Array) -> None:
        """Work out the laws.

        Args:
            stations: of every pod.
            balancers: of every pod, and among how many it chooses.
            service: mean time of service of every pod, in ticks.
        """
        count = len(stations)
        self.chance, self._first, self._second, self._mixed = (np.zeros(count) for _ in range(4))
        self.mean = np.zeros(count)
        self._law_of = np.full(count, -1, dtype=np.int64)
        self._service = service
        self._laws: list[Law] = []
        if len(self._found) > _REMEMBERED:
            self._found.clear()
        if len(self._known) > 8 * _REMEMBERED:
            self._known.clear()
        for pod, station in enumerate(stations):
            rounded = replace(station, rho=round(station.rho * _SAME_RHO) / _SAME_RHO)
            if len(station.mix) != 1:  # of several operations the mixture changes all the time
                scv, third = round(station.scv * _SAME_SCV) / _SAME_SCV, round(station.third * 16.0) / 16.0
                rounded = replace(rounded, scv=scv, third=third)
            law = self._law(rounded, *balancers[pod])
            if law is not None:
                place = next((at for at, known in enumerate(self._laws) if known is law), len(self._laws))
                if place == len(self._laws):
                    self._laws.append(law)
                self._law_of[pod] = place
                self.mean[pod] = law.mean * service[pod]
                continue
            if rounded not in self._known:
                self._known[rounded] = wait_of(rounded)
            simple = self._known[rounded]
            self.chance[pod], self._mixed[pod] = simple.chance, simple.mixed
            self._first[pod], self._second[pod] = simple.first * service[pod], simple.second * service[pod]
            self.mean[pod] = simple.mean * service[pod]

    def _law(self, station: Station, balancer: str, among: int) -> Law | None:
        """The law of a station, if it is not a simple one."""
        rho, servers, scv = station.rho, station.servers, station.scv
        if rho <= 1e-9:
            return None
        if balancer in ("least_requests", "two_choices") and among > 1 and rho < 1.0:
            key = (balancer, among, servers, rho, scv)
            if key not in self._found:
                each = 0.5 * (1.0 + scv) / servers
                if balancer == "two_choices":
                    each *= 1.0 + _FEW * rho * rho * rho * rho / among
                self._found[key] = Stages(np.array(stages_of(balancer, among, servers, rho)[::-1]), each, 1.0)
            return self._found[key]
        if station not in self._found:
            law = self._work_out(station)
            if law is None:
                return None
            self._found[station] = law
        return self._found[station]

    def _work_out(self, station: Station) -> Law | None:
        rho, servers, scv = station.rho, station.servers, station.scv
        if station.patience:
            return impatient_waits(rho, servers, scv, station.patience)
        if station.newest_first:
            return newest_first(erlang_c(min(servers, 2000), rho) if rho < 1.0 else 1.0, rho, servers, scv)
        if station.places is not None and station.places <= MOST_PLACES:
            law, full = full_waits(rho, servers, station.places, scv)
            if full > _EVER_FULL:
                return law
        if rho >= 1.0 or station.arrivals != 1.0:
            return None
        if station.batches:
            return batch_waits(rho, servers, station.batches, scv)
        if servers > 1 or not station.mix or abs(scv - 1.0) < _SIMPLE:
            return None
        return general_waits(*self._mixture(station.mix), rho, kernels() if self._compiled else None)

    def _mixture(self, mix: tuple[tuple[int, float], ...]) -> tuple[Array, Array]:
        """Values of the service, in its mean, and their probabilities."""
        values = np.concatenate([self._nodes[node][0] for node, _ in mix])
        weights = np.concatenate([self._nodes[node][1] * share for node, share in mix])
        order = np.argsort(values, kind="stable")
        values, weights = values[order], weights[order]
        weights = weights / float(np.cumsum(weights)[-1])
        return values / float(np.cumsum(values * weights)[-1]), weights

    def draw(self, pod: Index, u: Array, v: Array, w: Array, rank: int = 0) -> Array:
        """Waits of requests at these pods, from three independent uniforms each.

        Args:
            rank: theirs among those that come at once (from 1), if it is known.
        """
        one, two = exponentials(1.0 - v), exponentials(1.0 - w)
        mixed = self._mixed[pod]
        part = u / np.maximum(self.chance[pod], 1e-300)
        either = np.where(part < mixed, self._first[pod], self._second[pod]) * one
        both = self._first[pod] * one + self._second[pod] * two
        result: Array = np.where(u < self.chance[pod], np.where(mixed < 0.0, both, either), 0.0)
        return self.other(pod, (u, v, w), result, rank)

    @property
    def simple(self) -> tuple[Array, Array, Array, Array]:
        """Of every pod the chance to wait, that of the first exponential or below 0 for both, and their means."""
        return self.chance, self._mixed, self._first, self._second

    def below(self, pod: Index, t: Array) -> Array:
        """P(wait <= t) at pods, a row of instants for each; in ticks."""
        first, second = (np.maximum(each[pod], 1e-12)[:, None] for each in (self._first, self._second))
        mixed, here = self._mixed[pod][:, None], np.maximum(t, 0.0)
        one, two = (arithmetic.exp_array(-np.minimum(here / each, 600.0)) for each in (first, second))
        alike = np.abs(first - second) <= 1e-6 * first
        apart = (first * one - second * two) / np.where(alike, 1.0, first - second)
        both = np.where(alike, (1.0 + here / first) * one, apart)
        beyond = self.chance[pod][:, None] * np.where(mixed < 0.0, both, mixed * one + (1.0 - mixed) * two)
        result: Array = np.where(t >= 0.0, 1.0 - beyond, 0.0)
        which = self._law_of[pod]
        for number, law in enumerate(self._laws):
            rows = np.nonzero(which == number)[0]
            if len(rows):
                line = line_of(law)
                at = t[rows] / self._service[pod[rows]][:, None]
                result[rows] = np.where(at >= 0.0, np.interp(at, line.at, line.below), 0.0)
        return result

    def other(self, pod: Index, drawn: Sequence[Array] | Array, waits: Array, rank: int = 0) -> Array:
        """The same waits, but of pods with laws of their own by those, as of `draw`."""
        which = self._law_of[pod]
        for number in (np.nonzero(np.bincount(which + 1)[1:])[0]).tolist():
            law, here = self._laws[number], np.nonzero(which == number)[0]
            u, v, w = (each[here] for each in drawn)
            if rank > 0 and isinstance(law, Batches):
                found = law.draw_at(rank, u, v, w)
            else:
                found = law.draw(u, v, w)
            waits[here] = self._service[pod[here]] * found
        return waits
