"""Latencies as laws given by mean and variance, and mixtures of them.

Response times are skewed and positive; means and variances add along a chain of calls, so two numbers travel through
the call graph, and quantiles are read off at the end. Up to a coefficient of variation of 1 the law is a gamma
distribution, which sums of service times and waits in queues are (exactly, if all have the same exponential law), by
the approximation of Wilson and Hilferty 1931: its cube root is normal, within 1.5 per cent. Beyond it is log-normal.
A share that waits for a timer (a lost packet) is a hump of its own, far behind the others: it has moments of its own.
What is left out: other humps within one outcome (cache hit or miss).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic

_INV_SQRT_2PI = 0.3989422804014327
# Abramowitz & Stegun 26.2.17, absolute error below 7.5e-8.
_T = 0.2316419
_P = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
#: Quantiles that stand for a law from which many durations are drawn.
LAW_POINTS = 200


class Late(NamedTuple):
    """A few requests that take much longer: their share, and mean and second moment of what is added to theirs."""

    share: float
    mean: float
    square: float

    def together(self, other: Late) -> Late:
        """Both of two independent delays."""
        if not self.share or not other.share:
            return self if self.share else other
        share = self.share + other.share - self.share * other.share
        mean = self.share * self.mean + other.share * other.mean
        square = self.share * self.square + other.share * other.square
        square += 2.0 * self.share * self.mean * other.share * other.mean
        return Late(share, mean / share, square / share)

    def thinned(self, count: float) -> Late:
        """That of so many calls in turn, or of a share of one."""
        if not self.share or count == 1.0:
            return self
        share, mean = min(1.0, self.share * count), self.share * self.mean
        square = self.share * self.square * count + max(0.0, count * (count - 1.0)) * mean * mean
        return Late(share, mean * count / share, square / share)


NEVER = Late(0.0, 0.0, 0.0)


class Latency(NamedTuple):
    """Mean in nanoseconds and variance in square nanoseconds; `late` tells of those far behind, who count in both."""

    mean: float
    variance: float
    late: Late = NEVER

    def humps(self) -> tuple[tuple[float, Latency], ...]:
        """The laws that it is a mixture of, with their shares."""
        share, mean, square = self.late
        if share <= 0.0 or share >= 1.0:
            return ((1.0, self._replace(late=NEVER)),)
        usual = max(0.0, self.mean - share * mean)
        spread = max(0.0, self.variance - share * square + share * mean * (share * mean))
        far = Latency(usual + mean, spread + max(0.0, square - mean * mean))
        return ((1.0 - share, Latency(usual, spread)), (share, far))


def mixed(parts: Sequence[tuple[float, Latency]]) -> Latency:
    """Of requests of which such shares have such latencies; some share is not zero."""
    total = math.fsum(share for share, _ in parts)
    mean = math.fsum(share * law.mean for share, law in parts) / total
    square = math.fsum(share * (law.variance + law.mean * law.mean) for share, law in parts) / total
    late = math.fsum(share * law.late.share for share, law in parts) / total
    hump = NEVER
    if late > 0.0:
        after = math.fsum(share * law.late.share * law.late.mean for share, law in parts) / total
        far = math.fsum(share * law.late.share * law.late.square for share, law in parts) / total
        hump = Late(late, after / late, far / late)
    return Latency(mean, max(0.0, square - mean * mean), hump)


class Durations(NamedTuple):
    """Durations in nanoseconds, ascending, with the share of requests that are no longer."""

    values: NDArray[np.float64]
    shares: NDArray[np.float64]

    @classmethod
    def weighed(cls, values: NDArray[np.float64], weights: NDArray[np.float64]) -> Durations:
        """Each stands for so many requests; at least one does."""
        order = np.argsort(values, kind="stable")
        total = np.cumsum(weights[order])
        return cls(values[order], (total - 0.5 * weights[order]) / total[-1])

    @classmethod
    def of(cls, latency: Latency) -> Durations:
        """A law by its quantiles."""
        humps = latency.humps()
        if len(humps) > 1:
            parts = [cls.of(hump) for _, hump in humps]
            weights = [np.full(LAW_POINTS, share) for share, _ in humps]
            return cls.weighed(np.concatenate([part.values for part in parts]), np.concatenate(weights))
        points = (np.arange(LAW_POINTS) + 0.5) / LAW_POINTS
        if latency.mean <= 0.0:
            return cls(np.zeros(LAW_POINTS), points)
        law = law_of(latency)
        normal = law.middle + law.spread * arithmetic.normal_quantile_array(points)
        if not law.is_gamma:
            return cls(arithmetic.exp_array(law.log_mean + normal), points)
        root = np.maximum(normal, _LEAST)
        return cls(latency.mean * (root * root * root), points)

    def drawn(self, uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Durations of requests, one for each draw."""
        return np.interp(uniforms, self.shares, self.values)

    def scaled(self, factor: float) -> Durations:
        """All so many times as long."""
        return Durations(self.values * factor, self.shares)


class Component(NamedTuple):
    """A share of a mixture: so many requests with that latency."""

    requests: int
    latency: Latency


