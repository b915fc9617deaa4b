"""Laws of waits that are no sum of exponentials, worked out on a lattice or by counting services.

- `general_waits`: one server with any law of service (M/G/1). The wait is a sum of a geometric number of
  residual services (Pollaczek, Khinchine); its probabilities on a lattice follow from each other (Panjer's
  recursion): w(n) = rho sum over j of r(j) w(n - j).
- `full_waits`: a queue with few places (M/M/c/K): who is let in finds so many to be served before him.
- `impatient_waits`: who waits too long leaves the queue, or is not served when his turn comes (M/M/c+G): the wait that
  an arrival is offered has a density in proportion to exp(lambda * integral of P(patience > x) - c mu w).
- `batch_waits`: requests that come several at once (the arms of a fork): a batch meets the number that the balance of
  flows over each level gives, min(n, c) mu p(n) = lambda sum over j < n of p(j) P(size >= n - j), and each of its
  requests waits for those of the batch before it, too (M^X/M/c).
- `newest_first`: who came last is served first: a wait is the rest R of a service and the busy periods of those who
  come meanwhile. Of M/M/1 that is a busy period, whose number of services has the law
  p(n) = Catalan(n - 1) rho^(n-1)/(1 + rho)^(2n-1); of equal services the wait is R + n, R uniform, and n has the law
  that the ballot theorem gives, p(n | R) = R/(R + n) exp(-rho (R + n)) (rho (R + n))^n/n!, in services.

Sources: Takacs, Introduction to the Theory of Queues, 1962 (delayed busy periods); Asmussen, Applied Probability and
Queues, X.9; Panjer 1981; Kleinrock, Queueing Systems I, 5.8 and 5.9; Baccelli and Hebuterne, On queues with impatient
customers, 1981; Chaudhry and Templeton, A First Course in Bulk Queues, 1983.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import Shared, arithmetic
from simcluster.models.traffic.aggregate.draws import exponentials, normals, uniforms

Array = NDArray[np.float64]

#: Points of a lattice, and how many mean waits of those who wait it reaches.
_POINTS, _REACH = 1200, 12.0
#: Services in a busy period at most.
_LONGEST_BUSY = 20_000
#: Longer ones are rarer than this; rests of a service told apart, and numbers of whole ones that change their law.
_NEVER_BUSY, _RESTS, _APART = 1e-7, 16, 6
#: Requests in a queue of batches at most, and the chance of more that is left out.
_MOST_INSIDE, _NEVER_MORE = 20_000, 1e-9
#: A squared variation so near to 1 is that of an exponential law.
_EXPONENTIAL = 0.02


@dataclass(frozen=True)
class Line(Shared):
    """A law of waits as points of P(W <= t), with straight lines between them; t in mean services."""

    at: Array
    below: Array

    @property
    def mean(self) -> float:
        """Mean wait."""
        beyond = 1.0 - self.below
        return float(np.cumsum(0.5 * (beyond[1:] + beyond[:-1]) * np.diff(self.at))[-1])

    def draw(self, u: Array, v: Array, w: Array) -> Array:
        """Waits, from three independent uniforms each."""
        result: Array = np.interp(u, self.below, self.at)
        return result


@dataclass(frozen=True)
class Stages(Shared):
    """Waits for a number of services.

    Attributes:
        rarer: P(at least k to wait for), from the largest k down to 1.
        each: mean time of one; `scv` its squared variation.
    """

    rarer: Array
    each: float
    scv: float

    @property
    def mean(self) -> float:
        """Mean wait."""
        return float(np.cumsum(self.rarer)[-1]) * self.each if len(self.rarer) else 0.0

    def draw(self, u: Array, v: Array, w: Array) -> Array:
        """Waits, from three independent uniforms each."""
        count = (len(self.rarer) - np.searchsorted(self.rarer, u, side="right")).astype(np.float64)
        if abs(self.scv - 1.0) < _EXPONENTIAL:
            return self.each * erlang(count, v, w)
        scv = max(self.scv, _EXPONENTIAL)
        return np.where(count > 0.0, self.each * scv * cubed(np.maximum(count, 1.0) / scv, w), 0.0)


@dataclass(frozen=True)
class Batches(Stages):
    """Waits where requests come several at once.

    Attributes:
        inside: P(a batch meets at least n requests), from the largest n down to 1; `servers` there are.
    """

    inside: Array
    servers: int

    def draw_at(self, rank: int, u: Array, v: Array, w: Array) -> Array:
        """Waits of the request of that rank (from 1) in its batch."""
        met = (len(self.inside) - np.searchsorted(self.inside, u, side="right")).astype(np.float64)
        return self.each * erlang(np.maximum(met + (rank - self.servers), 0.0), v, w)


@dataclass(frozen=True)
class Busy(Shared):
    """Waits of who is served before everybody that came earlier: busy periods of M/M/1.

    Attributes:
        chance: to wait at all.
        rarer: P(a busy period has at least n services), from the largest n down to 1.
        step: mean time between two of its events.
    """

    chance: float
    rarer: Array
    step: float

    @property
    def mean(self) -> float:
        """Mean wait."""
        services = float(np.cumsum(self.rarer)[-1])
        return self.chance * (2.0 * services - 1.0) * self.step

    def draw(self, u: Array, v: Array, w: Array) -> Array:
        """Waits, from three independent uniforms each."""
        part = np.minimum(u / max(self.chance, 1e-300), 1.0)
        services = (len(self.rarer) - np.searchsorted(self.rarer, part, side="right")).astype(np.float64)
        return np.where(u < self.chance, self.step * erlang(2.0 * np.maximum(services, 1.0) - 1.0, v, w), 0.0)


@dataclass(frozen=True)
class Equal(Shared):
    """The same of equal services on one server: the rest of the one at work, and so many whole ones.

    Attributes:
        chance: to wait at all.
        rarer: P(at least n whole ones), from the largest n down to 1.
        rests: quantiles of the rest of a service for n = 0, 1, ...; the last row stands for all larger ones.
        average: mean wait of who waits.
    """

    chance: float
    rarer: Array
    rests: Array
    average: float

    @property
    def mean(self) -> float:
        """Mean wait."""
        return self.chance * self.average

    def draw(self, u: Array, v: Array, w: Array) -> Array:
        """Waits, from three independent uniforms each."""
        part = np.minimum(u / max(self.chance, 1e-300), 1.0)
        whole = len(self.rarer) - np.searchsorted(self.rarer, part, side="right")
        row, columns = np.minimum(whole, len(self.rests) - 1), self.rests.shape[1] - 1
        at = v * columns
        low = np.minimum(np.floor(at), columns - 1.0).astype(np.int64)
        first, second = self.rests[row, low], self.rests[row, low + 1]
        return np.where(u < self.chance, whole + first + (at - low) * (second - first), 0.0)


#: Of the uniforms that say how many services are waited for those above `_COMMON` are so many, of equal weight; of
#: those below each has so much less weight than the one before.
_COMMON, _EQUAL, _LESS, _RARER = 0.02, 2048, 1400, 0.99


def line_of(law: Line | Stages | Busy | Equal) -> Line:
    """The same law as points, drawn: long waits have small weights."""
    if isinstance(law, Line):
        return law
    ends = np.concatenate((1.0 - (1.0 - _COMMON) * np.arange(_EQUAL) / _EQUAL, _COMMON * _powers(_RARER, _LESS), [0.0]))
    weights = ends[:-1] - ends[1:]
    counters = np.arange(1, len(weights) + 1, dtype=np.uint64)
    v, w = (uniforms(np.array([key], dtype=np.uint64), counters) for key in (1, 2))
    drawn = law.draw(ends[1:] + 0.5 * weights, v, w)
    order = np.argsort(drawn, kind="stable")
    return Line(drawn[order], np.minimum(np.cumsum(weights[order]), 1.0))


def _powers(base: float, count: int) -> Array:
    """1, base, base squared and so on."""
    found = np.ones(count)
    found[1:] = np.multiply.accumulate(np.full(count - 1, base))
    return found


def erlang(count: Array, v: Array, w: Array) -> Array:
    """Sums of `count` exponentials of mean 1: two exact, more by the cube of a normal."""
    several = cubed(np.maximum(count - 1.0, 1e-9), w)
    first = exponentials(v)
    second = np.where(count == 2.0, exponentials(w), several)
    return np.where(count < 1.0, 0.0, first + np.where(count > 1.0, second, 0.0))


def cubed(shape: Array, w: Array) -> Array:
    """Gamma values of scale 1 by the cube of a normal (Wilson, Hilferty)."""
    cube = np.maximum(1.0 - 1.0 / (9.0 * shape) + normals(w) / (3.0 * np.sqrt(shape)), 0.0)
    result: Array = shape * cube * cube * cube
    return result


def general_waits(values: Array, weights: Array, rho: float, fast: ModuleType | None = None) -> Line:
    """P(W <= t) of M/G/1 below utilisation 1.

    Args:
        values: times of service, ascending, in mean services; weights: their probabilities.
        fast: compiled functions, if there are any.

    The result is in mean services, too.
    """
    second = float(np.cumsum(values * values * weights)[-1])
    longest = 0.5 * second / (1.0 - rho)
    step = max(_REACH * longest, 2.0) / _POINTS
    middle = (np.arange(_POINTS + 1, dtype=np.float64) + 0.5) * step
    residual = np.diff(_mean_below(values, weights, middle), prepend=0.0)
    found = np.zeros(_POINTS + 1)
    scale = 1.0 / (1.0 - rho * float(residual[0]))
    found[0] = (1.0 - rho) * scale
    if fast is not None:
        fast.renewed(residual, rho * scale, found)
    else:
        _renewed(residual, rho * scale, found)
    at = np.concatenate(([0.0], middle))
    below = np.concatenate(([1.0 - rho], np.minimum(np.cumsum(found), 1.0)))
    return Line(at, below)


def _renewed(residual: Array, factor: float, found: Array) -> None:
    """The sums of services that are left, one more each time."""
    backwards = np.zeros(_POINTS + 1)
    backwards[_POINTS] = found[0]
    for n in range(1, _POINTS + 1):
        products = residual[1 : n + 1] * backwards[_POINTS - n + 1 :]
        found[n] = factor * float(np.cumsum(products)[-1])
        backwards[_POINTS - n] = found[n]


def _mean_below(values: Array, weights: Array, at: Array) -> Array:
    """E[min(S, x)], which is the integral of P(S > x), over E[S]."""
    total, amount = np.cumsum(weights), np.cumsum(values * weights)
    rank = np.searchsorted(values, at, side="right")
    under = np.concatenate(([0.0], amount))[rank]
    beyond = total[-1] - np.concatenate(([0.0], total))[rank]
    result: Array = (under + at * beyond) / float(amount[-1])
    return result


def full_waits(rho: float, servers: int, places: int, scv: float) -> tuple[Stages, float]:
    """Waits of who finds one of `places` to wait free (in mean services), and the chance to find none.

    Services other than exponential ones change how fast longer queues get rarer: rho^(2/(1 + scv)).
    """
    ratio = _power(rho, 2.0 / (1.0 + scv))
    load, amount, below = servers * rho, 1.0, 0.0
    for number in range(servers):
        below += amount
        amount *= load / (number + 1)
    chances = []
    for _ in range(places):
        chances.append(amount)
        amount *= ratio
        if amount > 1e200:
            chances, amount, below = [c * 1e-200 for c in chances], amount * 1e-200, below * 1e-200
    total = below + math.fsum(chances)
    tails: list[float] = []
    rest = 0.0
    for chance in reversed(chances):
        rest += chance
        tails.append(rest / total)
    each = 0.5 * (1.0 + scv) / servers
    return Stages(np.array(tails), each, scv), amount / (total + amount)


def batch_waits(rho: float, servers: int, sizes: tuple[float, ...], scv: float) -> Batches:
    """Waits of requests that come in batches (in mean services), at a utilisation below 1.

    Args:
        sizes: chances of batches of 1, 2, ... requests.

    Services other than exponential ones change the part of the mean that is not within batches by (1 + scv)/2.
    """
    chance = np.array(sizes)
    least = np.cumsum(chance[::-1])[::-1]  # P(size >= 1), P(size >= 2), ...
    mean = float(np.cumsum(least)[-1])
    numbers = np.arange(1, len(sizes) + 1, dtype=np.float64)
    extra = 0.5 * (float(np.cumsum(chance * numbers * numbers)[-1]) / mean - 1.0)
    rate = servers * rho / mean
    found, total = [1.0], 1.0
    while len(found) < _MOST_INSIDE:
        last = found[: -len(sizes) - 1 : -1]
        inflow = float(np.cumsum(np.array(last) * least[: len(last)])[-1])
        found.append(rate * inflow / min(len(found), servers))
        total += found[-1]
        if len(found) > 2 * len(sizes) + servers and found[-1] < _NEVER_MORE * (1.0 - rho) * total:
            break
    inside = np.cumsum(np.array(found[::-1]))[:-1] / total  # P(at least the largest), ..., P(at least 1)
    below = np.concatenate((inside[::-1], np.zeros(len(sizes))))
    tails = np.zeros(len(below))
    for place, share in enumerate((least / mean).tolist()):  # of the requests with so many of their batch before them
        ahead = servers - place - 1  # who meets more than that waits
        met = below[ahead:] if ahead >= 0 else np.concatenate((np.ones(-ahead), below))
        tails[: len(met)] += share * met[: len(tails)]
    each = (0.5 * (1.0 + scv) * rho + extra) / (rho + extra) / servers
    return Batches(tails[::-1].copy(), each, scv, inside, servers)


def impatient_waits(rho: float, servers: int, scv: float, patience: tuple[float, ...]) -> Line:
    """Waits offered to arrivals (in mean services), at any utilisation.

    Args:
        patience: equally likely times, ascending and in mean services, after which who waits is not served.

    Services other than exponential ones change the exponent by 2/(1 + scv), as in `full_waits`.
    """
    arrivals, values = servers * rho, np.array(patience)
    longest = min(float(values[-1]), _REACH * 40.0 / servers) + 30.0 * 0.5 * (1.0 + scv) / servers
    at = np.arange(_POINTS + 1, dtype=np.float64) * (longest / _POINTS)
    counts = np.arange(len(values) + 1, dtype=np.float64)
    shorter = np.concatenate(([0.0], np.cumsum(values)))
    rank = np.searchsorted(values, at, side="right")
    stayed = (shorter[rank] + at * (len(values) - counts[rank])) / len(values)
    power = (arrivals * stayed - servers * at) * (2.0 / (1.0 + scv))
    density = arithmetic.exp_array(np.minimum(power, 600.0))
    amount, idle = 1.0, 0.0  # of states with 0, 1, ... busy servers, the last one being 1
    for busy in range(servers, 0, -1):
        idle += amount
        amount *= (busy - 1) / arrivals
    waits = np.concatenate(([0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(at)))) * arrivals
    return Line(at, (idle + waits) / (idle + float(waits[-1])))


def _power(base: float, exponent: float) -> float:
    return base if exponent == 1.0 else arithmetic.power(base, exponent)


def newest_first(chance_to_wait: float, rho: float, servers: int, scv: float) -> Busy | Equal:
    """Waits where who came last is served first, in mean services.

    Of several servers, and of services that are neither equal nor exponential, the number is that of M/M/1.
    """
    if servers == 1 and scv < _EXPONENTIAL:
        return _newest_of_equal(chance_to_wait, rho)
    chance, rest = 1.0 / (1.0 + rho), 1.0
    found = []
    for n in range(1, _LONGEST_BUSY):
        found.append(rest)
        rest -= chance
        if rest < _NEVER_BUSY:
            break
        chance *= 2.0 * (2 * n - 1) / (n + 1) * rho / ((1.0 + rho) * (1.0 + rho))
    return Busy(chance_to_wait, np.array(found[::-1]), 0.5 * (1.0 + scv) / (servers * (1.0 + rho)))


def _newest_of_equal(chance_to_wait: float, rho: float) -> Equal:
    """The same of equal services on one server."""
    rest = (np.arange(_RESTS) + 0.5) / _RESTS
    number = np.arange(_LONGEST_BUSY, dtype=np.float64)
    factorials = np.concatenate(([0.0], np.cumsum(arithmetic.log_array(number[1:]))))
    total, rows, columns = np.zeros(len(number)), [], np.arange(_RESTS + 1) / _RESTS
    for r in rest.tolist():
        until = r + number
        power = number * arithmetic.log_array(rho * until) - rho * until - factorials
        share = (r / _RESTS) / until * arithmetic.exp_array(np.maximum(power, -600.0))
        total += share
        rows.append(share[:_APART])
    below = np.cumsum(np.concatenate((np.zeros((1, _APART)), np.array(rows))), axis=0) / total[:_APART]
    rests = np.array([np.interp(columns, below[:, n], columns) for n in range(_APART)])
    rarer = 1.0 - np.cumsum(total)
    several = rarer[: max(1, int(np.count_nonzero(rarer > _NEVER_BUSY)))]
    average = 0.5 / max(1.0 - rho, 1e-6) if rho < 1.0 else float(np.cumsum(several)[-1]) + 0.5
    return Equal(chance_to_wait, several[::-1].copy(), rests, average)
