"""One measured figure beside the one that theory or an experiment gives, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

#: Two-sided 99 % point of the normal law.
Z99 = 2.5758293
#: Two-sided 99 % points of Student's t for 1 to 9 degrees of freedom.
_T99 = (63.66, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250)


def t99(freedom: int) -> float:
    """Two-sided 99 % point of Student's t (Cornish and Fisher's series from ten degrees on: within 0.1 %).

    >>> round(t99(1), 2), round(t99(30), 2)
    (63.66, 2.75)
    """
    if freedom <= len(_T99):
        return _T99[freedom - 1]
    z, v = Z99, float(freedom)
    cubed = z * z * z
    second = (5.0 * cubed * z * z + 16.0 * cubed + 3.0 * z) / 96.0
    third = (3.0 * cubed * cubed * z + 19.0 * cubed * z * z + 17.0 * cubed - 15.0 * z) / 384.0
    return z + (cubed + z) / (4.0 * v) + second / (v * v) + third / (v * v * v)


class Estimate(NamedTuple):
    """A mean, and half of its 99 % confidence interval."""

    mean: float
    half: float


def estimate(values: Sequence[float]) -> Estimate:
    """Mean of independent values with its confidence interval; of one value the interval is unknown (0)."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return Estimate(mean, 0.0)
    variance = math.fsum((v - mean) ** 2 for v in values) / (count - 1)
    return Estimate(mean, t99(count - 1) * math.sqrt(variance / count))


def batched(whole: float, batches: Sequence[float]) -> Estimate:
    """A figure of a whole run with the interval that its batches give.

    Batches that follow each other in a run are a little alike: the interval is widened by what their correlation with
    the next one says. Source: Law and Kelton, Simulation Modeling and Analysis, section 9.5.3 (batch means).
    """
    mean, half = estimate(batches)
    total = math.fsum((v - mean) ** 2 for v in batches)
    if len(batches) < 8 or total <= 0.0:
        return Estimate(whole, half)
    alike = math.fsum((a - mean) * (b - mean) for a, b in pairwise(batches)) / total
    alike = min(max(alike, 0.0), 0.8)
    return Estimate(whole, half * math.sqrt((1.0 + alike) / (1.0 - alike)))


class Share(NamedTuple):
    """How many of so many; a count of 0 says that `hits` is the probability itself."""

    hits: float
    count: int

    @property
    def mean(self) -> float:
        """The share."""
        return self.hits / self.count if self.count else self.hits

    def limits(self) -> tuple[float, float]:
        """Wilson's 99 % interval."""
        if not self.count:
            return self.hits, self.hits
        p, squared, n = self.mean, Z99 * Z99, float(self.count)
        middle = (p + squared / (2.0 * n)) / (1.0 + squared / n)
        half = Z99 * math.sqrt(p * (1.0 - p) / n + squared / (4.0 * n * n)) / (1.0 + squared / n)
        return middle - half, middle + half

    @property
    def half(self) -> float:
        """How far the interval goes from the share, on its longer side."""
        low, high = self.limits()
        return max(self.mean - low, high - self.mean)


def alike(one: Share, other: Share) -> bool:
    """Whether two shares differ by no more than sampling: the 99 % interval of their difference holds 0.

    Source: Newcombe, Interval estimation for the difference between independent proportions, Statistics in Medicine
    17 (1998), method 10.
    """
    (low, high), (other_low, other_high) = one.limits(), other.limits()
    gap = one.mean - other.mean
    down = math.hypot(one.mean - low, other_high - other.mean)
    up = math.hypot(high - one.mean, other.mean - other_low)
    return gap - down <= 1e-9 and gap + up >= -1e-9


@dataclass(frozen=True)
class Finding:
    """One figure.

    Attributes:
        row, engine: which row, on which engine.
        quantity: what was measured, in which set-up.
        expected, measured: the figures.
        tolerance: how far apart they may be beyond the sampling error; of shares: the fact's own sampling error.
        half: half of the 99 % confidence interval of the measurement; 0 for what is not random.
        bound: `both`: the distance counts; `above`/`below`: measured must not be above/below the expected one.
        counted: of shares of runs: what was counted here, and what the fact was counted in; they are compared by a
            two-proportion test.
        unmet: why the model cannot give this figure; such a figure does not fail.
    """

    row: str
    engine: str
    quantity: str
    expected: float
    measured: float
    tolerance: float
    half: float = 0.0
    bound: str = "both"
    counted: tuple[Share, Share] | None = None
    unmet: str = ""

    @property
    def holds(self) -> bool:
        """Whether they agree."""
        allowed = self.tolerance + self.half
        if math.isnan(self.measured):
            return False
        if self.counted is not None:
            return alike(*self.counted)
        if self.bound == "above":
            return self.measured <= self.expected + allowed
        if self.bound == "below":
            return self.measured >= self.expected - allowed
        return abs(self.measured - self.expected) <= allowed

    @property
    def verdict(self) -> str:
        """`holds`, `fails`, or `not met`: what the model is known not to give."""
        return "holds" if self.holds else "not met" if self.unmet else "fails"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "row": self.row,
            "engine": self.engine,
            "quantity": self.quantity,
            "expected": self.expected,
            "measured": self.measured,
            "tolerance": self.tolerance,
            "confidence_half_width": self.half,
            "bound": self.bound,
            "holds": self.holds,
            "verdict": self.verdict,
            **({"not_met_because": self.unmet} if self.unmet else {}),
        }