def normal_cdf(z: float) -> float:
    """P(N(0, 1) <= z)."""
    if z < 0.0:
        return 1.0 - normal_cdf(-z)
    if z > 8.0:
        return 1.0
    t = 1.0 / (1.0 + _T * z)
    poly = t * (_P[0] + t * (_P[1] + t * (_P[2] + t * (_P[3] + t * _P[4]))))
    return 1.0 - _INV_SQRT_2PI * arithmetic.exp(-0.5 * z * z) * poly


class _Law(NamedTuple):
    """A law whose transform is normal: the logarithm, or the cube root of a duration over its mean.

    Attributes:
        log_mean: logarithm of the scale; `middle` and `spread` of the normal law.
    """

    is_gamma: bool
    log_mean: float
    middle: float
    spread: float

    def below(self, log_x: float) -> float:
        """P(X <= x), by the logarithm of x."""
        if self.spread == 0.0:
            return float(log_x >= self.log_mean)
        transformed = log_x - self.log_mean
        if self.is_gamma:
            transformed = arithmetic.exp(transformed / 3.0)
        return normal_cdf((transformed - self.middle) / self.spread)

    def quantile(self, p: float) -> float:
        """The logarithm of the duration that a share `p` stays below."""
        transformed = self.middle + self.spread * arithmetic.normal_quantile(p) if self.spread else self.middle
        if self.is_gamma:
            transformed = 3.0 * arithmetic.log(max(transformed, _LEAST))
        return self.log_mean + transformed


#: Cube root of the shortest duration over its mean: the approximation has nothing below zero.
_LEAST = 1e-3


def law_of(latency: Latency) -> _Law:
    """The law with that mean (> 0) and variance."""
    squared = latency.variance / (latency.mean * latency.mean)
    log_mean = arithmetic.log(latency.mean)
    if squared <= 1.0:
        return _Law(True, log_mean, 1.0 - squared / 9.0, math.sqrt(squared) / 3.0)
    log_squared = arithmetic.log(1.0 + squared)
    return _Law(False, log_mean - 0.5 * log_squared, 0.0, math.sqrt(log_squared))


#: Of a hump that takes no time (a way that only delays what it loses): a nanosecond.
_AT_ONCE = _Law(True, 0.0, 1.0, 0.0)


def probability_above(latency: Latency, limit: float) -> float:
    """P(latency > limit), both in nanoseconds."""
    if latency.late.share:
        return math.fsum(share * probability_above(hump, limit) for share, hump in latency.humps())
    mean, variance, _ = latency
    if mean <= 0.0:
        return 0.0
    if limit <= 0.0:
        return 1.0
    excess = limit - mean
    # Cantelli: P(X - mean >= a) <= v / (v + a^2). Below one in ten thousand nobody notices.
    if excess > 0.0 and excess * excess > 10_000.0 * variance:
        return 0.0
    return 1.0 - law_of(latency).below(arithmetic.log(limit))


def quantile(latency: Latency, p: float) -> float:
    """The latency that a share `p` of the requests stays below, in nanoseconds."""
    if latency.mean <= 0.0:
        return 0.0
    if latency.late.share:
        return _mixed(humps_of(latency), 1.0, (p,))[0]
    return arithmetic.exp(law_of(latency).quantile(p))


def draw(humps: Sequence[tuple[float, _Law]], uniform: float) -> float:
    """The logarithm of one duration, by one number between 0 and 1; `humps` as of `humps_of`."""
    for share, law in humps[:-1]:
        if uniform < share:
            return law.quantile(uniform / share)
        uniform = (uniform - share) / (1.0 - share)
    return humps[-1][1].quantile(uniform)


def humps_of(latency: Latency) -> list[tuple[float, _Law]]:
    """The laws of a latency (mean above 0) and their shares, from which `draw` draws."""
    return [(share, law_of(hump) if hump.mean > 0.0 else _AT_ONCE) for share, hump in latency.humps()]


def mixture_quantiles(components: Sequence[Component], shares: Sequence[float]) -> list[float]:
    """Quantiles of a mixture, in nanoseconds, by bisection; zeros if it is empty."""
    counts: dict[Latency, int] = {}  # a calm service has one latency for many ticks
    for requests, latency in components:
        if requests > 0 and latency.mean > 0.0:
            counts[latency] = counts.get(latency, 0) + requests
    live = [Component(requests, latency) for latency, requests in counts.items()]
    total = sum(c.requests for c in live)  # integers
    if not total:
        return [0.0 for _ in shares]
    if len(live) == 1:
        return [quantile(live[0].latency, p) for p in shares]
    return _mixed([(c.requests * share, law) for c in live for share, law in humps_of(c.latency)], total, shares)


def _mixed(laws: Sequence[tuple[float, _Law]], total: float, shares: Sequence[float]) -> list[float]:
    """Quantiles of laws that stand for so many requests each, `total` together."""
    lowest = min(law.quantile(1e-9) for _, law in laws)
    highest = max(law.quantile(1.0 - 1e-9) for _, law in laws)
    return [arithmetic.exp(_log_quantile(laws, total * p, lowest, highest)) for p in shares]


def _log_quantile(laws: Sequence[tuple[float, _Law]], wanted: float, low: float, high: float) -> float:
    for _ in range(40):  # 40 halvings of at most ~30 in the logarithm: far below a nanosecond
        middle = 0.5 * (low + high)
        below = math.fsum(n * law.below(middle) for n, law in laws)
        low, high = (middle, high) if below < wanted else (low, middle)
    return high
